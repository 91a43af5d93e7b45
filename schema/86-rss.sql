-- What is resident, in one line: whose it is, and what of it no core tells.

CREATE VIEW v_rss AS
WITH label (place, part, label, in_rss) AS (
    VALUES (1, 'live', 'live', 1), (2, 'freed', 'freed', 1), (3, 'overhead', 'malloc''s own', 1),
           (4, 'runtime', 'runtime heap', 1), (5, 'stacks', 'stacks', 1),
           (6, 'data', 'variables', 1), (7, 'files', 'mapped files', 1), (8, 'shared', 'shared', 1),
           (9, 'unknown', 'of unknown use', 1), (10, 'unplaced', 'not in the core', 1),
           (11, 'huge', 'huge pages', 0)
), sorted (part, bytes, open_bytes) AS (
    SELECT CASE WHEN kind IN ('malloc main heap', 'malloc arena heaps', 'malloc reserve') THEN 'heap'
                WHEN kind = 'malloc mmapped chunks' THEN 'live'
                WHEN kind IN ('managed heap', 'other allocator') THEN 'runtime'
                WHEN kind IN ('thread stacks', 'cached stacks') THEN 'stacks'
                WHEN kind = 'module bss' THEN 'data'
                WHEN kind IN ('module data', 'modules', 'mapped files', 'kernel') THEN 'files'
                WHEN kind = 'shared memory' THEN 'shared'
                WHEN kind = 'not in the core' THEN 'unplaced'
                WHEN kind = 'huge pages' THEN 'huge'
                ELSE 'unknown' END,
           resident_bytes,
           iif(resident_bytes IS NULL AND kind <> 'malloc reserve', mapped_bytes, 0)
    FROM budget
    UNION ALL
    SELECT CASE class WHEN 'live' THEN 'live' WHEN 'overhead' THEN 'overhead' ELSE 'freed' END,
           bytes, 0
    FROM waste WHERE arena_id IS NULL
), summed (part, bytes, open_bytes) AS (
    SELECT part, sum(bytes), sum(open_bytes) FROM sorted GROUP BY part
)
SELECT place, part, label, in_rss,
       iif(part = 'unknown',
           nullif(coalesce(s.bytes, 0) + coalesce(h.bytes - h.told, 0), iif(s.bytes IS NULL, 0, -1)),
           s.bytes) AS bytes,
       coalesce(s.open_bytes, 0) + iif(part = 'unknown', coalesce(h.open_bytes, 0), 0) AS open_bytes
FROM label LEFT JOIN summed s USING (part)
LEFT JOIN (SELECT bytes, open_bytes,
                  (SELECT sum(bytes) FROM waste WHERE arena_id IS NULL) AS told
           FROM summed WHERE part = 'heap') h
WHERE s.part IS NOT NULL OR h.bytes <> h.told
ORDER BY place;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_rss', '', '', 'What is resident by whose it is, in one row each: v_budget with its heaps by v_waste. bytes sum to the resident bytes of v_budget, exactly.'),
('v_rss', 'place', 'count', 'Order in which it is told.'),
('v_rss', 'part', 'text', 'live: chunks in use, mmapped ones with their mapping; freed: what malloc holds free; overhead: malloc''s headers and end markers; runtime: heaps of runtimes and other allocators; stacks; data: variables of modules (bss); files: code and other mapped files, the kernel''s pages among them; shared: shared memory; unknown: what nobody claims; unplaced: what smaps counts beyond the pages that the core shows; huge: hugetlbfs pages, which the kernel counts apart.'),
('v_rss', 'label', 'text', 'Its name in the report.'),
('v_rss', 'in_rss', '0/1', '0: the kernel''s Rss does not count it.'),
('v_rss', 'bytes', 'bytes', 'In memory when the core was written; NULL: of none of it does anything say so.'),
('v_rss', 'open_bytes', 'bytes', 'Of its address space, that of which nothing says how much was in memory.');

INSERT INTO example_query (title, sql) VALUES
('What is the resident memory, in one line?',
 'SELECT label, bytes, open_bytes FROM v_rss WHERE bytes > 0 OR open_bytes > 0');
