/*
 * The process behind the fuzz seeds: a heap that is small and has everything: three arenas,
 * tcaches, fastbins, an unsorted, a small and a large bin, a mapping of its own, a top in each
 * arena. It ends with a core. To make a seed anew (the environment is in a core, so none):
 *
 *     cc -O1 -pthread -o /tmp/seed tests/fuzz/seed.c && cd /tmp && ulimit -c unlimited
 *     (echo 1 > /proc/self/coredump_filter; exec env -i /tmp/seed); zstd -19 core
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2, BLOCKS = 64, STACK_BYTES = 64 * 1024 };

static pthread_barrier_t everybody;

/* Frees half of each size, with a survivor between any two, so that little coalesces. */
static void fill(size_t seed) {
    void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t bytes = 24 + (i % 4) * 48 + (i % 8 == 7 ? 1500 + seed : 0);
        blocks[i] = malloc(bytes);
        if (blocks[i] != NULL)
            memset(blocks[i], 0, bytes);
    }
    for (size_t i = 0; i < BLOCKS; i += 2)
        free(blocks[i]);
    for (size_t i = 7; i < BLOCKS; i += 16)
        free(blocks[i]);
    free(malloc(3000)); /* sorts the unsorted chunks into their bins */
    free(blocks[3]);
}

static void *work(void *argument) {
    fill((size_t)argument);
    pthread_barrier_wait(&everybody);
    pause();
    return NULL;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_barrier_init(&everybody, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, &attributes, work, (void *)(i + 1));
    }
    fill(0);
    char *mapped = malloc(200 * 1024);
    if (mapped != NULL)
        memset(mapped, 1, 4096);
    pthread_barrier_wait(&everybody);
    abort();
}
