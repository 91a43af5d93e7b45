/*
 * What happens when a mapped file cannot be read. The kernel answers a read beyond the end of
 * a file that became shorter, or of a page that the disk or the file system does not give, with
 * SIGBUS in the thread that reads. While a guard stands over a mapping, the whole mapping becomes
 * zeros instead, for good, and the place of the first such read is kept: the reader goes on over
 * zeros, which end its loops soon, and asks for the place before it says anything.
 *
 * A signal's handler belongs to the whole process. So ours stands only while there is a guard,
 * the handler that was there before is called for every other address and comes back with the last
 * guard, and a handler that was put over ours meanwhile is left in place. The thread that adds
 * a guard does not block SIGBUS until it removes it: a fault that is blocked ends the process.
 */
#ifndef CF_BASE_BUS_GUARD_H
#define CF_BASE_BUS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "corefrag.h"

struct cf_bus_guard;

/* Guards [map, map + bytes), whole pages of a private mapping, until cf_bus_guard_remove() in the
 * same thread, which comes before the unmapping. CF_EINPUT where too many guards stand already. */
int cf_bus_guard_add(unsigned char *map, uint64_t bytes, struct cf_bus_guard **out,
                     struct cf_err *err);
void cf_bus_guard_remove(struct cf_bus_guard *guard); /* takes NULL */

/* As if a read through the mapping had failed at this offset: another one did. */
void cf_bus_guard_hit(struct cf_bus_guard *guard, uint64_t offset);

/* Something could not be read; `offset` is how far into the mapping. */
bool cf_bus_guard_was_hit(const struct cf_bus_guard *guard, uint64_t *offset);

/* CF_EINPUT with the reason why the file `fd`, called `name`, cannot be read at `offset`: it is
 * asked once more, since it knows. */
int cf_bus_guard_error(int fd, const char *name, uint64_t offset, struct cf_err *err);

#endif
