/*
 * Names of types as a person would say them: C++ spells out what everybody leaves out.
 *
 *     std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >  std::string
 *     std::vector<int, std::allocator<int> >                                      std::vector<int>
 */
#ifndef CF_TYPES_TYPENAME_H
#define CF_TYPES_TYPENAME_H

#include <stddef.h>

/* Shortens `name` in place. Where it is then longer than `max` characters, what stands deepest in
 * its brackets becomes "...", and after that its end. `max` is 8 at the least. */
void cf_typename_shorten(char *name, size_t max);

#endif
