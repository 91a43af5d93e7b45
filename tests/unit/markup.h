/*
 * A reader of HTML as strict as a page of ours has to be: elements nest, attributes are quoted or
 * plain words, and nothing in it can run or load. It fails the test that calls it.
 */
#ifndef MARKUP_H
#define MARKUP_H

#include <stddef.h>

/* Reads all of `page`; the elements that may be left open by HTML's own rules may be so here. */
void markup_check(const char *page);

/* How often `word` stands in `text`. */
size_t markup_count(const char *text, const char *word);

#endif
