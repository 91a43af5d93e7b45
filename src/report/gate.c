/*
 * --fail-on: a metric is a fact of v_fact, its limit a number, bytes with a unit, or a percentage
 * of the resident heap. A percentage compares resident bytes with resident bytes, so a metric may
 * name another fact for it.
 */
#include "report/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/texts.h"

static const struct metric {
    const char *name;
    const char *fact; /* of v_fact */
    const char *part; /* of the resident heap, for a percentage */
    bool is_bytes;
    const char *what; /* of bytes: what they are */
} metrics[] = {
    {"retained", "retained_free_bytes", "retained_free_bytes", true, "freed and kept"},
    {"releasable", "releasable_bytes", "releasable_bytes", true, "releasable"},
    {"pinned", "pinned_bytes", "pinned_bytes", true, "pinned"},
    {"leak", "coalesce(leak_resident_bytes, leak_bytes)", "leak_resident_bytes", true, "leaked"},
    {"arenas", "used_arenas", "NULL", false, ""},
    {"anomalies", "anomalies", "NULL", false, ""},
};
enum { NR_METRICS = sizeof metrics / sizeof metrics[0] };

/* 1 for "", 1024 for "K", "KiB" ...; 0 for what is no unit. */
static double unit_of(const char *text) {
    static const char units[] = "KMGT";
    if (*text == '\0')
        return 1;
    const char *found = strchr(units, *text);
    if (found == NULL || (strcmp(text + 1, "") != 0 && strcmp(text + 1, "iB") != 0))
        return 0;
    return ldexp(1, 10 * (int)(found - units + 1));
}

/* A plain decimal number; strtod() alone would take "nan", "0x1p3" and leading spaces. */
static bool parse_limit(const char *text, bool is_bytes, struct cf_gate *out) {
    size_t digits = strspn(text, "0123456789.");
    char *end;
    if (digits == 0 || strspn(text, ".") == digits)
        return false;
    double number = strtod(text, &end);
    if (end != text + digits || !isfinite(number))
        return false;
    out->is_percent = is_bytes && strcmp(end, "%") == 0;
    double unit = out->is_percent || !is_bytes ? 1 : unit_of(end);
    out->limit = number * unit;
    return unit > 0 && (out->is_percent || is_bytes || *end == '\0');
}

static int no_such_metric(const char *text, struct cf_err *err) {
    char known[128] = "";
    for (size_t i = 0; i < NR_METRICS; i++) {
        (void)strncat(known, i == 0 ? "" : ", ", sizeof known - strlen(known) - 1);
        (void)strncat(known, metrics[i].name, sizeof known - strlen(known) - 1);
    }
    return cf_err_set(err, CF_EUSAGE, "'%.60s' is no METRIC=LIMIT; the metrics are %s", text,
                      known);
}

int cf_gate_parse(const char *text, struct cf_gate *out, struct cf_err *err) {
    struct cf_gate gate = {0};
    size_t name = strcspn(text, "=");
    unsigned metric = 0;
    while (metric < NR_METRICS && (strlen(metrics[metric].name) != name ||
                                   strncmp(metrics[metric].name, text, name) != 0))
        metric++;
    if (metric == NR_METRICS || text[name] == '\0')
        return no_such_metric(text, err);
    if (strlen(text) >= sizeof gate.text ||
        !parse_limit(text + name + 1, metrics[metric].is_bytes, &gate))
        return cf_err_set(err, CF_EUSAGE, "'%.60s': the limit of %s is a number%s", text,
                          metrics[metric].name,
                          metrics[metric].is_bytes ? " of bytes (10M, 1.5G) or a percentage (50%)"
                                                   : "");
    gate.metric = metric;
    (void)stpcpy(gate.text, text);
    *out = gate;
    return CF_OK;
}

struct figures {
    bool is_known;
    int64_t value;
    int64_t heap;
};

/* What is leaked counts as far as it was in memory; where the core does not tell, all of it. */
static int read_figures(struct cf_db *db, const struct cf_gate *gate, struct figures *out,
                        struct cf_err *err) {
    const struct metric *metric = &metrics[gate->metric];
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    char sql[128];
    bool row = false;
    (void)snprintf(sql, sizeof sql, "SELECT %s, heap_resident_bytes FROM v_fact",
                   gate->is_percent ? metric->part : metric->fact);
    int status = cf_db_prepare(db, sql, &stmt, err);
    if (status == CF_OK)
        status = cf_stmt_step(stmt, &row, err);
    if (status != CF_OK)
        return status;
    out->is_known = row && !cf_stmt_is_null(stmt, 0);
    out->value = row ? cf_stmt_i64(stmt, 0) : 0;
    out->heap = row ? cf_stmt_i64(stmt, 1) : 0;
    return CF_OK;
}

static void say_value(const struct cf_gate *gate, const struct figures *figures, double percent,
                      char *says, size_t bytes) {
    const struct metric *metric = &metrics[gate->metric];
    char value[CF_NUMBER_MAX], heap[CF_NUMBER_MAX], share[CF_NUMBER_MAX];
    if (!metric->is_bytes)
        (void)snprintf(says, bytes, "%s: there %s %s", gate->text,
                       figures->value == 1 ? "is" : "are", cf_number_count(value, figures->value));
    else if (gate->is_percent)
        (void)snprintf(says, bytes, "%s: %s of the resident heap is %s (%s of %s)", gate->text,
                       cf_number_percent(share, percent), metric->what,
                       cf_number_bytes(value, (uint64_t)figures->value),
                       cf_number_bytes(heap, (uint64_t)figures->heap));
    else
        (void)snprintf(says, bytes, "%s: %s (%s) %s %s", gate->text,
                       cf_number_bytes(value, (uint64_t)figures->value),
                       cf_number_exact_bytes(heap, (uint64_t)figures->value),
                       figures->value == 1 ? "is" : "are", metric->what);
}

int cf_gate_ask(const struct cf_gate *gate, struct cf_db *db, struct cf_gate_answer *out,
                struct cf_err *err) {
    struct figures figures;
    int status = read_figures(db, gate, &figures, err);
    if (status != CF_OK)
        return status;
    if (!figures.is_known || (gate->is_percent && figures.heap <= 0)) {
        out->crossed = true;
        (void)snprintf(out->says, sizeof out->says,
                       "%s: the core does not tell, so it counts as crossed", gate->text);
        return CF_OK;
    }
    double percent = figures.heap > 0 ? 100.0 * (double)figures.value / (double)figures.heap : 0;
    out->crossed = (gate->is_percent ? percent : (double)figures.value) > gate->limit;
    say_value(gate, &figures, percent, out->says, sizeof out->says);
    return CF_OK;
}
