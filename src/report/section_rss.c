/*
 * What is resident, in one line. Its figures have one unit and one decimal, so that a reader adds
 * them up without a pencil: the tenths are shared out by the largest remainder, and their sum is
 * the figure in front, as rounded. Small parts that nobody asks for stand together in the line, and
 * a part without a tenth is left out of it; the view has them all.
 */
#include <stdio.h>
#include <string.h>

#include "report/section.h"

enum { PARTS_MAX = 16, LINE_BYTES = 512 };

struct rss_part {
    char label[32];
    uint64_t bytes;
    uint64_t tenths;
    uint64_t rest; /* what of bytes the tenths leave, times ten */
};

struct rss_line {
    struct rss_part parts[PARTS_MAX];
    size_t nr_parts;
    uint64_t total;
    bool is_known; /* some part is */
    uint64_t other_bytes;
    uint64_t open_bytes; /* address space of which nothing says what was in memory */
    char open_words[128];
    uint64_t unseen_bytes; /* the same of memory that would be in the core if it was written to */
    uint64_t huge_bytes;
};

static void add_open(struct rss_line *line, const char *label, uint64_t bytes) {
    size_t used = strlen(line->open_words);
    if (bytes == 0)
        return;
    line->open_bytes += bytes;
    (void)snprintf(line->open_words + used, sizeof line->open_words - used, "%s%s",
                   used > 0 ? ", " : "", label);
}

static void add_part(struct rss_line *line, const char *label, uint64_t bytes) {
    if (line->nr_parts == PARTS_MAX)
        return;
    struct rss_part *part = &line->parts[line->nr_parts++];
    (void)snprintf(part->label, sizeof part->label, "%s", label);
    part->bytes = bytes;
}

/* Columns as in rss_sql. */
static void take_part(struct cf_report *report, void *target, const struct cf_stmt *row) {
    struct rss_line *line = target;
    uint64_t bytes = (uint64_t)cf_stmt_i64(row, 2), open_bytes = (uint64_t)cf_stmt_i64(row, 3);
    (void)report;
    if (cf_stmt_i64(row, 1) == 0) {
        line->huge_bytes += bytes;
        return;
    }
    if (cf_stmt_i64(row, 5))
        add_open(line, cf_stmt_text(row, 0), open_bytes);
    else
        line->unseen_bytes += open_bytes;
    if (cf_stmt_is_null(row, 2))
        return;
    line->total += bytes;
    line->is_known = true;
    if (cf_stmt_i64(row, 4))
        add_part(line, cf_stmt_text(row, 0), bytes);
    else
        line->other_bytes += bytes;
}

static const struct {
    uint64_t bytes;
    const char *name;
} units[] = {{1ull << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};

enum { NR_UNITS = sizeof units / sizeof units[0] };

static size_t unit_of(uint64_t total) {
    size_t unit = 0;
    while (unit + 1 < NR_UNITS && total < units[unit].bytes)
        unit++;
    return unit;
}

static uint64_t share_tenths(struct rss_line *line, uint64_t unit_bytes) {
    uint64_t total = (line->total * 10 + unit_bytes / 2) / unit_bytes, given = 0;
    for (size_t i = 0; i < line->nr_parts; i++) {
        struct rss_part *part = &line->parts[i];
        part->tenths = part->bytes * 10 / unit_bytes;
        part->rest = part->bytes * 10 % unit_bytes;
        given += part->tenths;
    }
    for (; given < total; given++) {
        struct rss_part *most = &line->parts[0];
        for (size_t i = 1; i < line->nr_parts; i++)
            if (line->parts[i].rest > most->rest)
                most = &line->parts[i];
        most->tenths++;
        most->rest = 0;
    }
    return total;
}

static void say_parts(struct rss_line *line, const char *mark, struct cf_section *section,
                      const char *tail) {
    size_t unit = unit_of(line->total);
    uint64_t total = share_tenths(line, units[unit].bytes);
    char words[LINE_BYTES] = "";
    for (size_t i = 0; i < line->nr_parts; i++) {
        const struct rss_part *part = &line->parts[i];
        size_t used = strlen(words);
        if (part->tenths > 0)
            (void)snprintf(words + used, sizeof words - used, "%s%llu.%llu %s",
                           used > 0 ? " + " : "", (unsigned long long)part->tenths / 10,
                           (unsigned long long)part->tenths % 10, part->label);
    }
    cf_section_text(section, CF_TONE_PLAIN, "RSS %s%llu.%llu %s%s%s%s", mark,
                    (unsigned long long)total / 10, (unsigned long long)total % 10,
                    units[unit].name, *words != '\0' ? " = " : "", words, tail);
}

/* What the figure in front lacks, and what the kernel would not count in it. */
static void describe_rest(const struct cf_report *report, const struct rss_line *line, char *out,
                          size_t bytes) {
    char amount[CF_FORMAT_MAX];
    *out = '\0';
    if (line->open_bytes > 0)
        (void)snprintf(out, bytes, " + ? of %s %s",
                       cf_report_bytes(report, amount, (int64_t)line->open_bytes),
                       line->open_words);
    size_t used = strlen(out);
    if (line->unseen_bytes > 0)
        (void)snprintf(out + used, bytes - used, " + ? of %s never written or left out",
                       cf_report_bytes(report, amount, (int64_t)line->unseen_bytes));
    used = strlen(out);
    if (line->huge_bytes > 0)
        (void)snprintf(out + used, bytes - used, "; beside it %s in huge pages",
                       cf_report_bytes(report, amount, (int64_t)line->huge_bytes));
}

/* What a reader looks for in any process, and else a fiftieth of the whole. */
static const char rss_sql[] =
    "SELECT label, in_rss, bytes, open_bytes, part IN ('live', 'freed', 'stacks') OR"
    " bytes * 50 >= (SELECT sum(bytes) FROM v_rss WHERE in_rss),"
    " part IN ('files', 'shared', 'runtime') FROM v_rss";

static const struct cf_column rss_columns[] = {
    {"part", "part", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"label", "label", CF_UNIT_TEXT, CF_IS_DETAIL},
    {"in rss", "in_rss", CF_UNIT_COUNT, CF_IS_DETAIL},
    {"bytes", "bytes", CF_UNIT_BYTES, CF_IS_DETAIL | CF_IS_RESIDENCY},
    {"open", "open_bytes", CF_UNIT_BYTES, CF_IS_DETAIL},
};

static const struct cf_query rss_query = {
    .sql = "SELECT part, label, in_rss, bytes, open_bytes FROM v_rss",
    .columns = rss_columns,
    .nr_columns = sizeof rss_columns / sizeof rss_columns[0],
    .rows = PARTS_MAX,
};

static void add_sentence(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    cf_section_text(target, CF_TONE_PLAIN, "%s", cf_stmt_text(row, 0));
}

/* The limit itself stands in the headline. */
static const char kernel_sql[] =
    "SELECT iif(code = 'by-smaps', title || '.', rtrim(detail)) AS sentence FROM v_finding"
    " WHERE code IN ('by-smaps', 'by-cgroup', 'cgroup-use') AND sentence <> '' ORDER BY finding_id";

int cf_report_rss(struct cf_report *report, struct cf_err *err) {
    struct rss_line line = {0};
    struct cf_section *section = cf_doc_section(report->doc, "rss", NULL);
    int status = cf_report_each(report, rss_sql, take_part, &line, err);
    if (status != CF_OK)
        return status;
    add_part(&line, "other", line.other_bytes);
    bool is_least = cf_report_residency_mark(report) != CF_MARK_EXACT ||
                    line.open_bytes + line.unseen_bytes > 0 ||
                    *cf_report_fact(report, "least")->text != '\0';
    char tail[LINE_BYTES];
    describe_rest(report, &line, tail, sizeof tail);
    if (line.is_known && line.total > 0)
        say_parts(&line, is_least ? "\u2265 " : "", section, tail);
    else
        cf_section_text(section, CF_TONE_PLAIN,
                        "RSS unknown: nothing in this core says which pages were in memory.");
    status = cf_report_each(report, kernel_sql, add_sentence, section, err);
    if (status != CF_OK)
        return status;
    return cf_report_table(report, section, &rss_query, NULL, NULL, err);
}
