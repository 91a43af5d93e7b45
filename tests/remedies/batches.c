/*
 * Batches of documents: THREADS threads read MIB of buffers of LEAST to MOST KiB together, with
 * small nodes for each, and free all of it but KEEP nodes each of the last batch, which go into an
 * index and stand high in their arenas. Says "ready" and waits.
 *
 *     batches MIB THREADS KEEP LEAST MOST BATCHES
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
    struct node *next;
    char text[72];
};

struct document {
    struct document *next;
    char *buffer;
    struct node *nodes;
};

struct node *g_index;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static size_t bytes_each, least, most;
static int keep, batches;

static uint32_t roll(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* As many between any size and twice that. */
static size_t roll_size(uint32_t *state) {
    uint32_t doublings = 1;
    while (least << doublings < most)
        doublings++;
    size_t bytes = least << roll(state) % doublings;
    return bytes + roll(state) % bytes;
}

static struct document *read_document(uint32_t *state, size_t *got) {
    struct document *document = calloc(1, sizeof *document);
    size_t bytes = roll_size(state);
    document->buffer = malloc(bytes);
    memset(document->buffer, 'd', bytes);
    for (int i = 0; i < 20; i++) {
        struct node *node = malloc(sizeof *node);
        memset(node->text, 'n', sizeof node->text);
        node->next = document->nodes;
        document->nodes = node;
    }
    *got += bytes;
    return document;
}

static void drop(struct document *document, int *kept) {
    free(document->buffer);
    for (struct node *node = document->nodes, *next; node != NULL; node = next) {
        next = node->next;
        if (*kept == 0) {
            free(node);
            continue;
        }
        --*kept;
        pthread_mutex_lock(&lock);
        node->next = g_index;
        g_index = node;
        pthread_mutex_unlock(&lock);
    }
    free(document);
}

static void run_batch(uint32_t seed, int kept) {
    struct document *first = NULL;
    for (size_t got = 0; got < bytes_each;) {
        struct document *document = read_document(&seed, &got);
        document->next = first;
        first = document;
    }
    pthread_barrier_wait(&barrier);
    for (struct document *next; first != NULL; first = next) {
        next = first->next;
        drop(first, &kept);
    }
}

static void *work(void *argument) {
    uint32_t worker = (uint32_t)(uintptr_t)argument;
    for (int i = 0; i < batches; i++)
        run_batch(worker * 7919 + (uint32_t)i * 31 + 1, i + 1 == batches ? keep : 0);
    pthread_barrier_wait(&barrier);
    while (worker != 0)
        pause();
    return NULL;
}

/* What the advice names: all that g_index holds. */
void remedy_free_group(void);
void remedy_free_group(void) {
    while (g_index != NULL) {
        struct node *node = g_index;
        g_index = node->next;
        free(node);
    }
}

int main(int argc, char **argv) {
    if (argc != 7)
        return 2;
    int threads = atoi(argv[2]);
    keep = atoi(argv[3]);
    bytes_each = strtoul(argv[1], NULL, 10) * 1048576 / (size_t)threads;
    least = strtoul(argv[4], NULL, 10) * 1024;
    most = strtoul(argv[5], NULL, 10) * 1024;
    batches = atoi(argv[6]);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (uintptr_t i = 1; i < (uintptr_t)threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)i);
    }
    work(NULL);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
