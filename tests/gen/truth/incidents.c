/* Whole incidents, as a review sees them, each with the verdict that it must get. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"
#include "table.h"

/* ---- a server whose connections come and go on forty-eight threads ---- */

enum { THREADS = 48, SESSIONS = 24, BUFFERS = 10 };

struct connection {
    void *session; /* 64 bytes that may outlive the buffers */
    void *buffer[BUFFERS];
};

static struct connection connections[THREADS][SESSIONS];
static unsigned sessions_kept; /* a thread */

enum phase { CONNECT, DROP_BUFFERS, DROP_SESSIONS };

static void serve(unsigned thread, unsigned phase) {
    struct connection *mine = connections[thread];
    shape_seed(thread + 1);
    for (unsigned i = 0; i < SESSIONS; i++) {
        if (phase == CONNECT)
            shape_fill(mine[i].buffer, BUFFERS, 1100, 9000);
        if (phase == CONNECT)
            shape_put(&mine[i].session, 64);
        if (phase == DROP_BUFFERS)
            shape_thin(mine[i].buffer, BUFFERS, 0);
        if (phase == DROP_SESSIONS && i * sessions_kept % SESSIONS >= sessions_kept)
            shape_clear(&mine[i].session);
    }
}

static void run_server(unsigned kept) {
    sessions_kept = kept;
    truth_threads(THREADS, serve);
    truth_phase(CONNECT);
    truth_phase(DROP_SESSIONS);
    truth_phase(DROP_BUFFERS);
}

static void run_server_few(void) {
    truth_expect("verdict", "not-returned");
    run_server(5);
}

static void run_server_all(void) {
    run_server(0);
}

static void run_server_kept(void) {
    truth_expect("verdict", "not-returned");
    run_server(SESSIONS);
}

/* The same after malloc_trim(0): what is left is the pages that survivors stand on. */
static void run_server_trimmed(void) {
    truth_expect("verdict", "healthy");
    truth_expect("verdict_not", "not-returned");
    run_server(5);
    malloc_trim(0);
}

/* ---- a batch: large buffers and small nodes, and one block that went on top ---- */

enum { BATCH = 48, NODES = 40 };

static void *batch[BATCH], *nodes[BATCH][NODES], *on_top;

static void run_batch(void) {
    truth_expect("verdict", "not-returned");
    free(malloc(4 << 20)); /* the mmap threshold follows, and the trim threshold twice that */
    for (size_t i = 0; i < BATCH; i++) {
        shape_put(&batch[i], shape_size(4096, 3 << 20));
        shape_fill(nodes[i], NODES, 24, 200);
    }
    shape_put(&on_top, 3 << 20);
    for (size_t i = 0; i < BATCH; i++) {
        shape_thin(nodes[i], NODES, 0);
        shape_clear(&batch[i]);
    }
}

/* ---- forty threads that did something once ---- */

enum { IDLE_THREADS = 40 };

static void *idle[IDLE_THREADS];

static void work_once(unsigned thread, unsigned phase) {
    if (phase == 0) {
        void *buffer = NULL;
        shape_put(&buffer, 100000);
        shape_clear(&buffer);
    }
    shape_put(&idle[thread], 100);
}

static void run_idle(void) {
    truth_expect("verdict", "arena-blowup");
    truth_threads(IDLE_THREADS, work_once);
    truth_phase(0);
}

/* A near miss: the same work by four threads. */
static void run_idle_few(void) {
    truth_expect("verdict_not", "arena-blowup");
    truth_threads(4, work_once);
    truth_phase(0);
}

/* ---- memory that is simply in use ---- */

static void *in_use[20000];

static void run_working_set(void) {
    truth_expect("verdict", "in-use");
    shape_fill(in_use, 20000, 64, 8000);
    shape_thin(in_use + 15000, 5000, 2);
}

const struct truth_scenario truth_incidents[] = {
    {"server-few", "48 threads, all freed but 240 sessions", "MALLOC_ARENA_MAX=64", run_server_few},
    {"server-all", "48 threads, everything freed", "MALLOC_ARENA_MAX=64", run_server_all},
    {"server-kept", "48 threads, the sessions kept", "MALLOC_ARENA_MAX=64", run_server_kept},
    {"server-trimmed", "server-few after a trim", "MALLOC_ARENA_MAX=64", run_server_trimmed},
    {"batch", "a batch freed but for the block on top", NULL, run_batch},
    {"idle", "forty nearly empty arenas", "MALLOC_ARENA_MAX=64", run_idle},
    {"idle-few", "four nearly empty arenas", "MALLOC_ARENA_MAX=64", run_idle_few},
    {"working-set", "live memory", NULL, run_working_set},
    {0},
};
