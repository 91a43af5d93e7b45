/*
 * Candidates are tried in the order that the header gives until one has the right build id. A path
 * is opened in two steps: as a place only (O_PATH), which is looked at, and for reading when it is
 * a plain file. Opening a device or a pipe can have effects.
 */
#include "sym/findfile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "sym/debuginfod.h"

struct file_search {
    const struct cf_files *files;
    const struct cf_module *module;
    struct cf_found_file *out;
    int status; /* of memory */
    struct cf_err *err;
    char build_id[2 * CF_BUILD_ID_MAX + 1];
};

static bool is_done(const struct file_search *search) {
    return search->out->file != NULL || search->status != CF_OK;
}

/* ---- opening one file ---- */

/* Opens `path` without touching what it names. With a root, symbolic links stay within it where
 * the kernel can do that (openat2, 5.6); elsewhere the build id still has to agree. */
static int open_path(const char *root, const char *path) {
    if (root == NULL)
        return open(path, O_PATH | O_CLOEXEC);
    CF_CLEANUP_CLOSE int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    return openat(folder, path + strspn(path, "/"), O_PATH | O_CLOEXEC);
}

/* A file that the kernel makes up when it is read, by whatever name it is reached: /proc/kmsg is
 * a plain file to stat(), and reading it waits and takes messages away. */
static bool is_made_up(int fd) {
    static const unsigned long types[] = {
        0x9fa0,     /* proc */
        0x62656572, /* sysfs */
        0x64626720, /* debugfs */
        0x74726163, /* tracefs */
        0x63677270, /* cgroup2 */
        0x27e0eb,   /* cgroup */
    };
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return true;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if ((unsigned long)fs.f_type == types[i])
            return true;
    return false;
}

/* A core can name a device, and opening one can have effects: only plain files are opened. */
int cf_open_plain(const char *root, const char *path) {
    CF_CLEANUP_CLOSE int place = open_path(root, path);
    struct stat st;
    char name[64];
    if (place < 0 || fstat(place, &st) != 0 || !S_ISREG(st.st_mode) ||
        is_made_up(place))
        return -1;
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", place);
    return open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static bool same_build_id(const struct cf_module *module, const struct cf_elf_file *file) {
    unsigned char id[CF_BUILD_ID_MAX];
    size_t bytes = cf_elf_file_build_id(file, id, sizeof id);
    return bytes > 0 && bytes == module->build_id_bytes && memcmp(id, module->build_id, bytes) == 0;
}

static struct cf_elf_file *open_elf(struct file_search *search, const char *root,
                                    const char *path) {
    char name[PATH_MAX];
    struct cf_elf_file *file = NULL;
    struct cf_err err;
    int fd = cf_open_plain(root, path);
    if (fd < 0)
        return NULL;
    size_t root_bytes = root == NULL ? 0 : strlen(root);
    while (root_bytes > 0 && root[root_bytes - 1] == '/')
        root_bytes--;
    const char *slash = root != NULL && *path != '/' ? "/" : "";
    (void)snprintf(name, sizeof name, "%.*s%s%s", (int)root_bytes, root, slash, path);
    int status = cf_elf_file_open(fd, name, &file, &err);
    if (status == CF_ENOMEM) {
        search->status = status;
        if (search->err != NULL)
            *search->err = err;
    }
    return file;
}

static void note_other(struct file_search *search, const struct cf_elf_file *file) {
    if (search->out->other[0] == '\0')
        (void)snprintf(search->out->other, sizeof search->out->other, "%s", cf_elf_file_path(file));
}

static void try_file(struct file_search *search, const char *root, const char *path) {
    if (is_done(search) || search->module->build_id_bytes == 0)
        return;
    CF_CLEANUP(cf_elf_file_freep) struct cf_elf_file *file = open_elf(search, root, path);
    if (file == NULL)
        return;
    if (same_build_id(search->module, file))
        search->out->file = cf_take(&file);
    else
        note_other(search, file);
}

/* ---- the program that the user names ---- */

/* The core's copy of the file's headers, byte by byte, as far as the core has it. */
static bool headers_agree(const struct cf_mem *mem, uint64_t start,
                          const struct cf_elf_file *file) {
    size_t bytes;
    unsigned char in_core[4096];
    const unsigned char *headers = cf_elf_file_headers(file, &bytes);
    if (headers == NULL)
        return false;
    if (bytes > sizeof in_core || !cf_mem_read(mem, start, in_core, bytes))
        return cf_elf_file_is_64(file) == (cf_mem_word_bytes(mem) == 8);
    /* Up to e_phoff, then the program headers: strip moves e_shoff, which is in between. */
    size_t front = cf_elf_file_is_64(file) ? 40 : 32;
    size_t header = cf_elf_file_is_64(file) ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    return bytes > header && memcmp(headers, in_core, front) == 0 &&
           memcmp(headers + header, in_core + header, bytes - header) == 0;
}

static void try_exe(struct file_search *search) {
    const char *path = search->files->options->exe;
    if (path == NULL || search->module != search->files->exe)
        return;
    if (search->module->build_id_bytes > 0) {
        try_file(search, NULL, path);
        return;
    }
    CF_CLEANUP(cf_elf_file_freep) struct cf_elf_file *file = open_elf(search, NULL, path);
    if (file == NULL)
        return;
    if (!headers_agree(search->files->mem, search->module->start, file)) {
        note_other(search, file);
        return;
    }
    search->out->file = cf_take(&file);
    search->out->unverified = true;
}

/* ---- names ---- */

/* The module's path without what the kernel adds to the name of a file that is gone. */
static bool plain_path(const struct cf_module *module, char out[PATH_MAX]) {
    static const char deleted[] = " (deleted)";
    size_t bytes = strlen(module->path), end = sizeof deleted - 1;
    if (bytes >= end && strcmp(module->path + bytes - end, deleted) == 0)
        bytes -= end;
    if (bytes == 0 || bytes >= PATH_MAX || module->path[0] != '/')
        return false;
    memcpy(out, module->path, bytes);
    out[bytes] = '\0';
    return true;
}

static bool is_special(const char *path) {
    static const char *const folders[] = {"/dev/", "/proc/", "/sys/", "/memfd:"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

/* The path within the image, where `path` is that of an overlay's layer on the host; else NULL. */
static const char *within_layer(const char *path) {
    static const char *const roots[] = {"/diff/", "/merged/", "/rootfs/", "/fs/"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const char *at = strstr(path, roots[i]);
        if (at != NULL)
            return at + strlen(roots[i]) - 1;
    }
    return NULL;
}

/* FOLDER/xx/yyyy and a suffix, FOLDER relative to `root`. */
static void try_by_id(struct file_search *search, const char *root, const char *folder,
                      const char *suffix) {
    char path[PATH_MAX];
    if (strlen(search->build_id) < 4)
        return;
    (void)snprintf(path, sizeof path, "%s/%.2s/%s%s", folder, search->build_id,
                   search->build_id + 2, suffix);
    try_file(search, root, path);
}

static void try_debug_below(struct file_search *search, const char *root, const char *suffix) {
    static const char *const folders[] = {"/.build-id", "/usr/lib/debug/.build-id", ""};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        try_by_id(search, root, folders[i], suffix);
}

/* ---- the two searches ---- */

static void try_paths(struct file_search *search) {
    const char *sysroot = search->files->options->sysroot;
    char path[PATH_MAX];
    if (!plain_path(search->module, path) || is_special(path))
        return;
    const char *within = within_layer(path);
    if (sysroot != NULL) {
        try_file(search, sysroot, path);
        if (within != NULL)
            try_file(search, sysroot, within);
        try_file(search, sysroot, strrchr(path, '/'));
    }
    if (search->files->options->debuginfo != NULL)
        try_debug_below(search, search->files->options->debuginfo, "");
    try_file(search, NULL, path);
    if (within != NULL)
        try_file(search, NULL, within);
}

static void try_server(struct file_search *search, enum cf_debuginfod_kind kind) {
    char path[PATH_MAX];
    if (is_done(search) || !search->files->options->debuginfod)
        return;
    if (cf_debuginfod_find(search->module->build_id, search->module->build_id_bytes, kind, path,
                           sizeof path))
        try_file(search, NULL, path);
}

static struct file_search start(const struct cf_files *files, const struct cf_module *module,
                                struct cf_found_file *out, struct cf_err *err) {
    *out = (struct cf_found_file){0};
    struct file_search search = {
        .files = files, .module = module, .out = out, .status = CF_OK, .err = err};
    cf_module_build_id_text(module, search.build_id);
    return search;
}

int cf_files_find(const struct cf_files *files, const struct cf_module *module,
                  struct cf_found_file *out, struct cf_err *err) {
    struct file_search search = start(files, module, out, err);
    try_exe(&search);
    try_paths(&search);
    try_server(&search, CF_DEBUGINFOD_EXECUTABLE);
    return search.status;
}

int cf_files_find_debug(const struct cf_files *files, const struct cf_module *module,
                        struct cf_found_file *out, struct cf_err *err) {
    struct file_search search = start(files, module, out, err);
    const char *roots[] = {files->options->debuginfo, files->options->sysroot, "/"};
    char path[PATH_MAX], debug[PATH_MAX + 32];
    bool has_path = plain_path(module, path);
    (void)snprintf(debug, sizeof debug, "/usr/lib/debug%s.debug", has_path ? path : "");
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        if (roots[i] == NULL)
            continue;
        try_debug_below(&search, roots[i], ".debug");
        if (has_path)
            try_file(&search, roots[i], debug);
    }
    try_server(&search, CF_DEBUGINFOD_DEBUGINFO);
    return search.status;
}
