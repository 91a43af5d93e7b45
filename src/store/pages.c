#include "store/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/cell.h"

enum {
    LEAF = 13,
    INTERIOR = 5,
    LEAF_HEADER = 8,
    INTERIOR_HEADER = 12,
    FILE_HEADER = 100,
    LEVELS_MAX = 16,       /* 2^63 rows need fewer, with two children a page */
    CELL_MAX = 16,         /* of an interior page: a page number and a varint */
    RUN_BYTES = 1 << 20,   /* pages are written in runs of this size */
};

static const uint64_t LOCK_BYTE = 1ull << 30;

/* A page that is being filled; its cells grow down to `low`, its pointers up to `used`. */
struct page {
    unsigned char *bytes;
    uint32_t used; /* end of the pointer array */
    uint32_t low;  /* start of the cells */
    uint32_t cells;
};

struct child {
    uint32_t page;
    int64_t last; /* largest rowid below it */
};

/* An interior level: the page at hand, and its newest child, which becomes a cell when another
 * follows and the right-most pointer when none does. The page before it waits in `previous`,
 * since a last page with a single child takes one of its children. */
struct level {
    struct page page;
    struct page previous;
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
    uint32_t nr_pages;     /* of the file, those in the run included */
    uint32_t change_counter;
    unsigned char *run;    /* pages [run_first, nr_pages) that are not written yet */
    uint32_t run_first;
    uint32_t run_pages;
    struct page leaf;
    int64_t last_rowid;
    uint64_t rows;
    struct level *levels;  /* above the leaves, lowest first; LEVELS_MAX of them */
    size_t nr_levels;
};

static void put_u16(unsigned char *at, uint32_t value) {
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

static void put_u32(unsigned char *at, uint32_t value) {
    put_u16(at, value >> 16);
    put_u16(at + 2, value & 0xffff);
}

static uint32_t get_u32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void start_page(struct page *page, uint32_t page_bytes, unsigned char type) {
    memset(page->bytes, 0, page_bytes);
    page->bytes[0] = type;
    page->used = type == LEAF ? LEAF_HEADER : INTERIOR_HEADER;
    page->low = page_bytes;
    page->cells = 0;
}

static bool has_room(const struct page *page, uint32_t cell_bytes) {
    return page->low - page->used >= cell_bytes + 2;
}

/* Room for a cell and its pointer is there; returns where the cell goes. */
static inline unsigned char *take_cell(struct page *page, uint32_t cell_bytes) {
    page->low -= cell_bytes;
    put_u16(page->bytes + page->used, page->low);
    page->used += 2;
    page->cells++;
    return page->bytes + page->low;
}

static void close_page(struct page *page) {
    put_u16(page->bytes + 3, page->cells);
    put_u16(page->bytes + 5, page->low & 0xffff); /* 65536 is written as 0 */
}

static int flush_run(struct cf_pages *pages, struct cf_err *err) {
    size_t bytes = (size_t)pages->run_pages * pages->page_bytes, done = 0;
    off_t at = (off_t)(pages->run_first - 1) * pages->page_bytes;
    while (done < bytes) {
        ssize_t written = pwrite(pages->fd, pages->run + done, bytes - done, at + (off_t)done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return cf_err_errno(err, CF_EOUTPUT, written < 0 ? errno : ENOSPC,
                                "%s: cannot be written (is the disk full?)", pages->path);
        done += (size_t)written;
    }
    /* On its way to disk while the next run is made, so that there is little left to wait for. */
    (void)sync_file_range(pages->fd, at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
    pages->run_first += pages->run_pages;
    pages->run_pages = 0;
    return CF_OK;
}

/* Appends a finished page to the file and tells its number. */
static int append_page(struct cf_pages *pages, const struct page *page, uint32_t *out,
                       struct cf_err *err) {
    if (pages->nr_pages >= UINT32_MAX - 2)
        return cf_err_set(err, CF_EOUTPUT, "%s: more pages than SQLite can number", pages->path);
    if ((size_t)(pages->run_pages + 2) * pages->page_bytes > RUN_BYTES) {
        int status = flush_run(pages, err);
        if (status != CF_OK)
            return status;
    }
    if ((uint64_t)pages->nr_pages * pages->page_bytes == LOCK_BYTE) {
        memset(pages->run + (size_t)pages->run_pages * pages->page_bytes, 0, pages->page_bytes);
        pages->run_pages++;
        pages->nr_pages++;
    }
    memcpy(pages->run + (size_t)pages->run_pages * pages->page_bytes, page->bytes,
           pages->page_bytes);
    pages->run_pages++;
    *out = ++pages->nr_pages;
    return CF_OK;
}

static int new_page(struct page *page, uint32_t page_bytes, struct cf_err *err) {
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
    start_page(&level->page, pages->page_bytes, INTERIOR);
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
    put_u32(level->previous.bytes + 8, level->previous_right.page);
    close_page(&level->previous);
    int status = append_page(pages, &level->previous, &above.page, err);
    return status == CF_OK ? add_child(pages, index + 1, above, err) : status;
}

static void put_child(struct page *page, const struct child *child) {
    unsigned char cell[CELL_MAX];
    put_u32(cell, child->page);
    uint32_t key_bytes = cf_varint_bytes((uint64_t)child->last);
    (void)cf_varint_put(cell + 4, (uint64_t)child->last, key_bytes);
    memcpy(take_cell(page, 4 + key_bytes), cell, 4 + key_bytes);
}

static int add_child(struct cf_pages *pages, size_t index, struct child child,
                     struct cf_err *err) {
    if (index == pages->nr_levels) {
        int status = open_level(pages, err);
        if (status != CF_OK)
            return status;
    }
    struct level *level = &pages->levels[index];
    if (level->has_newest && has_room(&level->page, 4 + 9)) {
        put_child(&level->page, &level->newest);
    } else if (level->has_newest) {
        int status = flush_previous(pages, index, err);
        if (status != CF_OK)
            return status;
        struct page full = level->page;
        level->page = level->previous;
        level->previous = full;
        level->previous_right = level->newest;
        level->has_previous = true;
        start_page(&level->page, pages->page_bytes, INTERIOR);
    }
    level->newest = child;
    level->has_newest = true;
    return CF_OK;
}

static int flush_leaf(struct cf_pages *pages, struct cf_err *err) {
    struct child child = {.last = pages->last_rowid};
    memset(pages->leaf.bytes + pages->leaf.used, 0, pages->leaf.low - pages->leaf.used);
    close_page(&pages->leaf);
    int status = append_page(pages, &pages->leaf, &child.page, err);
    if (status == CF_OK)
        status = add_child(pages, 0, child, err);
    start_page(&pages->leaf, pages->page_bytes, LEAF);
    return status;
}

int cf_pages_add(struct cf_pages *pages, int64_t rowid, int64_t first, int64_t second,
                 struct cf_err *err) {
    if (pages->rows > 0 && rowid <= pages->last_rowid)
        return cf_err_set(err, CF_EINTERNAL, "%s: rowids out of order", pages->path);
    const struct cf_cell cell = cf_cell_make(rowid, first, second);
    uint32_t bytes = 1 + cell.rowid_bytes + cell.payload;
    if (!has_room(&pages->leaf, bytes)) {
        int status = flush_leaf(pages, err);
        if (status != CF_OK)
            return status;
    }
    if (cell.rowid_bytes < 9 && has_room(&pages->leaf, bytes + 8)) {
        /* The cell first: what it spoils is below all cells and above the new pointer. */
        cf_cell_put_fast(pages->leaf.bytes + pages->leaf.low - bytes, &cell);
        (void)take_cell(&pages->leaf, bytes);
    } else {
        cf_cell_put(take_cell(&pages->leaf, bytes), &cell);
    }
    pages->last_rowid = rowid;
    pages->rows++;
    return CF_OK;
}

static int write_at(struct cf_pages *pages, const unsigned char *bytes, size_t length, off_t at,
                    struct cf_err *err) {
    if (pwrite(pages->fd, bytes, length, at) != (ssize_t)length)
        return cf_err_errno(err, CF_EOUTPUT, errno, "%s: cannot be written", pages->path);
    return CF_OK;
}

static int write_root(struct cf_pages *pages, struct page *page, struct cf_err *err) {
    close_page(page);
    return write_at(pages, page->bytes, pages->page_bytes,
                    (off_t)(pages->root_page - 1) * pages->page_bytes, err);
}

/* The last page of a level has one child and no cell, which the format does not allow below the
 * root: it takes the last child of the page before it. */
static void share_children(struct level *level) {
    struct page *from = &level->previous;
    unsigned char *cell = from->bytes + from->low;
    struct child lent = {.page = get_u32(cell)};
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
        put_u32(level->page.bytes + 8, level->newest.page);
        if (i + 1 == pages->nr_levels)
            return write_root(pages, &level->page, err);
        struct child above = {.last = level->newest.last};
        close_page(&level->page);
        status = append_page(pages, &level->page, &above.page, err);
        if (status == CF_OK)
            status = add_child(pages, i + 1, above, err);
        if (status != CF_OK)
            return status;
    }
}

static int write_header(struct cf_pages *pages, struct cf_err *err) {
    unsigned char word[4];
    put_u32(word, pages->nr_pages);
    int status = write_at(pages, word, sizeof word, 28, err);
    put_u32(word, pages->change_counter + 1);
    if (status == CF_OK)
        status = write_at(pages, word, sizeof word, 24, err);
    return status == CF_OK ? write_at(pages, word, sizeof word, 92, err) : status;
}

int cf_pages_finish(struct cf_pages *pages, struct cf_err *err) {
    int status;
    if (pages->nr_levels == 0) {
        status = write_root(pages, &pages->leaf, err);
    } else {
        status = pages->leaf.cells > 0 ? flush_leaf(pages, err) : CF_OK;
        if (status == CF_OK)
            status = close_levels(pages, err);
    }
    if (status == CF_OK)
        status = flush_run(pages, err);
    return status == CF_OK ? write_header(pages, err) : status;
}

/* The header and the empty root are as described, or this is no file for us. */
static int read_header(struct cf_pages *pages, struct cf_err *err) {
    unsigned char header[FILE_HEADER], root[LEAF_HEADER];
    struct stat st;
    if (pread(pages->fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
        fstat(pages->fd, &st) != 0)
        return cf_err_errno(err, CF_EOUTPUT, errno, "%s: cannot be read", pages->path);
    uint32_t page_bytes = (uint32_t)header[16] << 8 | header[17];
    pages->page_bytes = page_bytes == 1 ? 65536 : page_bytes;
    pages->nr_pages = get_u32(header + 28);
    pages->change_counter = get_u32(header + 24);
    bool sound = memcmp(header, "SQLite format 3", 16) == 0 && pages->page_bytes >= 512 &&
                 header[20] == 0 && get_u32(header + 52) == 0 && pages->root_page > 1 &&
                 pages->root_page <= pages->nr_pages &&
                 (uint64_t)st.st_size == (uint64_t)pages->nr_pages * pages->page_bytes;
    off_t at = sound ? (off_t)(pages->root_page - 1) * pages->page_bytes : 0;
    if (!sound || pread(pages->fd, root, sizeof root, at) != (ssize_t)sizeof root ||
        root[0] != LEAF || root[3] != 0 || root[4] != 0)
        return cf_err_set(err, CF_EINTERNAL, "%s: the table's root page is not an empty leaf",
                          pages->path);
    pages->run_first = pages->nr_pages + 1;
    return CF_OK;
}

static int allocate(struct cf_pages *pages, struct cf_err *err) {
    pages->run = malloc(RUN_BYTES);
    pages->levels = calloc(LEVELS_MAX, sizeof *pages->levels);
    if (pages->run == NULL || pages->levels == NULL)
        return cf_err_nomem(err, RUN_BYTES, "pages of the database");
    int status = new_page(&pages->leaf, pages->page_bytes, err);
    if (status == CF_OK)
        start_page(&pages->leaf, pages->page_bytes, LEAF);
    return status;
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
    free(pages->leaf.bytes);
    free(pages->run);
    free(pages->path);
    free(pages);
}
