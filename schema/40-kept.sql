-- Why freed memory stays: what a trim would release, where every resident byte of the heaps goes,
-- which live chunks pin pages and tops.

CREATE TABLE trim_range (
    address INTEGER PRIMARY KEY,
    arena_id INTEGER NOT NULL,
    length_bytes INTEGER NOT NULL,
    resident_bytes INTEGER,
    how TEXT NOT NULL
);
CREATE INDEX trim_range_arena ON trim_range (arena_id);

CREATE VIEW v_trim_range AS
SELECT arena_id, address, printf('0x%x', address) AS address_hex, length_bytes, resident_bytes, how
FROM trim_range;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_trim_range', '', '', 'One row for each range that glibc''s malloc_trim(0) would release now, as the core''s release does it: fastbins consolidated first (up to 2.42), whole pages inside free chunks of every arena, and the main arena''s top if the program break stands at its end. Thread arenas'' tops are never among them.'),
('v_trim_range', 'arena_id', 'id', 'Arena that it is in.'),
('v_trim_range', 'address', 'address', 'First byte.'),
('v_trim_range', 'address_hex', 'hex', 'address as text.'),
('v_trim_range', 'length_bytes', 'bytes', 'Address space that the call covers; parts of it may not be in memory.'),
('v_trim_range', 'resident_bytes', 'bytes', 'Of these, in memory: what comes back; NULL when nothing says so.'),
('v_trim_range', 'how', 'text', 'madvise: inside a free chunk (MADV_DONTNEED); brk: from the main arena''s top.');

CREATE TABLE trim_if (
    kind TEXT NOT NULL,
    without TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    now_bytes INTEGER,
    then_bytes INTEGER
);

CREATE VIEW v_trim_if AS
SELECT kind, without, chunks, bytes, now_bytes, then_bytes, then_bytes - now_bytes AS more_bytes
FROM trim_if;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_trim_if', '', '', 'What malloc_trim(0) would give back if some chunks had gone back to their arenas first: each merges with what is free on either side of it, as free() and malloc_consolidate() merge. For the process as it stands; a run without them lays out its blocks anew.'),
('v_trim_if', 'kind', 'text', 'caches, threshold, owner, type, size.'),
('v_trim_if', 'without', 'text', 'thread caches: all that waits in them goes back; an owner: all that it keeps alive alone; a type: all chunks of it, with what they alone keep alive; a size: the chunks of one size and type that pin the most, and nothing with them; a grown trim_threshold: no chunk goes back, but free() trims tops beyond 128 KiB; then now_bytes and then_bytes are what free() gives back, main''s arena included.'),
('v_trim_if', 'chunks', 'chunks', 'How many chunks that is.'),
('v_trim_if', 'bytes', 'bytes', 'Their bytes.'),
('v_trim_if', 'now_bytes', 'bytes', 'What malloc_trim(0) gives back as it is, and the next free() that drops the tops of threads'' arenas; NULL when nothing says what is resident.'),
('v_trim_if', 'then_bytes', 'bytes', 'The same without these chunks.'),
('v_trim_if', 'more_bytes', 'bytes', 'The difference.');

CREATE TABLE former_block (
    least_bytes INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    resident_bytes INTEGER
);

CREATE VIEW v_former_block AS SELECT least_bytes, blocks, bytes, resident_bytes FROM former_block;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_former_block', '', '', 'Large blocks that stood where free memory is now, by the headers that are left of them: a row where mmap_threshold is over 128 KiB and such a block shows. Below that threshold they would have been mapped, and gone when they were freed. Evidence, not a count: what was used again shows no more.'),
('v_former_block', 'least_bytes', 'bytes', 'From which size on they are counted.'),
('v_former_block', 'blocks', 'count', 'How many.'),
('v_former_block', 'bytes', 'bytes', 'Their bytes.'),
('v_former_block', 'resident_bytes', 'bytes', 'Of these, in memory now; NULL when nothing says what is resident.');

CREATE TABLE waste (
    arena_id INTEGER,
    class TEXT NOT NULL,
    class_order INTEGER NOT NULL,
    bytes INTEGER,
    tcache_bytes INTEGER
);
CREATE INDEX waste_arena ON waste (arena_id);

CREATE VIEW v_waste AS SELECT arena_id, class, class_order, bytes, tcache_bytes FROM waste;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_waste', '', '', 'The waterfall: every resident byte of the heaps in the first class that fits. The eight rows of an arena sum to its resident_bytes exactly; the rows whose arena_id is NULL are those of all arenas together.'),
('v_waste', 'arena_id', 'id', 'Arena; NULL: all of them.'),
('v_waste', 'class', 'text', 'live: in live chunks; overhead: malloc''s own structures and fences; releasable: malloc_trim(0) would give it back now; pinned: dead, but on a page with live bytes; top: in an arena''s top; cached: in fastbins and thread caches; cache-pinned: dead, no live byte on the page, but chunks in fastbins or thread caches; edge: other dead bytes, on pages with the header of a free chunk or a heap''s end, or in free chunks that malloc_trim would merge with a top.'),
('v_waste', 'class_order', 'count', 'Place of the class in that order, from 1.'),
('v_waste', 'bytes', 'bytes', 'Resident bytes; NULL when nothing says what is resident.'),
('v_waste', 'tcache_bytes', 'bytes', 'Of the class cached, what is in thread caches, the rest being in fastbins; of the others 0.');

CREATE TABLE page_keeper (
    arena_id INTEGER,
    keeper TEXT NOT NULL,
    pages INTEGER NOT NULL,
    dead_bytes INTEGER NOT NULL
);
CREATE INDEX page_keeper_arena ON page_keeper (arena_id);

CREATE VIEW v_page_keeper AS SELECT arena_id, keeper, pages, dead_bytes FROM page_keeper;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_page_keeper', '', '', 'Who keeps the resident pages whose dead bytes malloc_trim(0) would not return: one row for each arena and set of keepers that have a byte on the page. The dead bytes of an arena''s rows sum to v_waste pinned + top + cached + cache-pinned + edge, exactly; the rows whose arena_id is NULL are those of all arenas together. Empty when nothing says what is resident.'),
('v_page_keeper', 'arena_id', 'id', 'Arena; NULL: all of them.'),
('v_page_keeper', 'keeper', 'text', 'live, tcache, fastbin, or several of these; where none of them has a byte on the page: top: an arena''s top, or free chunks that malloc_trim would merge with it; overhead: malloc''s own structures and end markers; header: the header of a free chunk, whose page malloc_trim does not return.'),
('v_page_keeper', 'pages', 'pages', 'Resident pages.'),
('v_page_keeper', 'dead_bytes', 'bytes', 'Dead bytes on them, but what malloc_trim(0) returns.');

CREATE TABLE page_run (
    heap_id INTEGER NOT NULL,
    start INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    class TEXT NOT NULL,
    resident INTEGER,
    live_bytes INTEGER NOT NULL,
    PRIMARY KEY (heap_id, start)
) WITHOUT ROWID;
CREATE INDEX page_run_start ON page_run (start);

CREATE VIEW v_page_run AS
SELECT heap_id, start, printf('0x%x', start) AS start_hex, pages, class, resident, live_bytes
FROM page_run;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_page_run', '', '', 'One row for each run of neighbouring pages of a heap that are alike, for maps; without gaps from the heap''s first page to its last.'),
('v_page_run', 'heap_id', 'id', 'Heap.'),
('v_page_run', 'start', 'address', 'First byte of the first page.'),
('v_page_run', 'start_hex', 'hex', 'start as text.'),
('v_page_run', 'pages', 'pages', 'How many; see meta page_bytes.'),
('v_page_run', 'class', 'text', 'live: live bytes and no dead one; mixed: both; releasable: malloc_trim(0) would release it; top: top''s bytes alone; dead: other dead bytes and no live one; overhead: neither.'),
('v_page_run', 'resident', '0/1', '1: in memory when the core was written; 0: not; NULL: not known.'),
('v_page_run', 'live_bytes', 'bytes', 'Bytes of live chunks in them.');

CREATE TABLE top_pin (
    arena_id INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    heap_id INTEGER NOT NULL,
    address INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    hole_below_bytes INTEGER NOT NULL,
    unlocked_bytes INTEGER NOT NULL,
    unlocked_resident_bytes INTEGER,
    returned_bytes INTEGER,
    type TEXT,
    holder TEXT,
    PRIMARY KEY (arena_id, rank)
) WITHOUT ROWID;
CREATE INDEX top_pin_address ON top_pin (address);
CREATE INDEX top_pin_heap ON top_pin (heap_id);

CREATE VIEW v_top_pin AS
SELECT arena_id, heap_id, rank, address, printf('0x%x', address) AS address_hex,
       address + (SELECT value / 4 FROM meta WHERE key = 'word_bits') AS user_address,
       printf('0x%x', address + (SELECT value / 4 FROM meta WHERE key = 'word_bits'))
           AS user_address_hex,
       size_bytes, hole_below_bytes, unlocked_bytes, unlocked_resident_bytes, returned_bytes, type,
       iif(instr(holder, ' -> ') > 0, substr(holder, 1, instr(holder, ' -> ') - 1), holder) AS held_by,
       holder
FROM top_pin;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_top_pin', '', '', 'One row for each live chunk below an arena''s top, from the top down along the arena''s chain of heaps, newest heap first; at most 100 an arena. In the main arena the list ends at the first fence or foreign gap, since nothing below can join the top.'),
('v_top_pin', 'arena_id', 'id', 'Arena.'),
('v_top_pin', 'heap_id', 'id', 'Heap that it is in.'),
('v_top_pin', 'rank', 'count', '1 is the topmost.'),
('v_top_pin', 'address', 'address', 'Its header.'),
('v_top_pin', 'address_hex', 'hex', 'address as text.'),
('v_top_pin', 'user_address', 'address', 'What malloc returned.'),
('v_top_pin', 'user_address_hex', 'hex', 'user_address as text.'),
('v_top_pin', 'size_bytes', 'bytes', 'The chunk, header included.'),
('v_top_pin', 'hole_below_bytes', 'bytes', 'Dead bytes right below it, down to the next live chunk.'),
('v_top_pin', 'unlocked_bytes', 'bytes', 'What would join the top, or be dropped with its heap, if this chunk and all above it were freed; what waits in caches above it counts as given back too.'),
('v_top_pin', 'unlocked_resident_bytes', 'bytes', 'Of these, in memory when the core was written; NULL when nothing says so.'),
('v_top_pin', 'returned_bytes', 'bytes', 'Resident bytes that free() would give back by itself, beyond what it would now, if this chunk and all above it were gone: emptied heaps, and the top where it reaches trim_threshold. Thread caches stay as they are, so that a cached chunk ends it. NULL when nothing says what is resident.'),
('v_top_pin', 'type', 'text', 'What kind of object it is; NULL until known.'),
('v_top_pin', 'held_by', 'text', 'Where the way to it begins: the root in holder.'),
('v_top_pin', 'holder', 'text', 'What holds it; NULL until known.');

CREATE TABLE page_pin (
    arena_id INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    type TEXT,
    chunks INTEGER NOT NULL,
    live_bytes INTEGER NOT NULL,
    pinned_bytes INTEGER NOT NULL,
    sample_address INTEGER,
    holder TEXT
);
CREATE INDEX page_pin_sample ON page_pin (sample_address);
CREATE INDEX page_pin_arena ON page_pin (arena_id, size_bytes);

CREATE VIEW v_page_pin AS
SELECT arena_id, size_bytes, type, chunks, live_bytes, pinned_bytes,
       round(1.0 * pinned_bytes / live_bytes, 2) AS bytes_per_live_byte,
       sample_address,
       iif(sample_address IS NULL, NULL, printf('0x%x', sample_address)) AS sample_address_hex,
       holder
FROM page_pin;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_page_pin', '', '', 'Which live chunks keep dead bytes of their pages in memory, by arena, size and type. A page''s dead bytes are shared equally among the live chunks that touch it, so that pinned_bytes sums to the class pinned of v_waste exactly. Chunks that pin nothing are not counted.'),
('v_page_pin', 'arena_id', 'id', 'Arena.'),
('v_page_pin', 'size_bytes', 'bytes', 'Size of one chunk, header included.'),
('v_page_pin', 'type', 'text', 'What kind of object they are; NULL until known.'),
('v_page_pin', 'chunks', 'chunks', 'Live chunks of that size that pin a byte at least.'),
('v_page_pin', 'live_bytes', 'bytes', 'Their own bytes.'),
('v_page_pin', 'pinned_bytes', 'bytes', 'Resident dead bytes that they keep from being released.'),
('v_page_pin', 'bytes_per_live_byte', 'ratio', 'pinned_bytes / live_bytes.'),
('v_page_pin', 'sample_address', 'address', 'Header of one of these chunks: the one that pins most.'),
('v_page_pin', 'sample_address_hex', 'hex', 'sample_address as text.'),
('v_page_pin', 'holder', 'text', 'Who holds that sample, as in v_holder; NULL where it was not asked for (only the costliest rows are) or nothing does.');

INSERT INTO example_query (title, sql) VALUES
('Where does the resident heap go?',
 'SELECT class, bytes, round(100.0 * bytes / sum(bytes) OVER (), 1) AS percent FROM v_waste WHERE arena_id IS NULL ORDER BY class_order'),
('What would malloc_trim(0) give back, and from where?',
 'SELECT arena_id, how, count(*) AS ranges, sum(length_bytes) AS length_bytes, sum(resident_bytes) AS resident_bytes FROM v_trim_range GROUP BY arena_id, how ORDER BY resident_bytes DESC'),
('Which sizes of live chunks pin the most memory?',
 'SELECT size_bytes, type, sum(chunks) AS chunks, sum(live_bytes) AS live_bytes, sum(pinned_bytes) AS pinned_bytes FROM v_page_pin GROUP BY size_bytes, type ORDER BY pinned_bytes DESC LIMIT 20'),
('Which chunk holds down each arena''s top, and what would go with it?',
 'SELECT arena_id, user_address_hex, size_bytes, hole_below_bytes, unlocked_bytes, unlocked_resident_bytes FROM v_top_pin WHERE rank = 1 ORDER BY unlocked_resident_bytes DESC'),
('What does the largest heap look like, page by page?',
 'SELECT start_hex, pages, class, resident, live_bytes FROM v_page_run WHERE heap_id = (SELECT heap_id FROM v_heap ORDER BY end - start DESC LIMIT 1) ORDER BY start LIMIT 100');
