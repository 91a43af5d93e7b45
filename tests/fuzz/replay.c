/*
 * Replays a fuzz target's seeds in the ordinary test run, without a fuzzer: a cmocka program with
 * one test a seed. A test feeds the seed as it is, then cut short at several places, then with
 * bytes changed by a fixed pseudo-random sequence, so that each run does the same. How many
 * variants of each kind is for the target to say: one that is slow has few.
 *
 * build/FLAVOR/tests/fuzz/replay_X is linked with fuzz_X.c and reads build/seeds, into which make
 * unpacks tests/fuzz/seeds; files named as arguments are replayed instead (what a fuzzer found,
 * for example).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>

enum { SEEDS_MAX = 512, CHANGES_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A target that is slow defines this. */
extern const unsigned fuzz_variants __attribute__((weak));

static unsigned variants(void) {
    return &fuzz_variants == NULL ? 24 : fuzz_variants;
}

struct seed {
    char *path;
};

static uint8_t *read_file(const char *path, size_t *out_size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    uint8_t *data = malloc((size_t)size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)size, file), (size_t)size);
    (void)fclose(file);
    *out_size = (size_t)size;
    return data;
}

/* A copy of the right size, so that a read beyond the end is one beyond the allocation. */
static void feed(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + (size == 0));
    assert_non_null(copy);
    memcpy(copy, data, size);
    assert_int_equal(LLVMFuzzerTestOneInput(copy, size), 0);
    free(copy);
}

/* xorshift64: the same sequence everywhere. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void feed_changed(uint8_t *data, size_t size, uint64_t *random) {
    size_t places[CHANGES_MAX];
    uint8_t before[CHANGES_MAX];
    size_t changes = 1 + next_random(random) % CHANGES_MAX;
    for (size_t i = 0; i < changes; i++) {
        /* Half of the changes hit the headers, where a byte matters most. */
        size_t range = next_random(random) % 2 == 0 && size > 4096 ? 4096 : size;
        places[i] = next_random(random) % range;
        before[i] = data[places[i]];
        data[places[i]] = (uint8_t)next_random(random);
    }
    feed(data, size);
    for (size_t i = changes; i > 0; i--)
        data[places[i - 1]] = before[i - 1];
}

static void replay(void **state) {
    const struct seed *seed = *state;
    size_t size;
    uint8_t *data = read_file(seed->path, &size);
    feed(data, size);
    for (size_t i = 0; i < variants(); i++)
        feed(data, size * i / variants());
    uint64_t random = 88172645463325252ull;
    for (size_t i = 0; i < variants() && size > 0; i++)
        feed_changed(data, size, &random);
    free(data);
}

static void an_empty_input_is_survived(void **state) {
    (void)state;
    assert_int_equal(LLVMFuzzerTestOneInput((const uint8_t *)"", 0), 0);
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct seed *)a)->path, ((const struct seed *)b)->path);
}

static size_t list_seeds(const char *folder, struct seed *seeds) {
    DIR *dir = opendir(folder);
    size_t n = 0;
    for (struct dirent *entry; dir != NULL && n < SEEDS_MAX && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        if (asprintf(&seeds[n].path, "%s/%s", folder, entry->d_name) < 0)
            break;
        n++;
    }
    if (dir != NULL)
        (void)closedir(dir);
    qsort(seeds, n, sizeof *seeds, by_path);
    return n;
}

int main(int argc, char **argv) {
    static struct seed seeds[SEEDS_MAX];
    static struct CMUnitTest tests[SEEDS_MAX + 1];
    size_t n = 0;
    for (int i = 1; i < argc && n < SEEDS_MAX; i++)
        seeds[n++].path = strdup(argv[i]);
    if (argc < 2)
        n = list_seeds("build/seeds", seeds);
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){seeds[i].path, replay, NULL, NULL, &seeds[i]};
    tests[n] = (struct CMUnitTest){"an_empty_input_is_survived", an_empty_input_is_survived, NULL,
                                   NULL, NULL};
    int failures = _cmocka_run_group_tests(argv[0], tests, n + 1, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        free(seeds[i].path);
    return failures;
}
