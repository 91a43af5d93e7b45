/* What the process said of itself, against what the database says of its core. */
#include "checks.h"

const struct e2e_check checks_truth[] = {
    {"two_calls_of_mallinfo2_gave_the_same", /* else the truth itself is not one */
     "SELECT * FROM truth_mallinfo a JOIN truth_mallinfo b"
     " WHERE a.kind = 'mallinfo2' AND b.kind = 'mallinfo2_again'"
     "   AND (a.arena, a.ordblks, a.smblks, a.hblks, a.hblkhd, a.usmblks, a.fsmblks, a.uordblks,"
     "        a.fordblks, a.keepcost) IS NOT"
     "       (b.arena, b.ordblks, b.smblks, b.hblks, b.hblkhd, b.usmblks, b.fsmblks, b.uordblks,"
     "        b.fordblks, b.keepcost)"},
    {"mallinfo2_is_ours_in_all_ten_fields",
     "SELECT * FROM truth_mallinfo t LEFT JOIN v_mallinfo v ON v.arena_id IS NULL"
     " WHERE t.kind = 'mallinfo2'"
     "   AND (t.arena, t.ordblks, t.smblks, t.hblks, t.hblkhd, t.usmblks, t.fsmblks, t.uordblks,"
     "        t.fordblks, t.keepcost) IS NOT"
     "       (v.arena, v.ordblks, v.smblks, v.hblks, v.hblkhd, v.usmblks, v.fsmblks, v.uordblks,"
     "        v.fordblks, v.keepcost)"},
    /* malloc_info() numbers arenas along the ring; compare them as a bag, and the main one alone. */
    {"the_main_arena_is_malloc_infos_heap_0",
     "SELECT * FROM truth_xml x LEFT JOIN v_arena a ON a.arena_id = 0"
     " WHERE x.nr = 0 AND (a.is_main IS NOT 1 OR a.system_bytes IS NOT x.system_bytes"
     "   OR a.max_system_bytes IS NOT x.max_bytes OR a.fast_chunks IS NOT x.fast_chunks"
     "   OR a.fast_bytes IS NOT x.fast_bytes OR a.free_chunks + 1 IS NOT x.rest_chunks)"},
    {"every_arena_of_malloc_info_is_ours",
     "SELECT system_bytes, max_bytes, aspace_bytes, fast_chunks, fast_bytes, rest_chunks, count(*)"
     " FROM truth_xml GROUP BY 1, 2, 3, 4, 5, 6 EXCEPT "
     "SELECT system_bytes, max_system_bytes, mapped_bytes, fast_chunks, fast_bytes,"
     "       free_chunks + 1, count(*) FROM v_arena WHERE namespace = 0 GROUP BY 1, 2, 3, 4, 5, 6"},
    {"every_arena_of_ours_is_malloc_infos",
     "SELECT system_bytes, max_system_bytes, mapped_bytes, fast_chunks, fast_bytes,"
     "       free_chunks + 1, count(*) FROM v_arena WHERE namespace = 0 GROUP BY 1, 2, 3, 4, 5, 6"
     " EXCEPT SELECT system_bytes, max_bytes, aspace_bytes, fast_chunks, fast_bytes, rest_chunks,"
     "               count(*) FROM truth_xml GROUP BY 1, 2, 3, 4, 5, 6"},
    {"every_live_pointer_is_a_live_chunk_of_its_usable_size",
     "SELECT printf('0x%x', t.address) pointer, t.requested, t.usable, c.state, c.usable_bytes"
     " FROM truth_live t LEFT JOIN v_chunk c ON c.address = t.address - 16"
     " WHERE c.state IS NULL OR c.state NOT IN ('live', 'mmapped') OR c.usable_bytes <> t.usable"
     "    OR c.user_address <> t.address"},
    {"a_live_pointer_is_mmapped_exactly_when_it_is_in_no_heap",
     "SELECT printf('0x%x', c.address) chunk, c.state, c.arena_id, c.heap_id FROM v_chunk c"
     " WHERE (c.state = 'mmapped') <> (c.heap_id IS NULL)"},
    {"no_freed_pointer_lies_in_a_live_chunk_that_the_program_does_not_know",
     "WITH f AS (SELECT address, (SELECT max(c.address) FROM v_chunk c"
     "                            WHERE c.address <= f.address - 16) chunk FROM truth_freed f)"
     " SELECT printf('0x%x', f.address) pointer, printf('0x%x', c.address) chunk, c.size_bytes,"
     "        c.state FROM f JOIN v_chunk c ON c.address = f.chunk"
     " WHERE c.address + c.size_bytes > f.address - 16 AND c.state IN ('live', 'mmapped')"
     "   AND c.user_address NOT IN (SELECT address FROM truth_live)"},
    /* A thread costs libc a thread cache and a vector for its TLS. */
    {"the_live_chunks_that_the_program_does_not_know_are_libcs_few",
     "SELECT count(*) chunks, max(size_bytes) largest FROM v_chunk"
     " WHERE state IN ('live', 'mmapped') AND user_address NOT IN (SELECT address FROM truth_live)"
     " HAVING largest > 800 OR chunks >"
     "        (SELECT 2 * value + 1 FROM truth_figure WHERE kind = 'threads')"},
    {"the_process_is_the_one_that_wrote_the_truth",
     "SELECT m.value, t.value FROM meta m, truth_figure t"
     " WHERE m.key = 'pid' AND t.kind = 'pid' AND m.value <> t.value"},
    {"the_main_heap_ends_at_the_break",
     "SELECT printf('0x%x', t.value) sbrk, printf('0x%x', h.end) \"end\", h.heap_id"
     " FROM truth_figure t, v_heap h WHERE t.kind = 'sbrk' AND h.arena_id = 0"
     "   AND h.end > t.value AND h.start < t.value"},
    {"every_heap_has_the_resident_pages_that_pagemap_showed",
     "SELECT h.heap_id, h.start_hex, h.mapped_bytes, h.resident_bytes,"
     "       4096 * (SELECT count(*) FROM truth_page p"
     "               WHERE p.address >= h.start AND p.address < h.\"end\") pagemap"
     " FROM v_heap h WHERE h.resident_bytes IS NOT pagemap", E2E_RESIDENCY},
    {0},
};
