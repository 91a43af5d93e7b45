/*
 * The program and its libraries as ld.so itself lists them: AT_PHDR leads to the program's headers,
 * those to _DYNAMIC, DT_DEBUG to r_debug, and that to the chain of link_map. For cores without a
 * list of mapped files: the kernel leaves NT_FILE out where there are 65,535 segments or more, and
 * emulators know none.
 *
 *     r_debug    version | r_map | ...                 a word each
 *     link_map   l_addr | l_name | l_ld | l_next | ...
 *
 * Where an object ends is in its headers; where these are not in the core, it is taken to end with
 * the writable data behind its _DYNAMIC.
 */
#ifndef CF_SYM_LINKMAP_H
#define CF_SYM_LINKMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"

enum { CF_LINKMAP_MAX = 4096 };

struct cf_linked {
    uint64_t start;
    uint64_t end; /* of its last segment's bytes from the file, rounded up to a page */
    char *path;   /* owned by the list */
};

struct cf_linkmap {
    CF_ARRAY(struct cf_linked) rows; /* sorted by start, each place once */
};

/* `map` is all zero. Fails only for lack of memory; static programs have no rows. */
int cf_linkmap_read(struct cf_linkmap *map, const struct cf_mem *mem, struct cf_err *err);
void cf_linkmap_fini(struct cf_linkmap *map);

#endif
