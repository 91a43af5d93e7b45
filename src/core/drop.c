/*
 * Giving pages of the mapping back. A fault maps the neighbours of its page too, so that dropping
 * exactly what was read leaves most of them behind where many small regions stand side by side, and
 * costs a call each. So what is given back is gathered into one window of the file, and dropped
 * when that is large enough or the reader goes elsewhere.
 */
#include "core/drop.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/tempfile.h"
#include "core/core_private.h"

enum {
    WINDOW_BYTES = 4 << 20,
    NEAR_BYTES = 1 << 20,       /* what is farther away is elsewhere */
    NEIGHBOURS_BYTES = 1 << 16, /* fault_around_bytes of the kernel */
};

struct core_window {
    pthread_mutex_t lock;
    uint64_t start; /* start == end: empty */
    uint64_t end;
};

struct core_window *cf_core_window_new(void) {
    struct core_window *window = calloc(1, sizeof *window);
    if (window != NULL)
        (void)pthread_mutex_init(&window->lock, NULL);
    return window;
}

void cf_core_window_free(struct core_window *window) {
    if (window == NULL)
        return;
    (void)pthread_mutex_destroy(&window->lock);
    free(window);
}

/* Gives back [start, end) but for what was copied, which would be lost. */
static void give_back(const struct cf_core *core, uint64_t start, uint64_t end) {
    for (size_t i = 0; i < core->copies.len && start < end; i++) {
        const struct cf_core_extent *copy = &core->copies.items[i];
        if (copy->end <= start)
            continue;
        if (copy->start >= end)
            break;
        if (copy->start > start)
            (void)madvise(core->map + start, (size_t)(copy->start - start), MADV_DONTNEED);
        start = copy->end;
    }
    if (start < end)
        (void)madvise(core->map + start, (size_t)(end - start), MADV_DONTNEED);
}

static void flush(const struct cf_core *core) {
    struct core_window *window = core->window;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t align = page > NEIGHBOURS_BYTES ? page : NEIGHBOURS_BYTES;
    uint64_t start = cf_align_down(window->start, align);
    uint64_t end;
    if (!cf_align_up(window->end, align, &end) || end > core->map_bytes)
        end = core->map_bytes;
    if (window->start < window->end)
        give_back(core, start, end);
    window->start = window->end = 0;
}

static bool is_near(const struct core_window *window, uint64_t start, uint64_t end) {
    return start <= window->end + NEAR_BYTES && window->start <= end + NEAR_BYTES;
}

void cf_core_drop(const struct cf_core *core, uint64_t offset, uint64_t bytes) {
    struct core_window *window = core->window;
    uint64_t present = cf_core_present(core, offset, bytes);
    if (present == 0)
        return;
    uint64_t end = offset + present;
    (void)pthread_mutex_lock(&window->lock);
    if (window->start < window->end && !is_near(window, offset, end))
        flush(core);
    bool is_empty = window->start == window->end;
    window->start = is_empty || offset < window->start ? offset : window->start;
    window->end = is_empty || end > window->end ? end : window->end;
    if (window->end - window->start >= WINDOW_BYTES)
        flush(core);
    (void)pthread_mutex_unlock(&window->lock);
}

/* ---- the guard ---- */

static uint64_t faults_now(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

struct cf_rss_guard cf_rss_guard_make(const struct cf_core *core, uint64_t bytes,
                                      unsigned rereads) {
    return (struct cf_rss_guard){
        .core = core,
        .until_look = CF_RSS_GUARD_STEPS,
        .faults_seen = faults_now(),
        .file_bytes = cf_resident_file_bytes(),
        .drops_max = 16 + rereads * (bytes / CF_RSS_GUARD_BYTES),
    };
}

void cf_rss_guard_look(struct cf_rss_guard *guard) {
    guard->until_look = CF_RSS_GUARD_STEPS;
    if (guard->drops >= guard->drops_max)
        return;
    uint64_t faults = faults_now();
    if (faults - guard->faults_seen < CF_RSS_GUARD_FAULTS)
        return;
    guard->faults_seen = faults;
    uint64_t file_bytes = cf_resident_file_bytes();
    if (file_bytes < guard->file_bytes) /* another pass has dropped them */
        guard->file_bytes = file_bytes;
    if (file_bytes - guard->file_bytes < CF_RSS_GUARD_BYTES)
        return;
    cf_core_drop(guard->core, 0, cf_core_file_bytes(guard->core));
    guard->file_bytes = cf_resident_file_bytes();
    guard->drops++;
}
