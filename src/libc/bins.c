/*
 * The bins array as a pattern. Bin i's header stands one pair below its own pair of links, so an
 * empty bin's links both hold their own address - 2W, and so do those of bin 127 always: no size
 * maps to it.
 *
 *     pair of bin i at  bins + 2W(i-1):   | fd | bk |     header(i) = that address - 2W
 */
#include "base/checked.h"
#include "libc/found.h"

#include <string.h>

enum { DROP_BYTES = 16 << 20, BADS_MAX = CF_NR_BINS - CF_BINS_ENOUGH };

static inline uint64_t load(const unsigned char *bytes, unsigned word) {
    if (word == 8) {
        uint64_t value;
        memcpy(&value, bytes, 8);
        return value;
    }
    uint32_t value;
    memcpy(&value, bytes, 4);
    return value;
}

/* The links name chunks that name the header in turn. */
static bool pair_is_list(const struct cf_mem *mem, uint64_t header, uint64_t fd, uint64_t bk) {
    unsigned word = cf_mem_word_bytes(mem);
    uint64_t fd_bk;
    uint64_t bk_fd;
    return fd != header && bk != header && cf_mem_word(mem, fd + 3 * word, &fd_bk) &&
           fd_bk == header && cf_mem_word(mem, bk + 2 * word, &bk_fd) && bk_fd == header;
}

unsigned cf_bins_valid(const struct cf_mem *mem, uint64_t addr) {
    unsigned word = cf_mem_word_bytes(mem);
    unsigned char bytes[CF_BIN_WORDS * 8];
    if (!cf_mem_read(mem, addr, bytes, (size_t)CF_BIN_WORDS * word))
        return 0;
    unsigned bad = 0;
    for (unsigned i = 0; i < CF_NR_BINS && bad <= BADS_MAX; i++) {
        uint64_t header = addr + 2 * word * i - 2 * word;
        uint64_t fd = load(bytes + 2 * word * i, word);
        uint64_t bk = load(bytes + 2 * word * i + word, word);
        if ((fd != header || bk != header) && !pair_is_list(mem, header, fd, bk))
            bad++;
    }
    return bad <= BADS_MAX ? CF_NR_BINS - bad : 0;
}

/* A second array that overlaps the last one is the same, misjudged: the sounder one stays. */
static bool keep(struct cf_malloc *m, uint64_t addr, unsigned valid) {
    struct cf_bins *last = m->bins.len > 0 ? &m->bins.items[m->bins.len - 1] : NULL;
    uint64_t array_bytes = (uint64_t)CF_BIN_WORDS * m->word;
    if (last != NULL && addr >= last->addr && addr - last->addr < array_bytes) {
        if (valid > last->valid)
            *last = (struct cf_bins){.addr = addr, .valid = valid};
        return true;
    }
    struct cf_bins *slot = cf_array_push(&m->bins);
    if (slot == NULL)
        return false;
    *slot = (struct cf_bins){.addr = addr, .valid = valid};
    return true;
}

/* A self-pair stands at `addr`. Where it ends a run it may be bin 127's, or that of a lower bin
 * when the next one is in use or damaged: then the array slides up to where most pairs fit. */
static bool consider(struct cf_malloc *m, uint64_t addr) {
    unsigned pair = 2 * m->word;
    uint64_t after;
    uint64_t back = (uint64_t)(CF_NR_BINS - 1) * pair;
    if (addr < back + pair || (cf_mem_word(m->mem, addr + pair, &after) && after == addr))
        return true;
    uint64_t best = addr - back;
    unsigned best_valid = cf_bins_valid(m->mem, best);
    bool slides = best_valid > 0 && best_valid < CF_NR_BINS;
    for (unsigned up = 1; slides && up <= BADS_MAX; up++) {
        uint64_t base = addr - back + (uint64_t)up * pair;
        unsigned valid = cf_bins_valid(m->mem, base);
        if (valid > best_valid) {
            best = base;
            best_valid = valid;
        }
    }
    return best_valid < CF_BINS_ENOUGH || keep(m, best, best_valid);
}

/* Whether both words at `addr` hold addr - 2W; for where the fast loop cannot look. */
static bool is_self_pair(const struct cf_malloc *m, uint64_t addr) {
    uint64_t fd;
    uint64_t bk;
    uint64_t header = addr - 2 * m->word;
    return cf_mem_word(m->mem, addr, &fd) && fd == header &&
           cf_mem_word(m->mem, addr + m->word, &bk) && bk == header;
}

/* One load and one compare a word: this loop goes over all of a big core's writable memory. */
static inline bool scan_words(struct cf_malloc *m, const unsigned char *bytes, uint64_t addr,
                              uint64_t nr_bytes, unsigned word) {
    for (uint64_t i = 0; i + word <= nr_bytes; i += word) {
        if (__builtin_expect(load(bytes + i, word) != addr + i - 2 * word, 1))
            continue;
        if (is_self_pair(m, addr + i) && !consider(m, addr + i))
            return false;
    }
    return true;
}

bool cf_bins_scan(struct cf_malloc *m, uint64_t start, uint64_t end) {
    uint64_t addr;
    if (!cf_align_up(start, m->word, &addr))
        return true;
    while (addr < end) {
        uint64_t avail;
        const unsigned char *bytes = cf_mem_span(m->mem, addr, &avail);
        if (bytes == NULL || avail < m->word)
            return true;
        uint64_t step = end - addr;
        step = step < avail ? step : avail;
        step = step < DROP_BYTES ? step : DROP_BYTES;
        step = step < m->word ? m->word : cf_align_down(step, m->word);
        bool fine = m->word == 8 ? scan_words(m, bytes, addr, step, 8)
                                 : scan_words(m, bytes, addr, step, 4);
        if (!fine)
            return false;
        cf_mem_drop(m->mem, addr, addr + step);
        addr += step;
    }
    return true;
}
