/*
 * A service that forgets to end its logging contexts: each request leaves one behind, in a table
 * that a global holds. The same program at two points of its life: what differs is what grew.
 *
 * A context is a C object, known by its table of functions; its text is a chunk of its own. Plain
 * sessions, which come and go, keep their number.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "truth.h"

enum { BUCKETS = 4096, SESSIONS = 2000, EARLY = 40000, LATER = 120000, CONTEXT_BYTES = 384 };

struct log_context;

struct log_context_ops {
    int (*write)(struct log_context *context, const char *line);
    void (*flush)(struct log_context *context);
};

struct log_context {
    const struct log_context_ops *ops;
    struct log_context *next;
    char *name;
    uint64_t serial;
    unsigned char buffer[CONTEXT_BYTES - 32];
};

static int file_log_write(struct log_context *context, const char *line) {
    return context->buffer[0] + line[0];
}

static void file_log_flush(struct log_context *context) {
    context->buffer[0] = 0;
}

const struct log_context_ops file_log_ops = {file_log_write, file_log_flush};

/* What should have been emptied at the end of each request. */
struct log_context **log_registry;
void *sessions[SESSIONS];

static void begin_context(uint64_t serial) {
    struct log_context *context = truth_new(sizeof *context);
    memset(context, 0, sizeof *context);
    memset(context->buffer, 0x80 | (int)(serial & 0x7f), sizeof context->buffer);
    context->ops = &file_log_ops;
    context->serial = serial;
    context->name = truth_new(48);
    snprintf(context->name, 48, "request-%llu-secret", (unsigned long long)serial);
    context->next = log_registry[serial % BUCKETS];
    log_registry[serial % BUCKETS] = context;
    truth_mark(context, TRUTH_HELD);
    truth_mark(context->name, TRUTH_HELD);
}

/* A session is replaced every so often, and is no more than its size. */
static void serve(uint64_t serial) {
    size_t at = serial % SESSIONS;
    if (sessions[at] != NULL)
        truth_drop(sessions[at]);
    sessions[at] = truth_new(200);
    memset(sessions[at], 0xff, 200);
    begin_context(serial);
}

static void run_requests(uint64_t requests) {
    char count[24];
    log_registry = truth_new(BUCKETS * sizeof *log_registry);
    memset(log_registry, 0, BUCKETS * sizeof *log_registry);
    for (uint64_t i = 0; i < requests; i++)
        serve(i);
    snprintf(count, sizeof count, "%llu", (unsigned long long)requests);
    truth_expect("contexts", count);
}

static void run_early(void) {
    run_requests(EARLY);
}

static void run_later(void) {
    truth_expect("verdict", "retention");
    run_requests(LATER);
}

const struct truth_scenario truth_growth[] = {
    {"contexts", "a service that piles up logging contexts, early", NULL, run_early},
    {"contexts-later", "the same service, three times as many requests later", NULL, run_later},
    {NULL, NULL, NULL, NULL},
};
