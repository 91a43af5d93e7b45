/*
 * NT_FILE: which file is mapped where.
 *
 *     count word | page size word | count times (start, end, offset) words | count names, each
 *     with its NUL
 *
 * The kernel writes offsets in units of the page size; gdb says page size 1; createdump 2.0 wrote
 * bytes and a page size of 4096. So the unit is judged by rows of one file that adjoin in memory:
 * their offsets differ by the first one's size, in the one unit or the other.
 */
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "core/core_private.h"

static bool adjoin(const struct cf_core_file *a, const struct cf_core_file *b) {
    return a->end == b->start && a->start < a->end && strcmp(a->path, b->path) == 0;
}

/* Rows still have their offsets as written. */
static bool offsets_are_bytes(const struct cf_core *core, uint64_t page_bytes) {
    size_t bytes_votes = 0;
    size_t pages_votes = 0;
    for (size_t i = 0; i + 1 < core->files.len; i++) {
        const struct cf_core_file *a = &core->files.items[i];
        const struct cf_core_file *b = a + 1;
        if (!adjoin(a, b) || b->offset_bytes <= a->offset_bytes)
            continue;
        uint64_t step = b->offset_bytes - a->offset_bytes;
        bytes_votes += step == a->end - a->start;
        pages_votes += step == (a->end - a->start) / page_bytes;
    }
    return bytes_votes > pages_votes;
}

static void convert_offsets(struct cf_core *core, uint64_t page_bytes) {
    if (page_bytes <= 1 || offsets_are_bytes(core, page_bytes))
        return;
    for (size_t i = 0; i < core->files.len; i++) {
        struct cf_core_file *file = &core->files.items[i];
        if (!cf_mul_u64(file->offset_bytes, page_bytes, &file->offset_bytes))
            file->offset_bytes = UINT64_MAX;
    }
}

static bool read_row(struct cf_cursor *rows, struct cf_core_file *out) {
    return cf_cursor_word(rows, &out->start) && cf_cursor_word(rows, &out->end) &&
           cf_cursor_word(rows, &out->offset_bytes);
}

/* The next name, if its NUL is there. */
static const char *read_name(struct cf_cursor *names) {
    uint64_t left = cf_cursor_left(names);
    if (left == 0)
        return NULL;
    const unsigned char *at = names->data + names->pos;
    const unsigned char *end = memchr(at, '\0', (size_t)left);
    if (end == NULL)
        return NULL;
    return (const char *)cf_cursor_take(names, (uint64_t)(end - at) + 1);
}

int cf_core_note_files(struct cf_core *core, struct cf_cursor body, bool whole,
                       struct cf_err *err) {
    uint64_t count;
    uint64_t page_bytes;
    struct cf_cursor rows = body;
    if (!cf_cursor_word(&rows, &count) || !cf_cursor_word(&rows, &page_bytes))
        return CF_OK;
    struct cf_cursor names = rows;
    uint64_t rows_bytes;
    if (!cf_mul_u64(count, 3 * (uint64_t)core->word_bytes, &rows_bytes) ||
        cf_cursor_take(&names, rows_bytes) == NULL) {
        cf_core_add_flaw(core, "files-cut", 0, "NT_FILE declares %llu rows, its names are lost",
                         (unsigned long long)count);
        return CF_OK;
    }
    uint64_t read = 0;
    for (; read < count; read++) {
        struct cf_core_file row;
        row.path = read_name(&names);
        if (row.path == NULL || !read_row(&rows, &row))
            break;
        struct cf_core_file *file = cf_array_push(&core->files);
        if (file == NULL)
            return cf_err_nomem(err, (core->files.len + 1) * sizeof *file, "mapped files");
        *file = row;
    }
    convert_offsets(core, page_bytes);
    core->has_files = whole && read == count;
    if (!core->has_files)
        cf_core_add_flaw(core, "files-cut", 0, "NT_FILE declares %llu rows, %llu have a name",
                         (unsigned long long)count, (unsigned long long)read);
    return CF_OK;
}
