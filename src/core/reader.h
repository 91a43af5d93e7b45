/*
 * Reads the core's file from front to back without mapping it. A page that is touched in the
 * mapping costs a fault, is mapped with all of its folio, and counts as our memory until somebody
 * drops it; read() copies the same bytes into a buffer that stays in the cache, at a fifth of
 * the cost where faults are dear. For passes that go up through a heap; one that reads in no order
 * uses the mapping (cf_core_bytes).
 */
#ifndef CF_CORE_READER_H
#define CF_CORE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

enum {
    CF_CORE_READER_BYTES = 64 << 10, /* at a time, once reads follow each other */
    CF_CORE_READER_LEAST = 4 << 10,  /* at first and after a jump; as much can be asked for */
};

struct cf_core_reader {
    const struct cf_core *core;
    unsigned char *buffer;
    uint64_t start; /* of what the buffer has, in the file */
    uint64_t bytes;
    uint64_t step;
};

/* False: memory is out. cf_core_reader_fini() in the end; all zero is fine for that, too. */
bool cf_core_reader_init(struct cf_core_reader *reader, const struct cf_core *core);
void cf_core_reader_fini(struct cf_core_reader *reader);

/* The file's bytes from `offset` on, `bytes` of them at least (CF_CORE_READER_BYTES at most), how
 * many in `avail`. NULL where the file ends before or cannot be read. Borrowed until the next
 * call. */
const unsigned char *cf_core_reader_at(struct cf_core_reader *reader, uint64_t offset,
                                       uint64_t bytes, uint64_t *avail);

#endif
