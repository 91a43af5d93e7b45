/*
 * A line of smaps is a mapping's header, or "Name: VALUE" below one. The figures that are kept are
 * sizes in kB; the kernel adds names with time, so that an unknown name is passed over and a known
 * one that has no size is a fault.
 */
#include "input/smaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "input/lines.h"

#define REMEDY "save it with: cat /proc/PID/smaps > FILE"
enum { KIB = 1024, MAPPINGS_MAX = 1 << 22 };

const char *cf_smaps_figure_name(enum cf_smaps_figure figure) {
    static const char *const names[CF_NR_SMAPS_FIGURES] = {
        "Rss",       "Pss",      "Shared_Clean",  "Shared_Dirty",
        "Anonymous", "LazyFree", "AnonHugePages", "ShmemPmdMapped",
        "Shared_Hugetlb", "Private_Hugetlb", "Swap", "Locked",
    };
    return figure < CF_NR_SMAPS_FIGURES ? names[figure] : "";
}

/* "55d0-55d1 r--p 00000000 fe:00 123   /path", or "[rollup]" in the path's place. */
static bool parse_header(const char *text, struct cf_smaps_mapping *out, bool *is_rollup) {
    uint64_t start, end;
    const char *at = text;
    if (!cf_digits(&at, 16, &start) || *at++ != '-' || !cf_digits(&at, 16, &end) ||
        *at++ != ' ' || start >= end || strlen(at) < 5 || strspn(at, "rwxsp-") != 4)
        return false;
    *out = (struct cf_smaps_mapping){.start = start, .end = end, .is_shared = at[3] == 's'};
    const char *name = strrchr(at, ' ');
    *is_rollup = name != NULL && strcmp(name + 1, "[rollup]") == 0;
    return true;
}

static int figure_of(const char *name, size_t bytes) {
    for (int i = 0; i < CF_NR_SMAPS_FIGURES; i++) {
        const char *known = cf_smaps_figure_name((enum cf_smaps_figure)i);
        if (strlen(known) == bytes && memcmp(known, name, bytes) == 0)
            return i;
    }
    return -1;
}

/* "VmFlags: rd wr mr dd ": words of two letters. */
static bool has_flag(const char *flags, const char *flag) {
    for (const char *at = flags; (at = strstr(at, flag)) != NULL; at += 2)
        if ((at == flags || at[-1] == ' ') && (at[2] == ' ' || at[2] == '\0'))
            return true;
    return false;
}

/* "Rss:   12 kB"; other lines that hold no size (THPeligible) are passed over. */
static int take_figure(const struct cf_lines *lines, struct cf_smaps_mapping *row,
                       struct cf_err *err) {
    const char *colon = strchr(lines->text, ':');
    if (colon == NULL || colon == lines->text)
        return cf_lines_fault(lines, err, "'%.60s' is no line of smaps; " REMEDY, lines->text);
    if (strncmp(lines->text, "VmFlags:", 8) == 0)
        row->is_dontdump = has_flag(colon + 1, "dd");
    int figure = figure_of(lines->text, (size_t)(colon - lines->text));
    if (figure < 0)
        return CF_OK;
    const char *at = colon + 1 + strspn(colon + 1, " \t");
    uint64_t kib, bytes;
    if (!cf_digits(&at, 10, &kib) || strcmp(at, " kB") != 0 || !cf_mul_u64(kib, KIB, &bytes))
        return cf_lines_fault(lines, err, "'%.60s' has no size in kB; " REMEDY, lines->text);
    if (row->known & (1u << figure))
        return cf_lines_fault(lines, err, "%s stands twice in one mapping; " REMEDY,
                              cf_smaps_figure_name((enum cf_smaps_figure)figure));
    row->bytes[figure] = bytes;
    row->known |= 1u << figure;
    return CF_OK;
}

static int add_mapping(struct cf_smaps *smaps, const struct cf_lines *lines,
                       const struct cf_smaps_mapping *row, bool is_rollup, struct cf_err *err) {
    size_t len = smaps->rows.len;
    const struct cf_smaps_mapping *last = len > 0 ? &smaps->rows.items[len - 1] : NULL;
    if (len > 0 && (is_rollup || smaps->is_rollup))
        return cf_lines_fault(lines, err, "smaps_rollup has one mapping only; these are two files");
    if (last != NULL && row->start < last->end)
        return cf_lines_fault(lines, err, "the mapping overlaps the one before; " REMEDY);
    if (last != NULL && last->known == 0)
        return cf_lines_fault(lines, err, "the mapping before has no figures: this is maps, not "
                                          "smaps; " REMEDY);
    if (len == MAPPINGS_MAX)
        return cf_lines_fault(lines, err, "there are too many mappings");
    struct cf_smaps_mapping *slot = cf_array_push(&smaps->rows);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "the mappings of smaps");
    *slot = *row;
    smaps->is_rollup = is_rollup;
    return CF_OK;
}

static int take_line(struct cf_smaps *smaps, const struct cf_lines *lines, struct cf_err *err) {
    struct cf_smaps_mapping row;
    bool is_rollup;
    if (parse_header(lines->text, &row, &is_rollup))
        return add_mapping(smaps, lines, &row, is_rollup, err);
    if (smaps->rows.len == 0)
        return cf_lines_fault(lines, err, "'%.60s' is no mapping; " REMEDY, lines->text);
    return take_figure(lines, &smaps->rows.items[smaps->rows.len - 1], err);
}

/* A figure of the sum is known where one of the rows has it. */
static void add_up(struct cf_smaps *smaps) {
    for (size_t i = 0; i < smaps->rows.len; i++) {
        const struct cf_smaps_mapping *row = &smaps->rows.items[i];
        smaps->sum.known |= row->known;
        for (int j = 0; j < CF_NR_SMAPS_FIGURES; j++)
            if (!cf_add_u64(smaps->sum.bytes[j], row->bytes[j], &smaps->sum.bytes[j]))
                smaps->sum.bytes[j] = UINT64_MAX;
    }
    if (smaps->rows.len > 0) {
        smaps->sum.start = smaps->rows.items[0].start;
        smaps->sum.end = smaps->rows.items[smaps->rows.len - 1].end;
    }
}

static int read_lines(struct cf_smaps *smaps, struct cf_lines *lines, struct cf_err *err) {
    int status = CF_OK;
    bool more = true;
    while (status == CF_OK && more) {
        status = cf_lines_next(lines, &more, err);
        if (status == CF_OK && more)
            status = take_line(smaps, lines, err);
    }
    if (status != CF_OK)
        return status;
    if (smaps->rows.len == 0)
        return cf_lines_fault(lines, err, "the file is empty; " REMEDY);
    if (smaps->rows.items[smaps->rows.len - 1].known == 0)
        return cf_lines_fault(lines, err, "the last mapping has no figures: the file is cut, or "
                                          "is maps and not smaps; " REMEDY);
    add_up(smaps);
    return CF_OK;
}

int cf_smaps_read(struct cf_smaps *smaps, const char *path, struct cf_err *err) {
    CF_CLEANUP(cf_lines_close) struct cf_lines lines;
    int status = cf_lines_open(&lines, path, err);
    return status == CF_OK ? read_lines(smaps, &lines, err) : status;
}

int cf_smaps_read_fd(struct cf_smaps *smaps, int fd, const char *name, struct cf_err *err) {
    CF_CLEANUP(cf_lines_close) struct cf_lines lines;
    int status = cf_lines_open_fd(&lines, fd, name, err);
    return status == CF_OK ? read_lines(smaps, &lines, err) : status;
}

const struct cf_smaps_mapping *cf_smaps_find(const struct cf_smaps *smaps, uint64_t addr) {
    size_t low = cf_bound(smaps->rows.len, i, smaps->rows.items[i].end > addr);
    bool is_there = low < smaps->rows.len && smaps->rows.items[low].start <= addr;
    return is_there ? &smaps->rows.items[low] : NULL;
}

void cf_smaps_fini(struct cf_smaps *smaps) {
    cf_array_free(&smaps->rows);
}
