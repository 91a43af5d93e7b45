/* core: the file under the core is hostile. It is cut or changed while it is read, it has holes
 * that reading must not fill, and the caller has a handler of its own for SIGBUS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/core.h"
#include "synth.h"

enum { PAGE = 4096, PAGES = 64, BASE = 0x100000 };

/* Every page of the second half is data; of the first half, every fourth is a hole. */
static struct synth *core_with_holes(void) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_thread(synth, 1, 6, 0x1000, 0x2000);
    synth_segment(synth, BASE, PAGES * PAGE, SYNTH_RW);
    for (unsigned page = 0; page < PAGES; page++) {
        if (page % 4 != 0 || page >= PAGES / 2)
            synth_fill(synth, BASE + page * PAGE, (unsigned char)(page + 1), PAGE);
    }
    return synth;
}

static struct cf_core *open_core(struct synth *synth) {
    struct cf_err err = {.text = ""};
    struct cf_core *core = NULL;
    if (cf_core_open(NULL, synth_fd(synth), "synth", NULL, &core, &err) != CF_OK)
        fail_msg("%s", err.text);
    return core;
}

static const unsigned char *page_at(const struct cf_core *core, unsigned page) {
    const unsigned char *bytes =
        cf_core_bytes(core, cf_core_segment(core, 0)->offset + (uint64_t)page * PAGE, PAGE);
    assert_non_null(bytes);
    return bytes;
}

static uint64_t blocks_of(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return (uint64_t)st.st_blocks;
}

static unsigned sum_of_pages(const struct cf_core *core) {
    unsigned sum = 0;
    for (unsigned page = 0; page < PAGES; page++)
        sum += page_at(core, page)[PAGE - 1];
    return sum;
}

static void reading_holes_leaves_them_in_the_file(void **state) {
    (void)state;
    struct synth *synth = core_with_holes();
    uint64_t before = blocks_of(synth_fd(synth));
    for (int time = 0; time < 2; time++) {
        struct cf_core *core = open_core(synth);
        size_t nr_extents = cf_core_nr_extents(core);
        assert_int_equal(nr_extents, 1 + PAGES / 8);
        for (unsigned page = 0; page < PAGES; page++) {
            bool is_hole = page % 4 == 0 && page < PAGES / 2;
            assert_int_equal(page_at(core, page)[0], is_hole ? 0 : page + 1);
        }
        cf_core_drop(core, 0, cf_core_file_bytes(core));
        assert_int_equal(page_at(core, 1)[0], 2);
        assert_int_equal(cf_core_read_status(core, NULL), CF_OK);
        cf_core_free(core);
        assert_int_equal(blocks_of(synth_fd(synth)), before);
    }
    synth_free(synth);
}

/* More holes than a process may have mappings. What is copied for that stays when the rest of the
 * pages is dropped. */
static void any_number_of_holes_is_read_and_left(void **state) {
    (void)state;
    enum { MANY = 70000 };
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    uint64_t bytes = 2ull * MANY * PAGE;
    synth_segment(synth, BASE, bytes, SYNTH_RW);
    int fd = synth_fd(synth);
    uint64_t at = synth_offset(synth, 0);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(pwrite(fd, &i, sizeof i, (off_t)(at + 2ull * i * PAGE)), sizeof i);
    uint64_t before = blocks_of(fd);
    struct cf_core *core = open_core(synth);
    for (int time = 0; time < 2; time++) {
        for (unsigned i = 0; i < MANY; i++) {
            unsigned value;
            memcpy(&value, page_at(core, 2 * i), sizeof value);
            assert_int_equal(value, i);
            assert_int_equal(page_at(core, 2 * i + 1)[0], 0);
        }
        cf_core_drop(core, 0, cf_core_file_bytes(core));
    }
    cf_core_free(core);
    assert_int_equal(blocks_of(fd), before);
    synth_free(synth);
}

static void assert_says(const struct cf_core *core, const char *words) {
    struct cf_err err = {.text = ""};
    assert_int_equal(cf_core_read_status(core, &err), CF_EINPUT);
    if (strstr(err.text, words) == NULL || strstr(err.text, "synth") == NULL)
        fail_msg("%s", err.text);
}

static void a_file_that_is_cut_while_it_is_read_is_an_error(void **state) {
    (void)state;
    struct synth *synth = core_with_holes();
    struct cf_core *core = open_core(synth);
    uint64_t cut = synth_offset(synth, 0) + (PAGES - 8ull) * PAGE;
    assert_int_equal(cf_core_read_status(core, NULL), CF_OK);
    assert_int_equal(ftruncate(synth_fd(synth), (off_t)cut), 0);
    assert_int_equal(page_at(core, PAGES - 4)[5], 0);
    char words[64];
    (void)snprintf(words, sizeof words, "nothing at offset %llu",
                   (unsigned long long)cut + 4ull * PAGE + 5);
    assert_says(core, words);
    (void)sum_of_pages(core); /* zeros from now on, and no signal */
    cf_core_free(core);
    synth_free(synth);
}

static void a_file_that_is_changed_while_it_is_read_is_an_error(void **state) {
    (void)state;
    struct synth *synth = core_with_holes();
    struct cf_core *core = open_core(synth);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    assert_int_equal(futimens(synth_fd(synth), times), 0);
    assert_says(core, "was changed");
    cf_core_free(core);
    core = open_core(synth);
    assert_int_equal(ftruncate(synth_fd(synth), (off_t)(synth_file_bytes(synth) + PAGE)), 0);
    assert_says(core, "was changed");
    cf_core_free(core);
    synth_free(synth);
}

struct reader {
    const struct cf_core *core;
    pthread_t thread;
};

static void *read_all(void *argument) {
    const struct reader *reader = argument;
    for (int time = 0; time < 200; time++)
        (void)sum_of_pages(reader->core);
    return NULL;
}

static void several_threads_read_on_when_the_file_is_cut(void **state) {
    (void)state;
    struct synth *synth = core_with_holes();
    struct cf_core *core = open_core(synth);
    struct reader readers[4];
    for (size_t i = 0; i < 4; i++) {
        readers[i].core = core;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
    }
    assert_int_equal(ftruncate(synth_fd(synth), PAGE), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
    (void)sum_of_pages(core);
    assert_says(core, "became shorter");
    cf_core_free(core);
    synth_free(synth);
}

/* ---- the caller's own handler ---- */

static sigjmp_buf back;
static volatile sig_atomic_t caught;

static void own_handler(int number) {
    (void)number;
    caught++;
    siglongjmp(back, 1);
}

static void read_own_mapping_that_is_cut(void) {
    int fd = memfd_create("own", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    volatile unsigned char *own = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(own, MAP_FAILED);
    assert_int_equal(ftruncate(fd, 0), 0);
    if (sigsetjmp(back, 1) == 0) {
        (void)own[0];
        fail_msg("the read went on");
    }
    (void)munmap((void *)(uintptr_t)own, PAGE);
    (void)close(fd);
}

static void a_callers_handler_has_its_own_faults_and_comes_back(void **state) {
    (void)state;
    const struct sigaction own = {.sa_handler = own_handler};
    struct sigaction now, first;
    struct synth *synth = core_with_holes();
    assert_int_equal(sigaction(SIGBUS, &own, &first), 0);
    struct cf_core *core = open_core(synth);
    struct cf_core *other = open_core(synth);
    caught = 0;
    read_own_mapping_that_is_cut();
    assert_int_equal(caught, 1);
    if (sigsetjmp(back, 1) == 0)
        (void)raise(SIGBUS);
    assert_int_equal(caught, 2);
    cf_core_free(other);
    assert_int_equal(ftruncate(synth_fd(synth), PAGE), 0);
    (void)sum_of_pages(core);
    assert_says(core, "became shorter");
    cf_core_free(core);
    assert_int_equal(sigaction(SIGBUS, &first, &now), 0);
    assert_ptr_equal(now.sa_handler, own_handler);
    synth_free(synth);
}

static void a_thread_that_blocks_the_signal_reads_as_well(void **state) {
    (void)state;
    sigset_t bus, before, after;
    (void)sigemptyset(&bus);
    (void)sigaddset(&bus, SIGBUS);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &bus, &before), 0);
    struct synth *synth = core_with_holes();
    struct cf_core *core = open_core(synth);
    assert_int_equal(ftruncate(synth_fd(synth), PAGE), 0);
    (void)sum_of_pages(core);
    assert_says(core, "became shorter");
    cf_core_free(core);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
    assert_true(sigismember(&after, SIGBUS));
    synth_free(synth);
}

/* ---- who ended the process ---- */

static void a_core_that_gdb_wrote_of_a_crash_is_no_snapshot(void **state) {
    (void)state;
    static const struct {
        enum synth_layout layout;
        int signal;
        bool is_snapshot;
    } cases[] = {
        {SYNTH_GCORE, 0, true},          {SYNTH_GCORE, SIGSTOP, true},
        {SYNTH_GCORE, SIGTRAP, true},    {SYNTH_GCORE, SIGINT, true},
        {SYNTH_GCORE, SIGSEGV, false},   {SYNTH_GCORE, SIGABRT, false},
        {SYNTH_KERNEL, SIGTRAP, false},  {SYNTH_KERNEL, SIGQUIT, false},
        {SYNTH_KERNEL, SIGABRT, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = synth_new(CF_MACHINE_X86_64);
        synth_options(synth)->layout = cases[i].layout;
        synth_thread(synth, 1, cases[i].signal, 0x1000, 0x2000);
        synth_segment(synth, BASE, PAGE, SYNTH_RW);
        synth_fill(synth, BASE, 1, PAGE);
        struct cf_core *core = open_core(synth);
        assert_int_equal(cf_core_is_snapshot(core), cases[i].is_snapshot);
        cf_core_free(core);
        synth_free(synth);
    }
}

/* ---- machines and systems that are not read ---- */

static void cores_of_other_machines_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        unsigned char class, order, system;
        uint16_t machine;
        const char *says;
    } cases[] = {
        {1, 1, 0, 40, "a core of 32-bit ARM;"},       {2, 1, 0, 21, "64-bit PowerPC;"},
        {2, 2, 0, 21, "64-bit PowerPC, big-endian"},  {2, 2, 0, 22, "s390x (IBM Z), big-endian"},
        {2, 1, 0, 243, "RISC-V"},                     {1, 2, 0, 8, "MIPS, big-endian"},
        {1, 2, 0, 22, "s390 (IBM Z, 31 bits)"},
        {1, 1, 0, 62, "x32"},                         {2, 1, 9, 62, "FreeBSD on x86_64"},
        {2, 1, 0, 258, "LoongArch"},                  {2, 1, 0, 4711, "ELF machine 4711"},
        {2, 2, 0, 183, "aarch64, big-endian"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_big = cases[i].order == 2;
        unsigned char head[PAGE] = "\x7f"
                                   "ELF";
        struct cf_core *core = NULL;
        struct cf_err err = {.text = ""};
        head[4] = cases[i].class;
        head[5] = cases[i].order;
        head[7] = cases[i].system;
        head[16 + is_big] = 4;
        head[18 + is_big] = (unsigned char)cases[i].machine;
        head[18 + !is_big] = (unsigned char)(cases[i].machine >> 8);
        int fd = memfd_create("core", MFD_CLOEXEC);
        assert_int_equal(write(fd, head, sizeof head), sizeof head);
        assert_int_equal(cf_core_open(NULL, fd, "synth", NULL, &core, &err), CF_EINPUT);
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].says, err.text);
        (void)close(fd);
    }
}

static void cores_of_other_systems_are_refused_by_their_notes(void **state) {
    (void)state;
    static const struct {
        const char *owner, *says; /* NULL: it is read */
    } cases[] = {{"NetBSD-CORE", "NetBSD"}, {"NetBSD-CORE@1", "NetBSD"}, {"FreeBSD", "FreeBSD"},
                 {"OpenBSD", "OpenBSD"},    {"VMCOREINFO", "kernel"},    {"LINUX", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = core_with_holes();
        struct cf_core *core = NULL;
        struct cf_err err = {.text = ""};
        synth_note(synth, cases[i].owner, 1, "body", 4);
        int status = cf_core_open(NULL, synth_fd(synth), "synth", NULL, &core, &err);
        assert_int_equal(status, cases[i].says == NULL ? CF_OK : CF_EINPUT);
        if (cases[i].says != NULL && strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].owner, err.text);
        cf_core_free(core);
        synth_free(synth);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_holes_leaves_them_in_the_file),
        cmocka_unit_test(any_number_of_holes_is_read_and_left),
        cmocka_unit_test(a_file_that_is_cut_while_it_is_read_is_an_error),
        cmocka_unit_test(a_file_that_is_changed_while_it_is_read_is_an_error),
        cmocka_unit_test(several_threads_read_on_when_the_file_is_cut),
        cmocka_unit_test(a_callers_handler_has_its_own_faults_and_comes_back),
        cmocka_unit_test(a_thread_that_blocks_the_signal_reads_as_well),
        cmocka_unit_test(a_core_that_gdb_wrote_of_a_crash_is_no_snapshot),
        cmocka_unit_test(cores_of_other_machines_are_refused_by_name),
        cmocka_unit_test(cores_of_other_systems_are_refused_by_their_notes),
    };
    return cmocka_run_group_tests_name("corefile", tests, NULL, NULL);
}
