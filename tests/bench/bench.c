/*
 * Measures corefrag against the tools that bound it, on this machine, in one go.
 *
 *     build/bench [CHUNKS] [ROUNDS]        5,000,000 chunks and 5 rounds are the defaults
 *
 * Seconds of one machine mean little on another; ratios hold. So every row runs a pair, ours and
 * the yardstick, one right after the other, ROUNDS times, and shows the median of the ratios. CPU
 * is user and system time of the process and its children, memory the largest resident set,
 * both as wait4() tells them. The core is made by build/gen/big, read once before the
 * first pair so that the page cache holds it, and removed at the end with everything else below
 * build/bench.d (set KEEP=1 to keep it).
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 25, COMMAND_MAX = 2048 };

#define FOLDER "build/bench.d"
#define CORE FOLDER "/core"
#define DB FOLDER "/ours.db"

struct sample {
    double cpu;
    double wall;
    double rss_mib;
    double anonymous_mib;
    int exit_status;
};

enum measure { CPU, WALL, RSS, ANONYMOUS, DB_BYTES };

/* One row: `ours` against `theirs` (ratio), or against a fixed limit where `theirs` is NULL. */
struct row {
    const char *what;
    enum measure measure;
    const char *ours;
    const char *theirs;
    double target; /* 0 for memory: see memory_target() */
};

/* $CHUNKS is the number of chunks. */
#define STOCK                                                                                     \
    "rm -f " FOLDER "/stock.db; exec sqlite3 " FOLDER "/stock.db \"CREATE TABLE t(a INTEGER "      \
    "PRIMARY KEY, size, state); INSERT INTO t SELECT value*96, 96, value%2 FROM "                 \
    "generate_series(1,$CHUNKS);\""
#define OURS(options) "exec build/corefrag analyze " CORE " -o " DB " --force" options
#define QUERY(sql) "exec sqlite3 " DB " \"" sql "\""
#define CAT "exec cat " CORE " > /dev/null"
#define CAT_CP "cat " CORE " > /dev/null; exec cp " DB " " FOLDER "/copy.db"

static const struct row rows[] = {
    {"analyze / sqlite3 inserting as many rows, CPU", CPU, OURS(""), STOCK, 1.0},
    {"analyze, anonymous memory, MiB", ANONYMOUS, OURS(""), NULL, 0},
    {"analyze, largest resident set, MiB", RSS, OURS(""), NULL, 0},
    {"analyze --no-reach, largest resident set, MiB", RSS, OURS(" --no-reach"), NULL, 0},
    {"analyze, bytes of the database a chunk", DB_BYTES, OURS(""), NULL, 16},
    {"report, wall", WALL, "exec build/corefrag report " DB " > /dev/null", NULL, 2.0},
    {"report --format html, wall", WALL,
     "exec build/corefrag report " DB " --format html > /dev/null", NULL, 2.0},
    {"SQL: the chunk at an address, CPU", CPU,
     QUERY("SELECT * FROM v_chunk WHERE address = (SELECT max(below_address) FROM v_hole)"), NULL,
     0.010},
    {"SQL: the twenty largest free chunks, CPU", CPU,
     QUERY("SELECT * FROM v_chunk WHERE state = 'free' AND size_bytes >= 4096 "
           "ORDER BY size_bytes DESC LIMIT 20"),
     NULL, 0.010},
    {"SQL: size classes, CPU", CPU,
     QUERY("SELECT state, sum(chunks), sum(bytes) FROM v_size_class GROUP BY state"), NULL, 0.010},
    {"analyze --no-reach / the same inserts, CPU", CPU, OURS(" --no-reach"), STOCK, 0.15},
    {"analyze --no-reach / cat CORE; cp DB, wall", WALL, OURS(" --no-reach"), CAT_CP, 3.0},
    {"walk alone (--chunks none --no-reach) / cat CORE, wall", WALL,
     OURS(" --no-reach --chunks none"), CAT, 1.0},
};

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* VmHWM counts the mapped core too; the anonymous part has no high-water mark, so it is watched. */
static double anonymous_mib(pid_t pid) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "r");
    if (status == NULL)
        return 0;
    char line[256];
    unsigned long long kib = 0;
    while (fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "RssAnon: %llu", &kib) == 1)
            break;
    (void)fclose(status);
    return (double)kib / 1024;
}

/* Waits for `pid`; looks at its memory every two milliseconds. */
static bool wait_watching(pid_t pid, int *status, struct rusage *usage, double *anonymous) {
    for (;;) {
        pid_t ended = wait4(pid, status, WNOHANG, usage);
        if (ended != 0)
            return ended == pid;
        double mib = anonymous_mib(pid);
        if (mib > *anonymous)
            *anonymous = mib;
        (void)usleep(2000);
    }
}

/* Runs `command` in a shell, stdout dropped unless `loud`; false when it could not be started. */
static bool run(const char *command, bool loud, struct sample *out) {
    double started = now();
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, 0);
        (void)dup2(loud ? 2 : null, 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status;
    struct rusage usage;
    out->anonymous_mib = 0;
    if (!wait_watching(pid, &status, &usage, &out->anonymous_mib))
        return false;
    out->wall = now() - started;
    out->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    out->rss_mib = (double)usage.ru_maxrss / 1024;
    out->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

/* Complains when the command fails. */
static bool run_row(const char *command, struct sample *out) {
    if (!run(command, false, out))
        return false;
    if (out->exit_status == 0)
        return true;
    fprintf(stderr, "exit status %d: %s\n", out->exit_status, command);
    return false;
}

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(const double *values, unsigned n) {
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    return n % 2 != 0 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double file_bytes(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

static double value_of(enum measure measure, const struct sample *sample,
                       unsigned long long chunks) {
    switch (measure) {
    case CPU:
        return sample->cpu;
    case WALL:
        return sample->wall;
    case RSS:
        return sample->rss_mib;
    case ANONYMOUS:
        return sample->anonymous_mib;
    case DB_BYTES:
        return file_bytes(DB) / (double)chunks;
    }
    return 0;
}

/* 3 % of the core and 32 MiB for ourselves, 64 MiB more with the pages of the core. */
static double memory_target(enum measure measure) {
    double own = 32 + 0.03 * file_bytes(CORE) / 1048576;
    return measure == RSS ? own + 64 : own;
}

static void print_row(const struct row *row, double ours, double theirs, double result) {
    double target = row->target > 0 ? row->target : memory_target(row->measure);
    const char *unit = row->measure == CPU || row->measure == WALL ? "s" : "";
    printf("%-55s %9.3f%-1s", row->what, ours, unit);
    if (row->theirs != NULL)
        printf(" %9.3f%-1s", theirs, unit);
    else
        printf(" %10s", "");
    printf(" %9.3f %8.2f  %s\n", result, target, result <= target ? "holds" : "MISSED");
    (void)fflush(stdout);
}

static bool measure_row(const struct row *row, unsigned long long chunks, unsigned rounds) {
    double ours[ROUNDS_MAX], theirs[ROUNDS_MAX], results[ROUNDS_MAX];
    for (unsigned i = 0; i < rounds; i++) {
        struct sample sample;
        theirs[i] = 1;
        if (!run_row(row->ours, &sample))
            return false;
        ours[i] = value_of(row->measure, &sample, chunks);
        if (row->theirs != NULL) {
            if (!run_row(row->theirs, &sample))
                return false;
            theirs[i] = value_of(row->measure, &sample, chunks);
        }
        results[i] = ours[i] / theirs[i];
    }
    print_row(row, median(ours, rounds), median(theirs, rounds), median(results, rounds));
    return true;
}

/* The core: of a program that makes CHUNKS chunks and aborts. */
static bool make_core(void) {
    struct sample sample;
    (void)run("rm -rf " FOLDER "; mkdir -p " FOLDER " && cd " FOLDER " && ulimit -c unlimited && "
              "{ ../gen/big $CHUNKS; } 2>log; test -s core || mv core.* core",
              true, &sample);
    return file_bytes(CORE) > 0 && run(CAT, false, &sample);
}

static void print_machine(unsigned long long chunks, unsigned rounds) {
    printf("%llu chunks, a core of %.0f MiB, %ld cores, medians of %u paired runs\n\n", chunks,
           file_bytes(CORE) / 1048576, sysconf(_SC_NPROCESSORS_ONLN), rounds);
    printf("%-55s %10s %10s %9s %8s  %s\n", "what", "ours", "theirs", "ratio", "target", "verdict");
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    unsigned long long chunks = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000000;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 5;
    if (chunks == 0 || rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench [CHUNKS] [ROUNDS up to %d]\n", ROUNDS_MAX);
        return 2;
    }
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", chunks);
    if (setenv("CHUNKS", text, 1) != 0 || !make_core()) {
        fprintf(stderr, "build/gen/big made no core in " FOLDER "\n");
        return 1;
    }
    print_machine(chunks, (unsigned)rounds);
    bool complete = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        complete = measure_row(&rows[i], chunks, (unsigned)rounds) && complete;
    struct sample sample;
    if (getenv("KEEP") == NULL)
        (void)run("rm -rf " FOLDER, false, &sample);
    return complete ? 0 : 1;
}
