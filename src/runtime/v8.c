/*
 * V8's heap, by the header of its pages (MemoryChunk). A page stands at a multiple of 256 KiB and
 * begins with its own size; further down it keeps the reservation that it lies in:
 *
 *     size | flags | heap | area ... | reservation: own address | size | ...
 *
 * Which word the reservation is differs between releases (10 in V8 11), so any of the first ones
 * counts: two words that repeat the page's address and its first word are no accident.
 */
#include <stddef.h>
#include <string.h>

#include "runtime/managed.h"
#include "space/unclaimed.h"
#include "base/checked.h"
#include "base/path.h"

#define PAGE_ALIGNMENT 0x40000u
enum { HEADER_WORDS = 32 };

static bool read_page(const struct cf_mem *mem, uint64_t addr, uint64_t *size) {
    uint64_t first, words[2];
    unsigned word = cf_mem_word_bytes(mem);
    if (!cf_mem_word(mem, addr, &first) || first < 0x1000 || first > (1ull << 40) ||
        first % 0x1000 != 0)
        return false;
    for (unsigned i = 1; i < HEADER_WORDS; i++) {
        if (!cf_mem_word(mem, addr + (uint64_t)i * word, &words[0]) || words[0] != addr)
            continue;
        if (cf_mem_word(mem, addr + (uint64_t)(i + 1) * word, &words[1]) && words[1] == first) {
            *size = first;
            return true;
        }
    }
    return false;
}

static const char *name(const struct cf_modules *modules) {
    const struct cf_module *exe = cf_modules_find_exe(modules);
    if (exe == NULL)
        return "V8 heap";
    return strncmp(cf_base_name(exe->path), "node", 4) == 0 ? "V8 heap (node)" : "V8 heap";
}

static int claim_pages(const struct cf_managed *managed, const struct cf_piece *piece,
                       const char *label, struct cf_err *err) {
    uint64_t addr;
    if (!cf_align_up(piece->start, PAGE_ALIGNMENT, &addr))
        return CF_OK;
    while (addr < piece->end) {
        uint64_t size = 0;
        if (read_page(managed->mem, addr, &size)) {
            uint64_t end = addr + size;
            int status = cf_claims_add(managed->out, CF_CLAIM_MANAGED, addr, end, label, err);
            if (status == CF_OK)
                status = cf_unclaimed_take_reserve(managed->mem, managed->taken, end,
                                                   CF_CLAIM_MANAGED, label, managed->out, err);
            if (status != CF_OK)
                return status;
        }
        uint64_t step = size > PAGE_ALIGNMENT ? cf_align_down(size - 1, PAGE_ALIGNMENT) : 0;
        if (!cf_add_u64(addr, step + PAGE_ALIGNMENT, &addr))
            break;
    }
    cf_mem_drop(managed->mem, piece->start, piece->end);
    return CF_OK;
}

int cf_v8_claim(const struct cf_managed *managed, struct cf_err *err) {
    struct cf_unclaimed walk = cf_unclaimed_from(managed->mem, managed->taken, 0);
    struct cf_piece piece;
    while (cf_unclaimed_next(&walk, &piece)) {
        if (piece.flags == 0)
            continue;
        int status = claim_pages(managed, &piece, name(managed->modules), err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}
