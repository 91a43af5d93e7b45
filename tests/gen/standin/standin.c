/*
 * A malloc that is not glibc's, built as a shared object under the names of two well-known ones,
 * for LD_PRELOAD: memory comes from mappings of four megabytes and is never given back.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { GRAIN = 16, PIECE = 4 << 20, HUGE = 1 << 20 };

/* The word before a block is its size. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *piece, *piece_end;

void *malloc(size_t size);
void free(void *p);
void *calloc(size_t nr, size_t size);
void *realloc(void *p, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);
size_t malloc_usable_size(void *p);

static char *map(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Room for `size` bytes at a multiple of `alignment`, with a grain before it. */
static char *take(size_t alignment, size_t size) {
    if (size > HUGE) {
        char *p = map(size + alignment + GRAIN);
        return p ? (char *)(((uintptr_t)p + GRAIN + alignment - 1) & ~(alignment - 1)) : NULL;
    }
    uintptr_t at = ((uintptr_t)piece + GRAIN + alignment - 1) & ~(alignment - 1);
    if (!piece || at + size > (uintptr_t)piece_end) {
        piece = map(PIECE);
        piece_end = piece + PIECE;
        at = ((uintptr_t)piece + GRAIN + alignment - 1) & ~(alignment - 1);
    }
    if (!piece)
        return NULL;
    piece = (char *)at + ((size + GRAIN - 1) & ~(size_t)(GRAIN - 1));
    return (char *)at;
}

void *memalign(size_t alignment, size_t size) {
    pthread_mutex_lock(&lock);
    char *p = take(alignment < GRAIN ? GRAIN : alignment, size);
    pthread_mutex_unlock(&lock);
    if (p)
        ((size_t *)p)[-1] = size;
    else
        errno = ENOMEM;
    return p;
}

void *malloc(size_t size) {
    return memalign(GRAIN, size);
}

void free(void *p) {
    (void)p;
}

size_t malloc_usable_size(void *p) {
    return p ? ((size_t *)p)[-1] : 0;
}

void *calloc(size_t nr, size_t size) {
    return __builtin_mul_overflow(nr, size, &size) ? NULL : malloc(size); /* fresh: all zeros */
}

void *realloc(void *p, size_t size) {
    size_t before = malloc_usable_size(p);
    void *moved = malloc(size);
    if (moved && p)
        memcpy(moved, p, before < size ? before : size);
    return moved;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
