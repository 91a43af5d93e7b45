/*
 * tables: objects of C known by their tables of functions, and of Rust's manner known by those who
 * hold them; prints "ready" and waits to be killed.
 *
 *     what         how many  known by
 *     connection       4000  a table in the first word; a hash table of lists holds them
 *     job              3000  a table behind the links of a ring
 *     session          5000  pairs of words in an array: the object and its table, which begins
 *                            with a drop function, the size and the alignment
 *     note             2000  a text
 *     plain            1500  nothing but its size; a table of pointers holds them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECTIONS = 4000,
    JOBS = 3000,
    SESSIONS = 5000,
    NOTES = 2000,
    PLAINS = 1500,
    BUCKETS = 512,
    PLAIN_BYTES = 712,
};

struct connection {
    const struct connection_ops *ops;
    struct connection *next;
    int fd;
    unsigned char state[100];
};

struct connection_ops {
    int (*read)(struct connection *connection);
    int (*write)(struct connection *connection);
};

struct job {
    struct job *next;
    struct job *previous;
    const struct job_ops *ops;
    unsigned char arguments[56];
};

struct job_ops {
    void (*run)(struct job *job);
    void (*cancel)(struct job *job);
};

struct session {
    unsigned long id;
    unsigned long counters[28];
};

struct trait {
    void (*drop)(struct session *session);
    size_t bytes;
    size_t align;
    unsigned long (*run)(struct session *session);
};

struct boxed {
    struct session *data;
    const struct trait *table;
};

static int tcp_read(struct connection *connection) {
    return connection->fd;
}

static int tcp_write(struct connection *connection) {
    return connection->state[0];
}

static void run_job(struct job *job) {
    job->arguments[0] = 1;
}

static void cancel_job(struct job *job) {
    job->arguments[0] = 0;
}

static void drop_session(struct session *session) {
    session->id = 0;
}

static unsigned long run_session(struct session *session) {
    return session->counters[0];
}

const struct connection_ops tcp_ops = {tcp_read, tcp_write};
const struct job_ops mail_job_ops = {run_job, cancel_job};
const struct trait session_table = {drop_session, sizeof(struct session),
                                    _Alignof(struct session), run_session};

struct connection *connections[BUCKETS];
struct job *jobs;
struct boxed *sessions;
char *notes[NOTES];
void *plains[PLAINS];

/* Nothing else may look like a pointer, a text or a table. */
static void *take(size_t bytes) {
    void *p = malloc(bytes);
    if (p == NULL)
        exit(99);
    return memset(p, 0xfe, bytes);
}

static void make_connections(void) {
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *c = take(sizeof *c);
        c->ops = &tcp_ops;
        c->next = connections[i % BUCKETS];
        connections[i % BUCKETS] = c;
    }
}

static void make_jobs(void) {
    for (int i = 0; i < JOBS; i++) {
        struct job *job = take(sizeof *job);
        job->ops = &mail_job_ops;
        job->next = jobs != NULL ? jobs : job;
        job->previous = jobs != NULL ? jobs->previous : job;
        job->next->previous = job->previous->next = job;
        jobs = job;
    }
}

static void make_sessions(void) {
    sessions = take(SESSIONS * sizeof *sessions);
    for (int i = 0; i < SESSIONS; i++)
        sessions[i] = (struct boxed){take(sizeof(struct session)), &session_table};
}

int main(void) {
    make_connections();
    make_jobs();
    make_sessions();
    for (int i = 0; i < NOTES; i++) {
        notes[i] = take(40);
        snprintf(notes[i], 40, "note number %d, to be read later", i);
    }
    for (int i = 0; i < PLAINS; i++)
        plains[i] = take(PLAIN_BYTES);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
