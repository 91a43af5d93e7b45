#include "process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 120 };

const char *process_corefrag(void) {
    static char path[PATH_ROOM];
    const char *given = getenv("COREFRAG");
    if (!path[0] && !realpath(given ? given : "build/corefrag", path))
        path[0] = 0;
    return path[0] ? path : NULL;
}

bool process_generator(const char *name, char out[PATH_ROOM]) {
    char relative[PATH_ROOM];
    const char *given = getenv("GEN");
    snprintf(relative, sizeof relative, "%s/%s", given ? given : "build/gen", name);
    return realpath(relative, out) != NULL;
}

bool process_folder_make(char out[PATH_ROOM]) {
    const char *given = getenv("TMPDIR");
    snprintf(out, PATH_ROOM, "%s/corefrag-e2e-XXXXXX", given ? given : "/tmp");
    if (mkdtemp(out))
        return true;
    perror(out);
    return false;
}

void process_folder_remove(const char *folder) {
    DIR *dir = folder[0] ? opendir(folder) : NULL;
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(folder);
}

static bool redirect(const char *name, int to) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, to) < 0)
        return false;
    return close(fd) == 0;
}

/* In the child: as large a core as we may have, with the contents that are the kernel's default. */
static void allow_core(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_CORE, &limit);
    }
    int fd = open("/proc/self/coredump_filter", O_WRONLY);
    if (fd < 0)
        return;
    (void)!write(fd, "0x33", 4);
    close(fd);
}

static pid_t start(const char *folder, char *const argv[]) {
    pid_t child = fork();
    if (child)
        return child;
    if (chdir(folder))
        _exit(127);
    if (!redirect("stdout", STDOUT_FILENO) || !redirect("stderr", STDERR_FILENO))
        _exit(127);
    allow_core();
    alarm(SECONDS);
    execvp(argv[0], argv);
    _exit(127);
}

static int finish(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

int process_run(const char *folder, char *const argv[]) {
    return finish(start(folder, argv));
}

/* A file of `folder` that the kernel or gdb may have called the core. */
static bool find_core(const char *folder, char core[PATH_ROOM]) {
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        found = strncmp(entry->d_name, "core", 4) == 0;
        if (found)
            snprintf(core, PATH_ROOM, "%s/%s", folder, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* A limit would cut the core off. */
static bool cores_are_unlimited(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == RLIM_INFINITY;
}

bool process_kernel_core(const char *folder, char *const argv[], char core[PATH_ROOM]) {
    if (!cores_are_unlimited())
        return false;
    int ended = process_run(folder, argv);
    return (ended == 128 + SIGABRT || ended == 128 + SIGSEGV) && find_core(folder, core);
}

static bool wait_until_ready(const char *folder) {
    for (int tick = 0; tick < SECONDS * 20; tick++) {
        char *text = process_text(folder, "stdout");
        bool is_ready = text && strstr(text, "ready\n");
        free(text);
        if (is_ready)
            return true;
        usleep(50000);
    }
    return false;
}

/* Stopped, so that nothing changes between the two. */
static void stop_and_save_smaps(const char *folder, pid_t child) {
    char command[PATH_ROOM + 64];
    int status;
    kill(child, SIGSTOP);
    if (waitpid(child, &status, WUNTRACED) != child)
        return;
    snprintf(command, sizeof command, "cat /proc/%d/smaps >'%s/stopped.smaps'", (int)child, folder);
    if (system(command) != 0)
        fprintf(stderr, "%s: no smaps\n", folder);
}

bool process_killed_core(const char *folder, char *const argv[], char core[PATH_ROOM]) {
    pid_t child = cores_are_unlimited() ? start(folder, argv) : -1;
    if (child < 0)
        return false;
    wait_until_ready(folder);
    stop_and_save_smaps(folder, child);
    kill(child, SIGABRT);
    kill(child, SIGCONT);
    return finish(child) == 128 + SIGABRT && find_core(folder, core);
}

bool process_gdb_core(const char *folder, char *const argv[], char core[PATH_ROOM]) {
    pid_t child = start(folder, argv);
    if (child < 0)
        return false;
    char command[PATH_ROOM + 16], pid[24];
    snprintf(command, sizeof command, "gcore %s/core.gdb", folder);
    snprintf(pid, sizeof pid, "%d", (int)child);
    char *const gdb[] = {"gdb", "-nx", "-batch", "-p", pid, "-ex", command, NULL};
    bool is_ready = wait_until_ready(folder);
    stop_and_save_smaps(folder, child);
    kill(child, SIGCONT);
    bool done = is_ready && process_run(folder, gdb) == 0;
    kill(child, SIGKILL);
    finish(child);
    return done && find_core(folder, core);
}

char *process_text(const char *folder, const char *name) {
    char path[2 * PATH_ROOM];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "r");
    struct stat st;
    if (!in)
        return NULL;
    char *text = fstat(fileno(in), &st) == 0 ? calloc(1, (size_t)st.st_size + 1) : NULL;
    if (text && fread(text, 1, (size_t)st.st_size, in) != (size_t)st.st_size) {
        free(text);
        text = NULL;
    }
    fclose(in);
    return text;
}
