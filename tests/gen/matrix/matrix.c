/*
 * The truth program of the matrix: small enough to be built once for each machine, against the
 * oldest libc, and run under every other. `matrix SCENARIO [VARIABLE=VALUE...]` makes the heap of
 * one scenario, writes what it knows to `truth` and `truth.xml` in the current folder (the format
 * of ../README.md) and aborts. Where the system calls of its trim are wanted, its caller traces
 * it: a forked child calls access("TRIM-BEGIN") before a real malloc_trim(0) and
 * access("TRIM-END") after it.
 *
 * Between the statistics and the end there is neither malloc nor stdio.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 8192, NR_THREADS = 5, KIB = 1024, MIB = 1024 * KIB };

struct slot {
    void *p;
    size_t requested;
    int state; /* 0: empty, 1: live, 2: freed */
};

/* In memory that the kernel does not dump, so that a core has no second list of the pointers. */
static struct slot *slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int out_fd;
static char buffer[32 * KIB];
static size_t buffered;
static unsigned nr_threads_now;

static _Noreturn void die(const char *why) {
    (void)!write(2, why, strlen(why));
    (void)!write(2, "\n", 1);
    _exit(99);
}

/* ---- writing ---- */

static void put_flush(void) {
    if (write(out_fd, buffer, buffered) != (ssize_t)buffered)
        die("cannot write the truth");
    buffered = 0;
}

static void put_text(const char *text) {
    for (; *text; text++) {
        if (buffered == sizeof buffer)
            put_flush();
        buffer[buffered++] = *text;
    }
}

static void put_number(uintptr_t value, unsigned base) {
    char digits[24];
    char *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = "0123456789abcdef"[value % base];
    while (value /= base);
    put_text(base == 16 ? "\t0x" : "\t");
    put_text(at);
}

static void put_figure(const char *kind, uintptr_t value) {
    put_text(kind);
    put_number(value, 10);
    put_text("\n");
}

static void put_mallinfo(const char *kind, const struct mallinfo *info) {
    const int field[] = {info->arena,   info->ordblks, info->smblks,   info->hblks,
                         info->hblkhd,  info->usmblks, info->fsmblks,  info->uordblks,
                         info->fordblks, info->keepcost};
    put_text(kind);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        put_number((unsigned)field[i], 10);
    put_text("\n");
}

/* ---- the table ---- */

static struct slot *slot_of(void *p) {
    for (size_t at = ((uintptr_t)p >> 3) * 2654435761u % SLOTS, step = 0; step < SLOTS; step++) {
        struct slot *slot = &slots[(at + step) % SLOTS];
        if (slot->p == p || slot->state == 0) {
            slot->p = p;
            return slot;
        }
    }
    die("the table is full");
}

static void *take(void *p, size_t bytes) {
    if (p == NULL)
        die("out of memory");
    pthread_mutex_lock(&lock);
    struct slot *slot = slot_of(p);
    slot->requested = bytes;
    slot->state = 1;
    pthread_mutex_unlock(&lock);
    return p;
}

static void drop(void *p) {
    pthread_mutex_lock(&lock);
    slot_of(p)->state = 2;
    pthread_mutex_unlock(&lock);
    free(p);
}

static void *resize(void *p, size_t bytes) {
    pthread_mutex_lock(&lock);
    slot_of(p)->state = 2;
    pthread_mutex_unlock(&lock);
    return take(realloc(p, bytes), bytes);
}

static void *new(size_t bytes) {
    return take(malloc(bytes), bytes);
}

static uint32_t random_state = 12345;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

/* ---- shapes of a heap ---- */

/* Chunks of all sizes, every second or third freed: bins of all kinds, fastbins, the tcache. */
static void fill_bins(unsigned count) {
    void *p[400];
    for (unsigned i = 0; i < count; i++) {
        uint32_t most = i % 4 == 0 ? 120 : i % 4 == 1 ? 1000 : i % 16 == 2 ? 40000 : 5000;
        p[i] = new(1 + random_below(most));
    }
    for (unsigned i = 0; i < count; i++)
        if (random_below(5) < 3)
            drop(p[i]);
}

/* Nine of a size and the guard between: seven fill the tcache of 2.41, the rest goes to fastbins
 * or bins. A later, larger request sorts the unsorted bin. */
static void fill_caches(void) {
    for (unsigned bytes = 24; bytes <= 200; bytes += 22) {
        void *p[12];
        for (unsigned i = 0; i < 12; i++) {
            p[i] = new(bytes);
            (void)new(20);
        }
        for (unsigned i = 0; i < 12 - bytes / 50; i++)
            drop(p[i]);
    }
}

static void fill_main(void) {
    fill_bins(300);
    (void)new(60 * KIB); /* sorts what is unsorted */
    fill_caches();
    void *last[6];
    for (unsigned i = 0; i < 6; i++)
        last[i] = new(1500 + 300 * i);
    for (unsigned i = 0; i < 6; i += 2)
        drop(last[i]); /* stays unsorted */
}

/* Blocks of their own: plain, aligned (two headers in one block), grown and shrunk by mremap, and
 * bytes that look like one and are none. */
static void fill_mmapped(void) {
    (void)new(200 * KIB);
    (void)new(400 * KIB + 123);
    for (size_t align = 64; align <= 1 * MIB; align *= 8)
        (void)take(memalign(align, 300 * KIB), 300 * KIB);
    (void)take(memalign(4096, 170 * KIB), 170 * KIB);
    void *p = new(260 * KIB);
    p = resize(p, 520 * KIB);
    p = resize(p, 300 * KIB);
    resize(p, 900 * KIB);
    drop(new(700 * KIB));
    uintptr_t *decoy = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (decoy == MAP_FAILED)
        die("no decoy");
    decoy[1] = 8192 | 2;
    (void)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void run_basic(void) {
    fill_main();
    fill_mmapped();
}

static void run_bins(void) {
    fill_main();
}

static void run_empty(void) {
    drop(new(100));
}

static void run_unused(void) {
}

/* Somebody else moves the break, by sizes that are no multiples of anything. */
static void run_foreign(void) {
    static const intptr_t steps[] = {5000, 64 * KIB, 24, 300 * KIB + 8};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        fill_bins(60);
        char *foreign = sbrk(steps[i]);
        if (foreign == (char *)-1)
            die("sbrk");
        memset(foreign, 0x5a, (size_t)steps[i] < 64 ? (size_t)steps[i] : 64);
        (void)new(100 * KIB); /* more than is left of the top */
        (void)new(90 * KIB);
    }
    fill_caches();
    (void)sbrk(8000);
}

/* A page in the way of the break: the main arena goes on in pieces that it maps. */
static void run_nobrk(void) {
    fill_bins(120);
    uintptr_t at = ((uintptr_t)sbrk(0) + 4095) & ~(uintptr_t)4095;
    void *wall = mmap((void *)(at + 4096), 4096, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (wall == MAP_FAILED)
        die("no wall");
    for (unsigned i = 0; i < 30; i++) {
        (void)new(100 * KIB);
        fill_bins(10);
    }
    fill_caches();
}

/* ---- threads ---- */

struct worker {
    pthread_t id;
    sem_t go;
    unsigned phase;
    void *kept[16];
};

static struct worker workers[NR_THREADS];
static sem_t done;
static size_t heap_bytes; /* HEAP_MAX_SIZE, for the thread that fills several */

static void work_first(unsigned i) {
    fill_bins(60 + 10 * i);
    for (unsigned k = 0; k < 16; k++)
        workers[i].kept[k] = new(40 + 100 * k);
    for (size_t sum = 0; i == 1 && sum < heap_bytes + heap_bytes / 2; sum += heap_bytes / 20) {
        void *p = new(heap_bytes / 20);
        if (random_below(4) == 0)
            drop(p);
    }
}

/* Chunks of the next thread's arena are freed here: they go to this thread's cache. */
static void work_second(unsigned i) {
    struct worker *next = &workers[(i + 1) % NR_THREADS];
    for (unsigned k = i % 2; k < 16; k += 2)
        drop(next->kept[k]);
    fill_caches();
}

static void wait_for(sem_t *sem) {
    while (sem_wait(sem))
        continue;
}

static void *work(void *argument) {
    struct worker *worker = argument;
    unsigned i = (unsigned)(worker - workers);
    for (;;) {
        wait_for(&worker->go);
        if (worker->phase == 1)
            work_first(i);
        else if (worker->phase == 2)
            work_second(i);
        else
            break;
        sem_post(&done);
    }
    return NULL;
}

static void start_workers(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * KIB);
    sem_init(&done, 0, 0);
    for (unsigned i = 0; i < NR_THREADS; i++) {
        sem_init(&workers[i].go, 0, 0);
        if (pthread_create(&workers[i].id, &attr, work, &workers[i]))
            die("no thread");
    }
    pthread_attr_destroy(&attr);
}

/* One after the other, so that every run makes the same heap. */
static void phase(unsigned nr) {
    for (unsigned i = 0; i < NR_THREADS; i++) {
        workers[i].phase = nr;
        sem_post(&workers[i].go);
        wait_for(&done);
    }
}

static void run_threads(void) {
    heap_bytes = sizeof(void *) == 8 ? 64 * MIB : 1 * MIB;
    const char *tunables = getenv("GLIBC_TUNABLES");
    if (tunables && strstr(tunables, "hugetlb=2"))
        heap_bytes = 8 * MIB;
    mallopt(M_MMAP_THRESHOLD, (int)(heap_bytes / 16));
    start_workers();
    nr_threads_now = NR_THREADS;
    fill_bins(40);
    phase(1);
    phase(2);
    workers[3].phase = 3;
    sem_post(&workers[3].go);
    pthread_join(workers[3].id, NULL);
    nr_threads_now--;
    fill_caches();
}

/* From 2.42 on thread caches may hold large chunks, from 2.43 on mmapped ones, if they are told
 * to by tcache_max. */
static void run_large(void) {
    static const size_t sizes[] = {1100, 1900, 3000, 5000, 9000, 20000, 70000, 100000};
    fill_bins(60);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *p[5];
        for (unsigned k = 0; k < 5; k++) {
            p[k] = new(sizes[i] + 100 * k);
            (void)new(24);
        }
        for (unsigned k = 0; k < 4; k++)
            drop(p[(k * 3) % 5]);
    }
    void *own[4];
    for (unsigned i = 0; i < 4; i++)
        own[i] = new((200 + 150 * i) * KIB);
    drop(own[1]);
    drop(own[2]);
}

/* ---- a second libc in one process ---- */

static struct mallinfo (*other_mallinfo)(void);

static void run_dlmopen(void) {
#ifndef MATRIX_STATIC
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    if (libc == NULL)
        die("dlmopen");
    void *(*other_malloc)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
    void (*other_free)(void *) = (void (*)(void *))dlsym(libc, "free");
    other_mallinfo = (struct mallinfo(*)(void))dlsym(libc, "mallinfo");
    for (unsigned i = 0; i < 200; i++) {
        void *p = other_malloc(20 + random_below(3000));
        if (p == NULL)
            die("the other malloc");
        if (i % 3 == 0)
            other_free(p);
    }
#endif
    fill_main();
}

/* ---- the end ---- */

/* A page that is all zeros and in memory: it shows that a core's holes are the kernel's. */
static void leave_a_page_of_zeros(void) {
    static volatile char pages[2 * 4096];
    for (size_t i = 0; i < sizeof pages; i++)
        pages[i] = 1;
    for (size_t i = 0; i < sizeof pages; i++)
        pages[i] = 0;
}

static void child_info(void) {
    pid_t child = fork();
    if (child == 0) {
        int fd = open("truth.xml", O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (fd < 0 || dup2(fd, 1) < 0)
            _exit(1);
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
        _exit(malloc_info(0, stdout) || fflush(stdout));
    }
    int status;
    if (waitpid(child, &status, 0) != child || status)
        die("malloc_info");
}

static int child_trim(void) {
    pid_t child = fork();
    if (child == 0) {
        (void)!access("TRIM-BEGIN", F_OK);
        int result = malloc_trim(0);
        (void)!access("TRIM-END", F_OK);
        _exit(result);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        die("malloc_trim");
    return WEXITSTATUS(status);
}

static void put_slot(const struct slot *slot, int knows_usable) {
    if (slot->state == 0)
        return;
    put_text(slot->state == 1 ? "live" : "freed");
    put_number((uintptr_t)slot->p, 16);
    put_number(slot->requested, 10);
    if (slot->state == 1) {
        if (knows_usable)
            put_number(malloc_usable_size(slot->p), 10);
        else
            put_text("\t-");
        put_text("\tplain");
    }
    put_text("\n");
}

/* Under the debug preload it is the preloaded malloc that answers only where its checks are on, and
 * then the usable size is the requested one. */
static _Noreturn void finish(const char *preload) {
    struct mallinfo first = mallinfo(), second = mallinfo(), other = {0};
    int knows_mallinfo = !preload || getenv("MALLOC_CHECK_");
    if (other_mallinfo)
        other = other_mallinfo();
    child_info();
    int trimmed = child_trim();
    if (knows_mallinfo) {
        put_mallinfo("mallinfo2", &first);
        put_mallinfo("mallinfo2_again", &second);
        put_figure("trim_result", (uintptr_t)trimmed);
    }
    if (other_mallinfo)
        put_mallinfo("mallinfo2_other", &other);
    for (unsigned i = 0; i < SLOTS; i++)
        put_slot(&slots[i], !preload);
    put_figure("pid", (uintptr_t)getpid());
    put_figure("sbrk", (uintptr_t)sbrk(0));
    put_figure("threads", NR_THREADS + 1);
    put_figure("threads_now", nr_threads_now + 1);
    put_flush();
    abort();
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"basic", run_basic},   {"bins", run_bins},       {"empty", run_empty},
        {"unused", run_unused}, {"foreign", run_foreign}, {"nobrk", run_nobrk},
        {"threads", run_threads}, {"large", run_large},   {"dlmopen", run_dlmopen},
    };
    if (argc > 2) /* VARIABLE=VALUE...: they must be there before malloc starts */
        return execve(argv[0], (char *[]){argv[0], argv[1], NULL}, argv + 2);
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    (void)setrlimit(RLIMIT_CORE, &all);
    slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    if (slots == MAP_FAILED)
        die("no table");
    (void)madvise(slots, SLOTS * sizeof *slots, MADV_DONTDUMP);
    leave_a_page_of_zeros();
    out_fd = open("truth", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (out_fd < 0)
        die("cannot make the truth file");
    for (size_t i = 0; argc == 2 && i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name))
            continue;
        put_text("scenario\t");
        put_text(argv[1]);
        put_text("\n");
        scenarios[i].run();
        finish(getenv("LD_PRELOAD"));
    }
    die("no such scenario");
}
