/*
 * Threads take the next number off one counter until there is none. The caller's own thread works
 * along, so that nothing depends on whether others could be had.
 */
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct pool {
    void (*job)(void *user, size_t index);
    void *user;
    size_t nr_jobs;
    atomic_size_t next;
};

unsigned cf_thread_pool_size(unsigned wanted) {
    cpu_set_t set;
    if (wanted == 0)
        wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    return wanted > CF_THREAD_POOL_MOST ? CF_THREAD_POOL_MOST : wanted;
}

static void *work(void *argument) {
    struct pool *pool = argument;
    size_t index;
    while ((index = atomic_fetch_add(&pool->next, 1)) < pool->nr_jobs)
        pool->job(pool->user, index);
    return NULL;
}

void cf_thread_pool_run(unsigned nr_threads, size_t nr_jobs, void (*job)(void *user, size_t index),
                        void *user) {
    struct pool pool = {.job = job, .user = user, .nr_jobs = nr_jobs};
    pthread_t threads[CF_THREAD_POOL_MOST];
    unsigned size = cf_thread_pool_size(nr_threads), started = 0;
    while (started + 1 < size && started + 1 < nr_jobs &&
           pthread_create(&threads[started], NULL, work, &pool) == 0)
        started++;
    (void)work(&pool);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}
