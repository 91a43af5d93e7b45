/* mem: regions, spans, reads and residency, on synthetic cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "mem/mem.h"
#include "synth.h"
#include "whole_mem.h"

enum { PAGE = 4096, AT_PAGESZ_TYPE = 6, AT_SYSINFO_EHDR_TYPE = 33 };

struct space {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
};

static struct space open_space_from(struct synth *synth, bool holes_are_ours) {
    struct space space = {.synth = synth};
    struct cf_core_origin origin = {.holes_are_ours = holes_are_ours};
    struct cf_err err = {.text = ""};
    int status = cf_core_open(NULL, synth_fd(synth), "synth", &origin, &space.core, &err);
    if (status == CF_OK)
        status = whole_mem(NULL, space.core, &space.mem, &err);
    if (status != CF_OK)
        fail_msg("%s", err.text);
    return space;
}

static struct space open_space(struct synth *synth) {
    return open_space_from(synth, false);
}

static void close_space(struct space *space) {
    cf_mem_free(space->mem);
    cf_core_free(space->core);
    synth_free(space->synth);
}

static struct synth *new_process(enum synth_layout layout) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_options(synth)->layout = layout;
    synth_thread(synth, 1, 6, 0x1000, 0x2000);
    synth_psinfo(synth, 1, "p", "p");
    synth_auxv(synth, AT_PAGESZ_TYPE, PAGE);
    return synth;
}

/* The kernel's own residency: pages 0 and 2 hold data, page 3 is stored zeros, the rest are holes,
 * of which one begins at an odd page of the file. */
static struct synth *process_with_holes(enum synth_layout layout) {
    struct synth *synth = new_process(layout);
    synth_segment(synth, 0x100000, 8 * PAGE, SYNTH_RW);
    synth_put_word(synth, 0x100000, 1);
    synth_put_word(synth, 0x100000 + 2 * PAGE + 4088, 1);
    synth_fill(synth, 0x100000 + 3 * PAGE, 0, PAGE);
    return synth;
}

static void assert_region(const struct cf_mem *mem, size_t index, uint64_t start, uint64_t end,
                          uint64_t data_bytes, uint64_t cut_bytes) {
    const struct cf_region *region = cf_mem_region(mem, index);
    assert_int_equal(region->start, start);
    assert_int_equal(region->end, end);
    assert_int_equal(region->data_bytes, data_bytes);
    assert_int_equal(region->cut_bytes, cut_bytes);
}

static void unsorted_segments_become_sorted_regions(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_segment(synth, 0x30000, 0x1000, SYNTH_RW);
    synth_segment(synth, 0x10000, 0x1000, SYNTH_R);
    synth_segment(synth, 0x20000, 0, SYNTH_R);
    synth_segment(synth, 0x20000, 0x3000, SYNTH_NONE)->file_bytes = 0;
    struct space space = open_space(synth);
    assert_int_equal(cf_mem_nr_regions(space.mem), 3);
    assert_region(space.mem, 0, 0x10000, 0x11000, 0x1000, 0);
    assert_region(space.mem, 1, 0x20000, 0x23000, 0, 0);
    assert_region(space.mem, 2, 0x30000, 0x31000, 0x1000, 0);
    assert_int_equal(cf_mem_region(space.mem, 2)->segment, 0);
    assert_int_equal(cf_mem_nr_flaws(space.mem), 0);
    close_space(&space);
}

static void a_segment_dumped_in_part_becomes_regions_of_one_state_each(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_segment(synth, 0x10000, 0x5000, SYNTH_RW)->file_bytes = 0x3000;
    (void)synth_fd(synth);
    assert_int_equal(ftruncate(synth_fd(synth), (off_t)(synth_offset(synth, 0) + 0x1800)), 0);
    struct space space = open_space(synth);
    assert_int_equal(cf_mem_nr_regions(space.mem), 3);
    assert_region(space.mem, 0, 0x10000, 0x11800, 0x1800, 0);
    assert_region(space.mem, 1, 0x11800, 0x13000, 0, 0x1800);
    assert_region(space.mem, 2, 0x13000, 0x15000, 0, 0);
    assert_int_equal(cf_mem_page_state(space.mem, 0x11000), CF_PAGE_NOT_RESIDENT);
    assert_int_equal(cf_mem_page_state(space.mem, 0x12000), CF_PAGE_CUT_OFF);
    assert_int_equal(cf_mem_page_state(space.mem, 0x14fff), CF_PAGE_NOT_DUMPED);
    assert_int_equal(cf_mem_page_state(space.mem, 0x15000), CF_PAGE_UNMAPPED);
    assert_int_equal(cf_mem_page_state(space.mem, 0xffff), CF_PAGE_UNMAPPED);
    close_space(&space);
}

static void overlapping_segments_keep_every_byte_of_the_first(void **state) {
    (void)state;
    /* The number of the segment is its rank; each writes its number into its bytes. */
    static const struct {
        uint64_t start[4], end[4];
        struct {
            uint64_t start, end;
            uint32_t segment;
        } expected[6];
        bool overlap;
    } cases[] = {
        {{0x10000, 0x12000},
         {0x13000, 0x15000},
         {{0x10000, 0x13000, 0}, {0x13000, 0x15000, 1}},
         true},
        {{0x12000, 0x10000},
         {0x15000, 0x13000},
         {{0x10000, 0x12000, 1}, {0x12000, 0x15000, 0}},
         true},
        {{0x12000, 0x10000},
         {0x13000, 0x15000},
         {{0x10000, 0x12000, 1}, {0x12000, 0x13000, 0}, {0x13000, 0x15000, 1}},
         true},
        {{0x10000, 0x10000}, {0x12000, 0x12000}, {{0x10000, 0x12000, 0}}, true},
        {{0x14000, 0x12000, 0x10000},
         {0x15000, 0x16000, 0x18000},
         {{0x10000, 0x12000, 2},
          {0x12000, 0x14000, 1},
          {0x14000, 0x15000, 0},
          {0x15000, 0x16000, 1},
          {0x16000, 0x18000, 2}},
         true},
        {{0x10000, 0x11000},
         {0x11000, 0x12000},
         {{0x10000, 0x11000, 0}, {0x11000, 0x12000, 1}},
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = new_process(SYNTH_KERNEL);
        for (size_t s = 0; s < 4 && cases[i].end[s] != 0; s++) {
            uint64_t bytes = cases[i].end[s] - cases[i].start[s];
            synth_segment(synth, cases[i].start[s], bytes, SYNTH_RW);
        }
        struct space space = open_space(synth);
        size_t n = 0;
        for (; n < 6 && cases[i].expected[n].end != 0; n++) {
            uint64_t start = cases[i].expected[n].start;
            uint64_t end = cases[i].expected[n].end;
            uint32_t segment = cases[i].expected[n].segment;
            assert_region(space.mem, n, start, end, end - start, 0);
            assert_int_equal(cf_mem_region(space.mem, n)->segment, segment);
            assert_int_equal(cf_mem_region(space.mem, n)->offset,
                             synth_offset(synth, segment) + (start - cases[i].start[segment]));
        }
        assert_int_equal(cf_mem_nr_regions(space.mem), n);
        assert_int_equal(cf_mem_nr_flaws(space.mem), cases[i].overlap);
        close_space(&space);
    }
}

static void a_segment_over_all_addresses_hides_only_what_comes_after_it(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_segment(synth, 0x10000, 0x1000, SYNTH_RW);
    synth_segment(synth, 0, UINT64_MAX, SYNTH_NONE)->file_bytes = 0;
    synth_segment(synth, 0x20000, 0x1000, SYNTH_RW);
    struct space space = open_space(synth);
    assert_int_equal(cf_mem_nr_regions(space.mem), 3);
    assert_region(space.mem, 1, 0x10000, 0x11000, 0x1000, 0);
    assert_int_equal(cf_mem_page_state(space.mem, 0x20000), CF_PAGE_NOT_DUMPED);
    assert_int_equal(cf_mem_page_state(space.mem, UINT64_MAX - 1), CF_PAGE_NOT_DUMPED);
    close_space(&space);
}

static void regions_are_cut_and_named_by_mapped_files(void **state) {
    (void)state;
    static const struct {
        const char *path;
        enum cf_region_kind kind;
    } cases[] = {
        {"/lib/libc.so.6", CF_REGION_FILE},
        {"/srv/data (deleted)", CF_REGION_FILE},
        {"/dev/zero (deleted)", CF_REGION_SHARED},
        {"/dev/zero", CF_REGION_ANONYMOUS},
        {"/SYSV00000000 (deleted)", CF_REGION_SHARED},
        {"/memfd:doublemapper (deleted)", CF_REGION_SHARED},
        {"/dev/shm/sem.x", CF_REGION_SHARED},
        {"/anon_hugepage (deleted)", CF_REGION_ANONYMOUS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = new_process(SYNTH_KERNEL);
        synth_segment(synth, 0x10000, 0x4000, SYNTH_RW);
        synth_file(synth, 0x11000, 0x12000, 0, cases[i].path);
        struct space space = open_space(synth);
        assert_int_equal(cf_mem_nr_regions(space.mem), 3);
        assert_region(space.mem, 0, 0x10000, 0x11000, 0x1000, 0);
        assert_region(space.mem, 1, 0x11000, 0x12000, 0x1000, 0);
        assert_region(space.mem, 2, 0x12000, 0x14000, 0x2000, 0);
        assert_int_equal(cf_mem_region(space.mem, 0)->kind, CF_REGION_ANONYMOUS);
        assert_int_equal(cf_mem_region(space.mem, 0)->file, -1);
        assert_int_equal(cf_mem_region(space.mem, 1)->kind, cases[i].kind);
        bool is_plain = strcmp(cases[i].path, "/dev/zero") == 0; /* as without a file */
        assert_int_equal(cf_mem_region(space.mem, 1)->file, is_plain ? -1 : 0);
        uint64_t avail;
        assert_non_null(cf_mem_span(space.mem, 0x10000, &avail));
        assert_int_equal(avail, 0x4000);
        close_space(&space);
    }
}

static void without_a_file_note_a_region_could_be_either(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_QEMU);
    synth_segment(synth, 0x10000, 0x1000, SYNTH_RW);
    synth_put_word(synth, 0x10000, 1);
    struct space space = open_space(synth);
    assert_int_equal(cf_mem_region(space.mem, 0)->kind, CF_REGION_UNKNOWN);
    assert_int_equal(cf_mem_page_state(space.mem, 0x10000), CF_PAGE_RESIDENT);
    close_space(&space);
}

static void overlapping_rows_of_files_do_not_overlap_regions(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_segment(synth, 0x10000, 0x8000, SYNTH_RW);
    synth_file(synth, 0x12000, 0x15000, 0, "/b");
    synth_file(synth, 0x11000, 0x13000, 0, "/a");
    synth_file(synth, 0x11800, 0x12000, 0, "/inside");
    synth_file(synth, 0x16000, 0x16000, 0, "/empty");
    synth_file(synth, 0x17000, 0x16000, 0, "/backwards");
    struct space space = open_space(synth);
    assert_int_equal(cf_mem_nr_regions(space.mem), 4);
    assert_region(space.mem, 0, 0x10000, 0x11000, 0x1000, 0);
    assert_region(space.mem, 1, 0x11000, 0x13000, 0x2000, 0);
    assert_region(space.mem, 2, 0x13000, 0x15000, 0x2000, 0);
    assert_region(space.mem, 3, 0x15000, 0x18000, 0x3000, 0);
    close_space(&space);
}

static void the_kernels_own_pages_are_not_the_processs(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_auxv(synth, AT_SYSINFO_EHDR_TYPE, 0x7f0000008000);
    synth_segment(synth, 0x7f0000000000, 0x2000, SYNTH_RW); /* a neighbour of the process's own */
    synth_segment(synth, 0x7f0000002000, 0x4000, SYNTH_R);
    synth_segment(synth, 0x7f0000006000, 0x2000, SYNTH_R);
    synth_segment(synth, 0x7f0000008000, 0x2000, SYNTH_RX);
    synth_segment(synth, 0xffffffffff600000, 0x1000, 1);
    synth_put_word(synth, 0x7f0000000000, 1);
    synth_put_word(synth, 0x7f0000008000, 1);
    synth_put_word(synth, 0xffffffffff600000, 1);
    struct space space = open_space(synth);
    assert_int_equal(cf_mem_region(space.mem, 0)->kind, CF_REGION_ANONYMOUS);
    for (size_t i = 1; i < 5; i++)
        assert_int_equal(cf_mem_region(space.mem, i)->kind, CF_REGION_SHARED);
    uint64_t bytes;
    assert_true(cf_mem_resident_bytes(space.mem, 0, UINT64_MAX, &bytes));
    assert_int_equal(bytes, PAGE);
    close_space(&space);
}

static void reads_cross_regions_all_or_nothing(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    /* The second one in the file is the first one in memory. */
    synth_segment(synth, 0x11000, 0x1000, SYNTH_RW);
    synth_segment(synth, 0x10000, 0x1000, SYNTH_RW);
    synth_segment(synth, 0x12000, 0x1000, SYNTH_RW)->file_bytes = 0;
    synth_put(synth, 0x10ffc, "abcd", 4);
    synth_put(synth, 0x11000, "efgh", 4);
    synth_fill(synth, 0x11ff8, 0xff, 8);
    struct space space = open_space(synth);
    char text[9] = "--------";
    assert_true(cf_mem_read(space.mem, 0x10ffc, text, 8));
    assert_string_equal(text, "abcdefgh");
    uint64_t word = 77;
    uint32_t half = 77;
    uint16_t quarter = 77;
    assert_true(cf_mem_word(space.mem, 0x10ffc, &word));
    assert_memory_equal(&word, "abcdefgh", 8);
    assert_true(cf_mem_u32(space.mem, 0x10ffe, &half));
    assert_memory_equal(&half, "cdef", 4);
    assert_true(cf_mem_u16(space.mem, 0x10fff, &quarter));
    assert_memory_equal(&quarter, "de", 2);
    memset(text, '-', 8);
    assert_false(cf_mem_read(space.mem, 0x11ffc, text, 8));
    assert_string_equal(text, "--------");
    assert_false(cf_mem_read(space.mem, 0xfffc, text, 8));
    assert_false(cf_mem_read(space.mem, 0x12000, text, 1));
    assert_false(cf_mem_read(space.mem, UINT64_MAX - 3, text, 8));
    assert_string_equal(text, "--------");
    word = 77;
    assert_false(cf_mem_word(space.mem, 0x11ffc, &word));
    assert_int_equal(word, 77);
    assert_true(cf_mem_read(space.mem, 0x99999, text, 0));
    close_space(&space);
}

static void a_word_is_as_wide_as_the_machines(void **state) {
    (void)state;
    struct synth *synth = synth_new(CF_MACHINE_I386);
    synth_segment(synth, 0xfffff000, 0x1000, SYNTH_RW);
    synth_put_word(synth, 0xfffffff8, 0x11223344);
    synth_put_word(synth, 0xfffffffc, 0xaabbccdd);
    struct space space = open_space(synth);
    uint64_t word;
    assert_int_equal(cf_mem_word_bytes(space.mem), 4);
    assert_true(cf_mem_word(space.mem, 0xfffffff8, &word));
    assert_int_equal(word, 0x11223344);
    assert_true(cf_mem_word(space.mem, 0xfffffffc, &word));
    assert_int_equal(word, 0xaabbccdd);
    assert_false(cf_mem_word(space.mem, 0xfffffffd, &word));
    close_space(&space);
}

static void spans_join_what_is_contiguous_in_memory_and_in_the_file(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_segment(synth, 0x10000, 0x1000, SYNTH_RW);
    synth_segment(synth, 0x11000, 0x2000, SYNTH_R);
    synth_segment(synth, 0x20000, 0x1000, SYNTH_R);
    synth_segment(synth, 0x13000, 0x1000, SYNTH_R);
    struct space space = open_space(synth);
    uint64_t avail = 77;
    assert_non_null(cf_mem_span(space.mem, 0x10800, &avail));
    assert_int_equal(avail, 0x2800);
    assert_non_null(cf_mem_span(space.mem, 0x13000, &avail));
    assert_int_equal(avail, 0x1000);
    avail = 77;
    assert_null(cf_mem_span(space.mem, 0x14000, &avail));
    assert_null(cf_mem_span(space.mem, 0x0, &avail));
    assert_int_equal(avail, 77);
    close_space(&space);
}

static void holes_of_a_kernel_core_are_residency_when_stored_zeros_show_it(void **state) {
    (void)state;
    static const enum cf_page_state expected[8] = {
        CF_PAGE_RESIDENT,     CF_PAGE_NOT_RESIDENT, CF_PAGE_RESIDENT,     CF_PAGE_RESIDENT,
        CF_PAGE_NOT_RESIDENT, CF_PAGE_NOT_RESIDENT, CF_PAGE_NOT_RESIDENT, CF_PAGE_NOT_RESIDENT,
    };
    struct space space = open_space(process_with_holes(SYNTH_KERNEL));
    assert_string_equal(cf_mem_residency_name(space.mem), "holes");
    assert_true(cf_mem_residency_exact(space.mem));
    for (uint64_t page = 0; page < 8; page++)
        assert_int_equal(cf_mem_page_state(space.mem, 0x100000 + page * PAGE), expected[page]);
    close_space(&space);
}

/* Writes the file behind `fd` to `path` with its holes. */
static void write_with_holes(int fd, const char *path) {
    static char block[PAGE];
    CF_CLEANUP_CLOSE int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    off_t end = lseek(fd, 0, SEEK_END);
    assert_true(out >= 0);
    assert_int_equal(ftruncate(out, end), 0);
    for (off_t at = 0; at < end; at += PAGE) {
        if (lseek(fd, at, SEEK_DATA) != at)
            continue;
        ssize_t got = pread(fd, block, sizeof block, at);
        assert_int_equal(pwrite(out, block, (size_t)got, at), got);
    }
}

struct judged {
    bool exact;
    uint64_t resident;
};

static struct judged judge_file(const char *path) {
    struct judged judged = {.resident = 0};
    struct cf_err err = {.text = ""};
    struct cf_core *core = NULL;
    struct cf_mem *mem = NULL;
    CF_CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status = cf_core_open(NULL, fd, path, NULL, &core, &err);
    if (status == CF_OK)
        status = whole_mem(NULL, core, &mem, &err);
    if (status != CF_OK)
        fail_msg("%s", err.text);
    judged.exact = cf_mem_residency_exact(mem);
    assert_true(cf_mem_resident_bytes(mem, 0x100000, 0x100000 + 8 * PAGE, &judged.resident));
    cf_mem_free(mem);
    cf_core_free(core);
    return judged;
}

/* mv and tar -S keep what the kernel left. Other copies may or may not; what they leave is either
 * as exact and the same, or "at least": then only the page of zeros is missing. */
static void what_a_copy_keeps_is_said_of_it(void **state) {
    (void)state;
    static const struct {
        const char *command;
        bool keeps;
    } ways[] = {
        {"mv a/core b/core", true},
        {"tar -C a -cSf t.tar core && tar -C b -xf t.tar && rm t.tar", true},
        {"cp a/core b/core", false},
        {"cp --sparse=always a/core b/core", false},
        {"cp --sparse=never a/core b/core", false},
        {"cat a/core > b/core", false},
    };
    char folder[] = "/tmp/corefrag-copies-XXXXXX", from[64], to[64], command[256];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(from, sizeof from, "%s/a/core", folder);
    (void)snprintf(to, sizeof to, "%s/b/core", folder);
    (void)snprintf(command, sizeof command, "mkdir %s/a %s/b", folder, folder);
    assert_int_equal(system(command), 0);
    struct synth *synth = process_with_holes(SYNTH_KERNEL);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        write_with_holes(synth_fd(synth), from);
        struct judged before = judge_file(from);
        assert_true(before.exact);
        assert_int_equal(before.resident, 3 * PAGE);
        (void)snprintf(command, sizeof command, "cd %s && %s", folder, ways[i].command);
        assert_int_equal(system(command), 0);
        struct judged after = judge_file(to);
        assert_true(after.exact || !ways[i].keeps);
        assert_int_equal(after.resident, after.exact ? 3 * PAGE : 2 * PAGE);
        (void)unlink(from);
        (void)unlink(to);
    }
    synth_free(synth);
    (void)snprintf(command, sizeof command, "rmdir %s/a %s/b %s", folder, folder, folder);
    assert_int_equal(system(command), 0);
}

static void without_that_evidence_pages_of_zeros_are_taken_for_absent(void **state) {
    (void)state;
    enum { STORED_ZEROS = 1, OURS = 2, DENSE = 4 };
    static const struct {
        enum synth_layout layout;
        int how;
    } cases[] = {
        {SYNTH_KERNEL, 0},                   /* no stored zeros: a sparse copy */
        {SYNTH_KERNEL, STORED_ZEROS | OURS}, /* unpacked by us */
        {SYNTH_KERNEL, STORED_ZEROS | DENSE},
        {SYNTH_GCORE, STORED_ZEROS},
        {SYNTH_QEMU, STORED_ZEROS},
        {SYNTH_CREATEDUMP, STORED_ZEROS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = new_process(cases[i].layout);
        synth_segment(synth, 0x100000, 6 * PAGE, SYNTH_RW);
        if (cases[i].how & DENSE)
            synth_fill(synth, 0x100000, 0, 6 * PAGE);
        if (cases[i].how & STORED_ZEROS)
            synth_fill(synth, 0x100000 + 3 * PAGE, 0, PAGE);
        synth_put(synth, 0x100000 + PAGE - 1, "x", 1);
        synth_put(synth, 0x100000 + 2 * PAGE + 300, "x", 1);
        struct space space = open_space_from(synth, cases[i].how & OURS);
        assert_string_equal(cf_mem_residency_name(space.mem), "zero-pages");
        assert_false(cf_mem_residency_exact(space.mem));
        for (uint64_t page = 0; page < 6; page++)
            assert_int_equal(cf_mem_page_state(space.mem, 0x100000 + page * PAGE),
                             page == 0 || page == 2 ? CF_PAGE_RESIDENT : CF_PAGE_NOT_RESIDENT);
        close_space(&space);
    }
}

/* zstd, lz4 and xz leave holes that begin at multiples of more than a page. Of the two cores here
 * one has all its holes at odd pages of the file and the other has none there. */
static void holes_that_are_coarser_than_pages_are_not_believed(void **state) {
    (void)state;
    unsigned nr_exact = 0;
    for (uint64_t shift = 0; shift < 2; shift++) {
        struct synth *synth = new_process(SYNTH_KERNEL);
        synth_segment(synth, 0x100000, 64 * PAGE, SYNTH_RW);
        for (uint64_t page = 0; page < 64; page += 8)
            synth_fill(synth, 0x100000 + page * PAGE, page == 0, (3 + shift) * PAGE);
        struct space space = open_space(synth);
        nr_exact += cf_mem_residency_exact(space.mem);
        assert_int_equal(cf_mem_residency_source(space.mem) == CF_RESIDENCY_HOLES,
                         cf_mem_residency_exact(space.mem));
        close_space(&space);
    }
    assert_int_equal(nr_exact, 1);
}

static void resident_bytes_are_clipped_to_the_range(void **state) {
    (void)state;
    static const struct {
        uint64_t start, end, bytes;
    } cases[] = {
        {0, UINT64_MAX, 3 * PAGE},
        {0x100000, 0x100000 + 8 * PAGE, 3 * PAGE},
        {0x100000, 0x100000 + PAGE, PAGE},
        {0x100000 + PAGE, 0x100000 + 2 * PAGE, 0},
        {0x100010, 0x100020, 16},
        {0x100ff0, 0x102010, 16 + 16},
        {0x100000 + 1 * PAGE, 0x100000 + 4 * PAGE, 2 * PAGE},
        {0x100000 + 4 * PAGE, UINT64_MAX, 0},
    };
    struct space space = open_space(process_with_holes(SYNTH_KERNEL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 77;
        assert_true(cf_mem_resident_bytes(space.mem, cases[i].start, cases[i].end, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
    uint64_t bytes = 77;
    assert_false(cf_mem_resident_bytes(space.mem, 0, 0x100000, &bytes));
    assert_false(cf_mem_resident_bytes(space.mem, 0x108000, UINT64_MAX, &bytes));
    assert_false(cf_mem_resident_bytes(space.mem, 0x100000, 0x100000, &bytes));
    assert_int_equal(bytes, 77);
    close_space(&space);
}

static void runs_of_resident_memory_are_walked_in_order(void **state) {
    (void)state;
    struct space space = open_space(process_with_holes(SYNTH_KERNEL));
    static const uint64_t starts[] = {0x100000, 0x102000};
    static const uint64_t ends[] = {0x101000, 0x104000};
    uint64_t addr = 0;
    for (size_t i = 0; i < 2; i++) {
        uint64_t start;
        uint64_t end;
        assert_true(cf_mem_next_resident(space.mem, addr, &start, &end));
        assert_int_equal(start, starts[i]);
        assert_int_equal(end, ends[i]);
        addr = end;
    }
    uint64_t start = 77;
    uint64_t end = 77;
    assert_false(cf_mem_next_resident(space.mem, addr, &start, &end));
    assert_int_equal(start, 77);
    close_space(&space);
}

static void nothing_is_known_of_files_and_of_what_was_not_dumped(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_segment(synth, 0x10000, 0x2000, SYNTH_RW);
    synth_segment(synth, 0x20000, 0x2000, SYNTH_RW)->file_bytes = 0;
    synth_file(synth, 0x10000, 0x12000, 0, "/lib/a.so");
    synth_fill(synth, 0x10000, 1, 0x1000);
    struct space space = open_space(synth);
    uint64_t bytes = 77;
    assert_string_equal(cf_mem_residency_name(space.mem), "none");
    assert_false(cf_mem_residency_exact(space.mem));
    assert_false(cf_mem_resident_bytes(space.mem, 0, UINT64_MAX, &bytes));
    assert_int_equal(cf_mem_page_state(space.mem, 0x10000), CF_PAGE_UNKNOWN);
    assert_int_equal(cf_mem_page_state(space.mem, 0x20000), CF_PAGE_NOT_DUMPED);
    close_space(&space);
}

/* gcore's data begin anywhere in the file, so that a page lies over two of the file's blocks. */
static void pages_of_an_unaligned_file_are_judged_whole(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_GCORE);
    synth_segment(synth, 0x100000, 64 * PAGE, SYNTH_RW);
    for (uint64_t page = 0; page < 64; page += 5) {
        synth_put(synth, 0x100000 + page * PAGE, "x", 1);
        synth_put(synth, 0x100000 + page * PAGE + PAGE - 1, "x", 1);
    }
    struct space space = open_space(synth);
    uint64_t bytes;
    assert_int_not_equal(synth_offset(synth, 0) % PAGE, 0);
    assert_true(cf_mem_resident_bytes(space.mem, 0, UINT64_MAX, &bytes));
    assert_int_equal(bytes, 13 * PAGE);
    for (uint64_t page = 0; page < 64; page++)
        assert_int_equal(cf_mem_page_state(space.mem, 0x100000 + page * PAGE),
                         page % 5 == 0 ? CF_PAGE_RESIDENT : CF_PAGE_NOT_RESIDENT);
    close_space(&space);
}

static void an_unaligned_region_has_short_pages_at_its_ends(void **state) {
    (void)state;
    struct synth *synth = new_process(SYNTH_KERNEL);
    synth_segment(synth, 0x10800, 0x2000, SYNTH_RW);
    synth_put(synth, 0x10fff, "x", 1);
    synth_put(synth, 0x12000, "x", 1);
    struct space space = open_space(synth);
    uint64_t bytes;
    assert_true(cf_mem_resident_bytes(space.mem, 0, UINT64_MAX, &bytes));
    assert_int_equal(bytes, 0x800 + 0x800);
    assert_int_equal(cf_mem_page_state(space.mem, 0x11000), CF_PAGE_NOT_RESIDENT);
    close_space(&space);
}

static void pages_are_as_large_as_the_process_had_them(void **state) {
    (void)state;
    struct synth *synth = synth_new(CF_MACHINE_AARCH64);
    synth_options(synth)->page_bytes = 65536;
    synth_thread(synth, 1, 6, 0x1000, 0x2000);
    synth_auxv(synth, AT_PAGESZ_TYPE, 65536);
    synth_segment(synth, 0x100000, 4 * 65536, SYNTH_RW);
    synth_put(synth, 0x100000 + 65536 + 70, "x", 1);
    struct space space = open_space(synth);
    uint64_t bytes;
    assert_int_equal(cf_mem_page_bytes(space.mem), 65536);
    assert_true(cf_mem_resident_bytes(space.mem, 0, UINT64_MAX, &bytes));
    assert_int_equal(bytes, 65536);
    close_space(&space);
}

/* Modules with mappings of a page each; what is dumped of the last one and of the first differs. */
static struct synth *createdump_of(size_t modules, uint64_t last_bytes, uint64_t first_bytes) {
    struct synth *synth = new_process(SYNTH_CREATEDUMP);
    for (size_t m = 0; m < modules; m++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/lib/lib%zu.so", m);
        uint64_t base = 0x10000000 + m * 0x100000;
        for (uint64_t i = 0; i < 4; i++) {
            uint64_t start = base + i * 0x4000;
            uint64_t bytes = i == 3 ? last_bytes : i == 0 ? first_bytes : 0x4000;
            synth_file(synth, start, start + 0x4000, i * 0x4000, path);
            if (bytes > 0)
                synth_segment(synth, start, bytes, SYNTH_RW);
        }
    }
    synth_segment(synth, 0x20000000, 0x3000, SYNTH_RW);
    synth_segment(synth, 0x20008000, 0x1000, SYNTH_RW);
    return synth;
}

static void gaps_are_believed_of_a_full_createdump_only(void **state) {
    (void)state;
    static const struct {
        size_t modules;
        uint64_t last_bytes, first_bytes;
        bool gaps;
    } cases[] = {
        {5, 0x2000, 0x1000, true},  /* full, what was not resident is left out */
        {5, 0x4000, 0x4000, false}, /* full, all is there */
        {5, 0, 0x1000, false},      /* heap or mini: no data of the modules */
        {2, 0x2000, 0x1000, false}, /* too few to tell */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct space space =
            open_space(createdump_of(cases[i].modules, cases[i].last_bytes, cases[i].first_bytes));
        assert_int_equal(cf_mem_residency_source(space.mem),
                         cases[i].gaps ? CF_RESIDENCY_GAPS : CF_RESIDENCY_ZERO_PAGES);
        assert_int_equal(cf_mem_residency_exact(space.mem), cases[i].gaps);
        uint64_t bytes;
        assert_true(cf_mem_resident_bytes(space.mem, 0x20000000, 0x20009000, &bytes));
        assert_int_equal(bytes, cases[i].gaps ? 0x4000 : 0);
        close_space(&space);
    }
}

static void dropping_pages_changes_nothing_that_is_read(void **state) {
    (void)state;
    struct space space = open_space(process_with_holes(SYNTH_KERNEL));
    uint64_t word;
    cf_mem_drop(space.mem, 0, UINT64_MAX);
    cf_mem_drop(space.mem, 0x100800, 0x103000);
    cf_mem_drop(space.mem, 0x103000, 0x100000);
    assert_true(cf_mem_word(space.mem, 0x100000 + 2 * PAGE + 4088, &word));
    assert_int_equal(word, 1);
    close_space(&space);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Each page by itself: a hole, stored zeros, or data. The table of segments runs downwards. */
static void residency_agrees_with_a_page_by_page_model(void **state) {
    (void)state;
    enum { REGIONS = 40, PAGES = 24, NR_PAGES = REGIONS * PAGES, BASE = 0x1000000 };
    static unsigned char kind[NR_PAGES];
    uint64_t random = 88172645463325252ull;
    uint64_t expected = 0;
    struct synth *synth = new_process(SYNTH_KERNEL);
    for (size_t r = REGIONS; r > 0; r--)
        synth_segment(synth, BASE + (r - 1) * PAGES * PAGE, PAGES * PAGE, SYNTH_RW);
    for (size_t p = 0; p < NR_PAGES; p++) {
        kind[p] = next_random(&random) % 3;
        expected += kind[p] != 0 ? PAGE : 0;
        if (kind[p] != 0)
            synth_fill(synth, BASE + p * PAGE, kind[p] - 1, PAGE);
    }
    struct space space = open_space(synth);
    uint64_t bytes;
    assert_true(cf_mem_residency_exact(space.mem));
    assert_true(cf_mem_resident_bytes(space.mem, 0, UINT64_MAX, &bytes));
    assert_int_equal(bytes, expected);
    for (size_t p = 0; p < NR_PAGES; p++)
        assert_int_equal(cf_mem_page_state(space.mem, BASE + p * PAGE),
                         kind[p] != 0 ? CF_PAGE_RESIDENT : CF_PAGE_NOT_RESIDENT);
    for (size_t i = 0; i < 1000; i++) {
        size_t from = next_random(&random) % NR_PAGES;
        size_t to = from + 1 + next_random(&random) % (NR_PAGES - from);
        expected = 0;
        for (size_t p = from; p < to; p++)
            expected += kind[p] != 0 ? PAGE : 0;
        assert_true(cf_mem_resident_bytes(space.mem, BASE + from * PAGE, BASE + to * PAGE, &bytes));
        assert_int_equal(bytes, expected);
    }
    close_space(&space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsorted_segments_become_sorted_regions),
        cmocka_unit_test(a_segment_dumped_in_part_becomes_regions_of_one_state_each),
        cmocka_unit_test(overlapping_segments_keep_every_byte_of_the_first),
        cmocka_unit_test(a_segment_over_all_addresses_hides_only_what_comes_after_it),
        cmocka_unit_test(regions_are_cut_and_named_by_mapped_files),
        cmocka_unit_test(without_a_file_note_a_region_could_be_either),
        cmocka_unit_test(overlapping_rows_of_files_do_not_overlap_regions),
        cmocka_unit_test(the_kernels_own_pages_are_not_the_processs),
        cmocka_unit_test(reads_cross_regions_all_or_nothing),
        cmocka_unit_test(a_word_is_as_wide_as_the_machines),
        cmocka_unit_test(spans_join_what_is_contiguous_in_memory_and_in_the_file),
        cmocka_unit_test(holes_of_a_kernel_core_are_residency_when_stored_zeros_show_it),
        cmocka_unit_test(what_a_copy_keeps_is_said_of_it),
        cmocka_unit_test(without_that_evidence_pages_of_zeros_are_taken_for_absent),
        cmocka_unit_test(holes_that_are_coarser_than_pages_are_not_believed),
        cmocka_unit_test(resident_bytes_are_clipped_to_the_range),
        cmocka_unit_test(runs_of_resident_memory_are_walked_in_order),
        cmocka_unit_test(nothing_is_known_of_files_and_of_what_was_not_dumped),
        cmocka_unit_test(pages_of_an_unaligned_file_are_judged_whole),
        cmocka_unit_test(an_unaligned_region_has_short_pages_at_its_ends),
        cmocka_unit_test(pages_are_as_large_as_the_process_had_them),
        cmocka_unit_test(gaps_are_believed_of_a_full_createdump_only),
        cmocka_unit_test(dropping_pages_changes_nothing_that_is_read),
        cmocka_unit_test(residency_agrees_with_a_page_by_page_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
