CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE stream (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- The data key of its payloads, wrapped by the server key. Absent: no payload was sealed since the last erasure.
    key BLOB
);

-- Rows are never deleted and one writer at a time adds them, so ids are 1, 2, 3, ... in commit order: an entry's
-- leaf number in the server's log is its id - 1.
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES stream (id),
    seq INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    bytes BLOB NOT NULL,
    -- SHA-256 of the payload in the clear, where there is one.
    digest BLOB,
    -- The sealed payload. Absent beside a digest: erased.
    sealed BLOB,
    UNIQUE (stream, seq)
);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    stream INTEGER NOT NULL REFERENCES stream (id),
    effect BLOB NOT NULL,
    due INTEGER NOT NULL,
    claims INTEGER NOT NULL DEFAULT 0,
    -- The number of the lease in force: whoever holds an older one may not touch the row.
    fence INTEGER NOT NULL DEFAULT 0,
    leased_until INTEGER NOT NULL DEFAULT -9223372036854775808
);
CREATE INDEX outbox_due ON outbox (due, id);

CREATE TABLE pointer (
    key TEXT NOT NULL,
    item TEXT NOT NULL,
    stream INTEGER NOT NULL REFERENCES stream (id),
    PRIMARY KEY (key, item)
) WITHOUT ROWID;

CREATE TABLE answer (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL,
    response BLOB NOT NULL,
    expires INTEGER NOT NULL,
    UNIQUE (scope, key)
);
CREATE INDEX answer_expires ON answer (expires);

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE tile (
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (level, place)
);

CREATE TABLE published (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    size INTEGER NOT NULL,
    root BLOB NOT NULL,
    note TEXT NOT NULL,
    at INTEGER NOT NULL
);
