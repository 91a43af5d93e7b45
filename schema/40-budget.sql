-- The whole address space by what it is used for, and malloc's settings.

CREATE TABLE budget (
    budget_id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    is_anonymous INTEGER NOT NULL,
    mappings INTEGER NOT NULL,
    mapped_bytes INTEGER NOT NULL,
    resident_bytes INTEGER,
    copied_max_bytes INTEGER NOT NULL DEFAULT 0,
    runtime TEXT,
    area TEXT
);

CREATE TABLE runtime (
    name TEXT PRIMARY KEY,
    advice TEXT NOT NULL,
    hides_pointers INTEGER NOT NULL,
    trim TEXT
) WITHOUT ROWID;

CREATE VIEW v_runtime AS
SELECT name AS runtime, area, sum(mapped_bytes) AS mapped_bytes,
       sum(resident_bytes) AS resident_bytes, advice
FROM runtime JOIN budget ON runtime = name
GROUP BY name, area ORDER BY resident_bytes DESC, name, area;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_runtime', '', '', 'One row for each runtime whose memory was recognised (HotSpot, V8, Go, CPython, .NET) and each thing that it has memory for.'),
('v_runtime', 'runtime', 'text', 'Its name.'),
('v_runtime', 'area', 'text', 'What it has the memory for: objects (its heap), code, classes, other.'),
('v_runtime', 'mapped_bytes', 'bytes', 'Address space.'),
('v_runtime', 'resident_bytes', 'bytes', 'Of it, in memory when the core was written; NULL: a core cannot tell.'),
('v_runtime', 'advice', 'text', 'Where to look further, in the runtime''s own words.');

CREATE VIEW v_budget AS
SELECT kind, label, is_anonymous, mappings, mapped_bytes, resident_bytes,
       copied_max_bytes
FROM budget ORDER BY budget_id;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_budget', '', '', 'One row for each kind of memory; the rows sum to all that the core''s segments map, exactly. What nobody claims is "other anonymous" (the largest one by one, by what of them is in memory, and mappings of 64 MiB and more) or "unattributed".'),
('v_budget', 'kind', 'text', 'What the memory is used for: malloc main heap, malloc arena heaps, malloc mmapped chunks, malloc reserve, managed heap, other allocator, thread stacks, cached stacks, huge pages, module data, module bss, modules, mapped files, shared memory, kernel, other anonymous, not in the core (without address space: what smaps counts in memory beyond the pages that the core shows, pages of zeros and mappings that it lacks), unattributed.'),
('v_budget', 'label', 'text', 'Whose it is, where that is known; "guess" in it where it is one. An anonymous mapping is named by its address and its neighbours.'),
('v_budget', 'is_anonymous', '0/1', '1: the kernel counts it as Anonymous (smaps). Pages of module data that were written count there too, but a core cannot tell which.'),
('v_budget', 'mappings', 'count', 'Pieces of mappings in it.'),
('v_budget', 'mapped_bytes', 'bytes', 'Address space.'),
('v_budget', 'resident_bytes', 'bytes', 'Of it, in memory when the core was written; of files and shared memory by smaps, where it is at hand: NULL: nothing tells.'),
('v_budget', 'copied_max_bytes', 'bytes', 'Of private mappings of files that the process wrote to (module data, relocated constants): pages that were written count as Anonymous for the kernel. At most these; a core does not tell which.');

CREATE TABLE tunable (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    source TEXT NOT NULL,
    note TEXT NOT NULL
) WITHOUT ROWID;

CREATE VIEW v_tunable AS SELECT name, value, source, note FROM tunable;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_tunable', '', '', 'One row for each setting of malloc, as it was in force when the core was written.'),
('v_tunable', 'name', 'text', 'Name of the tunable, as in glibc.malloc.NAME; LD_PRELOAD is none, but decides which malloc is used.'),
('v_tunable', 'value', 'text', 'Its value; sizes in bytes.'),
('v_tunable', 'source', 'text', 'mp_: malloc''s own data says so and it is not the default (mallopt, or the dynamic thresholds); environment: asked for by the environment; default.'),
('v_tunable', 'note', 'text', 'What else is known of it, or empty.'),
('meta key', 'anonymous_dumped', '0/1', '0: private anonymous memory was left out of the core altogether (coredump_filter without bit 0x1), so no heap can be in it.'),
('meta key', 'other_allocator', 'text', 'A malloc beside glibc''s that the process brought along, whether it serves or not; empty: none was seen.'),
('meta key', 'other_allocator_evidence', 'text', 'What told of it: a library, a symbol, its structure in memory.'),
('meta key', 'cpus', 'count', 'Cores that the process could use: as told with --cpus, or by malloc''s own limit of arenas (narenas_limit), where symbols name its place; NULL: not known.'),
('meta key', 'arena_limit', 'count', 'Arenas that malloc makes at the most, main arena included; NULL: it depends on the number of cores, which a core does not tell (--cpus).'),
('meta key', 'arena_limit_formula', 'text', 'How this glibc computes that limit.');

INSERT INTO example_query (title, sql) VALUES
('Where is the memory of the whole process?',
 'SELECT kind, sum(mapped_bytes) AS mapped, sum(resident_bytes) AS resident FROM v_budget GROUP BY kind ORDER BY resident DESC'),
('Which settings of malloc are not the defaults?',
 'SELECT name, value, source, note FROM v_tunable WHERE source <> ''default''');
