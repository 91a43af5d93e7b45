/*
 * SQL over the facts, and parts of sentences, that rules of several tables share.
 *
 * Thresholds and where they come from. A share is of resident memory, since that is what a limit
 * counts. Below 4 MiB of kept memory, and 16 MiB of a heap, nobody is paged. A half: what "most of
 * it" means. A leak of less than 1 MiB explains nothing: a program that ends by a signal always has
 * some unreached kilobytes (buffers of code that was running). Arenas: 8 is where glibc itself
 * begins to count (arena_test).
 */
#ifndef CF_RULES_TERMS_H
#define CF_RULES_TERMS_H

#define MIB "1048576"
#define EVIDENCE                                                                                   \
    "CASE WHEN complete = 0 OR residency_source = 'none' OR corruptions > 0"                      \
    " OR left_out_heap_bytes > 0 THEN 'low'"                                                      \
    " WHEN residency_exact = 1 AND coalesce(unknown_memory_bytes, 0) * 4 < resident_bytes"        \
    " THEN 'high' ELSE 'medium' END"
/* Room for a pointer to each chunk that was lost first. */
#define UNSEEN_MAY_HOLD_IT "coalesce(unknown_memory_bytes, 0) / 4 >= max(leak_roots, 1)"
#define LEAK_EVIDENCE                                                                              \
    "CASE WHEN complete = 0 OR missing_roots > 0 OR corruptions > 0 OR left_out_heap_bytes > 0"   \
    " OR " UNSEEN_MAY_HOLD_IT " THEN 'low'"                                                        \
    " WHEN unknown_memory_bytes > 0 OR uring_bytes > 0 OR hidden_runtime IS NOT NULL"             \
    " OR leak_unsure_bytes > 0 THEN 'medium' ELSE 'high' END"
#define AT_LEAST "iif(residency_exact, 'exact', 'at-least')"
/* Pages full of zeros, of which the core cannot tell, may come on top. */
#define A_BOUND "iif(residency_exact, 'bound', 'estimate')"
#define FIRST_LEAK                                                                                 \
    "[{first_leak_bytes:bytes} of it was lost with {first_leak_leaders:count} "                    \
    "{first_leak_name:text}. ]"
#define MUCH_LEAKED                                                                                \
    "examined = 1 AND leaked_bytes >= " MIB " AND leak_percent >= 10"                            \
    " AND leaked_bytes * 5 >= coalesce(heap_resident_bytes, mapped_bytes)"                       \
    " AND leaked_bytes >= coalesce(retained_free_bytes, 0) / 2"
/* A remedy is worth a line from a twentieth of the resident heap on, or 16 MiB. */
#define WORTH_IT(bytes)                                                                            \
    "(" bytes " >= 16 * " MIB " OR (" bytes " >= page_bytes AND " bytes                           \
    " * 20 >= heap_resident_bytes))"
#define IN_SPACE                                                                                   \
    "[{leak_absent_bytes:when} of resident memory ({leak_bytes:bytes} of address space)]"          \
    "[{leak_unsure_bytes:when} of address space (at least {leak_resident_bytes:amount} of it "     \
    "resident)]"

#endif
