/*
 * spoiled: writes where it must not, once, and ends. spoiled HOW SIZE BYTES, where HOW is the state
 * of the chunk whose memory is hit:
 *
 *     live, cached, fast, unsorted, small, large, top   BYTES beyond a block of SIZE, into the
 *                          header of the chunk behind it (off-by-one: by a byte that is zero)
 *     link-cached, link-fast, link-unsorted, link-large   the links of a block of SIZE that was
 *                          freed before (a use after free)
 *     twice-cached, twice-fast, twice-chunk               the block is freed twice
 *     nothing                                             nothing is
 *
 * Without a fourth argument the program ends itself, before malloc has seen it; with "on" it goes
 * on to allocate and free until malloc stops it. The last block that was hit, and the one that was
 * overrun, are told on standard output.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE = 7, MANY = 12 };

/* The compiler may not know what the program does to its blocks. */
static void *opaque(void *p) {
    void *volatile hidden = p;
    return hidden;
}

static char *block(size_t size) {
    return memset(opaque(malloc(size)), 1, size);
}

static const char *how;
static char *hit, *overrun;

static int is(const char *name) {
    return strcmp(how, name) == 0;
}

/* Fills the thread's cache for the size, so that what is freed next goes elsewhere. */
static void fill_cache(size_t size) {
    char *blocks[CACHE];
    for (int i = 0; i < CACHE; i++)
        blocks[i] = block(size);
    for (int i = 0; i < CACHE; i++)
        free(blocks[i]);
}

/* A block behind another one, both live; a third keeps them from the top. */
static void two_blocks(size_t size) {
    overrun = block(size);
    hit = block(size);
    (void)block(24);
}

static void free_hit(size_t size) {
    if (is("cached") || is("link-cached")) {
        char *other = block(size);
        free(other);
        free(hit);
        return;
    }
    if (size <= 1032)
        fill_cache(size);
    free(hit);
    if (is("small") || is("large") || is("link-large"))
        (void)block(size + 4096); /* sorts the unsorted list */
}

static void spoil_links(void) {
    memset(opaque(hit), 'B', 16);
}

static void free_twice(size_t size) {
    char *again = opaque(hit), *between = block(size);
    if (!is("twice-cached"))
        fill_cache(size);
    free(hit);
    if (is("twice-cached"))
        memset(opaque(again), 0, 16); /* the key that free() looks for */
    else if (is("twice-fast"))
        free(between); /* free() looks at the first of the list alone */
    free(again);
}

static void spoil_header(size_t bytes) {
    char *end = overrun + malloc_usable_size(overrun);
    if (bytes == 0)
        *(char *)opaque(end) = 0;
    else
        memset(opaque(end), 'A', bytes);
}

/* Until malloc looks at what was hit. */
static void go_on(size_t size) {
    for (int i = 0; i < MANY; i++)
        (void)block(size);
    if (is("live"))
        free(opaque(hit));
    for (int i = 0; i < MANY; i++)
        free(block(size + 2048 * (size_t)i));
    (void)block(1 << 16);
    malloc_trim(0);
}

int main(int argc, char **argv) {
    size_t size = argc > 2 ? (size_t)atoi(argv[2]) : 0;
    size_t bytes = argc > 3 ? (size_t)atoi(argv[3]) : 0;
    how = argc > 1 ? argv[1] : "";
    (void)block(100);
    static char text[4096];
    setvbuf(stdout, text, _IOFBF, sizeof text);
    two_blocks(size);
    if (is("top")) {
        overrun = block(size);
        while ((size_t)(hit = block(size)) - (size_t)overrun != malloc_usable_size(overrun) + 8)
            overrun = hit;
        overrun = hit;
        hit = overrun + malloc_usable_size(overrun) + 8; /* the top, as if it had a user */
    }
    printf("%p %p\n", (void *)(hit - 16), (void *)(overrun - 16));
    fflush(stdout);
    if (strncmp(how, "twice", 5) == 0)
        free_twice(size);
    else if (!is("live") && !is("top") && !is("nothing"))
        free_hit(size);
    if (strncmp(how, "link", 4) == 0)
        spoil_links();
    else if (strncmp(how, "twice", 5) != 0 && !is("nothing"))
        spoil_header(bytes);
    if (argc > 4)
        go_on(size);
    abort();
}
