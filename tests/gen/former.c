/*
 * former: frees blocks of one size that stand among small ones, below a block that stays, in an
 * order that merges them from both sides; then it ends by a signal. mmap_threshold is raised first,
 * so that all come from the heap. It writes how many of them are of 128 KiB and more, and the sum
 * of their chunks, to the file `former`.
 *   former BYTES COUNT
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 10000, SMALL = 1000, MMAP_THRESHOLD = 8 << 20, LARGE = 128 << 10, STEP = 7 };

static void *blocks[MOST], *small[MOST];

int main(int argc, char **argv) {
    if (argc < 3)
        return 99;
    size_t bytes = (size_t)atol(argv[1]), nr = (size_t)atol(argv[2]);
    if (nr > MOST || nr % STEP == 0 || mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD) != 1)
        return 98;
    size_t chunk = 0;
    for (size_t i = 0; i < nr; i++) {
        blocks[i] = memset(malloc(bytes), 0x5a, bytes);
        small[i] = memset(malloc(SMALL), 0x5b, SMALL);
        chunk = malloc_usable_size(blocks[i]) + sizeof(size_t);
    }
    void *volatile last = malloc(SMALL);
    for (size_t i = 0; i < nr; i++) {
        free(blocks[i * STEP % nr]);
        free(small[i]);
    }
    char text[64];
    size_t large = chunk >= LARGE ? nr : 0;
    int length = snprintf(text, sizeof text, "%zu %zu", large, large * chunk);
    int fd = open("former", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (last == NULL || write(fd, text, (size_t)length) != length)
        return 97;
    abort();
}
