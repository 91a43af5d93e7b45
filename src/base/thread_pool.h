/*
 * A few threads that share out numbered jobs. Jobs are taken in the order of their numbers, each by
 * whoever is free, so a job may rest on nothing that another one does; what is to be the same
 * whatever the number of threads is put together afterwards, in the jobs' order.
 */
#ifndef CF_BASE_THREAD_POOL_H
#define CF_BASE_THREAD_POOL_H

#include <stddef.h>

enum { CF_THREAD_POOL_MOST = 16 };

/* `wanted`, or as many as there are processors for us where it is 0; at most
 * CF_THREAD_POOL_MOST. */
unsigned cf_thread_pool_size(unsigned wanted);

/* Calls job(user, 0) ... job(user, nr_jobs - 1) and returns when all have. Where threads cannot
 * be had, the caller's own does it all. */
void cf_thread_pool_run(unsigned nr_threads, size_t nr_jobs, void (*job)(void *user, size_t index),
                        void *user);

#endif
