-- What the kernel itself counted, where its files were handed in (--smaps, --cgroup).

CREATE TABLE kernel_figure (
    figure_id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes INTEGER,
    ours_bytes INTEGER,
    explanation TEXT NOT NULL
);

CREATE VIEW v_kernel AS
SELECT source, name, bytes, ours_bytes, bytes - ours_bytes AS difference_bytes, explanation
FROM kernel_figure ORDER BY figure_id;

CREATE TABLE kernel_mapping (
    start INTEGER PRIMARY KEY,
    "end" INTEGER NOT NULL,
    kind TEXT,
    label TEXT NOT NULL,
    rss_bytes INTEGER NOT NULL,
    anonymous_bytes INTEGER NOT NULL,
    swap_bytes INTEGER NOT NULL,
    ours_bytes INTEGER
);

CREATE VIEW v_kernel_mapping AS
SELECT start, printf('0x%x', start) AS start_hex, "end", printf('0x%x', "end") AS end_hex,
       "end" - start AS mapped_bytes, kind, label, rss_bytes, anonymous_bytes, swap_bytes,
       ours_bytes, anonymous_bytes - ours_bytes AS difference_bytes
FROM kernel_mapping;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_kernel', '', '', 'One row for each figure of the kernel that was handed in with --smaps or --cgroup, beside ours; no rows where none was. The kernel counted at another moment than the core was written.'),
('v_kernel', 'source', 'text', 'smaps (summed over the mappings), smaps_rollup, cgroup (version 2), cgroup v1.'),
('v_kernel', 'name', 'text', 'The kernel''s own name for it; of a cgroup always version 2''s.'),
('v_kernel', 'bytes', 'bytes', 'Its figure; NULL: a limit that is not set.'),
('v_kernel', 'ours_bytes', 'bytes', 'What this analysis has in its place; NULL: nothing, it is in no core.'),
('v_kernel', 'difference_bytes', 'bytes', 'The kernel''s less ours.'),
('v_kernel', 'explanation', 'text', 'What it counts, and where the difference comes from.'),
('v_kernel_mapping', '', '', 'One row for each mapping of a whole smaps: what it is used for, and how much of it was in memory by the kernel''s count and by ours.'),
('v_kernel_mapping', 'start', 'address', 'First byte.'),
('v_kernel_mapping', 'start_hex', 'text', 'The same in hex.'),
('v_kernel_mapping', 'end', 'address', 'Behind its last byte.'),
('v_kernel_mapping', 'end_hex', 'text', 'The same in hex.'),
('v_kernel_mapping', 'mapped_bytes', 'bytes', 'Its address space.'),
('v_kernel_mapping', 'kind', 'text', 'Use of most of its bytes, as in v_budget; NULL: the core has no such mapping (it came or went between the two).'),
('v_kernel_mapping', 'label', 'text', 'Whose it is, as in v_budget.'),
('v_kernel_mapping', 'rss_bytes', 'bytes', 'In memory, by the kernel.'),
('v_kernel_mapping', 'anonymous_bytes', 'bytes', 'Of it anonymous, by the kernel; of a file''s private mapping, the pages that were written.'),
('v_kernel_mapping', 'swap_bytes', 'bytes', 'Swapped out.'),
('v_kernel_mapping', 'ours_bytes', 'bytes', 'Anonymous and in memory, by this analysis; NULL: a core cannot tell.'),
('v_kernel_mapping', 'difference_bytes', 'bytes', 'The kernel''s anonymous bytes less ours.');

INSERT INTO example_query (title, sql) VALUES
('How do the kernel''s figures differ from ours, and why?',
 'SELECT name, bytes, ours_bytes, difference_bytes, explanation FROM v_kernel'),
('By use: what does the kernel count, and what do we?',
 'SELECT kind, sum(rss_bytes) AS rss, sum(anonymous_bytes) AS anonymous, sum(ours_bytes) AS ours FROM v_kernel_mapping GROUP BY kind ORDER BY rss DESC');
