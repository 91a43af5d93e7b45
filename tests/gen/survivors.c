/*
 * survivors: a global table of small blocks that outlived the large ones around them, and in main's
 * arena and a thread's two heaps one block that stands above what was freed. It writes what
 * malloc_trim(0) gives back in a child, what it gives back in another child that has freed the
 * survivors before, and what free() alone gives back of the two blocks below the tops in a third,
 * in bytes, to the file `trims`; then it ends by a signal. There are no thread caches, which would
 * keep some of what is freed.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 4000, SMALL = 200, LARGE = 3600, WIDE = 60000, WIDES = 1400, WIDES_OF_MAIN = 60 };
enum what { TRIM, FREE_SURVIVORS, FREE_TOPMOST };

void *survivors[PAIRS];
void *topmost[2]; /* of main's arena, of the thread's */

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

static long trim_in_child(enum what what) {
    int ends[2];
    long saved = -1;
    if (pipe(ends) != 0)
        exit(97);
    pid_t child = fork();
    if (child == 0) {
        long before = anonymous_bytes();
        for (int i = 0; what == FREE_SURVIVORS && i < PAIRS; i++)
            free(survivors[i]);
        for (int i = 0; what == FREE_TOPMOST && i < 2; i++)
            free(topmost[i]);
        if (what != FREE_TOPMOST)
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

/* One page of each block is touched: the heaps are address space else. */
static void *pile_up(size_t nr) {
    static void *wide[WIDES];
    for (size_t i = 0; i < nr; i++) {
        wide[i] = malloc(WIDE);
        memset(wide[i], 2, 1);
    }
    void *last = block(LARGE);
    for (size_t i = 0; i < nr; i++)
        free(wide[i]);
    memset(wide, 0, sizeof wide);
    return last;
}

static void *pile_up_in_thread(void *unused) {
    (void)unused;
    topmost[1] = pile_up(WIDES);
    return NULL;
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
    pthread_t thread;
    if (pthread_create(&thread, NULL, pile_up_in_thread, NULL) != 0 ||
        pthread_join(thread, NULL) != 0)
        return 93;
    topmost[0] = pile_up(WIDES_OF_MAIN);
    for (int i = 0; i < PAIRS; i++)
        free(large[i]);
    memset(large, 0, sizeof large);
    int fd = open("trims", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int bytes = snprintf(text, sizeof text, "%ld %ld %ld", trim_in_child(TRIM),
                         trim_in_child(FREE_SURVIVORS), trim_in_child(FREE_TOPMOST));
    if (write(fd, text, (size_t)bytes) != bytes)
        return 94;
    abort();
}
