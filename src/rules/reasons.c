/*
 * Why the confidence in the verdict is what it is: what could refute it, by name and with bytes.
 * The first reason whose condition holds speaks; `verdict` and `sureness` are the verdict's row.
 * "Nothing is missing" is said only where none of what could be missing is known.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "rules/engine.h"

enum { REASON_BYTES = 1024 };

static const struct cf_rule reasons[] = {
    {
        .code = "glibc-said-so", .when = "verdict = 'corrupt' AND abort_message IS NOT NULL",
        .title = "these are glibc's own words; who wrote there is not in the core.",
    },
    {
        .code = "faulted-in-malloc", .when = "verdict = 'corrupt' AND faulted",
        .title = "the crash is certain; that the heap was overwritten is not: the pointer may have "
                 "come from the caller.",
    },
    {
        .code = "stopped-in-malloc", .when = "verdict = 'corrupt' AND crash_in_malloc",
        .title = "the program stopped inside malloc, and what stands in the heap says why; who "
                 "wrote there is not in the core.",
    },
    {
        .code = "checks-agree", .when = "verdict = 'corrupt' AND damage_kinds > 1",
        .title = "{damage_kinds:count} independent checks fail at that place; who wrote there is "
                 "not in the core.",
    },
    {
        .code = "damaged", .when = "corruptions > 0",
        .title = "the heap is damaged.",
    },
    {
        .code = "incomplete", .when = "complete = 0",
        .title = "the core is incomplete[: {missing_bytes:bytes} of it is missing].",
    },
    {
        .code = "heap-left-out", .when = "left_out_heap_bytes > 0",
        .title = "{left_out_heap_bytes:bytes} of the heap was left out of the core.",
    },
    {
        .code = "leak-doubts",
        .when = "(verdict = 'leak' OR (verdict = 'unknown' AND leak_bytes > 0)) AND "
                "(missing_roots > 0 OR unknown_memory_bytes > 0 OR uring_bytes > 0 OR"
                " hidden_runtime IS NOT NULL)",
        .title = "pointers may stand where nobody could look."
                 "[ {missing_roots:count} stack{missing_roots:s} or mapping{missing_roots:s} "
                 "{missing_roots:is} not in the core.]"
                 "[ {unknown_memory_bytes:bytes} of writable address space in "
                 "{unknown_memory_mappings:count} mapping{unknown_memory_mappings:s} is not in the "
                 "core.]"
                 "[ {uring_bytes:bytes} of that is rings of io_uring.]"
                 "[ {hidden_runtime:text} may keep pointers compressed or tagged, in "
                 "{hidden_runtime_bytes:bytes}.]",
    },
    {
        .code = "leak-sure", .when = "verdict = 'leak'",
        .title = "no root is missing (checked: {root_ranges:count} range{root_ranges:s} of memory, "
                 "the stacks and registers of {threads:count} thread{threads:s}).",
    },
    {
        .code = "one-core", .when = "verdict = 'retention'",
        .title = "one core cannot show growth.",
    },
    {
        .code = "shared", .when = "verdict = 'outside-malloc' AND sureness = 'low'",
        .title = "a core does not tell how much of shared memory is resident.",
    },
    {
        .code = "whole", .when = "used_arenas = 0 AND sureness = 'high'",
        .title = "the core is complete.",
    },
    {
        .code = "unknown-memory",
        .when = "residency_exact = 1 AND sureness <> 'high' AND unknown_memory_bytes > 0",
        .title = "{unknown_memory_bytes:bytes} of writable address space is not in the core, and "
                 "may have been in use.",
    },
    {
        .code = "exact", .when = "residency_exact = 1",
        .title = "the core is complete and tells which pages were in memory.",
    },
    {
        .code = "at-least", .when = "residency_source <> 'none'",
        .title = "resident figures are at least: only pages full of zeros can be missing.",
    },
    {
        .code = "no-residency", .when = "1",
        .title = "nothing in the core tells which pages were in memory.",
    },
};
enum { NR_REASONS = sizeof reasons / sizeof reasons[0] };

static const char with_verdict[] =
    "SELECT f.*, v.code AS verdict, v.confidence AS sureness FROM fact f, verdict v";

int cf_rules_explain_confidence(struct cf_db *db, struct cf_err *err) {
    CF_CLEANUP(cf_ruling_fini) struct cf_ruling ruling = {0};
    CF_CLEANUP_STMT struct cf_stmt *into = NULL;
    char reason[REASON_BYTES];
    int status = cf_rules_ask(db, with_verdict, reasons, NR_REASONS, &ruling, err);
    if (status != CF_OK)
        return status;
    size_t i = 0;
    while (i + 1 < NR_REASONS && !cf_ruling_speaks(&ruling, i))
        i++;
    status = cf_ruling_fill(&ruling, i, reasons[i].title, reason, sizeof reason, err);
    if (status == CF_OK)
        status = cf_db_prepare(db, "UPDATE verdict SET evidence = ?1", &into, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(into, 1, reason);
    return cf_stmt_run(into, err);
}
