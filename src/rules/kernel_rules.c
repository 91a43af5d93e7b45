/*
 * What the kernel's own count adds to a verdict, where smaps or the files of a cgroup are at hand:
 * how much of the process other processes share, which file it is that is in memory, what the limit
 * is and how near. The report shows these sentences below the line of what is resident; the limit,
 * and a file that is most of it, stand in the headline too (judge.c).
 */
#include "rules/rules.h"

#define LIMITED "(limit_bytes IS NOT NULL OR coalesce(oom_kills, 0) > 0)"
#define GROUP_USE                                                                                  \
    "[The cgroup has {group_bytes_now:bytes} in use. ]"                                            \
    "[Its most so far is {group_bytes_peak:bytes}. ][Its sockets hold {socket_bytes:bytes}. ]"     \
    "[Its page cache holds {cache_bytes:bytes}.]"

static const struct cf_rule rules[] = {
    {
        .code = "by-smaps", .severity = "info",
        .when = "kernel_rss_bytes IS NOT NULL",
        .bytes = "kernel_rss_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "By smaps Rss is {kernel_rss_bytes:bytes}[, Pss {kernel_pss_bytes:bytes}]"
                 "[; {forked_bytes:bytes} of {kernel_anonymous_bytes:bytes} anonymous memory "
                 "is shared with the parent or a child]"
                 "[; the largest mapped file is {main_file:text}, {main_file_bytes:bytes} of it "
                 "in memory]",
        .detail = "[It counts {kernel_more_bytes:bytes} more than this report: the two were taken "
                  "at different times. ][It counts {kernel_less_bytes:bytes} less than this "
                  "report: the two were taken at different times, or pages were swapped out. ]"
                  "Pss divides each page by the number of processes that map it. A page of "
                  "anonymous memory that several map is one that a fork left shared: freeing it "
                  "here gives nothing back while the others keep it.",
        .sql = "SELECT * FROM v_kernel_mapping ORDER BY rss_bytes DESC",
    },
    {
        .code = "mapped-file", .severity = "info",
        .when = "main_file_bytes * 2 >= kernel_rss_bytes",
        .bytes = "main_file_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "{main_file_bytes:bytes} of {kernel_rss_bytes:bytes} Rss is the mapped file "
                 "{main_file:text}",
        .detail = "Pages of a file that nobody changed go when memory is short; until then they "
                  "count, in the cgroup of whoever read them first. malloc has no part in them.",
        .sql = "SELECT * FROM v_kernel_mapping ORDER BY rss_bytes DESC",
    },
    {
        .code = "by-cgroup", .severity = "info",
        .when = LIMITED,
        .bytes = "limit_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "[{limit_bytes:bytes} limit][{no_limit:when}No limit is set][, {oom_kills:count} "
                 "kill{oom_kills:s}][; malloc's free memory is {limit_free_percent:percent} of it]",
        .detail = GROUP_USE,
        .sql = "SELECT * FROM v_kernel WHERE source LIKE 'cgroup%'",
    },
    {
        .code = "cgroup-use", .severity = "info",
        .when = "NOT " LIMITED " AND coalesce(group_bytes_now, group_bytes_peak, socket_bytes,"
                " cache_bytes) IS NOT NULL",
        .bytes = "group_bytes_now", .confidence = "'high'", .exactness = "'exact'",
        .title = "What the cgroup is charged for, beside any limit",
        .detail = GROUP_USE,
        .sql = "SELECT * FROM v_kernel WHERE source LIKE 'cgroup%'",
    },
    {
        .code = "side-file-refused", .severity = "info",
        .when = "refused_side_file IS NOT NULL",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "{refused_side_file:text} was found with the core and is not used",
        .detail = "{refused_reason:text}.",
        .sql = "SELECT * FROM v_side_file WHERE NOT is_used",
    },
};

const struct cf_rule_table cf_kernel_rules = {rules, sizeof rules / sizeof rules[0]};
