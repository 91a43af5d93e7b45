/*
 * Processes with much of one thing, each of which aborts, for `make bench`:
 *
 *     scale arenas N     N threads, each with an arena of its own and a few chunks in it
 *     scale heaps N      a main arena of N pieces, since the break could not grow
 *     scale threads N    N threads with small stacks, over eight arenas
 *     scale hole BYTES   one free chunk between two live ones, every page of it written
 *     scale chunk BYTES  one live chunk in the main arena, of which two pages were written
 *     scale list N       N nodes that each know the next and the one before
 *     scale ring N       the same, and the last is before the first
 *     scale tree N       N nodes that each know two below and the one above
 *     scale pages N      a mapping of more than N pages, of which the first was written
 *
 * `scale split CORE N` then cuts N pages off the largest segment of CORE and makes each a segment
 * of its own: the kernel allows no process so many mappings unless root asks it to.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, FEW = 8, SMALL = 100, PAGE = 4096, PIECE = 16 << 20 };

static _Noreturn void give_up(const char *what) {
    perror(what);
    _exit(1);
}

/* What is allocated stays reachable; nobody reads it, and the compiler must not know. */
static void *volatile held[64];

static void *allocate(size_t bytes) {
    void *block = malloc(bytes);
    if (block == NULL)
        give_up("malloc");
    return block;
}

/* ---- threads ---- */

static pthread_barrier_t all_ready;

/* Its arena gets some live chunks, some free ones, and a few that wait in its cache. */
static void *use_arena(void *arg) {
    void *blocks[4 * FEW];
    for (size_t i = 0; i < 4 * FEW; i++)
        blocks[i] = allocate(SMALL + 40 * i);
    for (size_t i = 1; i < 4 * FEW; i += 2)
        free(blocks[i]);
    pthread_barrier_wait(&all_ready);
    for (;;)
        pause();
    return arg;
}

static void run_threads(unsigned long nr, int nr_arenas) {
    pthread_attr_t attributes;
    if (nr > 1000000 || mallopt(M_ARENA_MAX, nr_arenas) == 0 ||
        pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0 ||
        pthread_barrier_init(&all_ready, NULL, (unsigned)nr + 1) != 0)
        give_up("threads");
    for (unsigned long i = 0; i < nr; i++) {
        pthread_t id;
        errno = pthread_create(&id, &attributes, use_arena, NULL);
        if (errno != 0)
            give_up("pthread_create");
    }
    pthread_barrier_wait(&all_ready);
}

/* ---- heaps: where the break cannot grow, each piece of the main arena is a mapping ---- */

static void block_break(void) {
    uintptr_t end = ((uintptr_t)sbrk(0) + PAGE - 1) / PAGE * PAGE;
    if (mmap((void *)end, PAGE, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)end)
        give_up("mmap");
}

/* A piece is of 1 MiB at least (MMAP_AS_MORECORE_SIZE); a page between two keeps them apart. */
static void make_heaps(unsigned long nr) {
    if (mallopt(M_MMAP_THRESHOLD, 32 << 20) == 0)
        give_up("mallopt");
    held[0] = allocate(SMALL);
    block_break();
    for (unsigned long i = 0; i < nr; i++) {
        if (mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            give_up("mmap");
        char *block = allocate(900 << 10);
        memset(block, 1, SMALL);
        held[i % 64] = block;
        free(allocate(SMALL));
    }
}

/* ---- one large thing in the main arena ---- */

/* Pieces that are freed in a row become one chunk. */
static void make_hole(uint64_t bytes) {
    size_t nr = (size_t)(bytes / PIECE);
    void **pieces = calloc(nr, sizeof *pieces);
    if (nr == 0 || pieces == NULL || mallopt(M_MMAP_MAX, 0) == 0 ||
        mallopt(M_TRIM_THRESHOLD, INT32_MAX) == 0)
        give_up("mallopt");
    held[0] = allocate(SMALL);
    for (size_t i = 0; i < nr; i++) {
        pieces[i] = allocate(PIECE - 16);
        memset(pieces[i], (int)(i | 1), PIECE - 16);
    }
    held[1] = allocate(SMALL);
    for (size_t i = 0; i < nr; i++)
        free(pieces[i]);
    free(pieces);
}

static void make_chunk(uint64_t bytes) {
    if (bytes < PAGE || mallopt(M_MMAP_MAX, 0) == 0)
        give_up("mallopt");
    held[0] = allocate(bytes);
    memset(held[0], 1, SMALL);
    memset((char *)held[0] + bytes - SMALL, 1, SMALL);
    held[1] = allocate(SMALL);
}

/* ---- many nodes; a global leads to the first ---- */

struct node {
    struct node *links[3];
    uint64_t value;
};

static struct node **make_nodes(unsigned long nr) {
    struct node **nodes = mmap(NULL, nr * sizeof *nodes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nodes == MAP_FAILED)
        give_up("mmap");
    for (unsigned long i = 0; i < nr; i++) {
        nodes[i] = allocate(sizeof **nodes);
        *nodes[i] = (struct node){.value = i};
    }
    held[0] = nodes[0];
    return nodes;
}

/* The table would lead to all of them. */
static void forget(struct node **nodes, unsigned long nr) {
    if (munmap(nodes, nr * sizeof *nodes) != 0)
        give_up("munmap");
}

static void make_list(unsigned long nr, bool is_ring) {
    struct node **nodes = make_nodes(nr);
    for (unsigned long i = 0; i + 1 < nr; i++) {
        nodes[i]->links[0] = nodes[i + 1];
        nodes[i + 1]->links[1] = nodes[i];
    }
    if (is_ring) {
        nodes[nr - 1]->links[0] = nodes[0];
        nodes[0]->links[1] = nodes[nr - 1];
    }
    forget(nodes, nr);
}

static void make_tree(unsigned long nr) {
    struct node **nodes = make_nodes(nr);
    for (unsigned long i = 1; i < nr; i++) {
        struct node *parent = nodes[(i - 1) / 2];
        parent->links[(i - 1) % 2] = nodes[i];
        nodes[i]->links[2] = parent;
    }
    forget(nodes, nr);
}

/* ---- many segments ---- */

static Elf64_Phdr *read_segments(int fd, const Elf64_Ehdr *header) {
    size_t bytes = header->e_phnum * sizeof(Elf64_Phdr);
    Elf64_Phdr *segments = malloc(bytes);
    if (segments == NULL || pread(fd, segments, bytes, (off_t)header->e_phoff) != (ssize_t)bytes)
        give_up("program headers");
    return segments;
}

/* Cuts whole pages off the front of `from` and makes them `nr` segments, alternately writable. */
static size_t cut(Elf64_Phdr *from, size_t nr, Elf64_Phdr *out) {
    for (size_t i = 0; i < nr; i++) {
        out[i] = *from;
        out[i].p_filesz = out[i].p_memsz = PAGE;
        out[i].p_flags = i % 2 != 0 ? PF_R | PF_W : PF_R;
        from->p_offset += PAGE;
        from->p_vaddr += PAGE;
        from->p_filesz -= PAGE;
        from->p_memsz -= PAGE;
    }
    return nr;
}

/* The number of segments stands in the first section header when it is too large for e_phnum. */
static void write_tables(int fd, Elf64_Ehdr *header, const Elf64_Phdr *segments, size_t nr) {
    Elf64_Shdr first = {.sh_info = (Elf64_Word)nr};
    struct stat st;
    if (fstat(fd, &st) != 0)
        give_up("fstat");
    header->e_phoff = ((uint64_t)st.st_size + PAGE - 1) / PAGE * PAGE;
    header->e_phnum = PN_XNUM;
    header->e_shoff = header->e_phoff + nr * sizeof *segments;
    header->e_shnum = 1;
    header->e_shentsize = sizeof first;
    if (pwrite(fd, segments, nr * sizeof *segments, (off_t)header->e_phoff) !=
            (ssize_t)(nr * sizeof *segments) ||
        pwrite(fd, &first, sizeof first, (off_t)header->e_shoff) != (ssize_t)sizeof first ||
        pwrite(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header)
        give_up("write");
}

/* Of the largest writable segment, which must be large enough. */
static int split(const char *path, size_t nr) {
    int fd = open(path, O_RDWR);
    Elf64_Ehdr header;
    if (fd < 0 || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum == PN_XNUM)
        give_up(path);
    Elf64_Phdr *old = read_segments(fd, &header);
    Elf64_Phdr *new = calloc(header.e_phnum + nr, sizeof *new);
    Elf64_Phdr *largest = NULL;
    for (size_t i = 0; i < header.e_phnum; i++)
        if (old[i].p_type == PT_LOAD && (largest == NULL || old[i].p_filesz > largest->p_filesz))
            largest = &old[i];
    if (new == NULL || largest == NULL || largest->p_filesz / PAGE <= nr) {
        fprintf(stderr, "%s: no segment of more than %zu pages\n", path, nr);
        return 1;
    }
    size_t used = 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (&old[i] == largest)
            used += cut(largest, nr, new + used);
        new[used++] = old[i];
    }
    write_tables(fd, &header, new, used);
    free(new);
    free(old);
    return close(fd) != 0;
}

/* What `split` cuts: pages that were never written, beside a heap. */
static void make_pages(unsigned long nr) {
    held[0] = mmap(NULL, (nr + 16) * PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (held[0] == MAP_FAILED)
        give_up("mmap");
    memset(held[0], 1, SMALL);
    held[1] = allocate(SMALL);
}

static int usage(void) {
    fprintf(stderr, "usage: scale arenas|heaps|threads|list|ring|tree|pages N, hole|chunk BYTES, "
                    "split CORE N\n");
    return 2;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "split") == 0)
        return split(argv[2], strtoul(argv[3], NULL, 10));
    uint64_t nr = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    if (nr == 0)
        return usage();
    if (strcmp(argv[1], "arenas") == 0)
        run_threads(nr, (int)nr + 1);
    else if (strcmp(argv[1], "threads") == 0)
        run_threads(nr, FEW);
    else if (strcmp(argv[1], "heaps") == 0)
        make_heaps(nr);
    else if (strcmp(argv[1], "list") == 0 || strcmp(argv[1], "ring") == 0)
        make_list(nr, argv[1][0] == 'r');
    else if (strcmp(argv[1], "tree") == 0)
        make_tree(nr);
    else if (strcmp(argv[1], "pages") == 0)
        make_pages(nr);
    else if (strcmp(argv[1], "hole") == 0)
        make_hole(nr);
    else if (strcmp(argv[1], "chunk") == 0)
        make_chunk(nr);
    else
        return usage();
    abort();
}
