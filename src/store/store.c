/*
 * The temporary file's life. It is made with O_EXCL under a random name in the folder of the final
 * one, so that the rename stays within a file system. The load is one transaction; it ends before
 * the chunk table is written past SQLite, and another begins behind it. Without --force the last
 * step must not replace a file that appeared meanwhile: RENAME_NOREPLACE, else a hard link.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/err.h"
#include "store/chunk_index.h"
#include "store/chunk_load.h"
#include "store/queries.h"

enum { NAME_ATTEMPTS = 16 };

struct cf_store {
    const struct cf_context *ctx;
    struct cf_db *db;
    char *path;
    char *folder;
    char *temporary;
    bool exists; /* the temporary file is there and ours to remove */
    bool force;
};

static int check_target(const struct cf_store *store, struct cf_err *err) {
    struct stat st;
    if (lstat(store->path, &st) != 0)
        return CF_OK;
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return cf_err_set(err, CF_EOUTPUT,
                          "%s: exists and is not a plain file; name another"
                          " database with -o",
                          store->path);
    if (!store->force)
        return cf_err_set(err, CF_EOUTPUT,
                          "%s: exists; use --force to overwrite it, or -o for another name",
                          store->path);
    return CF_OK;
}

static int name_files(struct cf_store *store, const char *path, struct cf_err *err) {
    CF_CLEANUP_FREE char *copy = strdup(path);
    store->path = strdup(path);
    if (copy == NULL || store->path == NULL)
        return cf_err_nomem(err, strlen(path), "the database's name");
    store->folder = strdup(dirname(copy));
    if (store->folder == NULL)
        return cf_err_nomem(err, strlen(path), "the database's name");
    return CF_OK;
}

/* ".NAME.RANDOM.tmp" in the folder of the final name; a long NAME is cut to fit a file name. */
static bool invent_name(struct cf_store *store) {
    CF_CLEANUP_FREE char *copy = strdup(store->path);
    uint64_t dice;
    if (copy == NULL || getrandom(&dice, sizeof dice, 0) != (ssize_t)sizeof dice)
        return false;
    free(cf_take(&store->temporary));
    if (asprintf(&store->temporary, "%s/.%.200s.%016llx.tmp", store->folder, basename(copy),
                 (unsigned long long)dice) >= 0)
        return true;
    store->temporary = NULL;
    return false;
}

static int make_temporary(struct cf_store *store, struct cf_err *err) {
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        if (!invent_name(store))
            return cf_err_nomem(err, strlen(store->path), "the database's name");
        cf_temporary(store->ctx, store->temporary, true);
        CF_CLEANUP_CLOSE int fd =
            open(store->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (fd >= 0) {
            store->exists = true;
            return CF_OK;
        }
        int cause = errno;
        cf_temporary(store->ctx, store->temporary, false);
        if (cause != EEXIST)
            return cf_err_errno(err, CF_EOUTPUT, cause,
                                "%s: no file can be made in its folder (choose another with -o)",
                                store->path);
    }
    return cf_err_set(err, CF_EOUTPUT, "%s: no free name for a temporary file", store->folder);
}

static int open_watched(struct cf_store *store, struct cf_err *err) {
    int status = cf_db_open_bulk(store->temporary, &store->db, err);
    if (status != CF_OK)
        return status;
    cf_db_watch(store->db, store->ctx);
    return cf_db_exec(store->db, "BEGIN", err);
}

static int make_schema(struct cf_store *store, struct cf_err *err) {
    int status = open_watched(store, err);
    if (status == CF_OK)
        status = cf_db_exec(store->db, cf_schema_sql(), err);
    return status;
}

int cf_store_create(const struct cf_context *ctx, const char *path, bool force,
                    struct cf_store **out, struct cf_err *err) {
    CF_CLEANUP_STORE struct cf_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return cf_err_nomem(err, sizeof *store, "the store");
    store->ctx = ctx;
    store->force = force;
    int status = name_files(store, path, err);
    if (status == CF_OK)
        status = check_target(store, err);
    if (status == CF_OK)
        status = make_temporary(store, err);
    if (status == CF_OK)
        status = make_schema(store, err);
    if (status != CF_OK)
        return status;
    *out = cf_take(&store);
    return CF_OK;
}

struct cf_db *cf_store_db(struct cf_store *store) {
    return store->db;
}

static int write_pages(struct cf_store *store, uint32_t root_page, struct cf_chunk_loading *loading,
                       struct cf_err *err) {
    int status = cf_pages_open(store->temporary, root_page, &loading->pages, err);
    if (status != CF_OK)
        return status;
    status = cf_chunk_load(loading, err);
    if (status == CF_OK)
        status = cf_pages_finish(loading->pages, err);
    cf_pages_free(loading->pages);
    return status;
}

/* SQLite keeps page 1 and the root in its cache: it must be closed while they change. */
int cf_store_chunks(struct cf_store *store, struct cf_chunk_source *source, uint64_t total,
                    unsigned nr_threads, struct cf_err *err) {
    CF_CLEANUP(cf_chunk_index_fini) struct cf_chunk_index index = {.rows = {0}};
    struct cf_chunk_loading loading = {.ctx = store->ctx, .source = source, .index = &index,
                                       .total = total, .nr_threads = nr_threads};
    bool found = false;
    int64_t root_page = 0;
    int status = cf_db_query_i64(store->db, "SELECT rootpage FROM sqlite_schema WHERE name ="
                                            " 'chunk' AND type = 'table'",
                                 &found, &root_page, err);
    if (status == CF_OK)
        status = cf_db_exec(store->db, "COMMIT", err);
    cf_db_free(cf_take(&store->db));
    if (status == CF_OK)
        status = write_pages(store, (uint32_t)root_page, &loading, err);
    if (status == CF_OK)
        status = open_watched(store, err);
    return status == CF_OK ? cf_chunk_index_make(&index, store->db, err) : status;
}

static int sync_path(const char *path, int flags, struct cf_err *err) {
    CF_CLEANUP_CLOSE int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        return cf_err_errno(err, CF_EOUTPUT, errno, "%s: cannot be brought to disk", path);
    return CF_OK;
}

/* Not every file system knows RENAME_NOREPLACE; a hard link refuses an existing name too. */
static int rename_without_replacing(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(from, to) == 0)
        return unlink(from);
    if (errno != EPERM && errno != EOPNOTSUPP)
        return -1;
    if (access(to, F_OK) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

static int give_final_name(struct cf_store *store, struct cf_err *err) {
    int result = store->force ? rename(store->temporary, store->path)
                              : rename_without_replacing(store->temporary, store->path);
    if (result != 0)
        return cf_err_errno(err, CF_EOUTPUT, errno, "%s: cannot be given its name%s", store->path,
                            errno == EEXIST ? " (use --force to overwrite)" : "");
    store->exists = false;
    cf_temporary(store->ctx, store->temporary, false);
    return CF_OK;
}

int cf_store_commit(struct cf_store *store, struct cf_err *err) {
    int status = cf_db_exec(store->db, "COMMIT", err);
    cf_db_free(cf_take(&store->db));
    if (status == CF_OK)
        status = sync_path(store->temporary, O_RDWR, err);
    if (status == CF_OK)
        status = give_final_name(store, err);
    /* Some file systems cannot sync a folder; the database stands there all the same. */
    if (status == CF_OK)
        (void)sync_path(store->folder, O_RDONLY | O_DIRECTORY, NULL);
    return status;
}

void cf_store_free(struct cf_store *store) {
    if (store == NULL)
        return;
    cf_db_free(store->db);
    if (store->exists) {
        (void)unlink(store->temporary);
        cf_temporary(store->ctx, store->temporary, false);
    }
    free(store->temporary);
    free(store->folder);
    free(store->path);
    free(store);
}

void cf_store_freep(struct cf_store **store) {
    cf_store_free(*store);
}
