/*
 * Go's heap. A Go program says so itself: its writable data begins with the build information
 * ("\xff Go buildinf:"). Its heap grows from fixed hints, in arenas of 64 MiB: 0xc000000000 on
 * x86_64, 0x4000000000 on aarch64, and the same with every multiple of 1 TiB added
 * (mallocinit, Go 1.11 and later). Whatever else is anonymous in a program without a libc is the
 * runtime's own.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "runtime/golang.h"
#include "runtime/runtimes.h"
#include "space/unclaimed.h"

#define TIB (1ull << 40)
enum { VERSION_AT = 32, VERSION_MAX = 64, NR_HINTS = 128 };

/*
 *     "\xff Go buildinf:" | pointer size | flags | 16 bytes | length, "go1.19.8" | ...
 *
 * Flag 2: the texts follow (1.18 and later); else the words behind the flags point to them.
 */
static bool read_version(const struct cf_mem *mem, uint64_t addr, char *out, size_t out_bytes) {
    static const char magic[] = "\xff Go buildinf:";
    unsigned char head[VERSION_AT + 1];
    char text[VERSION_MAX];
    if (!cf_mem_read(mem, addr, head, sizeof head) || memcmp(head, magic, sizeof magic - 1) != 0)
        return false;
    size_t bytes = head[VERSION_AT];
    bool inlined = (head[15] & 2) != 0 && bytes < sizeof text &&
                   cf_mem_read(mem, addr + VERSION_AT + 1, text, bytes);
    (void)snprintf(out, out_bytes, "%.*s", inlined ? (int)bytes : 2, inlined ? text : "go");
    return true;
}

bool cf_golang_version(const struct cf_mem *mem, const struct cf_modules *modules, char *out,
                       size_t out_bytes) {
    const struct cf_module *exe = cf_modules_find_exe(modules);
    if (exe == NULL)
        return false;
    for (size_t i = cf_mem_lower_bound(mem, exe->start); i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->start >= exe->end)
            return false;
        if ((region->flags & PF_W) == 0)
            continue;
        uint64_t bytes = region->end - region->start;
        /* At the front of the data; a linker of another language puts other sections first. */
        for (uint64_t at = 0; at < bytes && at < (1u << 20); at += 16)
            if (read_version(mem, region->start + at, out, out_bytes))
                return true;
    }
    return false;
}

/* The arenas of one hint grow upwards from it. Goroutines' stacks lie in them as well, so it does
 * not matter what else is claimed there. */
static int claim_arenas(const struct cf_managed *managed, const struct cf_claimant *who,
                        struct cf_err *err) {
    uint64_t first = cf_core_machine(cf_mem_core(managed->mem)) == CF_MACHINE_AARCH64
                         ? 0x4000000000u
                         : 0xc000000000u;
    uint64_t reached = 0;
    for (size_t i = 0; i < cf_mem_nr_regions(managed->mem); i++) {
        const struct cf_region *region = cf_mem_region(managed->mem, i);
        bool is_hint = region->start % TIB == first && region->start / TIB < NR_HINTS;
        if (region->kind != CF_REGION_ANONYMOUS || (!is_hint && region->start != reached))
            continue;
        reached = region->end;
        int status = cf_claims_add_for(managed->out, who, region->start, region->end, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

static bool recognises(const struct cf_mem *mem, const struct cf_modules *modules) {
    char version[VERSION_MAX];
    return cf_mem_word_bytes(mem) == 8 &&
           cf_golang_version(mem, modules, version, sizeof version);
}

static int claim(const struct cf_managed *managed, struct cf_err *err) {
    char version[VERSION_MAX] = "go", label[CF_CLAIM_LABEL_BYTES];
    (void)cf_golang_version(managed->mem, managed->modules, version, sizeof version);
    (void)snprintf(label, sizeof label, "Go heap (%s)", version);
    const struct cf_claimant heap = cf_managed_as(managed, CF_AREA_OBJECTS, label);
    const struct cf_claimant rest = cf_managed_as(managed, CF_AREA_OTHER, "Go runtime (guess)");
    int status = claim_arenas(managed, &heap, err);
    if (status != CF_OK || cf_modules_find_libc(managed->modules) != NULL)
        return status;
    return cf_unclaimed_take(managed->mem, managed->taken, 0, UINT64_MAX, &rest, managed->out,
                             err);
}

const struct cf_runtime cf_runtime_golang = {
    .name = "Go",
    .suffix = "",
    .advice = "Look at Go's heap first: GOGC steers it, and from Go 1.19 on GOMEMLIMIT; a heap "
              "profile (pprof) says what fills it",
    .trim = "C.malloc_trim(0) by cgo: the heap of malloc is that of C code",
    .recognises = recognises,
    .claim = claim,
};
