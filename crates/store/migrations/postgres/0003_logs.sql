-- Several logs in one store: the server's own over all entries is 'log', others are named after their stream.
ALTER TABLE tile ADD COLUMN log text COLLATE "C" NOT NULL DEFAULT 'log';
ALTER TABLE tile DROP CONSTRAINT tile_pkey, ADD PRIMARY KEY (log, level, index);
ALTER TABLE tile ALTER COLUMN log DROP DEFAULT;
ALTER TABLE published ADD COLUMN log text COLLATE "C" NOT NULL DEFAULT 'log';
ALTER TABLE published DROP CONSTRAINT published_pkey, DROP COLUMN one, ADD PRIMARY KEY (log);
ALTER TABLE published ALTER COLUMN log DROP DEFAULT;

-- Stores tiles of the log that the lease is named after and the checkpoint over them, if the published size still is
-- p_expected. A tile only ever widens.
CREATE OR REPLACE FUNCTION publish_log(
    p_name text, p_epoch bigint, p_expected bigint,
    p_levels smallint[], p_indexes bigint[], p_hashes bytea[],
    p_size bigint, p_root bytea, p_note text, p_at bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hold_lease(p_name, p_epoch);
    IF coalesce((SELECT p.size FROM published p WHERE p.log = p_name), 0) <> p_expected THEN
        RETURN false;
    END IF;
    INSERT INTO tile AS kept (log, level, index, hashes)
    SELECT p_name, t.level, t.index, t.hashes FROM unnest(p_levels, p_indexes, p_hashes) AS t (level, index, hashes)
    ON CONFLICT (log, level, index) DO UPDATE SET hashes = excluded.hashes
        WHERE length(excluded.hashes) >= length(kept.hashes);
    INSERT INTO published (log, size, root, note, at) VALUES (p_name, p_size, p_root, p_note, p_at)
    ON CONFLICT (log) DO UPDATE
        SET size = excluded.size, root = excluded.root, note = excluded.note, at = excluded.at;
    RETURN true;
END $$;
