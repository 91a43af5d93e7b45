-- malloc's own structures: arenas, heaps, bins, thread caches, the statistics that it would give.

-- One libc. A program has one, and more with dlmopen or the debug-malloc preload.
CREATE TABLE namespace (
    namespace INTEGER PRIMARY KEY,
    main_arena INTEGER NOT NULL,
    mp_address INTEGER,
    mmapped_chunks INTEGER NOT NULL,
    mmapped_bytes INTEGER NOT NULL,
    max_total_bytes INTEGER NOT NULL
);

-- Sums over the heaps stand beside malloc's own fields: neither is derived from the other.
CREATE TABLE arena (
    arena_id INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    address INTEGER,
    is_main INTEGER NOT NULL,
    in_ring INTEGER NOT NULL,
    threads INTEGER,
    attached_threads INTEGER,
    system_bytes INTEGER,
    max_system_bytes INTEGER,
    top_field_bytes INTEGER,
    binned_chunks INTEGER,
    binned_bytes INTEGER,
    fastbin_chunks INTEGER,
    fastbin_bytes INTEGER,
    heaps INTEGER NOT NULL,
    mapped_bytes INTEGER NOT NULL,
    reserved_bytes INTEGER NOT NULL,
    resident_bytes INTEGER,
    live_chunks INTEGER NOT NULL,
    live_bytes INTEGER NOT NULL,
    free_chunks INTEGER NOT NULL,
    free_bytes INTEGER NOT NULL,
    fast_chunks INTEGER NOT NULL,
    fast_bytes INTEGER NOT NULL,
    tcache_chunks INTEGER NOT NULL,
    tcache_bytes INTEGER NOT NULL,
    top_bytes INTEGER NOT NULL,
    fence_bytes INTEGER NOT NULL,
    overhead_bytes INTEGER NOT NULL,
    holes INTEGER NOT NULL,
    hole_bytes INTEGER NOT NULL,
    largest_hole_bytes INTEGER NOT NULL,
    releasable_bytes INTEGER,
    releasable_top_bytes INTEGER,
    self_releasable_bytes INTEGER,
    pinned_bytes INTEGER
);
CREATE INDEX arena_address ON arena (address);

CREATE VIEW v_arena AS
SELECT arena_id, namespace,
       address, iif(address IS NULL, NULL, printf('0x%x', address)) AS address_hex,
       is_main, heaps, threads, attached_threads, system_bytes, max_system_bytes,
       mapped_bytes, reserved_bytes, resident_bytes,
       live_chunks, live_bytes, free_chunks, free_bytes, fast_chunks, fast_bytes,
       tcache_chunks, tcache_bytes, top_bytes, fence_bytes, overhead_bytes,
       holes, hole_bytes, largest_hole_bytes,
       releasable_bytes, releasable_top_bytes, self_releasable_bytes, pinned_bytes
FROM arena;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_arena', '', '', 'One row for each arena. live + free + fast + tcache + top + overhead bytes are mapped_bytes, exactly. Chunks with a mapping of their own (mmapped) belong to none.'),
('v_arena', 'arena_id', 'id', '0 is the main arena of the program''s libc.'),
('v_arena', 'namespace', 'id', 'Which libc it belongs to; 0 is the program''s.'),
('v_arena', 'address', 'address', 'Its malloc_state; NULL when only its heaps were found.'),
('v_arena', 'address_hex', 'hex', 'address as text.'),
('v_arena', 'is_main', '0/1', '1: a main arena, grown by brk.'),
('v_arena', 'heaps', 'count', 'Its heaps (contiguous pieces), as in v_heap.'),
('v_arena', 'threads', 'count', 'Threads in the core that allocate from it; NULL when that is not known of any thread.'),
('v_arena', 'attached_threads', 'count', 'The same as malloc itself counts; NULL before glibc 2.23.'),
('v_arena', 'system_bytes', 'bytes', 'malloc''s system_mem: what it says it has from the kernel; NULL when its malloc_state is not in the core.'),
('v_arena', 'max_system_bytes', 'bytes', 'malloc''s max_system_mem: the highest that ever was; NULL as above.'),
('v_arena', 'mapped_bytes', 'bytes', 'Accessible bytes of its heaps.'),
('v_arena', 'reserved_bytes', 'bytes', 'Address space kept for growth (PROT_NONE); costs no memory.'),
('v_arena', 'resident_bytes', 'bytes', 'Of mapped_bytes, in memory when the core was written; NULL when nothing says so; see meta residency_exact.'),
('v_arena', 'live_chunks', 'chunks', 'Chunks that the program or libc itself holds.'),
('v_arena', 'live_bytes', 'bytes', 'Their bytes, headers included.'),
('v_arena', 'free_chunks', 'chunks', 'Free chunks in bins.'),
('v_arena', 'free_bytes', 'bytes', 'Their bytes.'),
('v_arena', 'fast_chunks', 'chunks', 'Freed chunks that wait in fastbins.'),
('v_arena', 'fast_bytes', 'bytes', 'Their bytes.'),
('v_arena', 'tcache_chunks', 'chunks', 'Freed chunks that wait in the caches of threads.'),
('v_arena', 'tcache_bytes', 'bytes', 'Their bytes.'),
('v_arena', 'top_bytes', 'bytes', 'The wilderness: free, at the arena''s upper end.'),
('v_arena', 'fence_bytes', 'bytes', 'glibc''s end markers of abandoned pieces; part of overhead_bytes.'),
('v_arena', 'overhead_bytes', 'bytes', 'heap_info, malloc_state, fences, alignment, foreign sbrk gaps, bytes beyond the top.'),
('v_arena', 'holes', 'holes', 'Runs of neighbouring dead chunks (free, fast, tcache) below the top, of any size; v_hole has those of at least a page.'),
('v_arena', 'hole_bytes', 'bytes', 'Their bytes: free + fast + tcache.'),
('v_arena', 'largest_hole_bytes', 'bytes', 'The largest one; 0 when there is none.'),
('v_arena', 'releasable_bytes', 'bytes', 'Resident bytes that malloc_trim(0) would give back now; see v_trim_range. NULL when nothing says what is resident.'),
('v_arena', 'releasable_top_bytes', 'bytes', 'The part of it from the main arena''s top.'),
('v_arena', 'self_releasable_bytes', 'bytes', 'Resident bytes that the next free() of a large chunk (64 KiB and more, coalesced) would give back by itself: the top beyond the thresholds of malloc, heaps that are empty.'),
('v_arena', 'pinned_bytes', 'bytes', 'Resident dead bytes that live chunks on the same page keep; see v_page_pin. NULL when nothing says what is resident.');

CREATE TABLE heap (
    heap_id INTEGER PRIMARY KEY,
    arena_id INTEGER NOT NULL,
    start INTEGER NOT NULL,
    first_chunk INTEGER NOT NULL,
    end INTEGER NOT NULL,
    reserved_end INTEGER NOT NULL,
    resident_bytes INTEGER,
    live_chunks INTEGER NOT NULL,
    live_bytes INTEGER NOT NULL,
    free_chunks INTEGER NOT NULL,
    free_bytes INTEGER NOT NULL,
    fast_bytes INTEGER NOT NULL,
    tcache_bytes INTEGER NOT NULL,
    top_bytes INTEGER NOT NULL,
    fence_bytes INTEGER NOT NULL,
    overhead_bytes INTEGER NOT NULL,
    holes INTEGER NOT NULL,
    hole_bytes INTEGER NOT NULL,
    largest_hole_bytes INTEGER NOT NULL,
    top_pin_address INTEGER
);
CREATE UNIQUE INDEX heap_start ON heap (start);
CREATE INDEX heap_arena ON heap (arena_id);

CREATE VIEW v_heap AS
SELECT heap_id, arena_id,
       start, printf('0x%x', start) AS start_hex,
       end, printf('0x%x', end) AS end_hex,
       reserved_end, printf('0x%x', reserved_end) AS reserved_end_hex,
       end - start AS mapped_bytes, resident_bytes, live_chunks, live_bytes,
       free_chunks, free_bytes, fast_bytes, tcache_bytes, top_bytes, fence_bytes, overhead_bytes,
       holes, hole_bytes, largest_hole_bytes,
       top_pin_address,
       iif(top_pin_address IS NULL, NULL, printf('0x%x', top_pin_address)) AS top_pin_address_hex
FROM heap;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_heap', '', '', 'One row for each heap: a contiguous piece of an arena. A thread''s arena has one or more of at most 64 MiB; the main arena has its brk area, and more pieces where brk failed.'),
('v_heap', 'heap_id', 'id', 'In order of address, from 0.'),
('v_heap', 'arena_id', 'id', 'Arena that it belongs to.'),
('v_heap', 'start', 'address', 'First byte.'),
('v_heap', 'start_hex', 'hex', 'start as text.'),
('v_heap', 'end', 'address', 'First byte after the accessible part.'),
('v_heap', 'end_hex', 'hex', 'end as text.'),
('v_heap', 'reserved_end', 'address', 'First byte after the reservation; end where there is none.'),
('v_heap', 'reserved_end_hex', 'hex', 'reserved_end as text.'),
('v_heap', 'mapped_bytes', 'bytes', 'end - start; the sum of live, free, fast, tcache, top and overhead bytes.'),
('v_heap', 'resident_bytes', 'bytes', 'Of mapped_bytes, in memory when the core was written; NULL when nothing says so.'),
('v_heap', 'live_chunks', 'chunks', 'Chunks that the program or libc itself holds.'),
('v_heap', 'live_bytes', 'bytes', 'Their bytes, headers included.'),
('v_heap', 'free_chunks', 'chunks', 'Free chunks in bins.'),
('v_heap', 'free_bytes', 'bytes', 'Their bytes.'),
('v_heap', 'fast_bytes', 'bytes', 'Freed, waiting in fastbins.'),
('v_heap', 'tcache_bytes', 'bytes', 'Freed, waiting in the caches of threads.'),
('v_heap', 'top_bytes', 'bytes', 'The arena''s top, where it stands in this heap.'),
('v_heap', 'fence_bytes', 'bytes', 'End markers of abandoned pieces; part of overhead_bytes.'),
('v_heap', 'overhead_bytes', 'bytes', 'heap_info, malloc_state, fences, alignment, foreign gaps, bytes beyond the top.'),
('v_heap', 'holes', 'holes', 'Runs of neighbouring dead chunks below the top, of any size.'),
('v_heap', 'hole_bytes', 'bytes', 'Their bytes.'),
('v_heap', 'largest_hole_bytes', 'bytes', 'The largest one; 0 when there is none.'),
('v_heap', 'top_pin_address', 'address', 'The highest live chunk of the heap, which keeps all below it from being trimmed off; NULL when none is live.'),
('v_heap', 'top_pin_address_hex', 'hex', 'top_pin_address as text.');

CREATE TABLE bin (
    arena_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    bin_index INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (arena_id, kind, bin_index)
) WITHOUT ROWID;

CREATE VIEW v_bin AS SELECT arena_id, kind, bin_index, chunks, bytes FROM bin;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_bin', '', '', 'One row for each list of free chunks that is not empty, as its links say.'),
('v_bin', 'arena_id', 'id', 'Arena that it belongs to.'),
('v_bin', 'kind', 'text', 'fast, unsorted, small, large.'),
('v_bin', 'bin_index', 'id', 'Index of the fastbin, or number of the bin (1 is the unsorted one).'),
('v_bin', 'chunks', 'chunks', 'Chunks on the list.'),
('v_bin', 'bytes', 'bytes', 'Their bytes.');

CREATE TABLE tcache (
    address INTEGER PRIMARY KEY,
    thread_id INTEGER,
    arena_id INTEGER,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
CREATE INDEX tcache_arena ON tcache (arena_id);
CREATE INDEX tcache_thread ON tcache (thread_id);

CREATE VIEW v_tcache AS
SELECT thread_id, arena_id, address, printf('0x%x', address) AS address_hex, chunks, bytes
FROM tcache;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_tcache', '', '', 'One row for each thread cache (tcache_perthread_struct, glibc 2.26 and later).'),
('v_tcache', 'thread_id', 'id', 'Thread that owns it, as in v_thread; NULL: its thread has ended, or is not known.'),
('v_tcache', 'arena_id', 'id', 'Arena whose heap holds the struct; its chunks may come from others. NULL: none.'),
('v_tcache', 'address', 'address', 'The struct.'),
('v_tcache', 'address_hex', 'hex', 'address as text.'),
('v_tcache', 'chunks', 'chunks', 'Freed chunks in it.'),
('v_tcache', 'bytes', 'bytes', 'Their bytes, headers included.');

CREATE VIEW v_mallinfo AS
SELECT a.arena_id,
       a.system_bytes AS arena,
       1 + a.binned_chunks AS ordblks,
       a.fastbin_chunks AS smblks,
       iif(a.is_main, n.mmapped_chunks, 0) AS hblks,
       iif(a.is_main, n.mmapped_bytes, 0) AS hblkhd,
       iif(a.is_main, n.max_total_bytes, 0) AS usmblks,
       a.fastbin_bytes AS fsmblks,
       a.system_bytes - a.top_field_bytes - a.binned_bytes - a.fastbin_bytes AS uordblks,
       a.top_field_bytes + a.binned_bytes + a.fastbin_bytes AS fordblks,
       iif(a.is_main, a.top_field_bytes, 0) AS keepcost
FROM arena a JOIN namespace n USING (namespace)
WHERE a.in_ring
UNION ALL
SELECT NULL, sum(a.system_bytes), sum(1 + a.binned_chunks), sum(a.fastbin_chunks),
       max(n.mmapped_chunks), max(n.mmapped_bytes), max(n.max_total_bytes), sum(a.fastbin_bytes),
       sum(a.system_bytes - a.top_field_bytes - a.binned_bytes - a.fastbin_bytes),
       sum(a.top_field_bytes + a.binned_bytes + a.fastbin_bytes),
       sum(iif(a.is_main, a.top_field_bytes, 0))
FROM arena a JOIN namespace n USING (namespace)
WHERE a.in_ring AND a.namespace = 0
HAVING count(*) > 0;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_mallinfo', '', '', 'What mallinfo2() would have answered: a row for each arena, and the call''s own answer in the row whose arena_id is NULL. As in glibc, chunks in thread caches count as used.'),
('v_mallinfo', 'arena_id', 'id', 'Arena; NULL: the sum over the program''s libc.'),
('v_mallinfo', 'arena', 'bytes', 'Bytes from the kernel, without mmapped chunks (system_mem).'),
('v_mallinfo', 'ordblks', 'chunks', 'Free chunks in bins, and one for the top.'),
('v_mallinfo', 'smblks', 'chunks', 'Chunks in fastbins.'),
('v_mallinfo', 'hblks', 'chunks', 'mmapped chunks (on the main arena''s row and in the sum).'),
('v_mallinfo', 'hblkhd', 'bytes', 'Their bytes as malloc counts them.'),
('v_mallinfo', 'usmblks', 'bytes', 'Highest total ever (glibc up to 2.23), else 0.'),
('v_mallinfo', 'fsmblks', 'bytes', 'Bytes in fastbins.'),
('v_mallinfo', 'uordblks', 'bytes', 'arena - fordblks: called used, though thread caches and overhead are in it.'),
('v_mallinfo', 'fordblks', 'bytes', 'Free bytes: top, bins, fastbins.'),
('v_mallinfo', 'keepcost', 'bytes', 'The main arena''s top.');
