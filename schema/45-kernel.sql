-- What the kernel itself counted, where its files were handed in (--smaps, --cgroup) or found.

CREATE TABLE kernel_figure (
    figure_id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes INTEGER,
    times INTEGER,
    ours_bytes INTEGER,
    copied_least_bytes INTEGER,
    copied_most_bytes INTEGER,
    copied_bytes INTEGER,
    more_bytes INTEGER,
    less_bytes INTEGER,
    room_bytes INTEGER,
    explanation TEXT
);

CREATE VIEW v_kernel AS
SELECT source, name, bytes, times, ours_bytes, bytes - ours_bytes AS difference_bytes,
       copied_least_bytes, copied_most_bytes, copied_bytes, more_bytes, less_bytes, room_bytes,
       explanation
FROM kernel_figure ORDER BY figure_id;

CREATE TABLE kernel_mapping (
    start INTEGER PRIMARY KEY,
    "end" INTEGER NOT NULL,
    kind TEXT,
    label TEXT NOT NULL,
    rss_bytes INTEGER NOT NULL,
    anonymous_bytes INTEGER NOT NULL,
    swap_bytes INTEGER NOT NULL,
    shared_bytes INTEGER NOT NULL,
    is_dontdump INTEGER NOT NULL,
    ours_bytes INTEGER
);

CREATE VIEW v_kernel_mapping AS
SELECT start, printf('0x%x', start) AS start_hex, "end", printf('0x%x', "end") AS end_hex,
       "end" - start AS mapped_bytes, kind, label, rss_bytes, anonymous_bytes, swap_bytes,
       shared_bytes, is_dontdump, ours_bytes, anonymous_bytes - ours_bytes AS difference_bytes
FROM kernel_mapping;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_kernel', '', '', 'One row for each figure of the kernel that was handed in with --smaps or --cgroup, beside ours; no rows where none was. The kernel counted at another moment than the core was written.'),
('v_kernel', 'source', 'text', 'smaps (summed over the mappings), smaps_rollup, cgroup (version 2), cgroup v1.'),
('v_kernel', 'name', 'text', 'The kernel''s own name for it; of a cgroup always version 2''s.'),
('v_kernel', 'bytes', 'bytes', 'Its figure; NULL: a limit that is not set, or no size.'),
('v_kernel', 'times', 'count', 'How often, of what is counted and no size (oom_kill); NULL: a size.'),
('v_kernel', 'ours_bytes', 'bytes', 'What this analysis has in its place; NULL: nothing, it is in no core.'),
('v_kernel', 'difference_bytes', 'bytes', 'The kernel''s less ours.'),
('v_kernel', 'copied_least_bytes', 'bytes', 'Pages of files'' private mappings that the process wrote, which ours lacks: so many at least; NULL: not of this figure, or not known so.'),
('v_kernel', 'copied_most_bytes', 'bytes', 'So many at the most.'),
('v_kernel', 'copied_bytes', 'bytes', 'So many by smaps itself; NULL: no whole smaps.'),
('v_kernel', 'more_bytes', 'bytes', 'What the kernel counts beyond ours and those pages.'),
('v_kernel', 'less_bytes', 'bytes', 'What it counts less than ours and those pages.'),
('v_kernel', 'room_bytes', 'bytes', 'Of a limit: what is left below it.'),
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
('v_kernel_mapping', 'shared_bytes', 'bytes', 'Of rss_bytes, on pages that another process maps too; of anonymous memory: what a fork left shared with the parent or a child.'),
('v_kernel_mapping', 'is_dontdump', '0/1', 'The process asked for it to be left out of cores (MADV_DONTDUMP; VmFlags dd).'),
('v_kernel_mapping', 'ours_bytes', 'bytes', 'Anonymous and in memory, by this analysis; NULL: a core cannot tell.'),
('v_kernel_mapping', 'difference_bytes', 'bytes', 'The kernel''s anonymous bytes less ours.');

INSERT INTO example_query (title, sql) VALUES
('How do the kernel''s figures differ from ours, and why?',
 'SELECT name, bytes, ours_bytes, difference_bytes, explanation FROM v_kernel'),
('By use: what does the kernel count, and what do we?',
 'SELECT kind, sum(rss_bytes) AS rss, sum(anonymous_bytes) AS anonymous, sum(ours_bytes) AS ours FROM v_kernel_mapping GROUP BY kind ORDER BY rss DESC');

CREATE TABLE side_file (
    side_file_id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    is_used INTEGER NOT NULL,
    reason TEXT
);

CREATE VIEW v_side_file AS
SELECT kind, name, place, is_used, reason FROM side_file ORDER BY side_file_id;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_side_file', '', '', 'One row for each side file with the kernel''s own count: what an option names, and what was found with the core without being asked for.'),
('v_side_file', 'kind', 'text', 'smaps, smaps_rollup, cgroup (one row for all files of a group).'),
('v_side_file', 'name', 'text', 'Its path, or its name in the archive; of a cgroup''s files what their names have in common, or what was named.'),
('v_side_file', 'place', 'text', 'named (by an option), beside the core, in the archive.'),
('v_side_file', 'is_used', '0/1', '0: it was found, and is damaged or not of this process.'),
('v_side_file', 'reason', 'text', 'Why it is not used; NULL: it is.');

-- Writable memory of which the core has not one byte: the headers say that it was mapped, the file
-- has nothing of it. The kernel leaves out so what was never written to, what the process itself
-- excluded (MADV_DONTDUMP), and what coredump_filter excludes (shared mappings of files); the core
-- is the same for all three. A smaps tells them apart: without a page in memory or in swap there
-- was nothing to write.
CREATE VIEW v_unknown_memory AS
SELECT s.start, printf('0x%x', s.start) AS start_hex, s.end - s.start AS mapped_bytes, s.kind, s.file,
       CASE WHEN k.is_dontdump THEN 'DONTDUMP' WHEN k.start IS NOT NULL THEN 'content'
            ELSE 'unknown' END AS why,
       k.rss_bytes + k.swap_bytes AS content_bytes
FROM segment s LEFT JOIN kernel_mapping k ON k.start <= s.start AND k."end" > s.start
WHERE substr(s.flags, 2, 1) = 'w' AND s.dumped_bytes = 0 AND s.missing_bytes = 0
  AND s.kind IN ('anonymous', 'file', 'shared', 'unknown')
  AND (k.start IS NULL OR k.rss_bytes + k.swap_bytes > 0)
  AND (SELECT value FROM meta WHERE key = 'anonymous_dumped') IS NOT 0;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_unknown_memory', '', '', 'One row for each writable mapping of which the core has not one byte, and of which nothing says that it was never written to. Pointers may stand there: what only they hold looks leaked.'),
('v_unknown_memory', 'start', 'address', 'First byte.'),
('v_unknown_memory', 'start_hex', 'text', 'The same in hex.'),
('v_unknown_memory', 'mapped_bytes', 'bytes', 'Its address space.'),
('v_unknown_memory', 'kind', 'text', 'As in v_segment.'),
('v_unknown_memory', 'file', 'text', 'The file that is mapped; NULL: none.'),
('v_unknown_memory', 'why', 'text', 'DONTDUMP: the process asked for it to be left out (smaps says so); content: smaps counts pages of it; unknown: never written to, or left out, the core does not tell.'),
('v_unknown_memory', 'content_bytes', 'bytes', 'In memory or in swap by smaps; NULL: no smaps.');
