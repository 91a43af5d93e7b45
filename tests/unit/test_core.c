/* core: headers, notes, producers and damage, on synthetic cores of every machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/core.h"
#include "core/core_private.h"
#include "core/drop.h"
#include "core/reader.h"
#include "synth.h"

static const enum cf_machine machines[] = {CF_MACHINE_X86_64, CF_MACHINE_I386, CF_MACHINE_AARCH64};
enum { NR_MACHINES = sizeof machines / sizeof *machines };

enum { AT_PAGESZ_TYPE = 6, AT_BASE_TYPE = 7 };

static struct cf_core *open_core(struct synth *synth) {
    struct cf_err err = {.text = ""};
    struct cf_core *core = NULL;
    int status = cf_core_open(NULL, synth_fd(synth), "synth", NULL, &core, &err);
    if (status != CF_OK)
        fail_msg("%s", err.text);
    return core;
}

static bool has_flaw(const struct cf_core *core, const char *code) {
    for (size_t i = 0; i < cf_core_nr_flaws(core); i++) {
        if (strcmp(cf_core_flaw(core, i)->code, code) == 0)
            return true;
    }
    return false;
}

/* A process of two threads with a library, a heap and a stack. */
static struct synth *small_core(enum cf_machine machine, enum synth_layout layout) {
    struct synth *synth = synth_new(machine);
    synth_options(synth)->layout = layout;
    synth_thread(synth, 1001, 6, 0x70001000, 0x7fff2000);
    synth_thread(synth, 1002, 0, 0x70002000, 0x70000800);
    synth_psinfo(synth, 1000, "worker", "/srv/worker --serve");
    synth_auxv(synth, AT_PAGESZ_TYPE, 4096);
    synth_auxv(synth, AT_BASE_TYPE, 0x40000000);
    synth_file(synth, 0x40000000, 0x40002000, 0, "/lib/libx.so");
    synth_file(synth, 0x40002000, 0x40003000, 0x2000, "/lib/libx.so");
    synth_segment(synth, 0x40000000, 0x2000, SYNTH_R)->file_bytes = 0x1000;
    synth_segment(synth, 0x40002000, 0x1000, SYNTH_RW);
    synth_segment(synth, 0x50000000, 0x8000, SYNTH_RW);
    synth_segment(synth, 0x7fff0000, 0x3000, SYNTH_RW);
    synth_fill(synth, 0x40000000, 0x7f, 0x1000);
    synth_fill(synth, 0x50000000, 0x55, 0x8000);
    synth_put_word(synth, 0x7fff2000, 0xdead);
    return synth;
}

static void a_core_of_each_machine_is_read_whole(void **state) {
    (void)state;
    static const char *const names[] = {"x86_64", "i386", "aarch64"};
    for (size_t i = 0; i < NR_MACHINES; i++) {
        struct synth *synth = small_core(machines[i], SYNTH_KERNEL);
        struct cf_core *core = open_core(synth);
        assert_string_equal(cf_core_machine_name(core), names[i]);
        assert_int_equal(cf_core_word_bytes(core), machines[i] == CF_MACHINE_I386 ? 4 : 8);
        assert_string_equal(cf_core_producer_name(core), "kernel");
        assert_true(cf_core_complete(core));
        assert_int_equal(cf_core_missing_bytes(core), 0);
        assert_int_equal(cf_core_nr_flaws(core), 0);
        assert_int_equal(cf_core_file_bytes(core), synth_file_bytes(synth));
        assert_int_equal(cf_core_pid(core), 1000);
        assert_int_equal(cf_core_signal(core), 6);
        assert_string_equal(cf_core_command(core), "worker");
        assert_string_equal(cf_core_arguments(core), "/srv/worker --serve");
        cf_core_free(core);
        synth_free(synth);
    }
}

static void segments_are_those_of_the_headers(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_MACHINES; i++) {
        struct synth *synth = small_core(machines[i], SYNTH_KERNEL);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_nr_segments(core), 4);
        const struct cf_segment *segment = cf_core_segment(core, 0);
        assert_int_equal(segment->vaddr, 0x40000000);
        assert_int_equal(segment->mem_bytes, 0x2000);
        assert_int_equal(segment->file_bytes, 0x1000);
        assert_int_equal(segment->present_bytes, 0x1000);
        assert_int_equal(segment->offset, synth_offset(synth, 0));
        assert_int_equal(segment->flags, PF_R);
        const unsigned char *bytes = cf_core_bytes(core, segment->offset, 0x1000);
        assert_non_null(bytes);
        assert_int_equal(bytes[0xfff], 0x7f);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void each_thread_has_its_own_thread_pointer(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_MACHINES; i++) {
        struct synth *synth = small_core(machines[i], SYNTH_KERNEL);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_nr_threads(core), 2);
        const struct cf_core_thread *first = cf_core_thread(core, 0);
        const struct cf_core_thread *second = cf_core_thread(core, 1);
        assert_int_equal(first->tid, 1001);
        assert_int_equal(first->signal, 6);
        assert_true(first->has_tp);
        assert_int_equal(first->tp, 0x70001000);
        assert_int_equal(first->sp, 0x7fff2000);
        assert_int_equal(second->tid, 1002);
        assert_true(second->has_tp);
        assert_int_equal(second->tp, 0x70002000);
        assert_int_equal(second->sp, 0x70000800);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void a_thread_pointer_that_is_not_there_is_not_zero_but_unknown(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_MACHINES; i++) {
        struct synth *synth = synth_new(machines[i]);
        synth_thread(synth, 1, 11, 0, 0x1000);
        struct cf_core *core = open_core(synth);
        assert_false(cf_core_thread(core, 0)->has_tp);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void a_name_that_fills_its_field_is_read_without_its_terminator(void **state) {
    (void)state;
    char arguments[81];
    memset(arguments, 'a', 80);
    arguments[80] = '\0';
    for (size_t i = 0; i < NR_MACHINES; i++) {
        struct synth *synth = synth_new(machines[i]);
        synth_psinfo(synth, 7, "sixteen-letters!", arguments);
        struct cf_core *core = open_core(synth);
        assert_string_equal(cf_core_command(core), "sixteen-letters!");
        assert_string_equal(cf_core_arguments(core), arguments);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void the_producer_is_told_by_evidence(void **state) {
    (void)state;
    static const struct {
        enum synth_layout layout;
        enum cf_producer producer;
    } cases[] = {
        {SYNTH_KERNEL, CF_PRODUCER_KERNEL},
        {SYNTH_GCORE, CF_PRODUCER_GCORE},
        {SYNTH_QEMU, CF_PRODUCER_QEMU},
        {SYNTH_CREATEDUMP, CF_PRODUCER_CREATEDUMP},
    };
    for (size_t m = 0; m < NR_MACHINES; m++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct synth *synth = small_core(machines[m], cases[i].layout);
            struct cf_core *core = open_core(synth);
            assert_int_equal(cf_core_producer(core), cases[i].producer);
            assert_true(cf_core_complete(core));
            assert_int_equal(cf_core_nr_threads(core), 2);
            assert_int_equal(cf_core_pid(core), 1000);
            cf_core_free(core);
            synth_free(synth);
        }
    }
}

/* The first note is NT_PRPSINFO as in gdb's cores, but the layout is the kernel's, and the process
 * is told by its threads alone. */
static void valgrinds_core_has_its_pid(void **state) {
    (void)state;
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    static const unsigned char psinfo[136];
    synth_options(synth)->no_file_note = synth_options(synth)->no_auxv_note = true;
    static const uint32_t pids[] = {8912, 8911};
    synth_note(synth, "CORE", NT_PRPSINFO, psinfo, sizeof psinfo);
    for (size_t i = 0; i < 2; i++) {
        unsigned char prstatus[336] = {6};
        memcpy(prstatus + 32, &pids[i], sizeof pids[i]);
        synth_note(synth, "CORE", NT_PRSTATUS, prstatus, sizeof prstatus);
    }
    synth_segment(synth, 0x7000, 0x4000, SYNTH_RW);
    struct cf_core *core = open_core(synth);
    assert_string_equal(cf_core_producer_name(core), "valgrind");
    assert_int_equal(cf_core_pid(core), 8911);
    assert_true(cf_core_complete(core));
    cf_core_free(core);
    synth_free(synth);
}

/* A mini dump has the stacks from their stack pointers on; where one begins below, mappings are
 * whole. */
static void createdumps_mini_dump_is_not_whole(void **state) {
    (void)state;
    static const struct {
        enum synth_layout layout;
        uint64_t first, second; /* where the stacks begin */
        bool is_mini;
    } cases[] = {
        {SYNTH_CREATEDUMP, 0x7000, 0x19000, true},
        {SYNTH_CREATEDUMP, 0x6000, 0x19000, false},
        {SYNTH_CREATEDUMP, 0x7000, 0x11000, false},
        {SYNTH_KERNEL, 0x7000, 0x19000, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = synth_new(CF_MACHINE_X86_64);
        synth_options(synth)->layout = cases[i].layout;
        synth_psinfo(synth, 1000, "app", "");
        synth_thread(synth, 1000, 6, 0, 0x7e18);
        synth_thread(synth, 1001, 0, 0, 0x19010);
        synth_segment(synth, cases[i].first, 0x9000 - cases[i].first, SYNTH_RW);
        synth_segment(synth, cases[i].second, 0x20000 - cases[i].second, SYNTH_RW);
        struct cf_core *core = open_core(synth);
        assert_int_equal(has_flaw(core, "mini-dump"), cases[i].is_mini);
        assert_int_equal(cf_core_left_out(core) != NULL, cases[i].is_mini);
        assert_int_equal(cf_core_complete(core), !cases[i].is_mini);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void a_layout_that_nobody_writes_has_no_producer(void **state) {
    (void)state;
    struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
    synth_segment(synth, 0x60000000, 0x1000, SYNTH_RW)->declared_offset = 0x1234;
    synth_segment(synth, 0x60010000, 0x1000, SYNTH_RW);
    struct cf_core *core = open_core(synth);
    assert_string_equal(cf_core_producer_name(core), "unknown");
    cf_core_free(core);
    synth_free(synth);
}

static void offsets_of_mapped_files_are_bytes_whatever_the_unit(void **state) {
    (void)state;
    static const struct {
        enum synth_layout layout;
        bool in_bytes;
    } cases[] = {
        {SYNTH_KERNEL, false},
        {SYNTH_GCORE, false},
        {SYNTH_CREATEDUMP, false},
        {SYNTH_CREATEDUMP, true}, /* createdump 2.0 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = synth_new(CF_MACHINE_X86_64);
        synth_options(synth)->layout = cases[i].layout;
        synth_options(synth)->file_offsets_in_bytes = cases[i].in_bytes;
        synth_file(synth, 0x10000, 0x13000, 0, "/lib/a.so");
        synth_file(synth, 0x13000, 0x15000, 0x3000, "/lib/a.so");
        synth_file(synth, 0x90000, 0x91000, 0x7000, "/srv/b (deleted)");
        struct cf_core *core = open_core(synth);
        assert_true(cf_core_has_files(core));
        assert_int_equal(cf_core_nr_files(core), 3);
        assert_int_equal(cf_core_file(core, 0)->offset_bytes, 0);
        assert_int_equal(cf_core_file(core, 1)->offset_bytes, 0x3000);
        assert_int_equal(cf_core_file(core, 1)->start, 0x13000);
        assert_int_equal(cf_core_file(core, 1)->end, 0x15000);
        assert_int_equal(cf_core_file(core, 2)->offset_bytes, 0x7000);
        assert_string_equal(cf_core_file(core, 2)->path, "/srv/b (deleted)");
        cf_core_free(core);
        synth_free(synth);
    }
}

static int fd_with(const void *bytes, size_t nr_bytes) {
    int fd = memfd_create("input", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, nr_bytes), (ssize_t)nr_bytes);
    return fd;
}

static void what_is_not_a_core_is_refused_with_the_reason(void **state) {
    (void)state;
    static const unsigned char not_elf[64] = "#!/bin/sh\n";
    unsigned char ident[64] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1};
    static const struct {
        unsigned char class, data;
        uint16_t type, machine;
        size_t bytes;
        const char *reason;
    } cases[] = {
        {ELFCLASS64, ELFDATA2LSB, ET_DYN, EM_X86_64, 64, "program or library"},
        {ELFCLASS64, ELFDATA2LSB, ET_EXEC, EM_X86_64, 64, "program or library"},
        {ELFCLASS64, ELFDATA2LSB, ET_REL, EM_X86_64, 64, "object file"},
        {ELFCLASS64, ELFDATA2LSB, ET_CORE, EM_X86_64, 63, "cut off in its ELF header"},
        {ELFCLASS64, ELFDATA2LSB, ET_CORE, EM_X86_64, 21, "cut off in its ELF header"},
        {ELFCLASS64, ELFDATA2LSB, ET_CORE, EM_X86_64, 17, "not an ELF core"},
    };
    struct cf_err err;
    struct cf_core *core = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ident[EI_CLASS] = cases[i].class;
        ident[EI_DATA] = cases[i].data;
        ident[EI_NIDENT] = (unsigned char)cases[i].type;
        ident[EI_NIDENT + 2] = (unsigned char)cases[i].machine;
        CF_CLEANUP_CLOSE int fd = fd_with(ident, cases[i].bytes);
        assert_int_equal(cf_core_open(NULL, fd, "the-input", NULL, &core, &err), CF_EINPUT);
        assert_non_null(strstr(err.text, "the-input"));
        assert_non_null(strstr(err.text, cases[i].reason));
    }
    CF_CLEANUP_CLOSE int text = fd_with(not_elf, sizeof not_elf);
    assert_int_equal(cf_core_open(NULL, text, "x", NULL, &core, &err), CF_EINPUT);
    CF_CLEANUP_CLOSE int empty = fd_with("", 0);
    assert_int_equal(cf_core_open(NULL, empty, "x", NULL, &core, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "empty"));
    CF_CLEANUP_CLOSE int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(cf_core_open(NULL, folder, "x", NULL, &core, &err), CF_EINPUT);
    assert_null(core);
}

static void a_core_cut_anywhere_opens_and_says_what_lacks(void **state) {
    (void)state;
    for (size_t m = 0; m < NR_MACHINES; m++) {
        struct synth *whole = small_core(machines[m], SYNTH_KERNEL);
        (void)synth_fd(whole);
        uint64_t bytes = synth_file_bytes(whole);
        uint64_t data_at = synth_offset(whole, 0);
        synth_free(whole);
        for (uint64_t cut = 64; cut < bytes; cut += cut < data_at ? 4 : 1021) {
            struct synth *synth = small_core(machines[m], SYNTH_KERNEL);
            synth_options(synth)->truncate_bytes = cut;
            struct cf_core *core = open_core(synth);
            assert_false(cf_core_complete(core));
            if (cut >= data_at)
                assert_int_equal(cf_core_missing_bytes(core), bytes - cut);
            else
                assert_in_range(cf_core_missing_bytes(core), 1, bytes - cut);
            if (cf_core_nr_segments(core) < 4)
                assert_true(has_flaw(core, "headers-cut"));
            assert_int_equal(core->declared_segments > core->nr_entries,
                             has_flaw(core, "headers-cut"));
            cf_core_free(core);
            synth_free(synth);
        }
    }
}

static void rows_of_mapped_files_before_the_cut_are_kept(void **state) {
    (void)state;
    struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
    static const char second_name[] = "/lib/libx.so";
    int fd = synth_fd(synth);
    unsigned char head[4096];
    ssize_t got = pread(fd, head, sizeof head, 0);
    unsigned char *name = memmem(head, (size_t)got, second_name, sizeof second_name);
    assert_non_null(name);
    /* The first name is whole, the second one lacks its end. */
    assert_int_equal(ftruncate(fd, name - head + (ssize_t)sizeof second_name + 5), 0);
    struct cf_core *core = open_core(synth);
    assert_false(cf_core_has_files(core));
    assert_int_equal(cf_core_nr_files(core), 1);
    assert_true(has_flaw(core, "files-cut"));
    assert_true(has_flaw(core, "notes-cut"));
    assert_int_equal(cf_core_nr_threads(core), 1);
    cf_core_free(core);
    synth_free(synth);
}

static struct synth *many_segments(size_t count) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_thread(synth, 1, 6, 0x1000, 0x2000);
    for (size_t i = 0; i < count; i++)
        synth_segment(synth, 0x100000 + 0x2000 * i, 0x1000, SYNTH_RW)->file_bytes = 0;
    return synth;
}

static void more_than_65534_segments_are_counted_by_section_header_0(void **state) {
    (void)state;
    static const struct {
        size_t segments;
        bool lost;
        uint64_t cut_from_end;
    } cases[] = {{70000, false, 0}, {70000, true, 0}, {70000, false, 1}, {70000, false, 128}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = many_segments(cases[i].segments);
        synth_options(synth)->lose_extended_count = cases[i].lost;
        int fd = synth_fd(synth);
        /* The section header has 64 bytes more behind it in a synthetic core. */
        uint64_t bytes = synth_file_bytes(synth) - 64 - cases[i].cut_from_end;
        assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
        struct cf_core *core = open_core(synth);
        bool is_lost = cases[i].lost || cases[i].cut_from_end > 0;
        assert_int_equal(cf_core_nr_segments(core), cases[i].segments);
        assert_int_equal(core->declared_segments, core->nr_entries);
        assert_int_equal(has_flaw(core, "segment-count-lost"), is_lost);
        assert_int_equal(cf_core_complete(core), !is_lost);
        assert_string_equal(cf_core_producer_name(core), "kernel");
        cf_core_free(core);
        synth_free(synth);
    }
}

static void a_cut_table_of_many_segments_still_has_its_true_count(void **state) {
    (void)state;
    struct synth *synth = many_segments(70000);
    synth_options(synth)->truncate_bytes = 64 + 56 * (1 + 1000) + 20;
    struct cf_core *core = open_core(synth);
    assert_int_equal(cf_core_nr_segments(core), 1000);
    assert_int_equal(core->declared_segments - core->nr_entries, 70000 - 1000);
    assert_false(cf_core_complete(core));
    cf_core_free(core);
    synth_free(synth);
}

static void segments_that_cannot_be_are_clipped_and_told(void **state) {
    (void)state;
    static const struct {
        uint64_t vaddr, mem_bytes, declared_offset, declared_bytes;
        const char *flaw; /* NULL: none, the file is merely too short */
        uint64_t mem_after, file_after, present_after;
        bool complete;
    } cases[] = {
        {0xfffffffffffff000, 0x10000, UINT64_MAX, 0, "segment-wraps", 0xfff, 0, 0, true},
        {0x10000, 0x1000, 0x40, 0x2000, "segment-file-size", 0x1000, 0x1000, 0x1000, true},
        {0x10000, UINT64_MAX - 0x20000, 0x1000, UINT64_MAX - 0x100, "segment-file-size",
         UINT64_MAX - 0x20000, UINT64_MAX - 0x20000, 0, false},
        {0x10000, 0x10000, UINT64_MAX - 0x100, 0x1000, "segment-offset", 0x10000, 0, 0, false},
        {0x10000, 0x10000, 0x7fffffffffff, 0x1000, NULL, 0x10000, 0x1000, 0, false},
        {0x10000, 0x2000, 0x40, 0x1800, NULL, 0x2000, 0x1800, 0x1800, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
        struct synth_segment *spec =
            synth_segment(synth, cases[i].vaddr, cases[i].mem_bytes, SYNTH_RW);
        spec->file_bytes = 0;
        spec->declared_offset = cases[i].declared_offset;
        spec->declared_bytes = cases[i].declared_bytes;
        struct cf_core *core = open_core(synth);
        const struct cf_segment *segment = cf_core_segment(core, 4);
        assert_int_equal(segment->mem_bytes, cases[i].mem_after);
        assert_int_equal(segment->file_bytes, cases[i].file_after);
        if (cases[i].flaw != NULL)
            assert_true(has_flaw(core, cases[i].flaw));
        else
            assert_int_equal(cf_core_nr_flaws(core), 0);
        if (cases[i].complete)
            assert_int_equal(segment->present_bytes, cases[i].present_after);
        assert_int_equal(cf_core_complete(core), cases[i].complete);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void missing_bytes_stick_at_their_maximum(void **state) {
    (void)state;
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    for (int i = 0; i < 3; i++) {
        struct synth_segment *spec = synth_segment(synth, 0, UINT64_MAX, SYNTH_RW);
        spec->file_bytes = 0;
        spec->declared_bytes = UINT64_MAX - 0x10000;
        spec->declared_offset = 0x8000;
    }
    struct cf_core *core = open_core(synth);
    assert_true(cf_core_missing_bytes(core) == UINT64_MAX);
    cf_core_free(core);
    synth_free(synth);
}

static void hostile_notes_end_the_walk_and_nothing_else(void **state) {
    (void)state;
    static const struct {
        uint32_t name_bytes, body_bytes;
    } cases[] = {
        {0xffffffff, 0}, {0xfffffffd, 16}, {5, 0xffffffff}, {0xffffffff, 0xffffffff}, {0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
        synth_note(synth, "CORE", 0x7777, "mark", 4);
        int fd = synth_fd(synth);
        unsigned char head[8192];
        ssize_t got = pread(fd, head, sizeof head, 0);
        unsigned char *mark = memmem(head, (size_t)got, "CORE\0\0\0\0mark", 12);
        assert_non_null(mark);
        uint32_t header[3] = {cases[i].name_bytes, cases[i].body_bytes, 0};
        assert_int_equal(pwrite(fd, header, sizeof header, mark - head - 12), sizeof header);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_nr_threads(core), 2);
        assert_true(has_flaw(core, "notes-cut"));
        assert_false(cf_core_complete(core));
        cf_core_free(core);
        synth_free(synth);
    }
}

/* The kernel's own codes are above 0; who sends a signal gives one below, or none. */
static void a_fault_is_told_from_a_signal_that_was_sent(void **state) {
    (void)state;
    static const struct {
        int signal;
        int32_t code;
        bool is_fault;
    } cases[] = {{SIGSEGV, SEGV_MAPERR, true}, {SIGSEGV, SI_KERNEL, true},
                 {SIGBUS, BUS_ADRERR, true},   {SIGSEGV, SI_USER, false},
                 {SIGSEGV, SI_TKILL, false},   {SIGABRT, SI_TKILL, false},
                 {SIGILL, ILL_ILLOPC, false}};
    for (size_t i = 0; i < NR_MACHINES * (sizeof cases / sizeof *cases); i++) {
        struct synth *synth = small_core(machines[i % NR_MACHINES], SYNTH_KERNEL);
        uint64_t addr = 42;
        synth_signal(synth, cases[i / NR_MACHINES].signal, cases[i / NR_MACHINES].code,
                     0x12345670);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_fault(core, &addr), cases[i / NR_MACHINES].is_fault);
        assert_int_equal(addr, cases[i / NR_MACHINES].is_fault ? 0x12345670 : 42);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void a_status_that_is_too_short_gives_no_registers(void **state) {
    (void)state;
    unsigned char body[40] = {[12] = 11, [32] = 77};
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_note(synth, "CORE", NT_PRSTATUS, body, sizeof body);
    synth_note(synth, "CORE", NT_PRSTATUS, body, 8);
    struct cf_core *core = open_core(synth);
    assert_int_equal(cf_core_nr_threads(core), 1);
    assert_int_equal(cf_core_thread(core, 0)->tid, 77);
    assert_int_equal(cf_core_signal(core), 11);
    assert_null(cf_core_thread(core, 0)->regs);
    assert_false(cf_core_thread(core, 0)->has_tp);
    cf_core_free(core);
    synth_free(synth);
}

static void a_file_note_that_counts_too_much_gives_no_rows(void **state) {
    (void)state;
    static const uint64_t counts[] = {2, UINT64_MAX, UINT64_MAX / 24 + 1, 1ull << 40};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t body[5] = {counts[i], 4096, 0x1000, 0x2000, 0};
        struct synth *synth = synth_new(CF_MACHINE_X86_64);
        synth_options(synth)->no_file_note = true;
        synth_note(synth, "CORE", NT_FILE, body, sizeof body);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_nr_files(core), 0);
        assert_false(cf_core_has_files(core));
        assert_true(has_flaw(core, "files-cut"));
        cf_core_free(core);
        synth_free(synth);
    }
}

static void the_page_size_is_believed_only_where_it_can_be(void **state) {
    (void)state;
    static const struct {
        uint64_t given, taken;
    } cases[] = {{4096, 4096},  {16384, 16384}, {65536, 65536},     {0, 4096},         {1, 4096},
                 {12288, 4096}, {2048, 4096},   {1ull << 40, 4096}, {2 << 20, 2 << 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = synth_new(CF_MACHINE_AARCH64);
        synth_auxv(synth, AT_PAGESZ_TYPE, cases[i].given);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_page_bytes(core), cases[i].taken);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void the_auxiliary_vector_ends_at_its_null(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_MACHINES; i++) {
        struct synth *synth = synth_new(machines[i]);
        synth_auxv(synth, AT_BASE_TYPE, 0x1234000);
        synth_auxv(synth, AT_NULL, 0);
        synth_auxv(synth, AT_PAGESZ_TYPE, 16384);
        struct cf_core *core = open_core(synth);
        uint64_t value = 77;
        size_t bytes;
        assert_true(cf_core_auxv(core, AT_BASE_TYPE, &value));
        assert_int_equal(value, 0x1234000);
        assert_false(cf_core_auxv(core, AT_PAGESZ_TYPE, &value));
        assert_int_equal(value, 0x1234000);
        assert_non_null(cf_core_auxv_bytes(core, &bytes));
        assert_int_equal(bytes, 8 * cf_core_word_bytes(core));
        cf_core_free(core);
        synth_free(synth);
    }
}

static void flaws_are_limited_in_number(void **state) {
    (void)state;
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    for (int i = 0; i < 200; i++)
        synth_segment(synth, UINT64_MAX - 0x1000, 0x10000, SYNTH_RW)->file_bytes = 0;
    struct cf_core *core = open_core(synth);
    assert_in_range(cf_core_nr_flaws(core), 2, 64);
    assert_true(has_flaw(core, "more-flaws"));
    assert_int_equal(cf_core_nr_segments(core), 200);
    cf_core_free(core);
    synth_free(synth);
}

static void a_wrong_entry_size_is_told_and_not_used(void **state) {
    (void)state;
    struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
    synth_options(synth)->entry_bytes = 57;
    struct cf_core *core = open_core(synth);
    assert_int_equal(cf_core_nr_segments(core), 4);
    assert_true(has_flaw(core, "header-entry-size"));
    cf_core_free(core);
    synth_free(synth);
}

static void bytes_are_lent_all_or_nothing(void **state) {
    (void)state;
    struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
    struct cf_core *core = open_core(synth);
    uint64_t end = cf_core_file_bytes(core);
    assert_non_null(cf_core_bytes(core, 0, end));
    assert_non_null(cf_core_bytes(core, end, 0));
    assert_null(cf_core_bytes(core, end, 1));
    assert_null(cf_core_bytes(core, 1, end));
    assert_null(cf_core_bytes(core, UINT64_MAX, 1));
    assert_null(cf_core_bytes(core, 1, UINT64_MAX));
    cf_core_free(core);
    synth_free(synth);
}

static void dropped_pages_read_the_same_again(void **state) {
    (void)state;
    struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
    struct cf_core *core = open_core(synth);
    uint64_t at = cf_core_segment(core, 2)->offset;
    cf_core_drop(core, 0, cf_core_file_bytes(core));
    cf_core_drop(core, at + 1, 0x1000);
    cf_core_drop(core, UINT64_MAX - 5, 100);
    assert_int_equal(cf_core_bytes(core, at, 0x8000)[0x7fff], 0x55);
    cf_core_free(core);
    synth_free(synth);
}

/* A kernel core with the vdso and the first page of a library, where `lost` of them are zeros. */
static struct synth *core_with_witnesses(enum synth_layout layout, bool vdso, bool header,
                                         bool stack) {
    enum { AT_SYSINFO_EHDR_TYPE = 33 };
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_options(synth)->layout = layout;
    synth_auxv(synth, AT_SYSINFO_EHDR_TYPE, 0x7f0000000000);
    synth_thread(synth, 1, 6, 0x1000, 0x50001800);
    synth_file(synth, 0x40000000, 0x40004000, 0, "/lib/libx.so");
    synth_file(synth, 0x60000000, 0x60004000, 0, "/srv/zeros");
    synth_segment(synth, 0x40000000, 0x4000, SYNTH_R)->file_bytes = 0x1000;
    synth_segment(synth, 0x50000000, 0x2000, SYNTH_RW);
    synth_segment(synth, 0x60000000, 0x4000, SYNTH_RW); /* data, which may well be zeros */
    synth_segment(synth, 0x7f0000000000, 0x2000, SYNTH_RX);
    if (vdso)
        synth_put(synth, 0x7f0000000000, ELFMAG, SELFMAG);
    if (header)
        synth_put(synth, 0x40000000, ELFMAG, SELFMAG);
    if (stack)
        synth_put_word(synth, 0x50001000, 1);
    return synth;
}

static void zeros_where_data_must_be_make_a_core_incomplete(void **state) {
    (void)state;
    static const struct {
        enum synth_layout layout;
        bool vdso, header, stack; /* what is as it should be */
        bool complete, stack_flaw;
    } cases[] = {
        {SYNTH_KERNEL, true, true, true, true, false},
        {SYNTH_KERNEL, false, true, true, false, false},
        {SYNTH_KERNEL, true, false, true, false, false},
        {SYNTH_KERNEL, false, false, false, false, true},
        {SYNTH_KERNEL, true, true, false, true, true},
        {SYNTH_GCORE, true, true, false, true, true},
        {SYNTH_GCORE, false, false, true, true, false}, /* gcore may leave both out */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth =
            core_with_witnesses(cases[i].layout, cases[i].vdso, cases[i].header, cases[i].stack);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_complete(core), cases[i].complete);
        assert_int_equal(has_flaw(core, "zero-filled"), !cases[i].complete);
        assert_int_equal(cf_core_holes_are_evidence(core), cases[i].complete);
        assert_int_equal(has_flaw(core, "stack-zero-filled"), cases[i].stack_flaw);
        cf_core_free(core);
        synth_free(synth);
    }
}

static void zeros_up_to_the_end_of_the_file_are_cut_off(void **state) {
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        struct synth *synth = core_with_witnesses(SYNTH_KERNEL, false, true, true);
        if (stored)
            synth_fill(synth, 0x7f0000000000, 0, 0x2000); /* zeros that the file has as data */
        struct cf_core *core = open_core(synth);
        /* The stack's page with something in it is the last one that counts. */
        assert_int_equal(cf_core_segment(core, 0)->present_bytes, 0x1000);
        assert_int_equal(cf_core_segment(core, 1)->present_bytes, 0x2000);
        assert_int_equal(cf_core_segment(core, 2)->present_bytes, 0);
        assert_int_equal(cf_core_segment(core, 3)->present_bytes, 0);
        assert_int_equal(cf_core_missing_bytes(core), 0x4000 + 0x2000);
        assert_int_equal(cf_core_file_bytes(core), synth_file_bytes(synth));
        cf_core_free(core);
        synth_free(synth);
    }
}

static void a_truncated_archive_makes_an_incomplete_core(void **state) {
    (void)state;
    struct synth *synth = small_core(CF_MACHINE_X86_64, SYNTH_KERNEL);
    struct cf_core_origin origin = {.holes_are_ours = true, .truncated = true};
    struct cf_core *core = NULL;
    assert_int_equal(cf_core_open(NULL, synth_fd(synth), "x", &origin, &core, NULL), CF_OK);
    assert_false(cf_core_complete(core));
    assert_false(cf_core_holes_are_evidence(core));
    assert_true(has_flaw(core, "archive-cut"));
    cf_core_free(core);
    synth_free(synth);
}

/* The longest of a thread's notes about them says all; a note before any thread is nobody's. */
static void vector_registers_are_the_threads(void **state) {
    (void)state;
    unsigned char area[832] = {0};
    memset(area + 160, 0x77, 16); /* xmm0 */
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_thread(synth, 10, 6, 0, 0x1000);
    synth_thread(synth, 11, 0, 0, 0x2000);
    synth_note(synth, "LINUX", NT_X86_XSTATE, area, sizeof area);
    struct cf_core *core = open_core(synth);
    assert_int_equal(cf_core_thread(core, 0)->fp_regs_bytes, 512);
    assert_int_equal(cf_core_thread(core, 1)->fp_regs_bytes, sizeof area);
    assert_memory_equal(cf_core_thread(core, 1)->fp_regs, area, sizeof area);
    cf_core_free(core);
    synth_free(synth);
}

enum { LARGE_BYTES = 48 << 20, LARGE_AT = 0x50000000 };

static struct synth *large_core(void) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_thread(synth, 1, 6, 0, 0);
    synth_segment(synth, LARGE_AT, LARGE_BYTES, SYNTH_RW);
    synth_fill(synth, LARGE_AT, 0x55, LARGE_BYTES); /* holes of the file are not mapped from it */
    return synth;
}

static void *populate(void *bytes) {
    uintptr_t page = (uintptr_t)bytes & ~(uintptr_t)4095;
    int rc = madvise((void *)page, LARGE_BYTES - 4096, 22 /* MADV_POPULATE_READ, Linux 5.14 */);
    return rc == 0 ? NULL : bytes;
}

/* As where a file system keeps large folios and one fault maps as much as 500 small ones; here by a
 * thread whose faults are not ours. */
static void a_guard_sees_what_few_faults_map(void **state) {
    (void)state;
    struct synth *synth = large_core();
    struct cf_core *core = open_core(synth);
    const struct cf_segment *segment = cf_core_segment(core, 0);
    const unsigned char *bytes = cf_core_bytes(core, segment->offset, LARGE_BYTES);
    struct cf_rss_guard guard = cf_rss_guard_make(core, LARGE_BYTES, 1);
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, populate, (void *)(uintptr_t)bytes), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    if (failed != NULL)
        skip();
    volatile unsigned char *small = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(small, MAP_FAILED);
    for (unsigned i = 0; i < 16; i++)
        small[i << 12] = 1;
    for (unsigned i = 0; i < CF_RSS_GUARD_STEPS; i++)
        cf_rss_guard_step(&guard);
    assert_int_equal(guard.drops, 1);
    assert_int_equal(munmap((void *)(uintptr_t)small, 1 << 20), 0);
    cf_core_free(core);
    synth_free(synth);
}

/* In any order, across the buffer's ends, and not beyond the file's. */
static void a_reader_gives_the_files_bytes(void **state) {
    (void)state;
    struct synth *synth = large_core();
    for (uint64_t at = 0; at < 1 << 20; at += 8)
        synth_put_word(synth, LARGE_AT + at, at * 0x9e3779b97f4a7c15u);
    struct cf_core *core = open_core(synth);
    uint64_t start = cf_core_segment(core, 0)->offset, avail;
    static const uint64_t steps[] = {8, 24, 4096, 65536, 100000, 300000, 12345};
    struct cf_core_reader reader;
    assert_true(cf_core_reader_init(&reader, core));
    for (uint64_t at = 0, i = 0; i < 2000; i++) {
        uint64_t bytes = 1 + i * 37 % CF_CORE_READER_LEAST;
        const unsigned char *got = cf_core_reader_at(&reader, start + at, bytes, &avail);
        assert_non_null(got);
        assert_true(avail >= bytes);
        assert_memory_equal(got, cf_core_bytes(core, start + at, avail), (size_t)avail);
        at = (at + steps[i % 7]) % (1 << 20);
    }
    uint64_t end = cf_core_file_bytes(core);
    assert_null(cf_core_reader_at(&reader, end - 4, 8, &avail));
    assert_null(cf_core_reader_at(&reader, end + (1ull << 40), 8, &avail));
    assert_non_null(cf_core_reader_at(&reader, end - 8, 8, &avail));
    cf_core_reader_fini(&reader);
    cf_core_free(core);
    synth_free(synth);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guard_sees_what_few_faults_map),
        cmocka_unit_test(a_reader_gives_the_files_bytes),
        cmocka_unit_test(a_core_of_each_machine_is_read_whole),
        cmocka_unit_test(segments_are_those_of_the_headers),
        cmocka_unit_test(each_thread_has_its_own_thread_pointer),
        cmocka_unit_test(a_thread_pointer_that_is_not_there_is_not_zero_but_unknown),
        cmocka_unit_test(a_name_that_fills_its_field_is_read_without_its_terminator),
        cmocka_unit_test(the_producer_is_told_by_evidence),
        cmocka_unit_test(valgrinds_core_has_its_pid),
        cmocka_unit_test(createdumps_mini_dump_is_not_whole),
        cmocka_unit_test(a_layout_that_nobody_writes_has_no_producer),
        cmocka_unit_test(offsets_of_mapped_files_are_bytes_whatever_the_unit),
        cmocka_unit_test(what_is_not_a_core_is_refused_with_the_reason),
        cmocka_unit_test(a_core_cut_anywhere_opens_and_says_what_lacks),
        cmocka_unit_test(rows_of_mapped_files_before_the_cut_are_kept),
        cmocka_unit_test(more_than_65534_segments_are_counted_by_section_header_0),
        cmocka_unit_test(a_cut_table_of_many_segments_still_has_its_true_count),
        cmocka_unit_test(segments_that_cannot_be_are_clipped_and_told),
        cmocka_unit_test(missing_bytes_stick_at_their_maximum),
        cmocka_unit_test(hostile_notes_end_the_walk_and_nothing_else),
        cmocka_unit_test(a_fault_is_told_from_a_signal_that_was_sent),
        cmocka_unit_test(a_status_that_is_too_short_gives_no_registers),
        cmocka_unit_test(a_file_note_that_counts_too_much_gives_no_rows),
        cmocka_unit_test(the_page_size_is_believed_only_where_it_can_be),
        cmocka_unit_test(the_auxiliary_vector_ends_at_its_null),
        cmocka_unit_test(flaws_are_limited_in_number),
        cmocka_unit_test(a_wrong_entry_size_is_told_and_not_used),
        cmocka_unit_test(bytes_are_lent_all_or_nothing),
        cmocka_unit_test(dropped_pages_read_the_same_again),
        cmocka_unit_test(zeros_where_data_must_be_make_a_core_incomplete),
        cmocka_unit_test(vector_registers_are_the_threads),
        cmocka_unit_test(zeros_up_to_the_end_of_the_file_are_cut_off),
        cmocka_unit_test(a_truncated_archive_makes_an_incomplete_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
