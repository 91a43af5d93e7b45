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
), holder AS (
    -- the root that alone keeps at least half of what is new
    SELECT iif(h.kind IN ('runtime', 'mapping'), '', h.kind || ' ') || h.name AS name, h.bytes,
           h.kind || ' ' || substr(h.name, 1, instr(h.name || ' (', ' (') - 1) AS symbol
    FROM main.v_owner h LEFT JOIN old.v_owner b ON b.kind = h.kind AND b.name = h.name,
         main.v_fact n, old.v_fact o
    WHERE h.kind NOT IN ('shared', 'type', 'module')
      AND (h.bytes - coalesce(b.bytes, 0)) * 2 >= n.live_bytes - o.live_bytes
    ORDER BY h.bytes - coalesce(b.bytes, 0) DESC, h.name LIMIT 1
), leader AS (
    -- of what hangs on it, the type that most of the chunks have that keep more than themselves
    SELECT t.type, t.chunks - coalesce(b.chunks, 0) AS chunks
    FROM (SELECT type, count(*) AS rows FROM main.v_retained
          WHERE retained_bytes > size_bytes GROUP BY type ORDER BY rows DESC, type LIMIT 1) r
    JOIN main.v_type t ON t.type = r.type LEFT JOIN old.v_type b ON b.type = t.type, holder
    WHERE t.evidence IN ('vtable', 'symbol') AND t.chunks > coalesce(b.chunks, 0) * 1.05
      AND substr(t.holder, 1, length(symbol)) = symbol
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
       holder.name AS grown_holder,
       holder.bytes AS grown_holder_bytes,
       leader.chunks AS leader_chunks,
       -- what make_shared puts around its object is nobody's word for it
       iif(leader.type LIKE 'std::_Sp_counted_ptr_inplace<%, (__gnu_cxx::_Lock_policy)_>',
           substr(leader.type, 30, length(leader.type) - 58), leader.type) AS leader_name,
       iif(leader.type IS NULL, top.chunks, NULL) AS first_chunks,
       iif(leader.type IS NULL, NULL, top.chunks) AS later_chunks,
       iif(top.bytes <= n.live_bytes - o.live_bytes,
           100.0 * top.bytes / (n.live_bytes - o.live_bytes), NULL) AS top_percent,
       iif(top.typed, (SELECT holder FROM main.v_type WHERE type = top.name), NULL) AS top_holder
FROM main.v_fact n, old.v_fact o LEFT JOIN top ON 1 LEFT JOIN outside ON 1 LEFT JOIN holder ON 1
     LEFT JOIN leader ON 1
