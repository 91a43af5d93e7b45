#include "measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VALUES_MAX = 64, TEXT_MAX = 256, WATCH_MICROSECONDS = 2000 };

#define SAID_FILE "build/bench.said"

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double anonymous_mib(pid_t pid) {
    char path[64], line[TEXT_MAX];
    unsigned long long kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "r");
    if (status == NULL)
        return 0;
    while (fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "RssAnon: %llu", &kib) == 1)
            break;
    (void)fclose(status);
    return (double)kib / 1024;
}

static bool wait_watching(pid_t pid, int *status, struct rusage *usage, double *anonymous) {
    for (;;) {
        pid_t ended = wait4(pid, status, WNOHANG, usage);
        if (ended != 0)
            return ended == pid;
        double mib = anonymous_mib(pid);
        if (mib > *anonymous)
            *anonymous = mib;
        (void)usleep(WATCH_MICROSECONDS);
    }
}

static void read_said(struct sample *out) {
    FILE *file = fopen(SAID_FILE, "r");
    for (int i = 0; file != NULL && i < CF_SAID_MAX; i++)
        if (fscanf(file, "%lf", &out->said[i]) != 1)
            break;
    if (file != NULL)
        (void)fclose(file);
    (void)unlink(SAID_FILE);
}

static _Noreturn void become(const char *command) {
    int null = open("/dev/null", O_RDONLY);
    int said = open(SAID_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (null < 0 || said < 0 || dup2(null, 0) != 0 || dup2(said, 1) != 1)
        _exit(126);
    (void)close(said);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

bool measure_run(const char *command, struct sample *out) {
    double started = now();
    struct rusage usage;
    int status;
    *out = (struct sample){0};
    pid_t pid = fork();
    if (pid == 0)
        become(command);
    if (pid < 0 || !wait_watching(pid, &status, &usage, &out->anonymous_mib))
        return false;
    out->wall = now() - started;
    out->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    out->rss_mib = (double)usage.ru_maxrss / 1024;
    read_said(out);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    fprintf(stderr, "bench: failed (wait status 0x%x): %s\n", (unsigned)status, command);
    return false;
}

double measure_file_bytes(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

double measure_free_bytes(const char *path) {
    struct statvfs fs;
    return statvfs(path, &fs) == 0 ? (double)fs.f_bavail * (double)fs.f_frsize : 0;
}

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double measure_median(const double *values, unsigned n) {
    double sorted[VALUES_MAX];
    if (n == 0 || n > VALUES_MAX)
        return 0;
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    return n % 2 != 0 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* ---- the machine ---- */

/* The first line that `command` prints. */
static void first_line(const char *command, char out[TEXT_MAX]) {
    out[0] = '\0';
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return;
    if (fgets(out, TEXT_MAX, pipe) == NULL)
        out[0] = '\0';
    (void)pclose(pipe);
    out[strcspn(out, "\n")] = '\0';
}

void measure_print_machine(FILE *file) {
    char cpu[TEXT_MAX], sqlite[TEXT_MAX];
    struct utsname kernel;
    struct sysinfo memory;
    double load = 0;
    first_line("sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo", cpu);
    first_line("sqlite3 --version | cut -d' ' -f1", sqlite);
    if (uname(&kernel) != 0 || sysinfo(&memory) != 0)
        return;
    kernel.release[strcspn(kernel.release, "-")] = '\0';
    (void)getloadavg(&load, 1);
    (void)fprintf(file, "%s, %ld cores, %.0f GiB of memory; Linux %s, SQLite %s; load %.1f when it"
                  " began.\n", cpu[0] != '\0' ? cpu : kernel.machine,
                  sysconf(_SC_NPROCESSORS_ONLN),
                  (double)memory.totalram * memory.mem_unit / (1 << 30), kernel.release, sqlite,
                  load);
}
