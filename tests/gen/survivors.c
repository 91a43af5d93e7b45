/*
 * survivors: a global table of small blocks that outlived the large ones around them. It writes
 * what malloc_trim(0) gives back in a child, and what it gives back in another child that has freed
 * the survivors before, in bytes, to the file `trims`; then it ends by a signal. There are no
 * thread caches, which would keep some of what is freed.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 4000, SMALL = 200, LARGE = 3600 };

void *survivors[PAIRS];

static long anonymous_bytes(void) {
    static char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes <= 0)
        _exit(98);
    text[bytes] = '\0';
    const char *line = strstr(text, "Anonymous:");
    return line == NULL ? 0 : atol(line + strlen("Anonymous:")) * 1024;
}

static long trim_in_child(int frees) {
    int ends[2];
    long saved = -1;
    if (pipe(ends) != 0)
        exit(97);
    pid_t child = fork();
    if (child == 0) {
        long before = anonymous_bytes();
        for (int i = 0; frees && i < PAIRS; i++)
            free(survivors[i]);
        malloc_trim(0);
        saved = before - anonymous_bytes();
        _exit(write(ends[1], &saved, sizeof saved) == sizeof saved ? 0 : 96);
    }
    (void)waitpid(child, NULL, 0);
    if (read(ends[0], &saved, sizeof saved) != sizeof saved)
        exit(95);
    close(ends[0]);
    close(ends[1]);
    return saved;
}

static void *block(size_t bytes) {
    void *p = malloc(bytes);
    return memset(p, 1, bytes);
}

int main(int argc, char **argv) {
    static void *large[PAIRS];
    static char text[100];
    if (argc == 1) {
        setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
        execl(argv[0], argv[0], "again", (char *)NULL);
        return 99;
    }
    for (int i = 0; i < PAIRS; i++) {
        large[i] = block(LARGE);
        survivors[i] = block(SMALL);
    }
    void *volatile last = block(LARGE); /* the top stays where it is */
    for (int i = 0; i < PAIRS; i++)
        free(large[i]);
    memset(large, 0, sizeof large);
    int fd = open("trims", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int bytes = snprintf(text, sizeof text, "%ld %ld", trim_in_child(0), trim_in_child(1));
    if (write(fd, text, (size_t)bytes) != bytes || last == NULL)
        return 94;
    abort();
}
