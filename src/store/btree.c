/*
 * A b-tree from sorted rows, bottom up. The file format (sqlite.org/fileformat2.html, 1.6) wants
 * all leaves at one depth, and keys of interior pages that bound the child on their left; rows that
 * come sorted give both without a search: a finished page is the next child of the level above, its
 * largest rowid the key there. A level holds its newest child back, since the last one is no cell
 * but the right-most pointer, and its last full page, since a successor with one child and no cell,
 * which the format forbids, takes a child of it. What is left when all rows have come closes from
 * below; the topmost page goes where the schema says that the table's root is.
 */
#include "store/btree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/fileformat.h"

enum {
    FILE_HEADER = 100,
    LEVELS_MAX = 16,       /* 2^63 rows need fewer, with two children a page */
    CELL_MAX = 16,         /* of an interior page: a page number and a varint */
};

static const uint64_t LOCK_BYTE = 1ull << 30;

struct child {
    uint32_t page;
    int64_t last; /* largest rowid below it */
};

/* An interior level: the page at hand, and its newest child, which becomes a cell when another
 * follows and the right-most pointer when none does. The page before it waits in `previous`,
 * since a last page with a single child takes one of its children. */
struct level {
    struct cf_page page;
    struct cf_page previous;
    struct child newest;
    struct child previous_right;
    bool has_newest;
    bool has_previous;
};

struct cf_pages {
    int fd;
    char *path;
    uint32_t page_bytes;
    uint32_t root_page;
    uint32_t nr_pages; /* of the file */
    uint32_t change_counter;
    int64_t last_rowid;
    uint64_t rows;
    unsigned char *only; /* the first leaf waits here: alone, it becomes the root */
    int64_t only_last;
    bool is_alone;
    struct level *levels;  /* above the leaves, lowest first; LEVELS_MAX of them */
    size_t nr_levels;
};

static int write_at(const struct cf_pages *pages, const unsigned char *bytes, size_t length,
                    off_t at, struct cf_err *err) {
    for (size_t done = 0; done < length;) {
        ssize_t written = pwrite(pages->fd, bytes + done, length - done, at + (off_t)done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return cf_err_errno(err, CF_EOUTPUT, written < 0 ? errno : ENOSPC,
                                "%s: cannot be written (is the disk full?)", pages->path);
        done += (size_t)written;
    }
    return CF_OK;
}

static off_t page_offset(const struct cf_pages *pages, uint32_t number) {
    return (off_t)(number - 1) * pages->page_bytes;
}

/* The numbers of up to `nr` pages at the file's end, of which `*out` is the first; all of them, or
 * those below the lock-byte page. */
static int take_numbers(struct cf_pages *pages, size_t nr, struct cf_leaf_run *out,
                        struct cf_err *err) {
    uint64_t lock_page = LOCK_BYTE / pages->page_bytes + 1;
    if (pages->nr_pages + 1 == lock_page)
        pages->nr_pages++;
    uint64_t room = pages->nr_pages < lock_page ? lock_page - 1 - pages->nr_pages : nr;
    out->first = pages->nr_pages + 1;
    out->nr = nr < room ? nr : (size_t)room;
    if (out->nr > UINT32_MAX - 2 - pages->nr_pages)
        return cf_err_set(err, CF_EOUTPUT, "%s: more pages than SQLite can number", pages->path);
    pages->nr_pages += (uint32_t)out->nr;
    return CF_OK;
}

/* Appends a finished page to the file and tells its number. */
static int append_page(struct cf_pages *pages, const unsigned char *bytes, uint32_t *out,
                       struct cf_err *err) {
    struct cf_leaf_run place;
    int status = take_numbers(pages, 1, &place, err);
    if (status != CF_OK)
        return status;
    *out = place.first;
    return write_at(pages, bytes, pages->page_bytes, page_offset(pages, place.first), err);
}

static int new_page(struct cf_page *page, uint32_t page_bytes, struct cf_err *err) {
    page->bytes = malloc(page_bytes);
    if (page->bytes == NULL)
        return cf_err_nomem(err, page_bytes, "a page of the database");
    return CF_OK;
}

static int add_child(struct cf_pages *pages, size_t index, struct child child, struct cf_err *err);

static int open_level(struct cf_pages *pages, struct cf_err *err) {
    if (pages->nr_levels == LEVELS_MAX)
        return cf_err_set(err, CF_EINTERNAL, "%s: a b-tree too deep", pages->path);
    struct level *level = &pages->levels[pages->nr_levels];
    int status = new_page(&level->page, pages->page_bytes, err);
    if (status == CF_OK)
        status = new_page(&level->previous, pages->page_bytes, err);
    if (status != CF_OK)
        return status;
    cf_page_start(&level->page, pages->page_bytes, CF_PAGE_INTERIOR);
    pages->nr_levels++;
    return CF_OK;
}

/* Writes the waiting page of a level and tells the level above. */
static int flush_previous(struct cf_pages *pages, size_t index, struct cf_err *err) {
    struct level *level = &pages->levels[index];
    struct child above = {.last = level->previous_right.last};
    if (!level->has_previous)
        return CF_OK;
    level->has_previous = false;
    cf_put_u32(level->previous.bytes + 8, level->previous_right.page);
    cf_page_close(&level->previous);
    int status = append_page(pages, level->previous.bytes, &above.page, err);
    return status == CF_OK ? add_child(pages, index + 1, above, err) : status;
}

static void put_child(struct cf_page *page, const struct child *child) {
    unsigned char cell[CELL_MAX];
    cf_put_u32(cell, child->page);
    uint32_t key_bytes = cf_varint_bytes((uint64_t)child->last);
    (void)cf_varint_put(cell + 4, (uint64_t)child->last, key_bytes);
    memcpy(cf_page_take(page, 4 + key_bytes), cell, 4 + key_bytes);
}

static int add_child(struct cf_pages *pages, size_t index, struct child child,
                     struct cf_err *err) {
    if (index == pages->nr_levels) {
        int status = open_level(pages, err);
        if (status != CF_OK)
            return status;
    }
    struct level *level = &pages->levels[index];
    if (level->has_newest && cf_page_has_room(&level->page, 4 + 9)) {
        put_child(&level->page, &level->newest);
    } else if (level->has_newest) {
        int status = flush_previous(pages, index, err);
        if (status != CF_OK)
            return status;
        struct cf_page full = level->page;
        level->page = level->previous;
        level->previous = full;
        level->previous_right = level->newest;
        level->has_previous = true;
        cf_page_start(&level->page, pages->page_bytes, CF_PAGE_INTERIOR);
    }
    level->newest = child;
    level->has_newest = true;
    return CF_OK;
}

/* The first leaf is one of several. */
static int settle_only(struct cf_pages *pages, struct cf_err *err) {
    struct child child = {.last = pages->only_last};
    pages->is_alone = false;
    int status = append_page(pages, pages->only, &child.page, err);
    return status == CF_OK ? add_child(pages, 0, child, err) : status;
}

int cf_pages_place(struct cf_pages *pages, const struct cf_leaves *leaves,
                   struct cf_leaf_runs *out, struct cf_err *err) {
    *out = (struct cf_leaf_runs){0};
    if (leaves->nr_pages == 0)
        return CF_OK;
    if (pages->rows > 0 && leaves->first_rowid <= pages->last_rowid)
        return cf_err_set(err, CF_EINTERNAL, "%s: rowids out of order", pages->path);
    bool is_first = pages->rows == 0;
    pages->rows += leaves->rows;
    pages->last_rowid = leaves->last_rowid;
    if (is_first && leaves->nr_pages == 1) {
        memcpy(pages->only, leaves->bytes, pages->page_bytes);
        pages->only_last = leaves->last_rowid;
        pages->is_alone = true;
        return CF_OK;
    }
    int status = pages->is_alone ? settle_only(pages, err) : CF_OK;
    size_t done = 0;
    for (size_t k = 0; status == CF_OK && done < leaves->nr_pages; k++) {
        struct cf_leaf_run *place = &out->places[k];
        status = take_numbers(pages, leaves->nr_pages - done, place, err);
        done += place->nr;
    }
    for (size_t k = 0, i = 0; k < 2; k++)
        for (size_t j = 0; status == CF_OK && j < out->places[k].nr; j++, i++)
            status = add_child(pages, 0,
                               (struct child){.page = out->places[k].first + (uint32_t)j,
                                              .last = leaves->last[i]},
                               err);
    return status;
}

int cf_pages_write(const struct cf_pages *pages, const struct cf_leaves *leaves,
                   const struct cf_leaf_runs *places, struct cf_err *err) {
    const unsigned char *bytes = leaves->bytes;
    int status = CF_OK;
    for (size_t k = 0; k < 2 && status == CF_OK; k++) {
        const struct cf_leaf_run *place = &places->places[k];
        size_t length = place->nr * pages->page_bytes;
        if (length == 0)
            continue;
        off_t at = page_offset(pages, place->first);
        status = write_at(pages, bytes, length, at, err);
        /* On its way to disk while others are made, so that there is little left to wait for. */
        (void)sync_file_range(pages->fd, at, (off_t)length, SYNC_FILE_RANGE_WRITE);
        bytes += length;
    }
    return status;
}

static int write_root(struct cf_pages *pages, const unsigned char *bytes, struct cf_err *err) {
    return write_at(pages, bytes, pages->page_bytes, page_offset(pages, pages->root_page), err);
}

/* The last page of a level has one child and no cell, which the format does not allow below the
 * root: it takes the last child of the page before it. */
static void share_children(struct level *level) {
    struct cf_page *from = &level->previous;
    unsigned char *cell = from->bytes + from->low;
    struct child lent = {.page = cf_get_u32(cell)};
    uint64_t key = 0;
    for (int i = 0; i < 9; i++) {
        unsigned char byte = cell[4 + i];
        if (i == 8) {
            key = key << 8 | byte;
            break;
        }
        key = key << 7 | (byte & 0x7f);
        if ((byte & 0x80) == 0)
            break;
    }
    lent.last = (int64_t)key;
    from->low += 4 + cf_varint_bytes(key);
    from->used -= 2;
    from->cells--;
    put_child(&level->page, &level->previous_right);
    level->previous_right = lent;
}

/* Closes the levels from below; the topmost page goes to the root. */
static int close_levels(struct cf_pages *pages, struct cf_err *err) {
    for (size_t i = 0;; i++) {
        struct level *level = &pages->levels[i];
        if (level->has_previous && level->page.cells == 0)
            share_children(level);
        int status = flush_previous(pages, i, err);
        if (status != CF_OK)
            return status;
        cf_put_u32(level->page.bytes + 8, level->newest.page);
        cf_page_close(&level->page);
        if (i + 1 == pages->nr_levels)
            return write_root(pages, level->page.bytes, err);
        struct child above = {.last = level->newest.last};
        status = append_page(pages, level->page.bytes, &above.page, err);
        if (status == CF_OK)
            status = add_child(pages, i + 1, above, err);
        if (status != CF_OK)
            return status;
    }
}

static int write_header(struct cf_pages *pages, struct cf_err *err) {
    unsigned char word[4];
    cf_put_u32(word, pages->nr_pages);
    int status = write_at(pages, word, sizeof word, 28, err);
    cf_put_u32(word, pages->change_counter + 1);
    if (status == CF_OK)
        status = write_at(pages, word, sizeof word, 24, err);
    return status == CF_OK ? write_at(pages, word, sizeof word, 92, err) : status;
}

int cf_pages_finish(struct cf_pages *pages, struct cf_err *err) {
    int status = CF_OK;
    if (pages->nr_levels > 0)
        status = close_levels(pages, err);
    else if (pages->is_alone)
        status = write_root(pages, pages->only, err);
    return status == CF_OK ? write_header(pages, err) : status;
}

/* The header and the empty root are as described, or this is no file for us. */
static int read_header(struct cf_pages *pages, struct cf_err *err) {
    unsigned char header[FILE_HEADER], root[CF_PAGE_LEAF_HEADER];
    struct stat st;
    if (pread(pages->fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
        fstat(pages->fd, &st) != 0)
        return cf_err_errno(err, CF_EOUTPUT, errno, "%s: cannot be read", pages->path);
    uint32_t page_bytes = (uint32_t)header[16] << 8 | header[17];
    pages->page_bytes = page_bytes == 1 ? 65536 : page_bytes;
    pages->nr_pages = cf_get_u32(header + 28);
    pages->change_counter = cf_get_u32(header + 24);
    bool sound = memcmp(header, "SQLite format 3", 16) == 0 && pages->page_bytes >= 512 &&
                 header[20] == 0 && cf_get_u32(header + 52) == 0 && pages->root_page > 1 &&
                 pages->root_page <= pages->nr_pages &&
                 (uint64_t)st.st_size == (uint64_t)pages->nr_pages * pages->page_bytes;
    off_t at = sound ? (off_t)(pages->root_page - 1) * pages->page_bytes : 0;
    if (!sound || pread(pages->fd, root, sizeof root, at) != (ssize_t)sizeof root ||
        root[0] != CF_PAGE_LEAF || root[3] != 0 || root[4] != 0)
        return cf_err_set(err, CF_EINTERNAL, "%s: the table's root page is not an empty leaf",
                          pages->path);
    return CF_OK;
}

static int allocate(struct cf_pages *pages, struct cf_err *err) {
    pages->only = malloc(pages->page_bytes);
    pages->levels = calloc(LEVELS_MAX, sizeof *pages->levels);
    if (pages->only == NULL || pages->levels == NULL)
        return cf_err_nomem(err, pages->page_bytes, "pages of the database");
    return CF_OK;
}

static void free_pages(struct cf_pages **pages) {
    cf_pages_free(*pages);
}

int cf_pages_open(const char *path, uint32_t root_page, struct cf_pages **out,
                  struct cf_err *err) {
    CF_CLEANUP(free_pages) struct cf_pages *pages = calloc(1, sizeof *pages);
    if (pages == NULL)
        return cf_err_nomem(err, sizeof *pages, "pages of the database");
    pages->root_page = root_page;
    pages->path = strdup(path);
    pages->fd = open(path, O_RDWR | O_CLOEXEC);
    if (pages->path == NULL)
        return cf_err_nomem(err, strlen(path), "the database's name");
    if (pages->fd < 0)
        return cf_err_errno(err, CF_EOUTPUT, errno, "%s: cannot be opened", path);
    int status = read_header(pages, err);
    if (status == CF_OK)
        status = allocate(pages, err);
    if (status != CF_OK)
        return status;
    *out = cf_take(&pages);
    return CF_OK;
}

uint32_t cf_pages_page_bytes(const struct cf_pages *pages) {
    return pages->page_bytes;
}

void cf_pages_free(struct cf_pages *pages) {
    if (pages == NULL)
        return;
    if (pages->fd >= 0)
        (void)close(pages->fd);
    for (size_t i = 0; pages->levels != NULL && i < LEVELS_MAX; i++) {
        free(pages->levels[i].page.bytes);
        free(pages->levels[i].previous.bytes);
    }
    free(pages->levels);
    free(pages->only);
    free(pages->path);
    free(pages);
}
