/*
 * A preload library that makes a process its own laboratory. At the signal SIGRTMIN+8 it writes its
 * smaps, makes a copy of itself by fork, and aborts, so that the kernel writes a core of it. The
 * copy has the same heap at the same addresses: it waits for orders in a file, and carries each out
 * in a copy of its own, so that every experiment begins with the heap that the core shows.
 *
 *     PREFIX.before   figures of the kernel before anything was done
 *     PREFIX.smaps    of that moment
 *     PREFIX.do       one line: trim | group | free FILE | quit. FILE holds addresses as malloc
 *                     returned them, eight bytes each
 *     PREFIX.done     what it gave back, by pagemap: free() alone, then malloc_trim(0) too
 *     PREFIX.pages    ranges of pages that were in memory before and are not after
 *
 * SIGRTMIN+9 writes a core of a copy, and the process goes on. REMEDY_PREFIX names the files,
 * REMEDY_CORE=0 leaves the core out. Nothing here may allocate: static memory, write(2), and
 * snprintf() of integers; and all symbols are bound from the start (-z now), since a look-up reads
 * what ld.so has in the heap. The program must be at rest when the signal comes.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAPS_BYTES = 4 << 20,
    RANGES_MAX = 65536,
    PAGES_MAX = 64 << 20, /* bits: 256 GiB of address space */
    BATCH = 4096,         /* pages, or addresses, that are read at once */
    ORDERS_MAX = 12000,   /* polls without an order, 50 ms each, before the copy gives up */
};

struct page_range {
    uint64_t start, end;
};

static char prefix[512], maps[MAPS_BYTES];
static struct page_range ranges[RANGES_MAX];
static size_t nr_ranges;
static unsigned char was_there[PAGES_MAX / 8];
static uint64_t entries[BATCH];
static void (*free_group)(void); /* of the program, where it has one */
static int wants_core = 1;

static const char *path_of(const char *suffix) {
    static char path[600];
    (void)snprintf(path, sizeof path, "%s.%s", prefix, suffix);
    return path;
}

static size_t read_whole(const char *path, char *out, size_t bytes) {
    int fd = open(path, O_RDONLY);
    size_t used = 0;
    ssize_t got;
    while (fd >= 0 && used + 1 < bytes && (got = read(fd, out + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    out[used] = '\0';
    if (fd >= 0)
        close(fd);
    return used;
}

static void put(int fd, const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t done = write(fd, text, bytes);
        if (done <= 0)
            _exit(70);
        text += done;
        bytes -= (size_t)done;
    }
}

static void copy_file(const char *from, const char *suffix) {
    size_t bytes = read_whole(from, maps, sizeof maps);
    int fd = open(path_of(suffix), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    put(fd, maps, bytes);
    close(fd);
}

/* Anonymous memory: private, writable, of no file. */
static void find_ranges(void) {
    (void)read_whole("/proc/self/maps", maps, sizeof maps);
    nr_ranges = 0;
    for (char *line = maps; *line != '\0' && nr_ranges < RANGES_MAX;) {
        char *end = strchr(line, '\n'), *at;
        struct page_range range = {strtoull(line, &at, 16), 0};
        range.end = strtoull(at + 1, &at, 16);
        int is_private = at[1] == 'r' && at[2] == 'w' && at[4] == 'p';
        at += 5;
        for (int field = 0; field < 2; field++)
            at += 1 + strcspn(at + 1, " ");
        if (is_private && strtoull(at, NULL, 10) == 0)
            ranges[nr_ranges++] = range;
        line = end == NULL ? line + strlen(line) : end + 1;
    }
}

/* Asks `visit` for each page of the ranges whether it is in memory or in swap, by its number. */
static void each_page(void (*visit)(uint64_t number, uint64_t addr, int is_there)) {
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t number = 0;
    for (size_t i = 0; i < nr_ranges; i++)
        for (uint64_t addr = ranges[i].start; addr < ranges[i].end;) {
            uint64_t left = (ranges[i].end - addr) / 4096, nr = left < BATCH ? left : BATCH;
            ssize_t got = pread(fd, entries, nr * 8, (off_t)(addr / 4096 * 8));
            for (uint64_t k = 0; k < nr; k++)
                visit(number++, addr + k * 4096,
                      (ssize_t)(k * 8) < got && (entries[k] >> 62) != 0);
            addr += nr * 4096;
        }
    close(fd);
}

static void note_page(uint64_t number, uint64_t addr, int is_there) {
    (void)addr;
    if (number < PAGES_MAX && is_there)
        was_there[number / 8] |= (unsigned char)(1 << number % 8);
    else if (number < PAGES_MAX)
        was_there[number / 8] &= (unsigned char)~(1 << number % 8);
}

static uint64_t lost_pages, run_start, run_end;
static int pages_fd;

static void put_run(void) {
    char line[64];
    if (run_end > run_start)
        put(pages_fd, line, (size_t)snprintf(line, sizeof line, "%lx %lx\n", run_start, run_end));
}

static void compare_page(uint64_t number, uint64_t addr, int is_there) {
    if (number >= PAGES_MAX || is_there || (was_there[number / 8] >> number % 8 & 1) == 0)
        return;
    lost_pages++;
    if (addr != run_end) {
        put_run();
        run_start = addr;
    }
    run_end = addr + 4096;
}

/* What is gone since find_ranges() and note_page(); the ranges go into PREFIX.pages. */
static uint64_t lost_bytes(void) {
    lost_pages = run_start = run_end = 0;
    pages_fd = open(path_of("pages"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    each_page(compare_page);
    put_run();
    close(pages_fd);
    return lost_pages * 4096;
}

static void free_those_in(const char *path) {
    static void *addresses[BATCH];
    int fd = open(path, O_RDONLY);
    ssize_t got;
    while ((got = read(fd, addresses, sizeof addresses)) > 0)
        for (size_t i = 0; i < (size_t)got / sizeof *addresses; i++)
            free(addresses[i]);
    close(fd);
}

static void carry_out(const char *order) {
    char line[256];
    struct timespec from, to;
    find_ranges();
    each_page(note_page);
    if (strncmp(order, "free ", 5) == 0)
        free_those_in(order + 5);
    else if (strcmp(order, "group") == 0 && free_group != NULL)
        free_group();
    else if (strcmp(order, "trim") != 0)
        _exit(71);
    uint64_t freed = lost_bytes();
    clock_gettime(CLOCK_MONOTONIC, &from);
    malloc_trim(0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    uint64_t both = lost_bytes();
    int length = snprintf(line, sizeof line, "freed=%lu\nboth=%lu\ntrim_us=%ld\n", freed, both,
                          (to.tv_sec - from.tv_sec) * 1000000 +
                              (to.tv_nsec - from.tv_nsec) / 1000);
    int fd = open(path_of("part"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    put(fd, line, (size_t)length);
    close(fd);
    _exit(0);
}

static void wait_for_orders(void) {
    static char order[1024], done[600];
    const struct timespec pause = {.tv_nsec = 50000000};
    for (int polls = 0; polls < ORDERS_MAX; polls++) {
        nanosleep(&pause, NULL);
        if (access(path_of("do"), F_OK) != 0)
            continue;
        (void)read_whole(path_of("do"), order, sizeof order);
        order[strcspn(order, "\n")] = '\0';
        unlink(path_of("do"));
        if (strcmp(order, "quit") == 0)
            _exit(0);
        pid_t copy = fork();
        if (copy == 0)
            carry_out(order);
        int status = -1;
        waitpid(copy, &status, 0);
        if (status != 0) {
            int fd = open(path_of("part"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            put(fd, done, (size_t)snprintf(done, sizeof done, "failed=%d\n", status));
            close(fd);
        }
        (void)snprintf(done, sizeof done, "%s.done", prefix);
        rename(path_of("part"), done);
        polls = 0;
    }
    _exit(72);
}

static void on_core(int signal_number) {
    (void)signal_number;
    sigset_t all;
    sigfillset(&all);
    memset(maps, 0, sizeof maps); /* in memory before the kernel counts */
    copy_file("/proc/self/smaps_rollup", "before");
    copy_file("/proc/self/smaps", "smaps");
    if (fork() == 0) {
        sigprocmask(SIG_SETMASK, &all, NULL);
        wait_for_orders();
    }
    if (!wants_core)
        _exit(0);
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void on_copy(int signal_number) {
    (void)signal_number;
    pid_t copy = fork();
    if (copy == 0) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    waitpid(copy, NULL, 0);
}

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("REMEDY_PREFIX"), *core = getenv("REMEDY_CORE");
    if (name == NULL)
        return;
    (void)snprintf(prefix, sizeof prefix, "%s", name);
    wants_core = core == NULL || strcmp(core, "0") != 0;
    *(void **)&free_group = dlsym(RTLD_DEFAULT, "remedy_free_group");
    struct sigaction action = {.sa_handler = on_core};
    sigaction(SIGRTMIN + 8, &action, NULL);
    action.sa_handler = on_copy;
    action.sa_flags = SA_RESTART;
    sigaction(SIGRTMIN + 9, &action, NULL);
}
