#include "analysis/parents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

enum {
    WORDS_PER_BLOCK = 4,       /* of the start plane, for each sum */
    DROP_EACH = 1 << 20,       /* writes between two hints that the pages may go */
};

static const uint32_t ROOT = 1u << 31, NUMBERS_MAX = (1u << 31) - 2;

struct cf_parents {
    const struct cf_resolver *resolver;
    uint32_t *sums;    /* starts before each block of the plane */
    size_t nr_blocks;
    size_t nr_starts;
    size_t nr_chunks;  /* with the mmapped ones */
    uint32_t *map;     /* 0: nothing; 1 + rank; ROOT | root */
    size_t map_bytes;
    uint32_t writes;
};

/* Without the processor's own instruction, which not every x86_64 has, the compiler would call a
 * function of its library. */
static inline size_t count_bits(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555ull;
    bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (size_t)(bits * 0x0101010101010101ull >> 56);
}

static int count_starts(struct cf_parents *parents, struct cf_err *err) {
    const struct cf_planes *planes = parents->resolver->planes;
    parents->nr_blocks = planes->nr_words / WORDS_PER_BLOCK + 1;
    parents->sums = calloc(parents->nr_blocks + 1, sizeof *parents->sums);
    if (parents->sums == NULL)
        return cf_err_nomem(err, parents->nr_blocks * sizeof *parents->sums, "ranks of chunks");
    uint64_t sum = 0;
    for (size_t word = 0; word < planes->nr_words; word++) {
        if (word % WORDS_PER_BLOCK == 0)
            parents->sums[word / WORDS_PER_BLOCK] = (uint32_t)sum;
        sum += count_bits(planes->starts[word]);
        if (sum > NUMBERS_MAX)
            return cf_err_set(err, CF_EUSAGE, "more chunks than can be ranked");
    }
    for (size_t block = (planes->nr_words + WORDS_PER_BLOCK - 1) / WORDS_PER_BLOCK;
         block <= parents->nr_blocks; block++)
        parents->sums[block] = (uint32_t)sum;
    parents->nr_starts = (size_t)sum;
    parents->nr_chunks = (size_t)sum + cf_chunkmap_nr_mmapped(parents->resolver->map);
    return CF_OK;
}

static size_t rank_of(const struct cf_parents *parents, size_t number) {
    size_t nr_units = cf_chunkmap_nr_units(parents->resolver->map);
    if (number >= nr_units)
        return parents->nr_starts + (number - nr_units) / 2;
    const uint64_t *starts = parents->resolver->planes->starts;
    size_t word = number >> 6, block = word / WORDS_PER_BLOCK;
    size_t rank = parents->sums[block];
    for (size_t i = block * WORDS_PER_BLOCK; i < word; i++)
        rank += count_bits(starts[i]);
    uint64_t below = (number & 63) == 0 ? 0 : starts[word] & ~0ull >> (64 - (number & 63));
    return rank + count_bits(below);
}

static size_t number_of(const struct cf_parents *parents, size_t rank) {
    if (rank >= parents->nr_starts)
        return cf_chunkmap_nr_units(parents->resolver->map) + 2 * (rank - parents->nr_starts);
    size_t low = 0, high = parents->nr_blocks;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (parents->sums[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    const uint64_t *starts = parents->resolver->planes->starts;
    size_t left = rank - parents->sums[low], word = low * WORDS_PER_BLOCK;
    for (;; word++) {
        size_t here = count_bits(starts[word]);
        if (left < here)
            break;
        left -= here;
    }
    uint64_t bits = starts[word];
    while (left-- > 0)
        bits &= bits - 1;
    return (word << 6) + (size_t)__builtin_ctzll(bits);
}

/* A file that nobody else can open and that is gone with its last user. */
static int open_nameless(struct cf_err *err) {
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0)
        return fd;
    CF_CLEANUP_FREE char *name = NULL;
    if (asprintf(&name, "%s/corefrag-XXXXXX", folder) < 0) {
        name = NULL;
        (void)cf_err_nomem(err, 64, "the name of a temporary file");
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        (void)cf_err_errno(err, CF_EOUTPUT, errno, "%s: no temporary file can be made", folder);
    else
        (void)unlink(name);
    return fd;
}

/* Room is reserved first: a full disk must be an error, not a signal. */
static int map_file(struct cf_parents *parents, struct cf_err *err) {
    CF_CLEANUP_CLOSE int fd = open_nameless(err);
    if (fd < 0)
        return CF_EOUTPUT;
    parents->map_bytes = (parents->nr_chunks + 1) * sizeof *parents->map;
    int code = posix_fallocate(fd, 0, (off_t)parents->map_bytes);
    if (code != 0)
        return cf_err_errno(err, CF_EOUTPUT, code, "%zu bytes of temporary file (TMPDIR)",
                            parents->map_bytes);
    void *map = mmap(NULL, parents->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return cf_err_errno(err, CF_ENOMEM, errno, "%zu bytes of temporary file",
                            parents->map_bytes);
    parents->map = map;
    return CF_OK;
}

int cf_parents_new(const struct cf_resolver *resolver, size_t nr_roots, struct cf_parents **out,
                   struct cf_err *err) {
    if (nr_roots > NUMBERS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more roots than can be numbered");
    struct cf_parents *parents = calloc(1, sizeof *parents);
    if (parents == NULL)
        return cf_err_nomem(err, sizeof *parents, "the ways to chunks");
    parents->resolver = resolver;
    int status = count_starts(parents, err);
    if (status == CF_OK)
        status = map_file(parents, err);
    if (status != CF_OK) {
        cf_parents_free(parents);
        return status;
    }
    *out = parents;
    return CF_OK;
}

void cf_parents_free(struct cf_parents *parents) {
    if (parents == NULL)
        return;
    if (parents->map != NULL)
        (void)munmap(parents->map, parents->map_bytes);
    free(parents->sums);
    free(parents);
}

/* What is written stays in the file; only our view of its pages goes. */
static void set(struct cf_parents *parents, size_t number, uint32_t value) {
    parents->map[rank_of(parents, number)] = value;
    if (++parents->writes % DROP_EACH == 0)
        (void)madvise(parents->map, parents->map_bytes, MADV_DONTNEED);
}

void cf_parents_set_chunk(struct cf_parents *parents, size_t number, size_t from) {
    set(parents, number, (uint32_t)rank_of(parents, from) + 1);
}

void cf_parents_set_root(struct cf_parents *parents, size_t number, size_t root) {
    set(parents, number, ROOT | (uint32_t)root);
}

bool cf_parents_get(const struct cf_parents *parents, size_t number, size_t *root, size_t *from) {
    uint32_t value = parents->map[rank_of(parents, number)];
    if (value == 0)
        return false;
    *root = value & ROOT ? value & ~ROOT : SIZE_MAX;
    *from = value & ROOT ? CF_NO_CHUNK : number_of(parents, value - 1);
    return true;
}
