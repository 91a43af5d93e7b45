/*
 * Chunks that glibc's own structures hold: of the loader (a link_map and what it points to), and
 * of threads (blocks of thread-specific data beyond the first).
 */
#include "core/core.h"
#include "core/drop.h"
#include "types/typestate.h"

enum {
    LINK_MAP_WORDS_MAX = 144, /* struct link_map is some 1,150 bytes on 64-bit */
    FIRST_TAG_MAX = 64, /* DT_NEEDED, DT_SONAME ... */
    PTHREAD_BYTES = 0xa00,
    SPECIFIC_WORDS = 64,
    SEQUENCE_MAX = 1 << 24,
};

static void name_at(struct cf_types *types, uint64_t user, const char *name) {
    struct cf_chunk_number number =
        cf_resolver_number_at(types->input.resolver, user - 2 * types->word);
    if (cf_is_chunk(number))
        cf_types_name_chunk(types, number, cf_types_intern(types, name, CF_EVIDENCE_LIBC));
}

/* A dynamic thread vector: the second word of the tcb leads to its second entry
 * (_dl_allocate_tls; x86: tcbhead_t.dtv at 1 word, aarch64: at 0). */
static void name_dtv(struct cf_types *types, const struct cf_core_thread *thread) {
    bool is_arm = cf_core_machine(cf_mem_core(types->input.mem)) == CF_MACHINE_AARCH64;
    uint64_t dtv;
    if (thread->has_tp &&
        cf_mem_word(types->input.mem, thread->tp + (is_arm ? 0 : types->word), &dtv))
        name_at(types, dtv - 2 * types->word, "glibc dtv");
}

void cf_types_name_libc(struct cf_types *types) {
    const struct cf_ptmalloc *pt = types->input.pt;
    const struct cf_core *core = cf_mem_core(types->input.mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    for (size_t i = 0; i < cf_core_nr_threads(core); i++) {
        cf_rss_guard_step(&guard);
        name_dtv(types, cf_core_thread(core, i));
    }
    for (size_t i = 0; pt != NULL && i < cf_ptmalloc_nr_tcaches(pt); i++)
        name_at(types, cf_ptmalloc_tcache(pt, i)->addr, "glibc tcache");
}

/* l_real (sixth word) is itself for all but proxies, and l_ld (third) leads to a dynamic section,
 * whose first tag is a small number. A C++ object with a pointer to itself there is shorter. */
bool cf_types_is_link_map(const struct cf_types *types, const struct cf_live *payload) {
    unsigned w = types->word;
    uint64_t tag;
    if (payload->readable < CF_LINK_MAP_WORDS * w ||
        cf_payload_word(types, payload, 5 * w) != payload->user)
        return false;
    uint64_t dynamic = cf_payload_word(types, payload, 2 * w);
    const struct cf_module_span *span = cf_types_span(types, dynamic);
    return span != NULL && !span->is_code && cf_mem_word(types->input.mem, dynamic, &tag) &&
           tag > 0 && tag <= FIRST_TAG_MAX;
}

/* A chunk whose fields the loader fills in: what it points to is the loader's too. */
void cf_types_look_at_link_map(struct cf_types *types, const struct cf_live *payload) {
    unsigned w = types->word;
    if (!cf_types_is_link_map(types, payload))
        return;
    for (uint64_t i = 0; i < LINK_MAP_WORDS_MAX && (i + 1) * w <= payload->readable; i++) {
        uint64_t usable, slack, word = cf_payload_word(types, payload, i * w);
        struct cf_chunk_number number = cf_types_buffer_at(types, word, &usable, &slack);
        bool is_map = i == 3 || i == 4 || word == payload->user; /* l_next, l_prev, l_real */
        if (cf_is_chunk(number) && !is_map)
            cf_types_name_chunk(types, number,
                                cf_types_intern(types, "glibc loader data", CF_EVIDENCE_LIBC));
    }
}

/* struct pthread's specific[]: blocks of 32 pairs of a sequence number and a value. `word` may be
 * where a thread has one. */
static void look_at_specific(struct cf_types *types, uint64_t word) {
    uint64_t usable, slack, sequence;
    struct cf_chunk_number number = cf_types_buffer_at(types, word, &usable, &slack);
    if (!cf_is_chunk(number) || usable < SPECIFIC_WORDS * types->word ||
        usable - SPECIFIC_WORDS * types->word > slack ||
        !cf_mem_word(types->input.mem, word, &sequence) || sequence > SEQUENCE_MAX)
        return;
    cf_types_name_chunk(types, number, cf_types_intern(types, "glibc thread-specific data",
                                                       CF_EVIDENCE_LIBC));
}

/* Each word of [at, end), up to the first that cannot be read. */
static void look_at_pthread(struct cf_types *types, uint64_t at, uint64_t end) {
    while (at < end) {
        struct cf_live piece = {.user = at};
        piece.at = cf_mem_span(types->input.mem, at, &piece.readable);
        uint64_t words = piece.at != NULL ? piece.readable / types->word : 0;
        if (words > (end - at) / types->word)
            words = (end - at) / types->word;
        if (words == 0)
            return;
        for (uint64_t i = 0; i < words; i++)
            look_at_specific(types, cf_payload_word(types, &piece, i * types->word));
        at += words * types->word;
    }
}

void cf_types_look_at_threads(struct cf_types *types) {
    const struct cf_core *core = cf_mem_core(types->input.mem);
    bool is_arm = cf_core_machine(core) == CF_MACHINE_AARCH64;
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    for (size_t i = 0; i < cf_core_nr_threads(core); i++) {
        const struct cf_core_thread *thread = cf_core_thread(core, i);
        uint64_t low = is_arm && thread->tp > PTHREAD_BYTES ? thread->tp - PTHREAD_BYTES
                                                            : thread->tp;
        cf_rss_guard_step(&guard);
        if (thread->has_tp && low < UINT64_MAX - PTHREAD_BYTES)
            look_at_pthread(types, low, low + PTHREAD_BYTES);
    }
}
