/*
 * big CHUNKS [THREADS [random]]: a heap of exactly CHUNKS chunks of 91 bytes on average, in the
 * main arena and in those of THREADS - 1 more threads (4 threads unless told), then abort(). For
 * `make bench`. With `random` sizes are any from 32 to 304 bytes alike.
 *
 * Sizes are mixed as in real heaps, with a large one now and then: every third chunk is free, but
 * no two neighbours are, so that none are joined. Each live chunk points to the next one and to one
 * that was made at any time before, and a global holds the first: all that is live can be reached.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64, REMEMBERED = 1 << 16, SORT_EVERY = 4096, LARGE_EVERY = 49152 };

struct node {
    struct node *next;
    struct node *other;
    uint64_t value;
};

struct part {
    pthread_t id;
    uint64_t nr_chunks;
    struct node *first; /* what holds the part's live chunks */
};

static struct part parts[MAX_THREADS];
static pthread_barrier_t all_done;

/* Sixteen chunk sizes with a mean of 91, less the header word that malloc adds; now and then one
 * that will be free, and is larger than a page. */
static size_t request_size(uint64_t i, uint32_t random) {
    static const uint16_t chunk_bytes[16] = {32, 32, 32, 48, 48,  48,  64,  64,
                                             64, 80, 80, 96, 112, 128, 176, 352};
    if (i % LARGE_EVERY == 1)
        return 4096 + random % 32768;
    return chunk_bytes[random % 16] - 8;
}

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static bool any_size;

static size_t any_request(uint32_t random) {
    return 24 + random % 272;
}

static bool is_temporary(uint64_t i) {
    return i % 3 == 1;
}

static void make_chunks(struct part *part) {
    struct node **remembered = calloc(REMEMBERED, sizeof *remembered);
    uint32_t random = 1 + (uint32_t)(part - parts);
    struct node **tail = &part->first;
    for (uint64_t i = 0; i < part->nr_chunks; i++) {
        uint32_t any = next_random(&random) >> 8;
        struct node *node = malloc(any_size ? any_request(any) : request_size(i, any));
        if (!node || !remembered)
            _exit(1);
        *node = (struct node){.other = remembered[random % REMEMBERED], .value = i};
        if (!is_temporary(i))
            remembered[(random >> 4) % REMEMBERED] = node;
        *tail = node;
        tail = &node->next;
    }
    free(remembered);
}

/* Volatile, or the compiler leaves the pair of calls out. */
static void *large_request(void) {
    static size_t volatile bytes = 2000;
    void *volatile large = malloc(bytes);
    return large;
}

/* A large request now and then makes malloc sort what was freed into its bins. */
static void free_temporary(struct part *part) {
    uint64_t freed = 0;
    for (struct node **at = &part->first; *at;) {
        struct node *node = *at;
        if (!is_temporary(node->value)) {
            at = &node->next;
            continue;
        }
        *at = node->next;
        free(node);
        if (++freed % SORT_EVERY == 0)
            free(large_request());
    }
}

static void *work(void *arg) {
    make_chunks(arg);
    free_temporary(arg);
    pthread_barrier_wait(&all_done);
    if (arg != parts)
        pause();
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t chunks = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
    any_size = argc > 3 && strcmp(argv[3], "random") == 0;
    if (!chunks || !threads || threads > MAX_THREADS || (argc > 3 && !any_size)) {
        fprintf(stderr, "usage: big CHUNKS [THREADS [random]]\n");
        return 2;
    }
    mallopt(M_MXFAST, 0); /* free chunks go to bins, not to fastbins of millions */
    pthread_barrier_init(&all_done, NULL, (unsigned)threads);
    for (unsigned long i = 0; i < threads; i++)
        parts[i].nr_chunks = chunks / threads + (i < chunks % threads);
    for (unsigned long i = 1; i < threads; i++) {
        if (pthread_create(&parts[i].id, NULL, work, &parts[i]))
            return 1;
    }
    work(&parts[0]);
    abort();
}
