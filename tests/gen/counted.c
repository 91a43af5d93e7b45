/*
 * A process of which a core shows only a part: half of its heap is shared with a forked child, and
 * it has a mapped file, shared memory, and memory that it left out of its cores.
 *
 *     counted FOLDER [zeros|file]
 *
 * It maps FOLDER/data.mdb, which it makes, writes what mincore() and its own pagemap say of its
 * resident pages to FOLDER/counted.txt (name, bytes), prints "ready" and waits to be killed.
 * With `zeros` one page that was written to is full of zeros again; with `file` most of what is in
 * memory is that file.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20, FILE_MIB = 16 };

static void *map(size_t bytes, int flags, int fd) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED)
        _exit(99);
    return at;
}

/* Whether each page is there, by the process's own page tables. */
static size_t present_bytes(const void *at, size_t bytes) {
    static uint64_t entries[FILE_MIB * MIB / PAGE];
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    size_t wanted = bytes / PAGE * sizeof *entries, present = 0;
    if (fd < 0 || wanted > sizeof entries ||
        pread(fd, entries, wanted, (off_t)((uintptr_t)at / PAGE * sizeof *entries)) !=
            (ssize_t)wanted)
        _exit(98);
    for (size_t i = 0; i < bytes / PAGE; i++)
        present += entries[i] >> 63 & 1;
    close(fd);
    return present * PAGE;
}

static volatile char sink;

int main(int argc, char **argv) {
    if (argc < 2 || chdir(argv[1]) != 0)
        return 2;
    int file = open("data.mdb", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, FILE_MIB * MIB) != 0)
        return 2;
    char *mapped = map(FILE_MIB * MIB, MAP_SHARED, file);
    char *shared = map(MIB, MAP_SHARED | MAP_ANONYMOUS, -1);
    char *hidden = map(MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (madvise(hidden, MIB, MADV_DONTDUMP) != 0)
        return 2;
    bool is_file = argc > 2 && strcmp(argv[2], "file") == 0;
    memset(mapped, 1, (is_file ? 12 : 3) * MIB);
    memset(shared, 1, MIB / 2);
    memset(hidden, 1, MIB / 4);
    char *blocks[1024];
    for (size_t i = 0; i < 1024; i++)
        blocks[i] = memset(malloc(4000), 1, 4000);
    static char zeros[2 * PAGE];
    memset(zeros, 1, sizeof zeros);
    if (argc > 2 && !is_file)
        memset(zeros, 0, sizeof zeros);
    FILE *out = fopen("counted.txt", "we");
    if (out == NULL)
        return 2;
    fprintf(out, "mapped\t%zu\nshared\t%zu\nhidden\t%zu\n", present_bytes(mapped, FILE_MIB * MIB),
            present_bytes(shared, MIB), present_bytes(hidden, MIB));
    if (fclose(out) != 0)
        return 2;
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    for (size_t i = 0; i < 512; i++)
        memset(blocks[i], 2, 4000);
    sink = *blocks[1023] + zeros[0];
    (void)!write(STDOUT_FILENO, "ready\n", 6);
    for (;;)
        pause();
}
