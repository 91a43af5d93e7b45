/* The rules over two cores: data, and the first one whose condition holds. */
#include "rules/rules.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "rules/engine.h"
#include "store/queries.h"

#define MIB "1048576"

/* The first that speaks is the verdict; the last one always does. */
static const struct cf_rule growth_rules[] = {
    {
        .code = "leak",
        .when = "leak_growth >= " MIB " AND leak_growth * 2 >= live_growth",
        .title = "LEAK: {leak_growth:bytes} more that nothing points to; {leak_after:bytes} in "
                 "all.",
        .detail = "Live memory {live_growth:change}; the larger part of what is new is lost.",
        .advice = "See the new groups of leaks below.",
    },
    {
        .code = "retention",
        .when = "live_growth >= " MIB " AND live_growth * 20 >= live_before"
                " AND top_bytes * 3 >= live_growth AND live_growth >= coalesce(free_growth, 0) / 2",
        .title = "RETENTION: live memory grew by {live_growth:bytes} to {live_after:bytes}"
                 "[; {grown_holder_bytes:bytes} of it hangs on {grown_holder:text} alone]"
                 "[, with {leader_chunks:count} more {leader_name:text}]"
                 "[; {first_chunks:count} more chunk{first_chunks:s} of {top_name:text} hold "
                 "{top_bytes:bytes}], and the program still reaches it.",
        .detail = "[{later_chunks:count} more chunk{later_chunks:s} of {top_name:text} hold "
                  "{top_bytes:bytes}. ][That is {top_percent:percent} of the growth. ]"
                  "[One of them is held by {top_holder:text}. ]Something keeps them: a collection "
                  "that only grows, a cache without a limit, a context that is never closed.",
        .advice = "See who holds them: v_holder of the newer database, or corefrag explain.",
    },
    {
        .code = "not-returned",
        .when = "free_growth >= " MIB " AND free_growth >= live_growth",
        .title = "FREED BUT NOT RETURNED: {free_growth:bytes} more free memory that glibc still "
                 "holds, {free_after:bytes} in all.",
        .detail = "Live memory {live_growth:change}. In the newer core malloc_trim(0) would return "
                  "{releasable_after:amount}.",
        .advice = "See what would help, in the report of the newer core.",
    },
    {
        .code = "outside-malloc",
        .when = "outside_growth >= " MIB " AND outside_growth >= heap_growth",
        .title = "OUTSIDE MALLOC: memory that is not malloc's grew by {outside_growth:bytes}[, "
                 "most of it {outside_part:text} ({outside_part_bytes:bytes} more)].",
        .detail = "malloc's heap {heap_growth:change}.",
    },
    {
        .code = "in-use",
        .when = "live_growth >= " MIB,
        .title = "GROWN: live memory grew by {live_growth:bytes} to {live_after:bytes}, and no "
                 "one kind explains it.",
        .detail = "The kind that grew most is {top_name:text}, by {top_bytes:bytes}.",
    },
    {
        .code = "healthy",
        .when = "1",
        .title = "STEADY: live memory {live_growth:change}, {live_after:amount} is live now.",
        .detail = "Neither leaks nor free memory that is kept nor memory outside malloc grew by as "
                  "much as 1 MiB.",
    },
};
enum { NR_GROWTH_RULES = sizeof growth_rules / sizeof growth_rules[0] };

static int fill(const struct cf_ruling *ruling, size_t i, struct cf_growth *out,
                struct cf_err *err) {
    const struct cf_rule *rule = &ruling->rules[i];
    (void)snprintf(out->code, sizeof out->code, "%s", rule->code);
    int status = cf_ruling_fill(ruling, i, rule->title, out->headline, sizeof out->headline, err);
    if (status == CF_OK)
        status = cf_ruling_fill(ruling, i, rule->detail, out->detail, sizeof out->detail, err);
    if (status == CF_OK)
        status = cf_ruling_fill(ruling, i, rule->advice, out->advice, sizeof out->advice, err);
    return status;
}

int cf_growth_judge(struct cf_db *db, struct cf_growth *out, struct cf_err *err) {
    CF_CLEANUP(cf_ruling_fini) struct cf_ruling ruling = {0};
    int status = cf_rules_ask(db, cf_sql_growth, growth_rules, NR_GROWTH_RULES, &ruling, err);
    if (status != CF_OK)
        return status;
    size_t i = 0;
    while (i + 1 < NR_GROWTH_RULES && !cf_ruling_speaks(&ruling, i))
        i++;
    return fill(&ruling, i, out, err);
}
