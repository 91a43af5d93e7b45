#include "rules/growth.h"

#include <stdio.h>

#include "base/err.h"
#include "rules/template.h"

#define MIB "1048576"

/* Before, after and growth of what the rules ask about; and of which kind of live chunk there is
 * more: by type where types are known, else by size. */
static const char facts_sql[] =
    "WITH kind AS ("
    " SELECT 1 AS typed, type AS name, sum(after) - sum(before) AS bytes,"
    "  sum(more) AS chunks, sum(lost) AS lost FROM ("
    "  SELECT type, 0 AS before, bytes AS after, chunks AS more, unreachable_bytes AS lost"
    "   FROM main.v_type WHERE type IS NOT NULL"
    "  UNION ALL SELECT type, bytes, 0, -chunks, -unreachable_bytes FROM old.v_type"
    "   WHERE type IS NOT NULL) GROUP BY type"
    " UNION ALL"
    " SELECT 0, size_bytes || ' bytes', sum(after) - sum(before), sum(more), 0 FROM ("
    "  SELECT size_bytes, 0 AS before, bytes AS after, chunks AS more FROM main.v_size_class"
    "   WHERE state IN ('live', 'mmapped')"
    "  UNION ALL SELECT size_bytes, bytes, 0, -chunks FROM old.v_size_class"
    "   WHERE state IN ('live', 'mmapped')) GROUP BY size_bytes),"
    " top AS (SELECT * FROM kind ORDER BY bytes * (1 + 0.5 * typed) DESC, name LIMIT 1),"
    " outside AS (SELECT coalesce(nullif(part, 'other anonymous'), 'anonymous mappings of unknown"
    " use') AS part, sum(after) - sum(before) AS bytes FROM ("
    "  SELECT part, 0 AS before, resident_bytes AS after FROM main.v_memory"
    "   WHERE is_anonymous AND part NOT LIKE 'malloc %'"
    "  UNION ALL SELECT part, resident_bytes, 0 FROM old.v_memory"
    "   WHERE is_anonymous AND part NOT LIKE 'malloc %') GROUP BY part"
    "  ORDER BY bytes DESC LIMIT 1)"
    " SELECT n.live_bytes - o.live_bytes AS live_growth, n.live_bytes AS live_after,"
    "  o.live_bytes AS live_before, n.leak_bytes - o.leak_bytes AS leak_growth,"
    "  n.leak_bytes AS leak_after,"
    "  n.retained_free_bytes - o.retained_free_bytes AS free_growth,"
    "  n.retained_free_bytes AS free_after, n.releasable_bytes AS releasable_after,"
    "  n.heap_resident_bytes - o.heap_resident_bytes AS heap_growth,"
    "  n.resident_bytes - o.resident_bytes AS resident_growth,"
    "  n.resident_bytes AS resident_after,"
    "  n.outside_bytes - o.outside_bytes AS outside_growth,"
    "  outside.part AS outside_part, outside.bytes AS outside_part_bytes,"
    "  top.name AS top_name, top.bytes AS top_bytes, top.chunks AS top_chunks,"
    "  iif(top.bytes <= n.live_bytes - o.live_bytes,"
    "   100.0 * top.bytes / (n.live_bytes - o.live_bytes), NULL) AS top_percent,"
    "  iif(top.typed, (SELECT holder FROM main.v_type WHERE type = top.name), NULL) AS top_holder"
    " FROM main.v_fact n, old.v_fact o LEFT JOIN top ON 1 LEFT JOIN outside ON 1";

struct growth_rule {
    const char *code;
    const char *when;
    const char *headline;
    const char *detail;
    const char *advice;
};

static const struct growth_rule growth_rules[] = {
    {"leak",
     "leak_growth >= " MIB " AND leak_growth * 2 >= live_growth",
     "LEAK: {leak_growth:bytes} more that nothing points to; {leak_after:bytes} in all.",
     "Live memory {live_growth:change}; the larger part of what is new is lost.",
     "See the new groups of leaks below."},
    {"retention",
     "live_growth >= " MIB " AND live_growth * 20 >= live_before AND top_bytes * 3 >= live_growth"
     " AND live_growth >= coalesce(free_growth, 0) / 2",
     "RETENTION: live memory grew by {live_growth:bytes} to {live_after:bytes}; {top_chunks:count} "
     "more chunk{top_chunks:s} of {top_name:text} hold {top_bytes:bytes}, and the program still "
     "reaches them.",
     "[That is {top_percent:percent} of the growth. ][One of them is held by {top_holder:text}. ]"
     "Something keeps them: a collection that only grows, a cache without a limit, a context that "
     "is never closed.",
     "See who holds them: v_holder of the newer database, or corefrag explain."},
    {"not-returned",
     "free_growth >= " MIB " AND free_growth >= live_growth",
     "FREED BUT NOT RETURNED: {free_growth:bytes} more free memory that glibc still holds, "
     "{free_after:bytes} in all.",
     "Live memory {live_growth:change}. In the newer core malloc_trim(0) would return "
     "{releasable_after:amount}.",
     "See what would help, in the report of the newer core."},
    {"outside-malloc",
     "outside_growth >= " MIB " AND outside_growth >= heap_growth",
     "OUTSIDE MALLOC: memory that is not malloc's grew by {outside_growth:bytes}[, most of it "
     "{outside_part:text} ({outside_part_bytes:bytes} more)].",
     "malloc's heap {heap_growth:change}.", NULL},
    {"in-use",
     "live_growth >= " MIB,
     "GROWN: live memory grew by {live_growth:bytes} to {live_after:bytes}, and no one kind "
     "explains it.",
     "The kind that grew most is {top_name:text}, by {top_bytes:bytes}.",
     NULL},
    {"healthy", "1",
     "STEADY: live memory {live_growth:change}, {live_after:amount} is live now.",
     "Neither leaks nor free memory that is kept nor memory outside malloc grew by as much as "
     "1 MiB.", NULL},
};

static int fill(const struct growth_rule *rule, const struct cf_stmt *facts,
                struct cf_growth *out, struct cf_err *err) {
    (void)snprintf(out->code, sizeof out->code, "%s", rule->code);
    out->advice[0] = '\0';
    int status = cf_template_fill(rule->headline, facts, out->headline, sizeof out->headline, err);
    if (status == CF_OK)
        status = cf_template_fill(rule->detail, facts, out->detail, sizeof out->detail, err);
    if (status == CF_OK && rule->advice != NULL)
        status = cf_template_fill(rule->advice, facts, out->advice, sizeof out->advice, err);
    return status;
}

int cf_growth_judge(struct cf_db *db, struct cf_growth *out, struct cf_err *err) {
    for (size_t i = 0; i < sizeof growth_rules / sizeof growth_rules[0]; i++) {
        CF_CLEANUP_STMT struct cf_stmt *facts = NULL;
        char sql[4096];
        bool speaks = false;
        int length = snprintf(sql, sizeof sql, "SELECT * FROM (%s) WHERE %s", facts_sql,
                              growth_rules[i].when);
        if (length < 0 || (size_t)length >= sizeof sql)
            return cf_err_set(err, CF_EINTERNAL, "rule %s is too long", growth_rules[i].code);
        int status = cf_db_prepare(db, sql, &facts, err);
        if (status == CF_OK)
            status = cf_stmt_step(facts, &speaks, err);
        if (status != CF_OK)
            return cf_err_context(err, "rule %s", growth_rules[i].code);
        if (speaks)
            return fill(&growth_rules[i], facts, out, err);
    }
    return cf_err_set(err, CF_EINTERNAL, "no rule of growth speaks");
}
