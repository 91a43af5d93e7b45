-- What each live chunk alone keeps alive.

CREATE TABLE retained (
    address INTEGER PRIMARY KEY,
    type TEXT,
    size_bytes INTEGER NOT NULL,
    retained_bytes INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    dominator_address INTEGER
);

CREATE VIEW v_retained AS
SELECT address, printf('0x%x', address) AS address_hex, type, size_bytes, retained_bytes, chunks,
       dominator_address,
       iif(dominator_address IS NULL, NULL, printf('0x%x', dominator_address))
           AS dominator_address_hex
FROM retained;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_retained', '', '', 'One row for each of the 10,000 live chunks that keep the most alive: what could not be reached without it, by the dominator tree of all reached chunks. A chunk''s bytes count again for each that dominates it. Stacks and registers do not compete with what lasts: a chunk that only they share with it counts as kept by what lasts. Conservative, as reachability is. Empty with --no-reach.'),
('v_retained', 'address', 'address', 'Header of the chunk.'),
('v_retained', 'address_hex', 'hex', 'address as text.'),
('v_retained', 'type', 'text', 'Its type; NULL: only the size is known.'),
('v_retained', 'size_bytes', 'bytes', 'Its own size, header included.'),
('v_retained', 'retained_bytes', 'bytes', 'What would be lost with it, itself included.'),
('v_retained', 'chunks', 'chunks', 'How many chunks that is.'),
('v_retained', 'dominator_address', 'address', 'Header of the nearest chunk that it hangs on; NULL: roots lead to it, or several ways that have no chunk in common.'),
('v_retained', 'dominator_address_hex', 'hex', 'dominator_address as text.');

INSERT INTO example_query (title, sql) VALUES
('Which chunks keep the most alive?',
 'SELECT address_hex, type, size_bytes, retained_bytes, chunks, dominator_address_hex FROM v_retained ORDER BY retained_bytes DESC LIMIT 20');
