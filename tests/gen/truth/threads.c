/* Threads that take turns: every run of a scenario makes the same heap. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "table.h"

enum { MAX_THREADS = 256, STACK_BYTES = 256 * 1024, LEAVE = ~0u };

struct worker {
    pthread_t id;
    sem_t turn;
};

static struct worker workers[MAX_THREADS];
static unsigned nr_workers;
static unsigned current_phase;
static sem_t done;
static void (*work)(unsigned thread, unsigned phase);

static void *worker_main(void *arg) {
    struct worker *me = arg;
    for (;;) {
        while (sem_wait(&me->turn))
            continue;
        if (current_phase == (unsigned)LEAVE)
            return NULL;
        work((unsigned)(me - workers), current_phase);
        sem_post(&done);
    }
}

void truth_threads(unsigned nr, void (*fn)(unsigned, unsigned)) {
    if (nr > MAX_THREADS)
        table_die("too many threads");
    work = fn;
    sem_init(&done, 0, 0);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (nr_workers = 0; nr_workers < nr; nr_workers++) {
        struct worker *worker = &workers[nr_workers];
        sem_init(&worker->turn, 0, 0);
        if (pthread_create(&worker->id, &attr, worker_main, worker))
            table_die("no more threads");
    }
    pthread_attr_destroy(&attr);
}

unsigned threads_started(void) {
    return nr_workers;
}

void truth_phase(unsigned phase) {
    current_phase = phase;
    for (unsigned i = 0; i < nr_workers; i++) {
        if (!workers[i].id)
            continue;
        sem_post(&workers[i].turn);
        while (sem_wait(&done))
            continue;
    }
}

void truth_leave(unsigned i) {
    current_phase = LEAVE;
    sem_post(&workers[i].turn);
    pthread_join(workers[i].id, NULL);
    workers[i].id = 0;
}
