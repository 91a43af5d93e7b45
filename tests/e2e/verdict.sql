-- The verdict's bytes, within one in a hundred of the process's own account. The format is that of
-- truth.sql.

--- resident is what the kernel calls anonymous, but for written pages of modules (no core tells)
--- needs residency
SELECT v.resident_bytes, t.value anonymous FROM v_verdict v, truth_figure t
WHERE t.kind = 'anonymous' AND abs(v.resident_bytes - t.value) > t.value / 100 + 65536;

--- resident of the heap is what pagemap showed of it, mmapped chunks included
--- needs residency
SELECT heap_resident_bytes, pagemap FROM v_verdict, (SELECT 4096 * count(*) pagemap FROM
    (SELECT start, end FROM v_heap UNION ALL
     SELECT address, address + size_bytes FROM v_chunk WHERE state = 'mmapped') h
    JOIN truth_page p ON p.address >= h.start AND p.address < h.end)
WHERE abs(heap_resident_bytes - pagemap) > pagemap / 100;

--- live is what the program holds, and libc's few
SELECT live_bytes, held FROM v_verdict,
    (SELECT total(usable) + 8 * count(*) held FROM truth_live),
    (SELECT value threads FROM truth_figure WHERE kind = 'threads'),
    (SELECT count(*) loads FROM truth_figure WHERE kind = 'loads')
WHERE abs(live_bytes - held) > held / 100 + 1000 * threads + 16000 * loads;

--- releasable is what a real malloc_trim(0) gave back
--- needs residency
SELECT v.releasable_bytes, b.value - a.value came_back
FROM v_verdict v, truth_figure b, truth_figure a
WHERE b.kind = 'trim_anonymous_before' AND a.kind = 'trim_anonymous_after'
  AND v.releasable_bytes <> b.value - a.value;

--- retained is all that is resident and neither live nor overhead
--- needs residency
SELECT v.retained_free_bytes, sum(w.bytes) FROM v_verdict v, v_waste w
WHERE w.arena_id IS NULL AND w.class NOT IN ('live', 'overhead')
GROUP BY v.retained_free_bytes HAVING v.retained_free_bytes IS NOT sum(w.bytes);

--- every finding has its title, its query, and says how exact it is
SELECT code, title, exactness FROM v_finding
WHERE exactness NOT IN ('exact', 'at-least', 'bound', 'estimate') OR sql IS NULL OR title IS NULL;
