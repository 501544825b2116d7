-- Several logs in one store: the server's own over all entries is 'log', others are named after their stream.
CREATE TABLE fresh (
    log TEXT NOT NULL,
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (log, level, place)
);
INSERT INTO fresh SELECT 'log', level, place, hashes FROM tile ORDER BY level, place;
DROP TABLE tile;
ALTER TABLE fresh RENAME TO tile;

CREATE TABLE fresh (
    log TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    root BLOB NOT NULL,
    note TEXT NOT NULL,
    at INTEGER NOT NULL
);
INSERT INTO fresh SELECT 'log', size, root, note, at FROM published;
DROP TABLE published;
ALTER TABLE fresh RENAME TO published;
