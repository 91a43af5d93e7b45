/*
 * What the first corruption is, for whoever has to find its writer: the place that was hit, how,
 * and the chunk below it. malloc writes headers and links alone, so where a header is overwritten
 * the block below was overrun; where the links of a dead chunk are and its header is whole,
 * somebody wrote into it after it was freed.
 *
 * How far an overrun went is told at least: by the bytes of the header that cannot have been
 * there, and as far as the same word or byte goes on behind it.
 */
#ifndef CF_PTMALLOC_DAMAGE_H
#define CF_PTMALLOC_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "ptmalloc/heap.h"

enum cf_damage_kind {
    CF_DAMAGE_NONE,
    CF_DAMAGE_HEADER,     /* of a chunk, or of the top */
    CF_DAMAGE_ZERO_BYTE,  /* the lowest byte of a size is 0, as a text's end leaves it */
    CF_DAMAGE_BYTE,       /* the lowest byte of a size is another one */
    CF_DAMAGE_DEAD_CHUNK, /* its content, which is malloc's own, behind a header that is whole */
    CF_DAMAGE_LIST_HEAD,  /* of a cache or an arena: the chunk that led on was taken meanwhile */
    CF_DAMAGE_TWICE,      /* freed, and freed again */
    CF_DAMAGE_OTHER,
};

struct cf_damage {
    enum cf_damage_kind kind;
    uint64_t addr;           /* the header; 0: no chunk is named */
    bool has_below;          /* of a header that was hit alone */
    struct cf_chunk below;   /* the chunk that ends there */
    uint64_t overrun_bytes;  /* of `below`, at least; 0: it was not overrun, or nothing is known */
};

/* After the anomalies are judged (flux.h). */
void cf_damage_find(const struct cf_ptmalloc *pt, struct cf_damage *out);

/* "header", "zero-byte" ...; NULL for none. */
const char *cf_damage_kind_name(enum cf_damage_kind kind);

#endif
