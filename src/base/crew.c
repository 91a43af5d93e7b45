#include "base/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct crew {
    void (*job)(void *user, size_t index);
    void *user;
    size_t nr_jobs;
    atomic_size_t next;
};

unsigned cf_crew_size(unsigned wanted) {
    cpu_set_t set;
    if (wanted == 0)
        wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    return wanted > CF_CREW_MOST ? CF_CREW_MOST : wanted;
}

static void *work(void *argument) {
    struct crew *crew = argument;
    size_t index;
    while ((index = atomic_fetch_add(&crew->next, 1)) < crew->nr_jobs)
        crew->job(crew->user, index);
    return NULL;
}

void cf_crew_run(unsigned nr_threads, size_t nr_jobs, void (*job)(void *user, size_t index),
                 void *user) {
    struct crew crew = {.job = job, .user = user, .nr_jobs = nr_jobs};
    pthread_t threads[CF_CREW_MOST];
    unsigned size = cf_crew_size(nr_threads), started = 0;
    while (started + 1 < size && started + 1 < nr_jobs &&
           pthread_create(&threads[started], NULL, work, &crew) == 0)
        started++;
    (void)work(&crew);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}
