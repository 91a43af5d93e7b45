-- Words of texts, and only when they were asked for.

CREATE TABLE preview (
    address INTEGER PRIMARY KEY ON CONFLICT IGNORE,
    size_bytes INTEGER NOT NULL,
    type TEXT,
    preview TEXT NOT NULL
);

CREATE VIEW v_preview AS
SELECT address, printf('0x%x', address) AS address_hex, size_bytes, type, preview FROM preview;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_preview', '', '', 'One row for each examined live chunk (top pins, samples of page pins, types and sizes, the largest, the first of the leaked ones) that begins with a text. Empty unless --previews was given: then, and only then, the database holds bytes of the process''s memory.'),
('v_preview', 'address', 'address', 'Header of the chunk.'),
('v_preview', 'address_hex', 'hex', 'address as text.'),
('v_preview', 'size_bytes', 'bytes', 'Its size, header included.'),
('v_preview', 'type', 'text', 'Its type; NULL: only the size is known.'),
('v_preview', 'preview', 'text', 'Its first printable characters, 64 at the most.');

INSERT INTO example_query (title, sql) VALUES
('What do the texts among the pins and the leaks say? (only with --previews)',
 'SELECT address_hex, size_bytes, type, preview FROM v_preview ORDER BY size_bytes DESC LIMIT 20');
