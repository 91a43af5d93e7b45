-- The facts that the rules judge (table fact, one row), group by group: each is read once, and
-- later groups stand on earlier ones. Run after the load, before the rules.

-- query: facts
DELETE FROM fact;
INSERT INTO fact DEFAULT VALUES;

-- What the core leaves open of files and shared memory, as smaps counts it.
UPDATE segment SET resident_bytes = k.rss_bytes
FROM kernel_mapping k
WHERE k.start = segment.start AND k."end" = segment."end" AND segment.resident_bytes IS NULL;

UPDATE module SET resident_bytes = (SELECT sum(s.resident_bytes) FROM segment s
    WHERE s.file = module.file AND s.start >= module.start AND s."end" <= module."end")
WHERE EXISTS (SELECT 1 FROM kernel_mapping);

-- What is known of the core and its process.
UPDATE fact SET outcome = m.outcome, complete = m.complete, missing_bytes = m.missing_bytes,
    anonymous_dumped = m.anonymous_dumped, residency_exact = m.residency_exact,
    residency_source = m.residency_source, examined = m.examined, producer = m.producer,
    page_bytes = m.page_bytes, cpus = m.cpus, arena_limit = m.arena_limit,
    arena_limit_formula = m.arena_limit_formula, abort_message = m.abort_message,
    refused_glibc = m.refused_glibc
FROM (SELECT
    CAST(max(value) FILTER (WHERE key = 'outcome') AS INTEGER) AS outcome,
    CAST(max(value) FILTER (WHERE key = 'core_complete') AS INTEGER) AS complete,
    CAST(max(value) FILTER (WHERE key = 'missing_bytes') AS INTEGER) AS missing_bytes,
    CAST(max(value) FILTER (WHERE key = 'anonymous_dumped') AS INTEGER) AS anonymous_dumped,
    CAST(max(value) FILTER (WHERE key = 'residency_exact') AS INTEGER) AS residency_exact,
    max(value) FILTER (WHERE key = 'residency_source') AS residency_source,
    CAST(max(value) FILTER (WHERE key = 'reachability') AS INTEGER) AS examined,
    max(value) FILTER (WHERE key = 'core_producer') AS producer,
    CAST(max(value) FILTER (WHERE key = 'page_bytes') AS INTEGER) AS page_bytes,
    CAST(max(value) FILTER (WHERE key = 'cpus') AS INTEGER) AS cpus,
    CAST(max(value) FILTER (WHERE key = 'arena_limit') AS INTEGER) AS arena_limit,
    max(value) FILTER (WHERE key = 'arena_limit_formula') AS arena_limit_formula,
    nullif(max(value) FILTER (WHERE key = 'abort_message'), '') AS abort_message,
    max(value) FILTER (WHERE key = 'malloc_refused') AS refused_glibc
    FROM meta) m;

UPDATE fact SET arena_max = t.arena_max, trim_threshold = t.trim_threshold,
    mmap_threshold = t.mmap_threshold
FROM (SELECT
    CAST(max(value) FILTER (WHERE name = 'arena_max') AS INTEGER) AS arena_max,
    CAST(max(value) FILTER (WHERE name = 'trim_threshold') AS INTEGER) AS trim_threshold,
    CAST(max(value) FILTER (WHERE name = 'mmap_threshold') AS INTEGER) AS mmap_threshold
    FROM tunable) t;

UPDATE fact SET threads = (SELECT count(*) FROM thread),
    not_computed = (SELECT group_concat(what || ' (' || reason || ')', '; ') FROM not_computed),
    unverified_files = (SELECT count(*) FROM module WHERE symbols_verified = 0);

-- The process's anonymous memory, and malloc's part of it.
UPDATE fact SET resident_bytes = b.resident, heap_resident_bytes = b.malloc,
    mmapped_resident_bytes = coalesce(b.mmapped, 0)
FROM (SELECT
    sum(resident_bytes) FILTER (WHERE is_anonymous AND kind <> 'unattributed') AS resident,
    sum(resident_bytes) FILTER (WHERE kind IN ('malloc main heap', 'malloc arena heaps',
                                               'malloc mmapped chunks')) AS malloc,
    sum(resident_bytes) FILTER (WHERE kind = 'malloc mmapped chunks') AS mmapped
    FROM budget) b;

UPDATE fact SET arenas = a.arenas, used_arenas = coalesce(a.used, 0), idle_arenas = a.idle,
    heaps = coalesce(a.heaps, 0), mapped_bytes = a.mapped,
    live_bytes = coalesce(a.live, 0) + m.bytes, live_chunks = coalesce(a.live_chunks, 0) + m.chunks,
    dead_bytes = a.dead, tcache_bytes = a.tcache,
    bare_arenas = a.bare
FROM (SELECT count(*) AS arenas, sum(coalesce(system_bytes, mapped_bytes) > 0) AS used,
    sum(NOT is_main AND coalesce(threads, attached_threads) = 0) AS idle,
    sum(heaps) AS heaps, sum(mapped_bytes) AS mapped,
    sum(live_bytes) AS live, sum(live_chunks) AS live_chunks,
    sum(hole_bytes + top_bytes) AS dead, sum(tcache_bytes) AS tcache,
    count(*) FILTER (WHERE is_main AND address IS NULL) AS bare
    FROM arena) a,
    (SELECT coalesce(sum(chunks), 0) AS chunks, coalesce(sum(bytes), 0) AS bytes
     FROM v_size_class WHERE state = 'mmapped') m;

-- A thread gets an arena that another one is attached to only where no more of them may be made
-- (arena_get2, reused_arena; 2.23 and later count who is attached).
UPDATE fact SET limit_reached = 1, arena_limit = r.arenas, cpus = r.arenas / r.each
FROM (SELECT arenas, each, arenas % each = 0 AND
             (SELECT max(attached_threads) FROM arena WHERE namespace = 0) > 1 AS reached
      FROM (SELECT (SELECT count(*) FROM arena WHERE namespace = 0) AS arenas,
                   CAST(substr(arena_limit_formula, 1, 1) AS INTEGER) AS each FROM fact
            WHERE coalesce(arena_limit, arenas) = arenas AND complete
                  AND arena_limit_formula LIKE '_ x cores')
      WHERE NOT EXISTS (SELECT 1 FROM tunable WHERE name = 'arena_test' AND source <> 'default')) r
WHERE r.reached;

-- Where the resident bytes of the heaps go, and what arenas cost beside main.
UPDATE fact SET live_resident_bytes = w.live + mmapped_resident_bytes,
    retained_free_bytes = w.releasable + w.pinned + w.top + w.cached + w.cache_pinned + w.edge,
    releasable_bytes = w.releasable, pinned_bytes = w.pinned,
    top_resident_bytes = w.top,
    stuck_bytes = w.pinned + w.top + w.cached + w.cache_pinned + w.edge,
    cached_bytes = w.cached, tcache_resident_bytes = w.tcache, cache_pinned_bytes = w.cache_pinned,
    edge_bytes = w.edge, arena_fixed_bytes = w.fixed
FROM (SELECT sum(bytes) FILTER (WHERE arena_id IS NULL AND class = 'live') AS live,
    sum(bytes) FILTER (WHERE arena_id IS NULL AND class = 'releasable') AS releasable,
    sum(bytes) FILTER (WHERE arena_id IS NULL AND class = 'pinned') AS pinned,
    sum(bytes) FILTER (WHERE arena_id IS NULL AND class = 'top') AS top,
    sum(bytes) FILTER (WHERE arena_id IS NULL AND class = 'cached') AS cached,
    sum(tcache_bytes) FILTER (WHERE arena_id IS NULL) AS tcache,
    sum(bytes) FILTER (WHERE arena_id IS NULL AND class = 'cache-pinned') AS cache_pinned,
    sum(bytes) FILTER (WHERE arena_id IS NULL AND class = 'edge') AS edge,
    sum(bytes) FILTER (WHERE arena_id > 0 AND class = 'overhead') +
    sum(bytes) FILTER (WHERE arena_id > 0 AND class = 'top') +
    sum(bytes) FILTER (WHERE arena_id > 0 AND class = 'edge') AS fixed
    FROM waste) w;

UPDATE fact SET idle_resident_bytes = i.resident, idle_free_bytes = i.free,
    main_idle_bytes = iif(i.free * 4 >= retained_free_bytes, i.free, NULL)
FROM (SELECT sum(resident_bytes) AS resident, sum(dead_resident_bytes) AS free FROM v_arena_waste
      WHERE NOT is_main AND threads = 0) i
WHERE idle_arenas > 0 AND complete;

UPDATE fact SET given_back_bytes = max(dead_bytes - retained_free_bytes, 0),
    least_given_back = iif(residency_exact = 1, '', 'at most ');

-- Who runs a program can seldom add a call to it: the words of its runtime, the one with the most
-- memory, or of programs that are known by their files; else the call, or a debugger's.
UPDATE fact SET trim_words = coalesce(
    (SELECT k.words FROM (SELECT 1 AS place, 'libruby' AS file, 'Ruby: require "fiddle"; Fiddle::Function.new(Fiddle.dlopen(nil)["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT).call(0)' AS words
        UNION ALL SELECT 2, 'php', 'PHP has no call for it: pm.max_requests lets php-fpm end its workers after so many requests, and their memory goes with them'
        UNION ALL SELECT 3, 'libphp', 'PHP has no call for it: MaxConnectionsPerChild lets Apache end its workers after so many connections, and their memory goes with them'
        UNION ALL SELECT 4, 'libluajit', 'lua_malloc_trim in nginx.conf (OpenResty), or malloc_trim(0) by LuaJIT''s ffi.C'
        UNION ALL SELECT 5, 'libR.so', 'R has no call for it: end the session, or once, from outside: gdb -p PID -batch -ex ''call (int)malloc_trim(0)''') k
     WHERE EXISTS (SELECT 1 FROM module WHERE file LIKE '%/' || k.file || '%'
                   AND file NOT LIKE '%/' || k.file || '%/%')
     ORDER BY k.place LIMIT 1),
    (SELECT r.trim FROM runtime r JOIN budget b ON b.runtime = r.name
     GROUP BY r.name ORDER BY total(b.resident_bytes) DESC, r.name LIMIT 1),
    'call malloc_trim(0); where the program cannot be changed, gdb -p PID -batch -ex ''call (int)malloc_trim(0)''');

-- Thread caches; whose thread is gone is known only where that of some is.
UPDATE fact SET caches = t.caches,
    dead_caches = iif(t.told > 0, t.dead, NULL),
    dead_cache_chunks = iif(t.told > 0, t.chunks, NULL),
    dead_cache_bytes = iif(t.told > 0, t.bytes, NULL)
FROM (SELECT count(*) FILTER (WHERE chunks > 0) AS caches, count(thread_id) AS told,
    count(*) FILTER (WHERE thread_id IS NULL AND chunks > 0) AS dead,
    coalesce(sum(chunks) FILTER (WHERE thread_id IS NULL), 0) AS chunks,
    coalesce(sum(bytes) FILTER (WHERE thread_id IS NULL), 0) AS bytes FROM tcache) t;

UPDATE fact SET thread_dead_bytes = (SELECT sum(bytes) FROM waste
    WHERE arena_id > 0 AND class IN ('releasable', 'pinned', 'top', 'edge')),
    large_live_bytes = (SELECT coalesce(sum(bytes), 0) FROM v_size_class
                        WHERE state = 'live' AND size_bytes >= 131072 AND arena_id IS NOT NULL),
    former_large_bytes = (SELECT total(resident_bytes) FROM former_block),
    former_large_blocks = (SELECT total(blocks) FROM former_block),
    threshold_gain_bytes = (SELECT more_bytes FROM v_trim_if
                            WHERE kind = 'threshold');

-- The group that would give back the most beside its own bytes.
UPDATE fact SET group_name = g.name, group_chunks = g.chunks, group_bytes = g.bytes,
    group_gain_bytes = g.more_bytes
FROM (SELECT iif(kind = 'type', 'all ' || without, 'all that ' || without || ' keeps alive alone')
             AS name, chunks, bytes, more_bytes
      FROM v_trim_if WHERE kind IN ('owner', 'type') AND more_bytes >= 2 * bytes
      ORDER BY more_bytes DESC, bytes LIMIT 1) g;

-- What nothing reaches, and what could not be searched.
UPDATE fact SET leak_bytes = l.bytes, leak_chunks = l.chunks, leak_roots = l.roots
FROM (SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(chunks), 0) AS chunks,
    coalesce(sum(root_chunks), 0) AS roots FROM leak) l
WHERE examined;

UPDATE fact SET missing_roots = r.places, missing_stacks = r.stacks, root_ranges = r.ranges
FROM (SELECT sum(missing_places) AS places,
    sum(missing_places) FILTER (WHERE kind = 'stack') AS stacks,
    sum(ranges) FILTER (WHERE kind NOT IN ('register', 'stack')) AS ranges FROM root) r;

-- Writable memory of which the core has nothing: what may stand there cannot be told.
UPDATE fact SET unknown_memory_bytes = u.bytes, unknown_memory_mappings = nullif(u.mappings, 0),
    unknown_file = u.file, dontdump_bytes = u.dontdump, content_lost_bytes = u.content
FROM (SELECT sum(mapped_bytes) AS bytes, count(*) AS mappings,
    (SELECT file FROM v_unknown_memory WHERE file IS NOT NULL
     ORDER BY mapped_bytes DESC, start LIMIT 1) AS file,
    sum(mapped_bytes) FILTER (WHERE why = 'DONTDUMP') AS dontdump,
    sum(content_bytes) AS content FROM v_unknown_memory) u;

UPDATE fact SET uncounted_bytes =
    (SELECT sum(mapped_bytes) FROM v_unknown_memory WHERE why = 'unknown');

UPDATE fact SET uring_bytes = (SELECT sum("end" - start) FROM segment
    WHERE file LIKE '%io_uring%' AND dumped_bytes = 0);

-- What may hide pointers, and what may show too many.
UPDATE fact SET hidden_runtime = h.name, hidden_runtime_bytes = h.bytes
FROM (SELECT r.name, sum(b.resident_bytes) AS bytes FROM runtime r JOIN budget b ON b.runtime = r.name
    WHERE r.hides_pointers AND b.area = 'objects' GROUP BY r.name ORDER BY bytes DESC LIMIT 1) h;

UPDATE fact SET debug_malloc = (SELECT file FROM module WHERE file LIKE '%/libc_malloc_debug.so%'
    LIMIT 1);

UPDATE fact SET least = iif(residency_exact = 1 AND complete = 1 AND
    NOT EXISTS (SELECT 1 FROM v_unknown_memory WHERE kind <> 'file' AND why = 'unknown'), '', 'at least ');

-- What the live chunks are: the size, and the named type, that hold the most bytes.
UPDATE fact SET big_size = b.size_bytes, big_chunks = b.chunks, big_bytes = b.bytes
FROM (SELECT size_bytes, sum(chunks) AS chunks, sum(bytes) AS bytes
    FROM v_size_class WHERE state IN ('live', 'mmapped')
    GROUP BY size_bytes ORDER BY bytes DESC, size_bytes LIMIT 1) b;

-- A text's type is in brackets, which it has already where it stands in a sentence.
UPDATE fact SET big_type = iif(t.type IN (SELECT type FROM type WHERE evidence IN ('text', 'pointers')),
    substr(t.type, 2, length(t.type) - 2), t.type)
FROM (SELECT type FROM size_type WHERE size_bytes = (SELECT big_size FROM fact)
    ORDER BY chunks DESC, type LIMIT 1) t;

UPDATE fact SET kind_bytes = k.bytes,
    kind_phrase = CASE k.evidence WHEN 'text' THEN 'text'
        WHEN 'pointers' THEN 'arrays of pointers'
        WHEN 'owner' THEN 'in ' || k.name || 's'
        ELSE CASE WHEN k.memory_bytes = k.bytes THEN 'memory of ' || k.name
                  WHEN k.memory_bytes * 20 >= k.bytes THEN 'of type ' || k.name || ', or hangs on such'
                  ELSE 'of type ' || k.name END END
FROM (SELECT coalesce(memory_of, type) AS name, sum(bytes) AS bytes,
    total(bytes) FILTER (WHERE memory_of IS NOT NULL) AS memory_bytes,
    max(evidence) FILTER (WHERE memory_of IS NULL) AS evidence
    FROM type WHERE type IS NOT NULL
    GROUP BY coalesce(memory_of, type) ORDER BY bytes DESC, name LIMIT 1) k;

UPDATE fact SET holder_name = h.name, holder_bytes = h.bytes
FROM (SELECT CASE kind WHEN 'stack' THEN 'the stack of ' || name
                       WHEN 'register' THEN 'registers of ' || name
                       WHEN 'tls' THEN 'thread-local data of ' || name
                       WHEN 'global' THEN 'global ' || name
                       ELSE name END AS name, bytes
    FROM owner WHERE kind NOT IN ('type', 'module', 'shared') ORDER BY bytes DESC LIMIT 1) h;

UPDATE fact SET first_leak_name = coalesce(CASE g.type WHEN '(text)' THEN 'texts'
        WHEN '(array of pointers)' THEN 'arrays of pointers' ELSE g.type END, printf('chunks of %d bytes', g.size_bytes)
                                               || coalesce(' that point to ' || g.points_to, '')),
    first_leak_leaders = g.leaders, first_leak_bytes = g.bytes,
    first_leak_call = 'bpftrace -p PID -e ''uprobe:' || l.path || ':malloc /arg0 > '
        || max(0, g.size_bytes - 3 * l.word) || ' && arg0 <= ' || (g.size_bytes - l.word)
        || '/ { @[ustack] = count(); }'''
FROM (SELECT * FROM leak_group ORDER BY group_id LIMIT 1) g,
     (SELECT nullif((SELECT value FROM meta WHERE key = 'libc_path'), '') AS path,
             (SELECT value FROM meta WHERE key = 'word_bits') / 8 AS word) l;

UPDATE fact SET ghost_phrase = printf('%,d of %s still show in free memory; ', g.ghosts, g.type)
    || CASE g.alive WHEN 0 THEN 'none is' WHEN 1 THEN '1 is' ELSE printf('%,d are', g.alive) END
    || ' alive'
FROM (SELECT * FROM v_ghost WHERE ghosts >= 100 ORDER BY ghosts DESC, type LIMIT 1) g;

-- What pins pages and tops.
UPDATE fact SET pinner_size = p.size_bytes, pinner_chunks = p.chunks, pinner_bytes = p.pinned_bytes,
    pinner_type = iif(p.type IN (SELECT type FROM type WHERE evidence IN ('text', 'pointers')),
        substr(p.type, 2, length(p.type) - 2), p.type),
    pinner_held_by = p.held_by
FROM (SELECT * FROM v_pinner LIMIT 1) p;

UPDATE fact SET pinner_gain_bytes = (SELECT more_bytes FROM v_trim_if
    WHERE kind = 'size' AND more_bytes >= 2 * bytes);

UPDATE fact SET pinning_chunks = (SELECT sum(chunks) FROM page_pin);

UPDATE fact SET unlock_1_bytes = u.one, unlock_10_bytes = u.ten, unlock_100_bytes = u.hundred,
    pinned_tops = u.tops
FROM (SELECT sum(one) AS one, sum(ten) AS ten, sum(hundred) AS hundred,
    coalesce(sum(tops), 0) AS tops
    FROM (SELECT max(returned_bytes) FILTER (WHERE rank = 1) AS one,
        max(returned_bytes) FILTER (WHERE rank <= 10) AS ten,
        max(returned_bytes) FILTER (WHERE rank <= 100) AS hundred,
        count(*) FILTER (WHERE rank = 1) AS tops
        FROM top_pin GROUP BY arena_id)) u;

UPDATE fact SET top_pin_size = t.size_bytes, top_pin_bytes = t.returned_bytes,
    top_pin_words = '(' || coalesce(t.type || ', ', '') || 'malloc returned ' ||
        t.user_address_hex || coalesce(', hangs on ' || t.held_by, '') || ')'
FROM (SELECT * FROM v_top_pin WHERE rank = 1 ORDER BY returned_bytes DESC LIMIT 1) t
WHERE t.returned_bytes * 2 >= retained_free_bytes;

UPDATE fact SET top_pins_bytes = unlock_1_bytes
WHERE top_pin_size IS NULL AND unlock_1_bytes * 2 >= retained_free_bytes;

-- What is not malloc's.
UPDATE fact SET foreign_kind = f.kind, foreign_label = f.label, foreign_bytes = f.resident
FROM (SELECT kind, label, sum(resident_bytes) AS resident
    FROM budget WHERE kind IN ('managed heap', 'other allocator')
    GROUP BY kind, label ORDER BY resident DESC LIMIT 1) f;

UPDATE fact SET shared_heap_label = s.label, shared_heap_bytes = s.mapped
FROM (SELECT label, sum(mapped_bytes) AS mapped FROM budget
    WHERE kind = 'managed heap' AND NOT is_anonymous AND area = 'objects'
    GROUP BY label ORDER BY mapped DESC LIMIT 1) s;

UPDATE fact SET outsider_bytes = o.resident_bytes,
    outsider_name = iif(o.part = 'other anonymous', 'anonymous mappings of unknown use', o.part),
    outsider_advice = CASE WHEN o.kind IN ('managed heap', 'other allocator')
        THEN coalesce((SELECT advice FROM budget b JOIN runtime r ON b.runtime = r.name
                       WHERE b.kind = o.kind AND b.label = o.part LIMIT 1),
                      'Look at the runtime''s own heap first: its limits, its own dump')
        WHEN o.kind LIKE '%stack%'
        THEN 'Look at the threads first: how many, and how deep their stacks go (v_stack)'
        ELSE 'Find out who maps it: v_segment has the largest mappings' END
FROM (SELECT part, kind, resident_bytes FROM v_memory
    WHERE is_anonymous AND part NOT LIKE 'malloc %' ORDER BY resident_bytes DESC LIMIT 1) o;

-- What does not add up, or is not there.
UPDATE fact SET corruptions = a.corruptions, anomalies = a.anomalies,
    contradictions = a.contradictions, damaged_tables = a.damaged_tables
FROM (SELECT count(*) AS anomalies, count(*) FILTER (WHERE is_corruption) AS corruptions,
    count(*) FILTER (WHERE code = 'witness-disagrees') AS contradictions,
    count(*) FILTER (WHERE code IN ('notes-cut', 'headers-cut', 'files-cut', 'segment-count',
                                    'segment-count-lost', 'no-segments')) AS damaged_tables
    FROM anomaly) a;

-- Where the first damage is, and the chunk below it, which is the suspect where it was overrun.
UPDATE fact SET damaged_address = printf('0x%x', a.address)
FROM (SELECT address FROM anomaly WHERE is_corruption AND address IS NOT NULL
    ORDER BY address IN (SELECT address FROM arena), anomaly_id LIMIT 1) a;

UPDATE fact SET damaged_address = coalesce(address_hex, damaged_address),
    damage_words = CASE d.kind
        WHEN 'header' THEN 'The header at ' || d.address_hex || ' was overwritten, probably from'
            || ' below.'
        WHEN 'zero-byte' THEN 'The lowest byte of the size at ' || d.address_hex || ' is 0, as a'
            || ' text leaves it that is one byte too long for the block below.'
        WHEN 'byte' THEN 'The lowest byte of the size at ' || d.address_hex || ' was overwritten,'
            || ' probably from below.'
        WHEN 'dead-chunk' THEN 'What malloc keeps in the free chunk at ' || d.address_hex
            || ' was overwritten, and its header was not: something wrote there after free().'
        WHEN 'list-head' THEN 'The list of free chunks at ' || d.address_hex || ' leads to where'
            || ' none is: the link of a chunk that was taken from it had been overwritten.'
        WHEN 'freed-twice' THEN 'The chunk at ' || d.address_hex || ' was freed twice.' END,
    suspect_address = printf('0x%x', d.suspect_address
        + (SELECT value / 4 FROM meta WHERE key = 'word_bits')),
    suspect_size = d.suspect_size, suspect_state = d.suspect_state,
    suspect_type = d.suspect_type, suspect_holder = d.holder, overrun_bytes = d.overrun_bytes
FROM v_damage d;
UPDATE fact SET suspect_address = NULL WHERE suspect_size IS NULL;

UPDATE fact SET crash_tid = t.tid
FROM (SELECT tid FROM thread WHERE is_crashing ORDER BY thread_id LIMIT 1) t
WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'signal' AND value > 0);

UPDATE fact SET crash_frames = f.functions
FROM (SELECT group_concat(function, ' <- ') AS functions
    FROM (SELECT function FROM frame
        WHERE thread_id = (SELECT thread_id FROM thread WHERE is_crashing ORDER BY thread_id LIMIT 1)
        AND function IS NOT NULL AND function NOT IN ('__pthread_kill_implementation',
            '__pthread_kill_internal', 'pthread_kill', 'raise', 'gsignal', 'abort',
            '__libc_message', '__libc_message_impl', 'malloc_printerr',
            '__libc_start_call_main', '__libc_start_main', '_start', 'start_thread', 'clone3')
        ORDER BY frame LIMIT 4)) f
WHERE crash_tid IS NOT NULL;

-- Whether it is certain: checks of several kinds fail there, or the program stopped in malloc.
UPDATE fact SET damage_kinds = d.kinds
FROM (SELECT count(DISTINCT code) AS kinds FROM anomaly WHERE is_corruption AND address =
    (SELECT address FROM anomaly WHERE is_corruption AND address IS NOT NULL
     ORDER BY anomaly_id LIMIT 1)) d
WHERE damaged_address IS NOT NULL;

UPDATE fact SET crash_in_malloc = EXISTS (SELECT 1 FROM frame
    WHERE thread_id = (SELECT thread_id FROM thread WHERE is_crashing ORDER BY thread_id LIMIT 1)
    AND function IN ('malloc', '__libc_malloc', 'free', '__libc_free', 'cfree', 'realloc',
        '__libc_realloc', 'calloc', '__libc_calloc', '_int_malloc', '_int_free', '_int_free_chunk',
        '_int_free_merge_chunk', '_int_free_maybe_consolidate', '_int_realloc', '_int_memalign',
        'malloc_consolidate', 'unlink_chunk', 'sysmalloc', 'systrim', 'tcache_thread_shutdown',
        'malloc_printerr'))
WHERE crash_tid IS NOT NULL;

UPDATE fact SET faulted = EXISTS (SELECT 1 FROM anomaly
    WHERE code = 'fault-in-malloc' AND is_corruption);

UPDATE fact SET left_out_heap_bytes =
    (SELECT sum(min(h."end", s."end") - max(h.start, s.start))
     FROM segment s JOIN heap h ON h.start < s."end" AND h."end" > s.start
     WHERE s.flags LIKE '%w%' AND s.dumped_bytes = 0 AND s.missing_bytes = 0);

UPDATE fact SET missing_heap_bytes =
    (SELECT sum(min(h.end, s.end) - max(h.start, s.start + s.dumped_bytes))
     FROM segment s JOIN heap h ON h.start < s.end AND h.end > s.start + s.dumped_bytes
     WHERE s.missing_bytes > 0);

-- What is in memory of sums of chunks, which are address space.
UPDATE fact SET leak_resident_bytes = min(live_resident_bytes, coalesce(
    (SELECT sum(resident_bytes) FROM leak), leak_bytes));

UPDATE fact SET
    leaked_bytes = iif(residency_exact = 1, coalesce(leak_resident_bytes, leak_bytes), leak_bytes),
    leak_absent_bytes = iif(residency_exact = 1 AND
        (leak_bytes - leak_resident_bytes) * 20 >= leak_bytes,
        nullif(leak_bytes - leak_resident_bytes, 0), NULL),
    leak_unsure_bytes = iif(residency_exact = 0 AND
        (leak_bytes - leak_resident_bytes) * 20 >= leak_bytes,
        nullif(leak_bytes - leak_resident_bytes, 0), NULL),
    unpaid_leak_bytes = iif(residency_exact = 1 AND leak_bytes >= 1048576 AND
        leak_resident_bytes * 20 < leak_bytes, leak_bytes, NULL),
    tcache_gain_bytes = (SELECT more_bytes FROM v_trim_if WHERE kind = 'caches');

-- What the kernel counted.
UPDATE fact SET rss_bytes = (SELECT sum(bytes) FROM v_rss WHERE in_rss),
    kernel_rss_bytes = k.rss, kernel_pss_bytes = k.pss, kernel_anonymous_bytes = k.anonymous,
    limit_bytes = k.most, oom_kills = k.kills, group_bytes_now = k.now, group_bytes_peak = k.peak,
    socket_bytes = k.sockets, cache_bytes = k.cache
FROM (SELECT max(bytes) FILTER (WHERE source LIKE 'smaps%' AND name = 'Rss') AS rss,
    max(bytes) FILTER (WHERE source LIKE 'smaps%' AND name = 'Pss') AS pss,
    max(bytes) FILTER (WHERE source LIKE 'smaps%' AND name = 'Anonymous') AS anonymous,
    max(bytes) FILTER (WHERE name = 'memory.max') AS most,
    max(times) FILTER (WHERE name = 'oom_kill') AS kills,
    max(bytes) FILTER (WHERE name = 'memory.current') AS now,
    max(bytes) FILTER (WHERE name = 'memory.peak') AS peak,
    max(bytes) FILTER (WHERE name = 'sock') AS sockets,
    max(bytes) FILTER (WHERE name = 'file') AS cache
    FROM kernel_figure) k;

UPDATE fact SET refused_side_file = f.name, refused_reason = f.reason
FROM (SELECT name, reason FROM v_side_file WHERE NOT is_used LIMIT 1) f;

UPDATE fact SET limit_free_percent = 100.0 * retained_free_bytes / nullif(limit_bytes, 0),
    no_limit = iif(limit_bytes IS NULL AND oom_kills > 0, 1, NULL);

UPDATE fact SET kernel_more_bytes = nullif(max(kernel_rss_bytes - rss_bytes, 0), 0),
    kernel_less_bytes = nullif(max(rss_bytes - kernel_rss_bytes, 0), 0),
    forked_bytes = (SELECT iif(sum(shared_bytes) * 50 >= kernel_anonymous_bytes, sum(shared_bytes),
                               NULL) FROM kernel_mapping WHERE anonymous_bytes = rss_bytes)
WHERE EXISTS (SELECT 1 FROM kernel_mapping);

UPDATE fact SET main_file = replace(f.file, rtrim(f.file, replace(f.file, '/', '')), ''),
    main_file_bytes = f.rss
FROM (SELECT s.file, sum(k.rss_bytes) AS rss FROM kernel_mapping k JOIN segment s USING (start)
    WHERE s.file IS NOT NULL GROUP BY s.file ORDER BY rss DESC, s.file LIMIT 1) f
WHERE f.rss >= 16777216 OR f.rss * 20 >= kernel_rss_bytes;

UPDATE fact SET dead_size = iif(d.percent >= 50, d.size_bytes, NULL),
    dead_size_chunks = iif(d.percent >= 50, d.chunks, NULL),
    dead_size_percent = iif(d.percent >= 50, d.percent, NULL),
    many_dead_percent = iif(d.percent < 50, d.percent, NULL)
FROM (SELECT size_bytes, chunks, percent FROM v_dead_size LIMIT 1) d
WHERE dead_bytes * 20 >= mapped_bytes;

-- What follows from those.
UPDATE fact SET
    retained_percent = 100.0 * retained_free_bytes / nullif(heap_resident_bytes, 0),
    heap_percent = 100.0 * heap_resident_bytes / nullif(resident_bytes, 0),
    outside_bytes = resident_bytes - heap_resident_bytes,
    leak_percent = iif(residency_exact = 1, 100.0 * leaked_bytes / nullif(live_resident_bytes, 0),
                       100.0 * leak_bytes / nullif(live_bytes, 0)),
    big_percent = 100.0 * big_bytes / nullif(live_bytes, 0),
    leak_hung_chunks = leak_chunks - leak_roots,
    live_absent_bytes = iif(residency_exact AND (live_bytes - live_resident_bytes) * 20 >= live_bytes,
                            live_bytes - live_resident_bytes, NULL),
    main_kind = iif(kind_bytes * 4 >= live_bytes, kind_phrase, NULL),
    other_kind = iif(kind_bytes * 4 >= live_bytes
                     AND (big_type IS NULL OR substr(kind_phrase, -length(big_type)) <> big_type),
                     kind_phrase, NULL),
    main_holder = iif(holder_bytes * 4 >= live_bytes, holder_name, NULL),
    small_leak_bytes = iif(unpaid_leak_bytes IS NULL AND leaked_bytes * 20 <
                           max(coalesce(heap_resident_bytes, mapped_bytes, 0), 1310720),
                           leaked_bytes, NULL),
    main_pinned_bytes = iif(pinned_bytes * 100 >= retained_free_bytes, pinned_bytes, NULL),
    compact_bytes = heap_resident_bytes - live_resident_bytes;

-- One size or many, where it is worth a word.
UPDATE fact SET main_size = iif(big_percent >= 50, big_size, NULL),
    main_size_chunks = iif(big_percent >= 50, big_chunks, NULL),
    main_size_percent = iif(big_percent >= 50, big_percent, NULL),
    many_sizes_percent = iif(big_percent < 50, big_percent, NULL)
WHERE live_bytes * 20 >= coalesce(heap_resident_bytes, mapped_bytes);

UPDATE fact SET main_pinner_size = pinner_size, main_pinner_type = pinner_type,
    main_pinner_holder =
        iif(pinner_held_by LIKE 'stack of %' OR pinner_held_by LIKE 'registers of %', 'the ', '')
        || pinner_held_by
WHERE pinner_bytes * 2 >= main_pinned_bytes;

UPDATE fact SET pinning_holder = h.name, pinning_holder_chunks = h.chunks
FROM (SELECT iif(kind = 'global', 'global ', '') || name AS name, chunks FROM owner
      WHERE kind IN ('global', 'runtime') ORDER BY chunks DESC, name LIMIT 1) h
WHERE main_pinned_bytes IS NOT NULL AND main_pinner_size IS NULL AND h.chunks * 2 >= live_chunks;

-- Once the findings stand: whoever reads one line only reads how near the limit is, and that most of
-- it is a file, where it is.

-- query: headline
UPDATE verdict SET headline = (SELECT group_concat(text, ' ') FROM (SELECT headline AS text
    UNION ALL SELECT title || '.' FROM
    (SELECT title FROM finding WHERE code IN ('mapped-file', 'by-cgroup') ORDER BY finding_id)))
