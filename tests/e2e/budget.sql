-- The whole address space, against the kernel's smaps. The format is that of truth.sql.

--- the budget adds up to the segments of the core
SELECT total(b.mapped_bytes) budget, (SELECT total(mapped_bytes) FROM v_segment) segments
FROM v_budget b HAVING total(b.mapped_bytes) <> segments;

--- every mapping of the process is in the budget
--- needs residency
SELECT total(b.mapped_bytes) budget, (SELECT total(end - start) FROM truth_map) kernel
FROM v_budget b HAVING total(b.mapped_bytes) <> kernel;

--- nothing is left unattributed
SELECT * FROM v_budget WHERE kind = 'unattributed' AND mapped_bytes > 0;

--- unattributed is named all the same
SELECT 'no row' WHERE NOT EXISTS (SELECT * FROM v_budget WHERE kind = 'unattributed');

--- an anonymous mapping has in memory what the kernel counted (a stack may have grown since)
--- needs residency
SELECT s.start_hex, s.end_hex, s.kind, s.resident_bytes, m.anonymous_bytes, m.name
FROM v_segment s JOIN truth_map m ON m.start = s.start
WHERE s.kind = 'anonymous' AND m.flags LIKE 'rw_p'
  AND abs(s.resident_bytes - m.anonymous_bytes) > iif(m.name = '[stack]', 8192, 0);

--- all that is resident and anonymous is what the kernel counts, less written pages of files
--- needs residency
SELECT t.value kernel, sum(iif(is_anonymous, resident_bytes, 0)) ours,
       sum(copied_max_bytes) copied_max
FROM v_budget, truth_figure t WHERE t.kind = 'anonymous'
GROUP BY t.value HAVING kernel - ours NOT BETWEEN 4096 AND copied_max;

--- the main heap is the kernel's [heap], where brk made it
--- needs residency
SELECT h.start_hex, h.resident_bytes, sum(m.anonymous_bytes) anonymous
FROM truth_map m, v_heap h
WHERE m.name = '[heap]' AND h.arena_id = 0
  AND (SELECT count(*) FROM v_heap WHERE arena_id = 0) = 1
  AND h.start = (SELECT min(start) FROM truth_map WHERE name = '[heap]')
GROUP BY h.heap_id HAVING h.resident_bytes IS NOT sum(m.anonymous_bytes);

--- reserve costs nothing
SELECT * FROM v_budget WHERE kind = 'malloc reserve' AND resident_bytes > 0;

--- the arenas' heaps in the budget are those of v_heap
SELECT total(b.mapped_bytes), total(b.resident_bytes),
       (SELECT total(end - start) FROM v_heap) mapped,
       (SELECT total(resident_bytes) FROM v_heap) resident
FROM v_budget b WHERE b.kind IN ('malloc main heap', 'malloc arena heaps')
HAVING total(b.mapped_bytes) <> mapped OR total(b.resident_bytes) <> resident;

--- the settings of malloc are those of the process
SELECT 'cpus' name, m.value, t.value FROM meta m, truth_figure t
WHERE m.key = 'cpus' AND t.kind = 'cpus' AND m.value IS NOT NULL AND m.value <> t.value;

--- the cores that malloc's own limit of arenas shows are those of the machine
SELECT f.cpus, t.value FROM v_fact f, truth_figure t WHERE t.kind = 'cpus' AND f.cpus <> t.value;
