#include "report/diff_charts.h"

#include "base/err.h"
#include "store/queries.h"

/* One of the two databases. */
struct side {
    const char *title;
    const char *sql; /* the waterfall */
    const char *sum_sql;
};

static const struct side sides[] = {
    {"Before:", cf_sql_waterfall_before, cf_sql_waterfall_sum_before},
    {"After, on the same scale:", cf_sql_waterfall_after, cf_sql_waterfall_sum_after},
};
enum { NR_SIDES = sizeof sides / sizeof sides[0] };

struct chart {
    struct cf_table *table;
    enum cf_mark mark;
    double sum;
    double whole; /* the larger of both sums: what bars are drawn against */
};

static void put_segment(const struct chart *chart, const char *class, const char *label,
                        int64_t bytes, const char *note) {
    cf_table_text(chart->table, class);
    cf_table_text(chart->table, label);
    cf_table_integer(chart->table, bytes, chart->mark);
    cf_table_real(chart->table, (double)bytes / chart->whole, CF_MARK_EXACT);
    cf_table_real(chart->table, 100 * (double)bytes / chart->sum, CF_MARK_EXACT);
    cf_table_text(chart->table, note);
}

static void add_segment(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    put_segment(target, cf_stmt_text(row, 0), cf_stmt_text(row, 1), cf_stmt_i64(row, 2),
                cf_stmt_text(row, 3));
}

static int add_side(struct cf_report *report, struct cf_section *section, const struct side *side,
                    int64_t sum, double whole, struct cf_err *err) {
    struct chart chart = {
        .table = cf_section_chart(section, CF_CHART_WATERFALL, side->title, side->sql),
        .mark = side == &sides[0] ? report->old_residency : cf_report_residency_mark(report),
        .sum = sum > 0 ? (double)sum : 1,
        .whole = whole,
    };
    int status = cf_report_each(report, side->sql, add_segment, &chart, err);
    if (status == CF_OK)
        put_segment(&chart, "", "sum", sum, "all that malloc has in memory");
    return status;
}

int cf_diff_waterfalls(struct cf_report *report, struct cf_section *section, struct cf_err *err) {
    int64_t sums[NR_SIDES] = {0};
    int64_t whole = 0;
    for (size_t i = 0; i < NR_SIDES; i++) {
        bool found;
        int status = cf_db_query_i64(report->db, sides[i].sum_sql, &found, &sums[i], err);
        if (status != CF_OK || !found)
            return status;
        whole = sums[i] > whole ? sums[i] : whole;
    }
    for (size_t i = 0; i < NR_SIDES && whole > 0; i++) {
        int status = add_side(report, section, &sides[i], sums[i], (double)whole, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}
