-- What the rules over two cores of one program judge: one row.

-- query: growth
WITH kind AS (
    -- of which kind of live chunk there is more: by type where types are known, else by size
    SELECT 1 AS typed, type AS name, sum(after) - sum(before) AS bytes, sum(more) AS chunks
    FROM (SELECT type, 0 AS before, bytes AS after, chunks AS more
          FROM main.v_type WHERE type IS NOT NULL
          UNION ALL
          SELECT type, bytes, 0, -chunks FROM old.v_type WHERE type IS NOT NULL)
    GROUP BY type
    UNION ALL
    SELECT 0, size_bytes || ' bytes', sum(after) - sum(before), sum(more)
    FROM (SELECT size_bytes, 0 AS before, bytes AS after, chunks AS more
          FROM main.v_size_class WHERE state IN ('live', 'mmapped')
          UNION ALL
          SELECT size_bytes, bytes, 0, -chunks
          FROM old.v_size_class WHERE state IN ('live', 'mmapped'))
    GROUP BY size_bytes
), top AS (
    SELECT * FROM kind ORDER BY bytes * (1 + 0.5 * typed) DESC, name LIMIT 1
), outside AS (
    SELECT coalesce(nullif(part, 'other anonymous'), 'anonymous mappings of unknown use') AS part,
           sum(after) - sum(before) AS bytes
    FROM (SELECT part, 0 AS before, resident_bytes AS after
          FROM main.v_memory WHERE is_anonymous AND part NOT LIKE 'malloc %'
          UNION ALL
          SELECT part, resident_bytes, 0
          FROM old.v_memory WHERE is_anonymous AND part NOT LIKE 'malloc %')
    GROUP BY part ORDER BY bytes DESC LIMIT 1
)
SELECT n.live_bytes - o.live_bytes AS live_growth,
       n.live_bytes AS live_after,
       o.live_bytes AS live_before,
       iif(n.residency_exact AND o.residency_exact, n.leaked_bytes - o.leaked_bytes,
           n.leak_bytes - o.leak_bytes) AS leak_growth,
       iif(n.residency_exact AND o.residency_exact, n.leaked_bytes, n.leak_bytes) AS leak_after,
       n.retained_free_bytes - o.retained_free_bytes AS free_growth,
       n.retained_free_bytes AS free_after,
       n.releasable_bytes AS releasable_after,
       n.heap_resident_bytes - o.heap_resident_bytes AS heap_growth,
       n.outside_bytes - o.outside_bytes AS outside_growth,
       outside.part AS outside_part,
       outside.bytes AS outside_part_bytes,
       top.name AS top_name,
       top.bytes AS top_bytes,
       top.chunks AS top_chunks,
       iif(top.bytes <= n.live_bytes - o.live_bytes,
           100.0 * top.bytes / (n.live_bytes - o.live_bytes), NULL) AS top_percent,
       iif(top.typed, (SELECT holder FROM main.v_type WHERE type = top.name), NULL) AS top_holder
FROM main.v_fact n, old.v_fact o LEFT JOIN top ON 1 LEFT JOIN outside ON 1
