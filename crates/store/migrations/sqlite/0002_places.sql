-- Where a stream's entries are, in a table of its own instead of an index on entry: many writers at once touch as many
-- index pages as there are streams, so under load places are filled in for several hundred entries together.
CREATE TABLE place (
    stream INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- The entry's id.
    entry INTEGER NOT NULL,
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;

-- Every entry up to `upto` has its place; those after it are found by looking at them.
CREATE TABLE placed (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    upto INTEGER NOT NULL
);

-- The primary key of `place` takes over what UNIQUE (stream, seq) was for.
CREATE TABLE fresh (
    id INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES stream (id),
    seq INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    bytes BLOB NOT NULL,
    -- SHA-256 of the payload in the clear, where there is one.
    digest BLOB,
    -- The sealed payload. Absent beside a digest: erased.
    sealed BLOB
);
INSERT INTO fresh SELECT id, stream, seq, prev, hash, bytes, digest, sealed FROM entry ORDER BY id;
DROP TABLE entry;
ALTER TABLE fresh RENAME TO entry;
INSERT INTO place SELECT stream, seq, id FROM entry ORDER BY stream, seq;
INSERT INTO placed SELECT 1, coalesce(max(id), 0) FROM entry;
