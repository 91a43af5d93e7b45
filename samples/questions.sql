-- Questions about the sample core; samples/answers.txt holds the answers.
--
--     sqlite3 build/demo/core.db < samples/questions.sql

.print Is it a leak, and how much would malloc_trim(0) give back?
SELECT code, retained_free_bytes, releasable_bytes FROM v_verdict;

.print How many arenas are there, and how many of them serve a thread?
SELECT count(*), sum(threads > 0) FROM v_arena;

.print How much does malloc hold in memory, and how much of it does the program use?
SELECT sum(resident_bytes), sum(live_bytes) FROM v_arena;

.print Where do the resident bytes of the heaps go?
SELECT class, bytes FROM v_waste WHERE arena_id IS NULL ORDER BY bytes DESC;

.print Which live chunks are there, by size?
SELECT size_bytes, sum(chunks) FROM v_size_class
WHERE state = 'live' GROUP BY size_bytes ORDER BY sum(chunks) DESC, size_bytes LIMIT 3;

.print Which sizes pin pages that would else be given back?
SELECT size_bytes, sum(chunks), sum(pinned_bytes) FROM v_page_pin
GROUP BY size_bytes ORDER BY sum(pinned_bytes) DESC LIMIT 3;

.print How many arenas have one live chunk on top that holds down more than 128 KiB?
SELECT count(*) FROM v_top_pin WHERE rank = 1 AND unlocked_bytes > 128 * 1024;

.print Are the holes large or small?
SELECT from_bytes, sum(holes), sum(bytes) FROM v_hole_histogram
GROUP BY from_bytes ORDER BY from_bytes DESC LIMIT 4;

.print What would mallinfo2() have said?
SELECT arena, ordblks, smblks, hblks, hblkhd, uordblks, fordblks, keepcost
FROM v_mallinfo WHERE arena_id IS NULL;

.print Was the number of arenas limited, and by whom?
SELECT value, source FROM v_tunable WHERE name = 'arena_max';

.print Does anything not add up?
SELECT count(*) FROM v_anomaly;
