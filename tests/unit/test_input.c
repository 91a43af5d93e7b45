/* input: cores as they lie, packed in every way that is read, cut off, and not there at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/tempfile.h"
#include "input/input.h"
#include "input/unpack.h"
#include "synth.h"

enum { MAGIC_BYTES = 18 }; /* of an ELF core: up to and with e_type */
enum { PAGE = 4096 };

/* A folder for the archives and one for the temporary files, which must always be empty. */
struct place {
    char folder[64];
    char temporary[80];
    char path[128]; /* the archive */
};

static struct place place;

static int make_place(void **state) {
    (void)state;
    (void)strcpy(place.folder, "/tmp/corefrag-test-XXXXXX");
    if (mkdtemp(place.folder) == NULL)
        return -1;
    (void)snprintf(place.temporary, sizeof place.temporary, "%s/tmp", place.folder);
    (void)snprintf(place.path, sizeof place.path, "%s/archive", place.folder);
    return mkdir(place.temporary, 0700) == 0 ? setenv("TMPDIR", place.temporary, 1) : -1;
}

static int remove_place(void **state) {
    (void)state;
    (void)unlink(place.path);
    (void)rmdir(place.temporary);
    (void)unsetenv("TMPDIR");
    return rmdir(place.folder);
}

static void assert_nothing_left_behind(void) {
    DIR *folder = opendir(place.temporary);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        assert_int_equal(entry->d_name[0], '.');
    (void)closedir(folder);
}

/* A core of about a megabyte with holes, stored zeros, and noise that does not compress. */
struct bytes {
    unsigned char *data;
    size_t len;
};

static struct bytes core_bytes(size_t pages) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    uint64_t random = 88172645463325252ull;
    synth_thread(synth, 1, 6, 0x1000, 0x2000);
    synth_segment(synth, 0x100000, pages * PAGE, SYNTH_RW);
    for (size_t page = 0; page < pages; page += 4) {
        uint64_t noise[PAGE / sizeof(uint64_t)];
        for (size_t i = 0; i < PAGE / sizeof(uint64_t); i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            noise[i] = random;
        }
        synth_put(synth, 0x100000 + page * PAGE, noise, sizeof noise);
    }
    synth_fill(synth, 0x100000 + 2 * PAGE, 0, PAGE);
    int fd = synth_fd(synth);
    struct bytes bytes = {.len = (size_t)synth_file_bytes(synth)};
    bytes.data = malloc(bytes.len);
    assert_non_null(bytes.data);
    assert_int_equal(pread(fd, bytes.data, bytes.len, 0), (ssize_t)bytes.len);
    synth_free(synth);
    return bytes;
}

/* One file to be packed. */
struct member {
    const char *name;
    const void *data;
    size_t len;
    bool sparse; /* pages of zeros are declared as holes, but for page 6, which is stored */
};

static void add_sparse_map(struct archive_entry *entry, const struct member *member) {
    static const unsigned char zeros[PAGE];
    const unsigned char *data = member->data;
    for (size_t at = 0; at + PAGE <= member->len; at += PAGE) {
        if (at == 6 * PAGE || memcmp(data + at, zeros, PAGE) != 0)
            archive_entry_sparse_add_entry(entry, (int64_t)at, PAGE);
    }
}

static void add_member(struct archive *archive, const struct member *member) {
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, member->name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_size(entry, (int64_t)member->len);
    if (member->sparse)
        add_sparse_map(entry, member);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(archive, member->data, member->len), (ssize_t)member->len);
    archive_entry_free(entry);
}

static void pack(int format, int filter, const struct member *members, size_t nr_members) {
    struct archive *archive = archive_write_new();
    assert_non_null(archive);
    assert_int_equal(archive_write_set_format(archive, format), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter(archive, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(archive, place.path), ARCHIVE_OK);
    for (size_t i = 0; i < nr_members; i++)
        add_member(archive, &members[i]);
    assert_int_equal(archive_write_free(archive), ARCHIVE_OK);
}

static struct cf_input *open_path(const char *path) {
    struct cf_err err = {.text = ""};
    struct cf_input *input = NULL;
    if (cf_input_open(NULL, path, &input, &err) != CF_OK)
        fail_msg("%s", err.text);
    assert_nothing_left_behind();
    return input;
}

static size_t file_bytes(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return (size_t)st.st_size;
}

/* The unpacked file begins as the core does, and has `len` bytes. */
static void assert_same(const struct cf_input *input, const struct bytes *core, size_t len) {
    assert_int_equal(file_bytes(cf_input_fd(input)), len);
    unsigned char *data = malloc(len + 1);
    assert_non_null(data);
    assert_int_equal(pread(cf_input_fd(input), data, len, 0), (ssize_t)len);
    assert_memory_equal(data, core->data, len);
    free(data);
}

static bool is_hole(int fd, uint64_t offset) {
    off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    return data < 0 || (uint64_t)data > offset;
}

static const struct packing {
    const char *what;
    int format, filter;
    bool truncatable; /* a cut archive still gives what stands before the cut */
    bool checked;     /* libarchive writes a checksum */
} packings[] = {
    {"gzip", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, true, true},
    {"zstd", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_ZSTD, true, false},
    {"xz", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_XZ, true, true},
    {"lz4", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_LZ4, true, true},
    {"bzip2", ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_BZIP2, true, true},
    {"tar", ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE, true, false},
    {"tar.gz", ARCHIVE_FORMAT_TAR_GNUTAR, ARCHIVE_FILTER_GZIP, true, true},
    {"tar.zst", ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, ARCHIVE_FILTER_ZSTD, true, false},
    {"zip", ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, false, true},
};
enum { NR_PACKINGS = sizeof packings / sizeof *packings };

/* A file of our own, into which the core was unpacked. */
static bool is_nameless(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_nlink == 0;
}

static void each_way_of_packing_gives_the_core_back(void **state) {
    (void)state;
    struct bytes core = core_bytes(256);
    for (size_t i = 0; i < NR_PACKINGS; i++) {
        struct member member = {"core.77", core.data, core.len, false};
        pack(packings[i].format, packings[i].filter, &member, 1);
        struct cf_input *input = open_path(place.path);
        assert_true(is_nameless(cf_input_fd(input)));
        assert_false(cf_input_truncated(input));
        assert_false(cf_input_holes_are_evidence(input));
        assert_true(cf_input_is_packed(input));
        assert_int_equal(cf_input_is_checked(input), packings[i].checked);
        assert_same(input, &core, core.len);
        assert_int_equal(strstr(cf_input_name(input), "(core.77)") != NULL,
                         packings[i].format != ARCHIVE_FORMAT_RAW);
        cf_input_free(input);
    }
    free(core.data);
}

static void zeros_of_a_dense_archive_become_holes(void **state) {
    (void)state;
    struct bytes core = core_bytes(64);
    struct member member = {"core", core.data, core.len, false};
    pack(ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &member, 1);
    struct cf_input *input = open_path(place.path);
    int fd = cf_input_fd(input);
    size_t first = core.len - 64 * PAGE;
    assert_false(is_hole(fd, first));
    assert_true(is_hole(fd, first + PAGE));
    assert_true(is_hole(fd, first + 2 * PAGE)); /* stored zeros: nobody knows any more */
    assert_false(is_hole(fd, first + 4 * PAGE));
    cf_input_free(input);
    free(core.data);
}

static void a_sparse_tar_gives_its_holes_back_exactly(void **state) {
    (void)state;
    static const int formats[] = {ARCHIVE_FORMAT_TAR_PAX_RESTRICTED,
                                  ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE};
    struct bytes core = core_bytes(64);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct member member = {"core", core.data, core.len, true};
        pack(formats[i], ARCHIVE_FILTER_ZSTD, &member, 1);
        struct cf_input *input = open_path(place.path);
        assert_true(is_nameless(cf_input_fd(input)));
        assert_true(cf_input_holes_are_evidence(input));
        assert_same(input, &core, core.len);
        static const unsigned char zeros[PAGE];
        for (size_t at = 0; at + PAGE <= core.len; at += PAGE) {
            bool zero = memcmp(core.data + at, zeros, PAGE) == 0;
            assert_int_equal(is_hole(cf_input_fd(input), at), zero && at != 6 * PAGE);
        }
        cf_input_free(input);
    }
    free(core.data);
}

static const char program[64] = "\x7f"
                                "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e";

static void the_core_is_found_among_other_files(void **state) {
    (void)state;
    struct bytes core = core_bytes(200);
    static const char text[] = "Thread 1 was in abort().\n";
    char *log = calloc(1, 3 << 20);
    assert_non_null(log);
    const struct member members[] = {
        {"README", text, sizeof text - 1, false}, {"bin/prog", program, sizeof program, false},
        {"huge.log", log, 3 << 20, false},        {"b/core", core.data, core.len, false},
        {"empty", "", 0, false},
    };
    for (size_t i = 0; i < NR_PACKINGS; i++) {
        if (packings[i].format == ARCHIVE_FORMAT_RAW)
            continue;
        pack(packings[i].format, packings[i].filter, members, sizeof members / sizeof *members);
        struct cf_input *input = open_path(place.path);
        assert_same(input, &core, core.len);
        assert_non_null(strstr(cf_input_name(input), "(b/core)"));
        cf_input_free(input);
    }
    free(log);
    free(core.data);
}

static void two_cores_in_one_archive_are_both_named(void **state) {
    (void)state;
    struct bytes small = core_bytes(8);
    struct bytes large = core_bytes(200);
    const struct member members[] = {
        {"a/core.1", small.data, small.len, false},
        {"bin/prog", program, sizeof program, false},
        {"b/core.2", large.data, large.len, false},
    };
    for (size_t i = 0; i < NR_PACKINGS; i++) {
        struct cf_input *input = NULL;
        struct cf_err err;
        if (packings[i].format == ARCHIVE_FORMAT_RAW)
            continue;
        pack(packings[i].format, packings[i].filter, members, 3);
        assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
        assert_non_null(strstr(err.text, "2 cores (a/core.1, b/core.2)"));
        pack(packings[i].format, packings[i].filter, members, 2);
        cf_input_free(open_path(place.path));
    }
    free(small.data);
    free(large.data);
}

/* Packs `core` into place.path and reads that back; its length. */
static size_t packed_bytes(const struct bytes *core, int filter, unsigned char *out, size_t room) {
    struct member member = {"core", core->data, core->len, false};
    pack(ARCHIVE_FORMAT_RAW, filter, &member, 1);
    CF_CLEANUP_CLOSE int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, out, room);
    assert_in_range(len, 1, room - 1);
    return (size_t)len;
}

static void two_packed_cores_in_one_archive_are_both_named(void **state) {
    (void)state;
    static unsigned char first[1 << 20], second[1 << 20];
    struct bytes core = core_bytes(32);
    size_t len = packed_bytes(&core, ARCHIVE_FILTER_ZSTD, first, sizeof first);
    size_t second_len = packed_bytes(&core, ARCHIVE_FILTER_GZIP, second, sizeof second);
    const struct member members[] = {{"core.1.zst", first, len, false},
                                     {"core.2.gz", second, second_len, false}};
    struct cf_input *input = NULL;
    struct cf_err err;
    pack(ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE, members, 2);
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "2 cores (core.1.zst, core.2.gz)"));
    free(core.data);
}

/* With one bit changed an archive is damaged, or the bit does not matter (a time, a name). What
 * has a checksum never gives other bytes than were packed; what ends early gives a part of them. */
static void one_changed_bit_gives_no_other_core(void **state) {
    (void)state;
    enum { FLIPS = 60 };
    static unsigned char packed[1 << 21];
    struct bytes core = core_bytes(96);
    for (size_t i = 0; i < NR_PACKINGS; i++) {
        struct member member = {"core", core.data, core.len, false};
        unsigned refused = 0;
        if (!packings[i].checked)
            continue;
        pack(packings[i].format, packings[i].filter, &member, 1);
        CF_CLEANUP_CLOSE int fd = open(place.path, O_RDWR | O_CLOEXEC);
        ssize_t len = read(fd, packed, sizeof packed);
        assert_in_range(len, 1000, sizeof packed - 1);
        for (size_t flip = 0; flip < FLIPS; flip++) {
            size_t at = (size_t)len * flip / FLIPS + flip % 7;
            unsigned char changed = (unsigned char)(packed[at] ^ (1u << flip % 8));
            struct cf_input *input = NULL;
            struct cf_err err = {.text = ""};
            assert_int_equal(pwrite(fd, &changed, 1, (off_t)at), 1);
            int status = cf_input_open(NULL, place.path, &input, &err);
            assert_int_equal(pwrite(fd, &packed[at], 1, (off_t)at), 1);
            refused += status != CF_OK;
            if (status == CF_OK) {
                if (packings[i].filter == ARCHIVE_FILTER_GZIP)
                    assert_false(cf_input_truncated(input));
                assert_same(input, &core,
                            cf_input_truncated(input) ? file_bytes(cf_input_fd(input)) : core.len);
                cf_input_free(input);
            }
        }
        if (refused < FLIPS * 3 / 4)
            fail_msg("%s: only %u of %d are refused", packings[i].what, refused, FLIPS);
    }
    free(core.data);
}

static void a_format_without_a_checksum_is_known_as_such(void **state) {
    (void)state;
    struct bytes core = core_bytes(32);
    struct member member = {"core", core.data, core.len, false};
    pack(ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &member, 1);
    struct stat st;
    assert_int_equal(stat(place.path, &st), 0);
    assert_int_equal(truncate(place.path, st.st_size / 2), 0);
    struct cf_input *input = open_path(place.path);
    assert_true(cf_input_is_packed(input));
    assert_false(cf_input_is_checked(input)); /* it stood behind the cut */
    cf_input_free(input);
    free(core.data);
}

static void a_core_packed_inside_an_archive_is_found(void **state) {
    (void)state;
    struct bytes core = core_bytes(32);
    struct member member = {"core", core.data, core.len, false};
    pack(ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_ZSTD, &member, 1);
    CF_CLEANUP_CLOSE int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    static unsigned char packed[1 << 20];
    ssize_t len = read(fd, packed, sizeof packed);
    const struct member members[] = {{"notes.txt", "notes of the incident", 21, false},
                                     {"core.zst", packed, (size_t)len, false}};
    pack(ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, members, 2);
    struct cf_input *input = open_path(place.path);
    assert_same(input, &core, core.len);
    assert_non_null(strstr(cf_input_name(input), "(core.zst)"));
    cf_input_free(input);
    free(core.data);
}

static void a_cut_archive_gives_what_came_before_the_cut(void **state) {
    (void)state;
    /* lz4 and bzip2 give whole blocks only, of 4 MiB and 900 kB. */
    struct bytes core = core_bytes(4096);
    for (size_t i = 0; i < NR_PACKINGS; i++) {
        if (!packings[i].truncatable)
            continue;
        struct member member = {"core", core.data, core.len, false};
        pack(packings[i].format, packings[i].filter, &member, 1);
        struct stat st;
        assert_int_equal(stat(place.path, &st), 0);
        assert_int_equal(truncate(place.path, st.st_size * 3 / 4), 0);
        struct cf_err err = {.text = ""};
        struct cf_input *input = NULL;
        int status = cf_input_open(NULL, place.path, &input, &err);
        if (status != CF_OK)
            fail_msg("%s: %s", packings[i].what, err.text);
        assert_true(cf_input_truncated(input));
        size_t len = file_bytes(cf_input_fd(input));
        assert_in_range(len, core.len / 4, core.len - 1);
        assert_same(input, &core, len);
        cf_input_free(input);
    }
    free(core.data);
}

static void an_archive_without_a_core_says_what_is_in_it(void **state) {
    (void)state;
    const struct member members[] = {{"README", "hello", 5, false},
                                     {"evil\nname", "hello", 5, false}};
    struct cf_err err;
    struct cf_input *input = NULL;
    pack(ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP, members, 2);
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "holds no ELF core (README, evil?name)"));
    pack(ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_XZ, members, 1);
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "holds no ELF core"));
    assert_null(input);
    assert_nothing_left_behind();
}

static void write_file(const void *data, size_t len) {
    CF_CLEANUP_CLOSE int fd = open(place.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
}

static void what_cannot_be_read_is_refused_with_the_reason(void **state) {
    (void)state;
    struct cf_err err;
    struct cf_input *input = NULL;
    char fifo[128];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", place.folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    write_file("", 0);
    const struct {
        const char *path, *reason;
    } cases[] = {
        {"/nonexistent/core", "cannot be opened: No such file"},
        {place.folder, "is a folder"},
        {fifo, "a pipe goes to standard input"},
        {"/dev/null", "not a regular file"},
        {place.path, "is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(cf_input_open(NULL, cases[i].path, &input, &err), CF_EINPUT);
        assert_non_null(strstr(err.text, cases[i].path));
        assert_non_null(strstr(err.text, cases[i].reason));
    }
    write_file("just some text, no core at all\n", 31);
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "neither an ELF core nor packed"));
    write_file("\x1f\x8b\x08\0garbage garbage garbage", 28);
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
    assert_null(input);
    assert_int_equal(unlink(fifo), 0);
}

/* Other dumps that people have at hand, by their first bytes: as they are, packed, and among other
 * files. */
static void other_dumps_are_refused_by_their_names(void **state) {
    (void)state;
    static const struct {
        const char *magic;
        size_t len;
        const char *says;
    } others[] = {
        {"MDMP\x93\xa7", 6, "a minidump"},
        {"PAGEDU64", 8, "the Windows kernel"},
        {"MZ\x90", 3, "a Windows program"},
        {"\xcf\xfa\xed\xfe\7\0\0\1", 8, "a Mach-O file"},
        {"KDUMP   \6", 9, "kdump"},
        {"DISKDUMP", 8, "diskdump"},
        {"makedumpfile\0", 13, "makedumpfile"},
        {"EMiL\1", 5, "LiME"},
        {"\x19\x43\x56\x54", 4, "CRIU"},
        {"JAVA PROFILE 1.0.2", 18, "hprof"},
        {"SQLite format 3", 16, "a database"},
        {"", 0, "gcore was interrupted"},
    };
    static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_ZSTD};
    struct cf_input *input = NULL;
    struct cf_err err;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        static char data[3 * PAGE];
        memset(data, 0, sizeof data);
        memcpy(data, others[i].magic, others[i].len);
        struct member member = {"dump", data, sizeof data, false};
        for (size_t j = 0; j < 3; j++) {
            pack(ARCHIVE_FORMAT_RAW, filters[j], &member, 1);
            assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
            if (strstr(err.text, "is no core, but a") == NULL ||
                strstr(err.text, others[i].says) == NULL)
                fail_msg("%s: %s", others[i].says, err.text);
        }
        if (others[i].len == 0)
            continue;
        pack(ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP, &member, 1);
        assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
        if (others[i].len < MAGIC_BYTES && strstr(err.text, others[i].says) == NULL)
            fail_msg("%s: %s", others[i].says, err.text);
    }
}

/* A core of another machine is a core, also packed: who reads it names the machine. */
static void a_core_of_another_machine_is_unpacked(void **state) {
    (void)state;
    static unsigned char big[2 * PAGE] = "\x7f"
                                         "ELF\2\2\1\0\0\0\0\0\0\0\0\0\0\4\0\x16";
    struct member member = {"core", big, sizeof big, false};
    pack(ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP, &member, 1);
    struct cf_input *input = open_path(place.path);
    struct bytes same = {.data = big, .len = sizeof big};
    assert_same(input, &same, sizeof big);
    cf_input_free(input);
    big[17] = 3; /* a library */
    pack(ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP, &member, 1);
    struct cf_err err;
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "holds no ELF core"));
    big[17] = 4;
}

static void a_plain_core_is_used_where_it_lies(void **state) {
    (void)state;
    struct bytes core = core_bytes(16);
    write_file(core.data, core.len);
    struct cf_input *input = open_path(place.path);
    assert_false(is_nameless(cf_input_fd(input)));
    assert_false(cf_input_is_packed(input));
    assert_true(cf_input_holes_are_evidence(input));
    assert_false(cf_input_truncated(input));
    assert_string_equal(cf_input_name(input), place.path);
    assert_same(input, &core, core.len);
    cf_input_free(input);
    free(core.data);
}

/* Runs `path`'s bytes through a pipe into standard input, in small pieces. */
static struct cf_input *open_through_a_pipe(const char *path) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        unsigned char block[777];
        int fd = open(path, O_RDONLY);
        for (ssize_t got; (got = read(fd, block, sizeof block)) > 0;)
            if (write(ends[1], block, (size_t)got) != got)
                _exit(1);
        _exit(0);
    }
    (void)close(ends[1]);
    int before = dup(STDIN_FILENO);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    struct cf_input *input = open_path("-");
    (void)dup2(before, STDIN_FILENO);
    (void)close(before);
    (void)close(ends[0]);
    (void)waitpid(writer, NULL, 0);
    return input;
}

static void standard_input_is_read_from_a_pipe(void **state) {
    (void)state;
    struct bytes core = core_bytes(300);
    write_file(core.data, core.len);
    struct cf_input *input = open_through_a_pipe(place.path);
    assert_true(is_nameless(cf_input_fd(input)));
    assert_false(cf_input_is_packed(input));
    assert_false(cf_input_holes_are_evidence(input));
    assert_string_equal(cf_input_name(input), "standard input");
    assert_same(input, &core, core.len);
    cf_input_free(input);
    for (size_t i = 0; i < NR_PACKINGS; i++) {
        struct member member = {"core", core.data, core.len, false};
        pack(packings[i].format, packings[i].filter, &member, 1);
        input = open_through_a_pipe(place.path);
        assert_same(input, &core, core.len);
        assert_false(cf_input_truncated(input));
        cf_input_free(input);
    }
    free(core.data);
}

static void a_killed_process_leaves_no_temporary_file(void **state) {
    (void)state;
    struct bytes core = core_bytes(64);
    struct member member = {"core", core.data, core.len, false};
    pack(ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &member, 1);
    pid_t child = fork();
    if (child == 0) {
        struct cf_input *input = NULL;
        if (cf_input_open(NULL, place.path, &input, NULL) != CF_OK)
            _exit(1);
        (void)raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_nothing_left_behind();
    free(core.data);
}

static void unpacking_stops_before_the_disk_is_full(void **state) {
    (void)state;
    struct cf_tempfile file;
    struct cf_err err;
    assert_int_equal(cf_tempfile_open(NULL, &file, &err), CF_OK);
    assert_int_equal(cf_tempfile_write(&file, 0, "data", 4, true, &err), CF_OK);
    file.reserve_bytes = UINT64_MAX / 2;
    static const char block[1 << 20] = "x";
    int status = CF_OK;
    for (uint64_t at = 4096; status == CF_OK && at < 64 << 20; at += sizeof block)
        status = cf_tempfile_write(&file, at, block, sizeof block, false, &err);
    assert_int_equal(status, CF_EINPUT);
    assert_non_null(strstr(err.text, "set TMPDIR"));
    assert_non_null(strstr(err.text, place.temporary));
    assert_in_range(file.end, 1, 16 << 20);
    cf_tempfile_close(&file);
}

static void a_folder_that_cannot_be_written_is_named(void **state) {
    (void)state;
    struct bytes core = core_bytes(8);
    struct member member = {"core", core.data, core.len, false};
    pack(ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &member, 1);
    struct cf_err err;
    struct cf_input *input = NULL;
    assert_int_equal(setenv("TMPDIR", "/nonexistent/folder", 1), 0);
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "/nonexistent/folder"));
    assert_non_null(strstr(err.text, "TMPDIR"));
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(cf_input_open(NULL, place.path, &input, &err), CF_OK);
    cf_input_free(input);
    assert_int_equal(setenv("TMPDIR", place.temporary, 1), 0);
    free(core.data);
}

static int count_progress(void *user, const char *stage, uint64_t done, uint64_t total) {
    uint64_t *last = user;
    assert_string_equal(stage, "unpack");
    assert_in_range(done, *last, total);
    *last = done;
    return 0;
}

static void progress_counts_bytes_of_the_archive(void **state) {
    (void)state;
    struct bytes core = core_bytes(512);
    struct member member = {"core", core.data, core.len, false};
    pack(ARCHIVE_FORMAT_RAW, ARCHIVE_FILTER_GZIP, &member, 1);
    uint64_t last = 0;
    struct cf_context ctx = {.user = &last, .progress = count_progress};
    struct cf_input *input = NULL;
    assert_int_equal(cf_input_open(&ctx, place.path, &input, NULL), CF_OK);
    assert_true(last > 0);
    cf_input_free(input);
    free(core.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_core_is_used_where_it_lies),
        cmocka_unit_test(each_way_of_packing_gives_the_core_back),
        cmocka_unit_test(zeros_of_a_dense_archive_become_holes),
        cmocka_unit_test(a_sparse_tar_gives_its_holes_back_exactly),
        cmocka_unit_test(the_core_is_found_among_other_files),
        cmocka_unit_test(two_cores_in_one_archive_are_both_named),
        cmocka_unit_test(two_packed_cores_in_one_archive_are_both_named),
        cmocka_unit_test(one_changed_bit_gives_no_other_core),
        cmocka_unit_test(a_format_without_a_checksum_is_known_as_such),
        cmocka_unit_test(a_core_packed_inside_an_archive_is_found),
        cmocka_unit_test(a_cut_archive_gives_what_came_before_the_cut),
        cmocka_unit_test(an_archive_without_a_core_says_what_is_in_it),
        cmocka_unit_test(what_cannot_be_read_is_refused_with_the_reason),
        cmocka_unit_test(other_dumps_are_refused_by_their_names),
        cmocka_unit_test(a_core_of_another_machine_is_unpacked),
        cmocka_unit_test(standard_input_is_read_from_a_pipe),
        cmocka_unit_test(a_killed_process_leaves_no_temporary_file),
        cmocka_unit_test(unpacking_stops_before_the_disk_is_full),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_named),
        cmocka_unit_test(progress_counts_bytes_of_the_archive),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
