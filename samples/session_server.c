/*
 * The program behind the sample core: a server that keeps a connection's session after the
 * connection is gone.
 *
 * Forty-eight threads serve connections. Each connection takes buffers for its messages (1 to
 * 9 KiB, malloc'ed on the thread that serves it) and a session of 64 bytes, which stays in
 * g_sessions so that the client may come back. Then load drops: every buffer is freed, and all
 * but five sessions a thread have timed out. What is left is 240 sessions, 15 KiB, between 50 MiB
 * of freed buffers that do not go back to the kernel by themselves.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 48, CONNECTIONS = 24, MESSAGES = 10, SESSIONS_KEPT = 5, STACK = 256 * 1024 };

struct session {
    uint64_t connection;
    uint64_t last_seen;
    char user[40];
};

struct connection {
    struct session *session;
    char *message[MESSAGES];
};

struct session *g_sessions[THREADS * CONNECTIONS];

static struct connection connections[THREADS][CONNECTIONS];
static sem_t turn[THREADS], done;

/* A repeatable size between 1 and 9 KiB. */
static size_t message_bytes(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return 1100 + (*state >> 8) % 8000;
}

static char *receive_message(uint64_t connection, uint32_t *state) {
    size_t bytes = message_bytes(state), used = 0;
    char *message = malloc(bytes);
    if (!message)
        abort();
    while (used + 80 < bytes)
        used += (size_t)sprintf(message + used, "{\"connection\":%llu,\"price\":\"EURUSD\"}\n",
                                (unsigned long long)connection % 100);
    memset(message + used, ' ', bytes - used);
    return message;
}

static struct session *open_session(uint64_t connection) {
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        abort();
    session->connection = connection;
    snprintf(session->user, sizeof session->user, "user-%llu", (unsigned long long)connection);
    g_sessions[connection] = session;
    return session;
}

static void serve(unsigned thread) {
    uint32_t state = thread;
    for (unsigned c = 0; c < CONNECTIONS; c++) {
        struct connection *connection = &connections[thread][c];
        uint64_t id = thread * CONNECTIONS + c;
        for (unsigned m = 0; m < MESSAGES; m++)
            connection->message[m] = receive_message(id, &state);
        connection->session = open_session(id);
    }
}

static void time_out(unsigned thread) {
    for (unsigned c = 0; c < CONNECTIONS; c++) {
        if (c * SESSIONS_KEPT % CONNECTIONS < SESSIONS_KEPT)
            continue;
        free(connections[thread][c].session);
        g_sessions[thread * CONNECTIONS + c] = NULL;
    }
}

static void close_connections(unsigned thread) {
    for (unsigned c = 0; c < CONNECTIONS; c++) {
        for (unsigned m = 0; m < MESSAGES; m++)
            free(connections[thread][c].message[m]);
    }
    memset(connections[thread], 0, sizeof connections[thread]);
}

/* Threads take turns, so that the core is the same every time. */
static void *run(void *arg) {
    unsigned thread = (unsigned)(uintptr_t)arg;
    static void (*const part[])(unsigned) = {serve, time_out, close_connections};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        sem_wait(&turn[thread]);
        part[i](thread);
        sem_post(&done);
    }
    pause();
    return NULL;
}

int main(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    sem_init(&done, 0, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t id;
        sem_init(&turn[i], 0, 0);
        if (pthread_create(&id, &attr, run, (void *)(uintptr_t)i))
            return 1;
    }
    for (unsigned part = 0; part < 3; part++) {
        for (unsigned i = 0; i < THREADS; i++) {
            sem_post(&turn[i]);
            sem_wait(&done);
        }
    }
    abort();
}
