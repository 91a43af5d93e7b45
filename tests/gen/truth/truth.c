#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "table.h"

struct table *table;

static char out_path[4000];
static enum truth_end how_to_end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void table_die(const char *why) {
    (void)!write(STDERR_FILENO, why, strlen(why));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(99);
}

/* The path of a file that stands beside the truth file; the storage is static. */
static const char *beside(const char *suffix) {
    static char path[sizeof out_path + 16];
    strcpy(path, out_path);
    strcat(path, suffix);
    return path;
}

/*
 * Whether a core's holes are to be believed shows only in a page that is all zeros and still stands
 * in it as data. Large processes have such pages anyway; ours makes sure of one.
 */
static void leave_a_page_of_zeros(void) {
    static volatile char pages[2 * 4096];
    for (size_t i = 0; i < sizeof pages; i++)
        pages[i] = 1;
    for (size_t i = 0; i < sizeof pages; i++)
        pages[i] = 0;
}

void truth_open(const char *scenario, const char *out, enum truth_end end) {
    if (strlen(out) >= sizeof out_path)
        table_die("the path of the truth file is too long");
    leave_a_page_of_zeros();
    strcpy(out_path, out);
    how_to_end = end;
    int fd = open(beside(".tab"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *table))
        table_die("cannot make the table of pointers");
    /* With a gap below: our pointer to the table must not be one past the end of a chunk. */
    const size_t guard = 65536; /* a multiple of any page size */
    const size_t bytes = sizeof *table;
    char *room = mmap(NULL, guard + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        table_die("no room for the table");
    table = mmap(room + guard, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (table == MAP_FAILED)
        table_die("cannot map the table of pointers");
    close(fd);
    table->out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (table->out_fd < 0)
        table_die("cannot write the truth file");
    truth_expect("scenario", scenario);
}

/* Open addressing; the table is far larger than any scenario, and full means stop. */
struct table_slot *table_slot(const void *p) {
    uintptr_t hidden = ~(uintptr_t)p;
    size_t at = ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 45;
    for (size_t step = 0; step < TABLE_SLOTS; step++) {
        struct table_slot *slot = &table->slots[(at + step) % TABLE_SLOTS];
        if (slot->hidden == hidden)
            return slot;
        if (slot->state != TABLE_EMPTY)
            continue;
        slot->hidden = hidden;
        return slot;
    }
    table_die("the table of pointers is full");
}

void *truth_take(void *p, size_t size) {
    if (!p)
        table_die("out of memory");
    pthread_mutex_lock(&lock);
    struct table_slot *slot = table_slot(p);
    slot->requested = size;
    slot->state = TABLE_LIVE;
    slot->mark = TRUTH_PLAIN;
    pthread_mutex_unlock(&lock);
    return p;
}

void *truth_new(size_t size) {
    return truth_take(malloc(size), size);
}

void truth_gone(void *p) {
    pthread_mutex_lock(&lock);
    table_slot(p)->state = TABLE_FREED;
    pthread_mutex_unlock(&lock);
}

void truth_drop(void *p) {
    truth_gone(p);
    free(p);
}

void *truth_resize(void *p, size_t size) {
    truth_gone(p);
    return truth_take(realloc(p, size), size);
}

void truth_mark(void *p, enum truth_mark mark) {
    pthread_mutex_lock(&lock);
    table_slot(p)->mark = mark;
    pthread_mutex_unlock(&lock);
}

void truth_expect(const char *kind, const char *value) {
    put_text(kind);
    put_text("\t");
    put_text(value);
    put_text("\n");
}

static void put_figure(const char *kind, uint64_t value) {
    put_text(kind);
    put_text("\t");
    put_number(value);
    put_text("\n");
}

static void put_mallinfo(const char *kind, const struct mallinfo2 *info) {
    const size_t field[] = {info->arena,    info->ordblks, info->smblks,  info->hblks,
                            info->hblkhd,   info->usmblks, info->fsmblks, info->uordblks,
                            info->fordblks, info->keepcost};
    put_text(kind);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        put_text("\t");
        put_number(field[i]);
    }
    put_text("\n");
}

static void put_pointer(const struct table_slot *slot) {
    static const char *const mark_name[] = {"plain", "held", "leaked"};
    void *p = (void *)~slot->hidden;
    bool is_live = slot->state == TABLE_LIVE;
    put_text(is_live ? "live\t" : "freed\t");
    put_hex((uintptr_t)p);
    put_text("\t");
    put_number(slot->requested);
    if (is_live) {
        put_text("\t");
        put_number(malloc_usable_size(p));
        put_text("\t");
        put_text(mark_name[slot->mark]);
    }
    put_text("\n");
}

/* Not inlined, so that no register keeps the last of them. */
static __attribute__((noinline)) void put_pointers(void) {
    for (size_t i = 0; i < TABLE_SLOTS; i++) {
        if (table->slots[i].state != TABLE_EMPTY)
            put_pointer(&table->slots[i]);
    }
}

static void put_trim(void) {
    put_mallinfo("mallinfo2_trimmed", &table->trimmed);
    put_figure("trim_result", table->trim_result);
    put_figure("trim_anonymous_before", table->rollup_before);
    put_figure("trim_anonymous_after", table->rollup_after);
    put_figure("trim_traced", table->traced && !table->lost_calls);
    for (uint64_t i = 0; i < table->nr_calls; i++) {
        const struct table_call *call = &table->calls[i];
        put_text("trim_call\t");
        put_text(call_name(call->nr));
        for (int k = 0; k < 3; k++) {
            put_text("\t");
            put_hex(call->arg[k]);
        }
        put_text("\t");
        put_hex(call->result);
        put_text("\n");
    }
}

static void put_process(void) {
    put_figure("pid", getpid());
    put_figure("sbrk", (uintptr_t)sbrk(0));
    proc_read("/proc/self/status");
    uint64_t now = proc_field("Threads:\t") / 1024;
    put_figure("threads", now > threads_started() ? now : threads_started() + 1);
    put_figure("threads_now", now);
    put_figure("cpus", sysconf(_SC_NPROCESSORS_ONLN));
    proc_read("/proc/self/smaps_rollup");
    put_figure("anonymous", proc_field("Anonymous:"));
    put_figure("rss", proc_field("Rss:"));
}

/* The raw smaps, as `--smaps` takes it. */
static void save_smaps(void) {
    char buffer[4096];
    int in = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    int out = open(beside(".smaps"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (in < 0 || out < 0)
        table_die("cannot save smaps");
    for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;) {
        if (write(out, buffer, n) != n)
            table_die("cannot save smaps");
    }
    close(in);
    close(out);
}

void truth_finish(void) {
    table->first = mallinfo2();
    table->second = mallinfo2();
    child_malloc_info(beside(".xml"));
    child_trim();
    put_mallinfo("mallinfo2", &table->first);
    put_mallinfo("mallinfo2_again", &table->second);
    put_trim();
    put_pointers();
    put_resident_pages();
    put_process();
    save_smaps();
    put_text("end\n");
    put_flush();
    if (how_to_end == TRUTH_ABORT)
        abort();
    (void)!write(STDOUT_FILENO, "ready\n", 6);
    for (;;)
        pause();
}
