-- What a real malloc_trim(0) did in a forked child, against what we say that it would do. The
-- format is that of truth.sql.

--- every range that malloc_trim(0) gave up is one that we promise
--- needs traced
SELECT printf('0x%x', arg0) address, arg1 bytes FROM
    (SELECT arg0, arg1 FROM truth_call WHERE name = 'madvise' AND arg2 = 4 AND result = 0
     EXCEPT
     SELECT address, length_bytes FROM v_trim_range WHERE how = 'madvise');

--- every range that we promise is one that malloc_trim(0) gave up
--- needs traced
SELECT printf('0x%x', address) address, length_bytes FROM
    (SELECT address, length_bytes FROM v_trim_range WHERE how = 'madvise'
     EXCEPT
     SELECT arg0, arg1 FROM truth_call WHERE name = 'madvise' AND arg2 = 4 AND result = 0);

--- the break goes down as far as we say
--- needs traced
SELECT * FROM
    (SELECT (SELECT value FROM truth_figure WHERE kind = 'sbrk')
            - (SELECT min(result) FROM truth_call WHERE name = 'brk' AND arg0 > 0) went,
            (SELECT sum(length_bytes) FROM v_trim_range WHERE how = 'brk') said)
WHERE ifnull(went, 0) <> ifnull(said, 0);

--- the kernel counted as much as we promise, to the page
--- needs residency
SELECT * FROM
    (SELECT (SELECT value FROM truth_figure WHERE kind = 'trim_anonymous_before')
            - (SELECT value FROM truth_figure WHERE kind = 'trim_anonymous_after') came_back,
            (SELECT total(resident_bytes) FROM v_trim_range) said)
WHERE came_back <> said;

--- an arena's releasable bytes are those of its ranges
--- needs residency
SELECT a.arena_id, a.releasable_bytes, a.releasable_top_bytes, total(r.resident_bytes) ranges
FROM v_arena a LEFT JOIN v_trim_range r USING (arena_id) GROUP BY a.arena_id
HAVING a.releasable_bytes IS NOT total(r.resident_bytes)
    OR a.releasable_top_bytes IS NOT total(iif(r.how = 'brk', r.resident_bytes, 0));

--- malloc_trim(0) says whether it released anything, and so do we
SELECT t.value, (SELECT count(*) FROM v_trim_range) ranges FROM truth_figure t
WHERE t.kind = 'trim_result' AND t.value <> (SELECT count(*) > 0 FROM v_trim_range);

--- a trim asks the kernel for nothing else
--- needs traced
SELECT name, printf('0x%x', arg0) address, arg1, result FROM truth_call
WHERE name NOT IN ('madvise', 'brk') OR (name = 'madvise' AND (arg2 <> 4 OR result <> 0));

--- our range of the top ends at the break
SELECT printf('0x%x', t.value) sbrk, r.address_hex, r.length_bytes
FROM v_trim_range r, truth_figure t
WHERE r.how = 'brk' AND t.kind = 'sbrk' AND r.address + r.length_bytes <> t.value;

--- a trim takes from the main arena what we take from its top
SELECT b.arena, a.arena, (SELECT total(length_bytes) FROM v_trim_range WHERE how = 'brk') brk
FROM truth_mallinfo b, truth_mallinfo a
WHERE b.kind = 'mallinfo2' AND a.kind = 'mallinfo2_trimmed' AND b.arena - a.arena <> brk;

--- no more is promised than what comes back
SELECT b.value before, a.value after, (SELECT sum(releasable_bytes) FROM v_arena) releasable
FROM truth_figure b, truth_figure a
WHERE b.kind = 'trim_anonymous_before' AND a.kind = 'trim_anonymous_after'
  AND releasable > b.value - a.value;

--- the resident pages of our ranges are those of pagemap
--- needs pagemap
SELECT r.address_hex, r.length_bytes, r.resident_bytes,
       4096 * (SELECT count(*) FROM truth_page p WHERE p.address >= r.address
               AND p.address < r.address + r.length_bytes) pagemap
FROM v_trim_range r WHERE r.resident_bytes IS NOT pagemap;

--- resident page runs are the pages of pagemap
--- needs pagemap
SELECT r.start_hex, r.pages, r.resident,
       (SELECT count(*) FROM truth_page p WHERE p.address >= r.start
        AND p.address < r.start + r.pages * 4096) pagemap
FROM v_page_run r WHERE r.resident IS NULL OR r.pages * r.resident <> pagemap;
