/* Opening a core, in the order of core_private.h, and what can be asked of an open one. */
#include "core/core.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/core_private.h"

void cf_core_add_flaw(struct cf_core *core, const char *code, uint64_t offset, const char *format,
                      ...) {
    if (core->flaws.len == CF_CORE_MAX_FLAWS) {
        struct cf_core_flaw *last = &core->flaws.items[core->flaws.len - 1];
        *last = (struct cf_core_flaw){.code = "more-flaws", .offset = offset};
        (void)snprintf(last->detail, sizeof last->detail,
                       "more flaws than %d; the rest is left out", CF_CORE_MAX_FLAWS - 1);
        return;
    }
    struct cf_core_flaw *flaw = cf_array_push(&core->flaws);
    if (flaw == NULL)
        return;
    flaw->code = code;
    flaw->offset = offset;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(flaw->detail, sizeof flaw->detail, format, args);
    va_end(args);
}

void cf_core_add_missing(struct cf_core *core, uint64_t bytes) {
    if (!cf_add_u64(core->missing_bytes, bytes, &core->missing_bytes))
        core->missing_bytes = UINT64_MAX;
}

uint64_t cf_core_present(const struct cf_core *core, uint64_t offset, uint64_t bytes) {
    if (offset >= core->usable_bytes)
        return 0;
    uint64_t left = core->usable_bytes - offset;
    return bytes < left ? bytes : left;
}

static void cleanup_core(struct cf_core **core) {
    cf_core_free(*core);
}

/* What cannot be read looks like a file that is no core, and must not be told as that. */
static int read_container(struct cf_core *core, struct cf_err *err) {
    int status = cf_core_read_headers(core, err);
    if (status == CF_OK)
        status = cf_core_read_notes(core, err);
    if (status == CF_OK) {
        core->producer = cf_core_judge_producer(core);
        cf_core_judge_content(core);
        cf_core_look_for_blanks(core);
    }
    int read_status = cf_core_read_status(core, err);
    return read_status != CF_OK ? read_status : status;
}

int cf_core_open(const struct cf_context *ctx, int fd, const char *name,
                      const struct cf_core_origin *origin, struct cf_core **out,
                      struct cf_err *err) {
    (void)ctx;
    CF_CLEANUP(cleanup_core) struct cf_core *core = calloc(1, sizeof *core);
    if (core == NULL)
        return cf_err_nomem(err, sizeof *core, "the core");
    core->fd = fd;
    if (origin != NULL)
        core->origin = *origin;
    core->name = strdup(name);
    core->window = cf_core_window_new();
    if (core->name == NULL || core->window == NULL)
        return cf_err_nomem(err, strlen(name) + 1, "the core's name");
    int status = cf_core_map(core, err);
    if (status == CF_OK)
        status = read_container(core, err);
    if (status != CF_OK)
        return status;
    if (core->origin.truncated)
        cf_core_add_flaw(core, "archive-cut", core->map_bytes,
                         "the archive ended early; %llu bytes of the core came out of it",
                         (unsigned long long)core->map_bytes);
    *out = cf_take(&core);
    return CF_OK;
}

void cf_core_free(struct cf_core *core) {
    if (core == NULL)
        return;
    cf_core_unmap(core);
    cf_array_free(&core->segments);
    cf_array_free(&core->notes);
    cf_array_free(&core->threads);
    cf_array_free(&core->files);
    cf_array_free(&core->flaws);
    cf_core_window_free(core->window);
    free(core->name);
    free(core);
}

const char *cf_core_name(const struct cf_core *core) {
    return core->name;
}

uint64_t cf_core_file_bytes(const struct cf_core *core) {
    return core->map_bytes;
}

enum cf_machine cf_core_machine(const struct cf_core *core) {
    return core->machine;
}

const char *cf_core_machine_name(const struct cf_core *core) {
    static const char *const names[] = {
        [CF_MACHINE_X86_64] = "x86_64",
        [CF_MACHINE_I386] = "i386",
        [CF_MACHINE_AARCH64] = "aarch64",
    };
    return names[core->machine];
}

unsigned cf_core_word_bytes(const struct cf_core *core) {
    return core->word_bytes;
}

enum cf_producer cf_core_producer(const struct cf_core *core) {
    return core->producer;
}

const char *cf_core_producer_name(const struct cf_core *core) {
    static const char *const names[] = {
        [CF_PRODUCER_UNKNOWN] = "unknown", [CF_PRODUCER_KERNEL] = "kernel",
        [CF_PRODUCER_GCORE] = "gcore",     [CF_PRODUCER_CREATEDUMP] = "createdump",
        [CF_PRODUCER_QEMU] = "qemu",       [CF_PRODUCER_VALGRIND] = "valgrind",
    };
    return names[core->producer];
}

bool cf_core_complete(const struct cf_core *core) {
    return core->missing_bytes == 0 && !core->damaged && core->left_out == NULL &&
           !core->origin.truncated;
}

const char *cf_core_left_out(const struct cf_core *core) {
    return core->left_out;
}

uint64_t cf_core_missing_bytes(const struct cf_core *core) {
    return core->missing_bytes;
}

enum cf_checksum cf_core_checksum(const struct cf_core *core) {
    return core->origin.checksum;
}

bool cf_core_vouches(const struct cf_core *core) {
    return !core->origin.truncated;
}

bool cf_core_holes_are_evidence(const struct cf_core *core) {
    return !core->origin.holes_are_ours && !core->is_blank;
}

size_t cf_core_nr_segments(const struct cf_core *core) {
    return core->segments.len;
}

const struct cf_segment *cf_core_segment(const struct cf_core *core, size_t index) {
    return &core->segments.items[index];
}

size_t cf_core_nr_threads(const struct cf_core *core) {
    return core->threads.len;
}

const struct cf_core_thread *cf_core_thread(const struct cf_core *core, size_t index) {
    return &core->threads.items[index];
}

size_t cf_core_nr_files(const struct cf_core *core) {
    return core->files.len;
}

const struct cf_core_file *cf_core_file(const struct cf_core *core, size_t index) {
    return &core->files.items[index];
}

bool cf_core_has_files(const struct cf_core *core) {
    return core->has_files;
}

bool cf_core_auxv(const struct cf_core *core, uint64_t type, uint64_t *out) {
    struct cf_cursor cursor = cf_cursor_make(core->auxv, core->auxv_bytes, core->word_bytes);
    uint64_t key;
    uint64_t value;
    while (cf_cursor_word(&cursor, &key) && cf_cursor_word(&cursor, &value) && key != 0) {
        if (key == type) {
            *out = value;
            return true;
        }
    }
    return false;
}

const unsigned char *cf_core_auxv_bytes(const struct cf_core *core, size_t *bytes) {
    *bytes = core->auxv_bytes;
    return core->auxv;
}

uint64_t cf_core_page_bytes(const struct cf_core *core) {
    enum { AUXV_PAGESZ = 6, SMALLEST = 4096, LARGEST = 2 << 20 };
    uint64_t value;
    if (!cf_core_auxv(core, AUXV_PAGESZ, &value) || !cf_is_power_of_two(value) ||
        value < SMALLEST || value > LARGEST)
        return SMALLEST;
    return value;
}

/* Where NT_PRPSINFO has none (valgrind), it is the main thread's id: the lowest one, as ids are
 * given upwards. */
uint32_t cf_core_pid(const struct cf_core *core) {
    uint32_t lowest = core->pid;
    for (size_t i = 0; core->pid == 0 && i < core->threads.len; i++) {
        uint32_t tid = core->threads.items[i].tid;
        if (tid != 0 && (lowest == 0 || tid < lowest))
            lowest = tid;
    }
    return lowest;
}

int32_t cf_core_signal(const struct cf_core *core) {
    if (core->threads.len > 0 && core->threads.items[0].signal != 0)
        return core->threads.items[0].signal;
    return core->siginfo_signal;
}

bool cf_core_fault(const struct cf_core *core, uint64_t *addr) {
    int32_t signal = core->siginfo_signal;
    if ((signal != SIGSEGV && signal != SIGBUS) || signal != cf_core_signal(core) ||
        core->siginfo_code <= 0)
        return false;
    *addr = core->siginfo_addr;
    return true;
}

bool cf_core_is_snapshot(const struct cf_core *core) {
    switch (cf_core_signal(core)) {
    case SIGILL:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
        return false;
    case 0:
        return true;
    default:
        return core->producer == CF_PRODUCER_GCORE;
    }
}

const char *cf_core_command(const struct cf_core *core) {
    return core->command;
}

const char *cf_core_arguments(const struct cf_core *core) {
    return core->arguments;
}

size_t cf_core_nr_flaws(const struct cf_core *core) {
    return core->flaws.len;
}

const struct cf_core_flaw *cf_core_flaw(const struct cf_core *core, size_t index) {
    return &core->flaws.items[index];
}

const unsigned char *cf_core_bytes(const struct cf_core *core, uint64_t offset, uint64_t bytes) {
    if (offset > core->usable_bytes || bytes > core->usable_bytes - offset)
        return NULL;
    return core->map + offset;
}
