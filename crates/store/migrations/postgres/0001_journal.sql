-- The journal on PostgreSQL. Instants are microseconds since 1970, digests 32 bytes, texts compare by byte.

-- Entries never change and never go; only `erase` takes payloads away. The primary key and the comparison that
-- append_entries() and append_batch() make with the stored hash make a fork impossible, whatever the code above does.
-- No CHECK and no partial index here: PostgreSQL reads their expressions anew for every single insert.
CREATE TABLE entry (
    stream text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    prev bytea NOT NULL,
    hash bytea NOT NULL,
    bytes bytea NOT NULL,
    -- Sealed under the data key `payload_key`; all three are NULL without a payload, and once it is erased.
    payload_digest bytea,
    payload_key bytea,
    payload bytea,
    PRIMARY KEY (stream, seq)
);

CREATE TABLE data_key (
    stream text COLLATE "C" PRIMARY KEY,
    id bytea NOT NULL,
    wrapped bytea NOT NULL
);

-- What this store is: the fingerprint of its server key.
CREATE TABLE about (
    name text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream text COLLATE "C" NOT NULL,
    -- Sealed by the server key, as the kept answers are.
    effect bytea NOT NULL,
    due bigint NOT NULL,
    leased_until bigint NOT NULL DEFAULT -9223372036854775808,
    attempts bigint NOT NULL DEFAULT 0,
    -- The fence: larger with every claim and every postponement.
    lease bigint NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON outbox (due, id);

CREATE TABLE pointer (
    key text COLLATE "C" NOT NULL,
    item text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    PRIMARY KEY (key, item)
);

CREATE TABLE idempotency (
    scope text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    request bytea NOT NULL,
    response bytea NOT NULL,
    expires bigint NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_expires ON idempotency (expires);

CREATE TABLE lease (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    epoch bigint NOT NULL,
    until bigint NOT NULL
);

-- Runs of entries that have no leaf number yet. An entry is inserted only after its predecessor is committed, so
-- the order of `id` never puts it first.
CREATE TABLE unnumbered (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream text COLLATE "C" NOT NULL,
    first bigint NOT NULL,
    count bigint NOT NULL
);
-- These two are queues: small, and emptied as fast as they are filled.
ALTER TABLE unnumbered SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE TABLE leaf (
    index bigint PRIMARY KEY,
    stream text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    UNIQUE (stream, seq)
);

CREATE TABLE tile (
    level smallint NOT NULL,
    index bigint NOT NULL,
    hashes bytea NOT NULL,
    PRIMARY KEY (level, index)
);

CREATE TABLE published (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    size bigint NOT NULL,
    root bytea NOT NULL,
    note text NOT NULL,
    at bigint NOT NULL
);

-- Stored rows are found by key one at a time, in loops and scalar subqueries: a join would leave the planner the
-- choice to read a whole table, and it plans these functions while the tables are still empty.

-- Refusals, as SQLSTATE: CS001 stale (detail: stream, number and hash of its head), or 23505 of entry_pkey; CS002 idempotency key used,
-- CS003 data key replaced, CS004 lease lost, CS005 broken link.

CREATE FUNCTION refuse_stale(p_stream text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at_seq bigint;
    at_hash bytea;
BEGIN
    SELECT seq, hash INTO at_seq, at_hash FROM entry WHERE stream = p_stream ORDER BY seq DESC LIMIT 1;
    RAISE EXCEPTION 'stale' USING ERRCODE = 'CS001',
        DETAIL = p_stream || ' ' || coalesce(at_seq, 0) || ' ' || coalesce(encode(at_hash, 'hex'), repeat('0', 64));
END $$;

-- One append: all of it or nothing, in one statement. Streams come in byte order, and so do pointers, so two
-- appends do not wait for each other in a circle. The first entry of each stream is given beside it, its `prev`
-- being the head it was decided on; a stream without an entry (count 0) is only compared. The entries after the
-- first name their stream by place. Order of locks: idempotency key, data keys, streams, pointers.
CREATE FUNCTION append_entries(
    p_streams text[], p_bases bigint[], p_prevs bytea[], p_counts bigint[],
    p_hashes bytea[], p_bytes bytea[], p_digests bytea[], p_keys bytea[], p_payloads bytea[],
    r_of int[], r_prevs bytea[], r_hashes bytea[], r_bytes bytea[],
    r_digests bytea[], r_keys bytea[], r_payloads bytea[],
    k_streams text[], k_ids bytea[], k_wrapped bytea[],
    o_streams text[], o_effects bytea[], o_dues bigint[],
    s_keys text[], s_items text[], s_streams text[], c_keys text[], c_items text[],
    i_scope text, i_key text, i_request bytea, i_response bytea, i_now bigint, i_expires bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found_hash bytea;
BEGIN
    IF i_scope IS NOT NULL THEN
        INSERT INTO idempotency AS kept (scope, key, request, response, expires)
        VALUES (i_scope, i_key, i_request, i_response, i_expires)
        ON CONFLICT (scope, key) DO UPDATE
            SET request = excluded.request, response = excluded.response, expires = excluded.expires
            WHERE kept.expires <= i_now;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'repeated' USING ERRCODE = 'CS002';
        END IF;
        PERFORM sweep_answers(i_now, 1);
    END IF;

    IF k_streams IS NOT NULL AND keep_keys(k_streams, k_ids, k_wrapped) IS NOT NULL THEN
        RAISE EXCEPTION 'data key replaced' USING ERRCODE = 'CS003';
    END IF;

    FOR s IN 1 .. cardinality(p_streams) LOOP
        IF p_bases[s] > 0 THEN
            SELECT hash INTO found_hash FROM entry WHERE stream = p_streams[s] AND seq = p_bases[s];
            IF found_hash IS DISTINCT FROM p_prevs[s] THEN
                PERFORM refuse_stale(p_streams[s]);
            END IF;
        ELSIF p_prevs[s] <> zero_hash() THEN
            PERFORM refuse_stale(p_streams[s]);
        END IF;
        -- Whoever else wants this number waits here for the other's commit, and then violates the primary key.
        INSERT INTO entry (stream, seq, prev, hash, bytes, payload_digest, payload_key, payload)
        VALUES (p_streams[s], p_bases[s] + 1, p_prevs[s], coalesce(p_hashes[s], zero_hash()),
            coalesce(p_bytes[s], ''), p_digests[s], p_keys[s], p_payloads[s]);
        IF p_counts[s] = 0 THEN
            -- Only compared: the number is given back, but nobody can take it before this commits.
            DELETE FROM entry WHERE stream = p_streams[s] AND seq = p_bases[s] + 1;
        ELSE
            INSERT INTO unnumbered (stream, first, count) VALUES (p_streams[s], p_bases[s] + 1, p_counts[s]);
        END IF;
    END LOOP;
    IF r_of IS NOT NULL THEN
        PERFORM append_rest(p_streams, p_bases, p_hashes, NULL,
            r_of, r_prevs, r_hashes, r_bytes, r_digests, r_keys, r_payloads);
    END IF;

    IF c_keys IS NOT NULL THEN
        FOR c IN 1 .. cardinality(c_keys) LOOP
            DELETE FROM pointer WHERE key = c_keys[c] AND item = c_items[c];
        END LOOP;
    END IF;
    IF s_keys IS NOT NULL THEN
        INSERT INTO pointer (key, item, stream)
        SELECT k.key, k.item, k.stream FROM unnest(s_keys, s_items, s_streams) AS k (key, item, stream)
        ON CONFLICT (key, item) DO UPDATE SET stream = excluded.stream;
    END IF;
    IF o_streams IS NOT NULL THEN
        INSERT INTO outbox (stream, effect, due)
        SELECT o.stream, o.effect, o.due FROM unnest(o_streams, o_effects, o_dues) AS o (stream, effect, due);
    END IF;
END $$;

-- Many appends of one stream each, as append_entries() but each for itself: returns those that were refused, with
-- the head of a stale one. The place of an append is that of its stream, from 1; no two name the same stream,
-- idempotency key or pointer. Refused as a whole (CS004) once the lease is lost.
CREATE FUNCTION append_batch(
    p_name text, p_epoch bigint,
    p_streams text[], p_bases bigint[], p_prevs bytea[], p_counts bigint[],
    p_hashes bytea[], p_bytes bytea[], p_digests bytea[], p_keys bytea[], p_payloads bytea[],
    r_of int[], r_prevs bytea[], r_hashes bytea[], r_bytes bytea[],
    r_digests bytea[], r_keys bytea[], r_payloads bytea[],
    k_streams text[], k_ids bytea[], k_wrapped bytea[],
    o_of int[], o_streams text[], o_effects bytea[], o_dues bigint[],
    s_of int[], s_keys text[], s_items text[], s_streams text[], c_of int[], c_keys text[], c_items text[],
    i_of int[], i_scopes text[], i_keys text[], i_requests bytea[], i_responses bytea[], i_now bigint,
    i_expires bigint[]
) RETURNS TABLE (place int, code text, head_seq bigint, head_hash bytea) LANGUAGE plpgsql AS $$
DECLARE
    repeated int[] := '{}';
    rekey text[];
    landed int[];
BEGIN
    PERFORM FROM lease WHERE name = p_name AND epoch = p_epoch AND holder <> '' FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION '%', p_name USING ERRCODE = 'CS004';
    END IF;

    IF i_of IS NOT NULL THEN
        WITH kept AS (
            INSERT INTO idempotency AS kept (scope, key, request, response, expires)
            SELECT i.* FROM unnest(i_scopes, i_keys, i_requests, i_responses, i_expires)
                AS i (scope, key, request, response, expires)
            ON CONFLICT (scope, key) DO UPDATE
                SET request = excluded.request, response = excluded.response, expires = excluded.expires
                WHERE kept.expires <= i_now
            RETURNING kept.scope, kept.key
        )
        SELECT coalesce(array_agg(i.of), '{}') INTO repeated
        FROM unnest(i_of, i_scopes, i_keys) AS i (of, scope, key)
        WHERE NOT EXISTS (SELECT FROM kept k WHERE k.scope = i.scope AND k.key = i.key);
        PERFORM sweep_answers(i_now, cardinality(i_of));
    END IF;
    IF k_streams IS NOT NULL THEN
        rekey := keep_keys(k_streams, k_ids, k_wrapped);
    END IF;

    WITH given AS (
        SELECT * FROM unnest(p_streams, p_bases, p_prevs, p_counts, p_hashes, p_bytes, p_digests, p_keys, p_payloads)
            WITH ORDINALITY AS g (stream, base, prev, count, hash, bytes, digest, key, payload, n)
    ), fresh AS (
        INSERT INTO entry (stream, seq, prev, hash, bytes, payload_digest, payload_key, payload)
        SELECT g.stream, g.base + 1, g.prev, g.hash, g.bytes, g.digest, g.key, g.payload FROM given g
        WHERE (repeated = '{}' OR g.n <> ALL (repeated)) AND (rekey IS NULL OR g.stream <> ALL (rekey))
            AND g.prev = CASE WHEN g.base = 0 THEN zero_hash()
                ELSE (SELECT e.hash FROM entry e WHERE e.stream = g.stream AND e.seq = g.base) END
        ON CONFLICT DO NOTHING
        RETURNING stream
    ), queued AS (
        INSERT INTO unnumbered (stream, first, count)
        SELECT g.stream, g.base + 1, g.count FROM fresh f JOIN given g ON g.stream = f.stream
    )
    SELECT coalesce(array_agg(g.n::int), '{}') INTO landed FROM fresh f JOIN given g ON g.stream = f.stream;

    IF r_of IS NOT NULL THEN
        PERFORM append_rest(p_streams, p_bases, p_hashes, landed,
            r_of, r_prevs, r_hashes, r_bytes, r_digests, r_keys, r_payloads);
    END IF;
    IF c_of IS NOT NULL THEN
        FOR c IN 1 .. cardinality(c_of) LOOP
            DELETE FROM pointer WHERE key = c_keys[c] AND item = c_items[c] AND c_of[c] = ANY (landed);
        END LOOP;
    END IF;
    IF s_of IS NOT NULL THEN
        INSERT INTO pointer (key, item, stream)
        SELECT k.key, k.item, k.stream FROM unnest(s_of, s_keys, s_items, s_streams) AS k (of, key, item, stream)
        WHERE k.of = ANY (landed)
        ON CONFLICT (key, item) DO UPDATE SET stream = excluded.stream;
    END IF;
    IF o_of IS NOT NULL THEN
        INSERT INTO outbox (stream, effect, due)
        SELECT o.stream, o.effect, o.due FROM unnest(o_of, o_streams, o_effects, o_dues) AS o (of, stream, effect, due)
        WHERE o.of = ANY (landed);
    END IF;

    IF cardinality(landed) < cardinality(p_streams) THEN
        IF i_of IS NOT NULL THEN
            FOR i IN 1 .. cardinality(i_of) LOOP
                DELETE FROM idempotency
                WHERE scope = i_scopes[i] AND key = i_keys[i] AND i_of[i] <> ALL (landed) AND i_of[i] <> ALL (repeated);
            END LOOP;
        END IF;
        RETURN QUERY
        SELECT g.n::int,
            CASE WHEN g.n = ANY (repeated) THEN 'CS002' WHEN g.stream = ANY (rekey) THEN 'CS003' ELSE 'CS001' END,
            e.seq, e.hash
        FROM unnest(p_streams) WITH ORDINALITY AS g (stream, n)
        LEFT JOIN LATERAL (
            SELECT a.seq, a.hash FROM entry a WHERE a.stream = g.stream ORDER BY a.seq DESC LIMIT 1
        ) AS e ON true
        WHERE g.n <> ALL (landed);
    END IF;
END $$;

-- The entries of an append after the first of each stream, for the streams at the places `landed` (NULL: all).
-- Their numbers cannot be taken: nobody sees the first before this commits.
CREATE FUNCTION append_rest(
    p_streams text[], p_bases bigint[], p_hashes bytea[], landed int[],
    r_of int[], r_prevs bytea[], r_hashes bytea[], r_bytes bytea[],
    r_digests bytea[], r_keys bytea[], r_payloads bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    broken boolean;
BEGIN
    WITH given AS (
        SELECT s.stream, s.base + 1 + row_number() OVER w AS seq, r.prev, r.hash, r.bytes, r.digest, r.key, r.payload,
            coalesce(lag(r.hash) OVER w, s.hash) AS before, r.n
        FROM unnest(r_of, r_prevs, r_hashes, r_bytes, r_digests, r_keys, r_payloads) WITH ORDINALITY
            AS r (of, prev, hash, bytes, digest, key, payload, n)
        JOIN unnest(p_streams, p_bases, p_hashes) WITH ORDINALITY AS s (stream, base, hash, n) ON s.n = r.of
        WHERE landed IS NULL OR r.of = ANY (landed)
        WINDOW w AS (PARTITION BY r.of ORDER BY r.n)
    ), added AS (
        INSERT INTO entry (stream, seq, prev, hash, bytes, payload_digest, payload_key, payload)
        SELECT g.stream, g.seq, g.prev, g.hash, g.bytes, g.digest, g.key, g.payload FROM given g ORDER BY g.n
    )
    SELECT coalesce(bool_or(g.prev <> g.before), false) INTO broken FROM given g;
    IF broken THEN
        RAISE EXCEPTION 'an entry does not follow its predecessor' USING ERRCODE = 'CS005';
    END IF;
END $$;

-- Keeps new data keys (those with a wrapped form) and returns the streams whose key is another one by now, or NULL.
-- An erasure that commits right after this is simply the later one: its key is gone, whatever was sealed under it.
CREATE FUNCTION keep_keys(k_streams text[], k_ids bytea[], k_wrapped bytea[]) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO data_key (stream, id, wrapped)
    SELECT k.stream, k.id, k.wrapped FROM unnest(k_streams, k_ids, k_wrapped) AS k (stream, id, wrapped)
    WHERE k.wrapped IS NOT NULL
    ON CONFLICT (stream) DO NOTHING;
    RETURN (
        SELECT array_agg(k.stream) FROM unnest(k_streams, k_ids) AS k (stream, id)
        WHERE (SELECT d.id FROM data_key d WHERE d.stream = k.stream) IS DISTINCT FROM k.id
    );
END $$;

-- What the first entry of a stream names as its predecessor.
CREATE FUNCTION zero_hash() RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea
$$;

-- Each kept answer sweeps two that have expired, so the table does not grow for ever.
CREATE FUNCTION sweep_answers(p_now bigint, p_count bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT scope, key FROM idempotency WHERE expires <= p_now ORDER BY expires LIMIT 2 * p_count
        FOR UPDATE SKIP LOCKED
    LOOP
        DELETE FROM idempotency WHERE scope = old.scope AND key = old.key;
    END LOOP;
END $$;

-- Takes the lease, or renews it for the holder it has. NULL while another holds it.
CREATE FUNCTION take_lease(p_name text, p_holder text, p_now bigint, p_until bigint) RETURNS bigint
LANGUAGE sql AS $$
    INSERT INTO lease AS held (name, holder, epoch, until) VALUES (p_name, p_holder, 1, p_until)
    ON CONFLICT (name) DO UPDATE
        SET epoch = held.epoch + CASE WHEN held.holder = excluded.holder AND held.until > p_now THEN 0 ELSE 1 END,
            holder = excluded.holder,
            until = excluded.until
        WHERE held.holder = excluded.holder OR held.until <= p_now
    RETURNING epoch;
$$;

-- Locks the lease until the transaction ends, so that a new holder waits for what the old one still does.
CREATE FUNCTION hold_lease(p_name text, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease WHERE name = p_name AND epoch = p_epoch AND holder <> '' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION '%', p_name USING ERRCODE = 'CS004';
    END IF;
END $$;

-- Gives the next leaf numbers to at most p_limit entries; returns how many leaves there are then.
CREATE FUNCTION number_entries(p_name text, p_epoch bigint, p_limit bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    base bigint;
    ids bigint[];
    streams text[];
    firsts bigint[];
    counts bigint[];
    total bigint;
    surplus bigint;
BEGIN
    PERFORM hold_lease(p_name, p_epoch);
    SELECT coalesce(max(index) + 1, 0) INTO base FROM leaf;
    SELECT array_agg(w.id ORDER BY w.id), array_agg(w.stream ORDER BY w.id), array_agg(w.first ORDER BY w.id),
        array_agg(w.count ORDER BY w.id), sum(w.count)
    INTO ids, streams, firsts, counts, total
    FROM (
        SELECT u.*, sum(u.count) OVER (ORDER BY u.id) - u.count AS before
        FROM (SELECT * FROM unnumbered ORDER BY id LIMIT p_limit) u
    ) w
    WHERE w.before < p_limit;
    IF ids IS NULL THEN
        RETURN base;
    END IF;
    -- Only the last run can be longer than what is left of the limit: its rest waits.
    surplus := total - p_limit;
    IF surplus > 0 THEN
        UPDATE unnumbered SET first = first + count - surplus, count = surplus WHERE id = ids[cardinality(ids)];
        counts[cardinality(ids)] := counts[cardinality(ids)] - surplus;
        total := p_limit;
        DELETE FROM unnumbered WHERE id = ANY (ids[:cardinality(ids) - 1]);
    ELSE
        DELETE FROM unnumbered WHERE id = ANY (ids);
    END IF;
    INSERT INTO leaf (index, stream, seq)
    SELECT base - 1 + row_number() OVER (ORDER BY t.n, s.seq), t.stream, s.seq
    FROM unnest(streams, firsts, counts) WITH ORDINALITY AS t (stream, first, count, n)
    CROSS JOIN LATERAL generate_series(t.first, t.first + t.count - 1) AS s (seq);
    RETURN base + total;
END $$;

-- Stores tiles and the checkpoint over them, if the published size still is p_expected. A tile only ever widens.
CREATE FUNCTION publish_log(
    p_name text, p_epoch bigint, p_expected bigint,
    p_levels smallint[], p_indexes bigint[], p_hashes bytea[],
    p_size bigint, p_root bytea, p_note text, p_at bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hold_lease(p_name, p_epoch);
    IF coalesce((SELECT size FROM published), 0) <> p_expected THEN
        RETURN false;
    END IF;
    INSERT INTO tile AS kept (level, index, hashes)
    SELECT t.level, t.index, t.hashes FROM unnest(p_levels, p_indexes, p_hashes) AS t (level, index, hashes)
    ON CONFLICT (level, index) DO UPDATE SET hashes = excluded.hashes
        WHERE length(excluded.hashes) >= length(kept.hashes);
    INSERT INTO published (one, size, root, note, at) VALUES (true, p_size, p_root, p_note, p_at)
    ON CONFLICT (one) DO UPDATE
        SET size = excluded.size, root = excluded.root, note = excluded.note, at = excluded.at;
    RETURN true;
END $$;
