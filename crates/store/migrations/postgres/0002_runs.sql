-- Leaf numbers and what waits for one, by runs of entries: a commonplace append costs one insert and one row of
-- the queue, without an index on it; numbering costs a row a stream, however many entries it got.

-- A row an append or a batch. An entry is queued only after its predecessor is committed, so the order of `id`
-- never puts it first; of rows with one `id` the order is that of `bases`.
ALTER TABLE unnumbered RENAME TO waiting;
CREATE TABLE unnumbered (
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The sum of `counts`.
    total int NOT NULL,
    -- No stream twice: `count` entries each, after the number `base`.
    streams text[] COLLATE "C" NOT NULL,
    bases bigint[] NOT NULL,
    counts int[] NOT NULL
);
-- A row of a batch stays in its page. The queue is small, and emptied as fast as it is filled: whoever numbers
-- entries vacuums it too.
ALTER TABLE unnumbered SET (
    toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
INSERT INTO unnumbered (total, streams, bases, counts)
SELECT w.count, ARRAY[w.stream], ARRAY[w.first - 1], ARRAY[w.count::int] FROM waiting w ORDER BY w.id;
DROP TABLE waiting;

-- The entries of `stream` from `first` on, `count` of them, are the leaves from `index` on.
ALTER TABLE leaf RENAME COLUMN seq TO first;
ALTER TABLE leaf ADD COLUMN count bigint NOT NULL DEFAULT 1;
ALTER TABLE leaf ALTER COLUMN count DROP DEFAULT;

DROP FUNCTION append_entries(
    text[], bigint[], bytea[], bigint[], bytea[], bytea[], bytea[], bytea[], bytea[],
    int[], bytea[], bytea[], bytea[], bytea[], bytea[], bytea[], text[], bytea[], bytea[], text[], bytea[], bigint[],
    text[], text[], text[], text[], text[], text, text, bytea, bytea, bigint, bigint);
DROP FUNCTION append_batch(
    text, bigint, text[], bigint[], bytea[], bigint[], bytea[], bytea[], bytea[], bytea[], bytea[],
    int[], bytea[], bytea[], bytea[], bytea[], bytea[], bytea[], text[], bytea[], bytea[],
    int[], text[], bytea[], bigint[], int[], text[], text[], text[], int[], text[], text[],
    int[], text[], text[], bytea[], bytea[], bigint, bigint[]);
DROP FUNCTION number_entries(text, bigint, bigint);

-- One append: all of it or nothing, in one statement. Streams come in byte order, and so do pointers, so two
-- appends do not wait for each other in a circle. The first entry of each stream is given beside it, its `prev`
-- being the head it was decided on; a stream without an entry (count 0) is only compared. The entries after the
-- first name their stream by place. Order of locks: idempotency key, data keys, streams, pointers.
-- An append of one entry to a stream that has some is a statement of its own of the client's own.
CREATE FUNCTION append_entries(
    p_streams text[], p_bases bigint[], p_prevs bytea[], p_counts int[],
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
            INSERT INTO unnumbered (total, streams, bases, counts)
            VALUES (p_counts[s], ARRAY[p_streams[s]], ARRAY[p_bases[s]], ARRAY[p_counts[s]]);
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
-- idempotency key or pointer. Refused as a whole (CS004) once the lease is lost, and as a whole (23505 of
-- entry_pkey) when another has just taken a number: then it may be sent again.
CREATE FUNCTION append_batch(
    p_name text, p_epoch bigint,
    p_streams text[], p_bases bigint[], p_prevs bytea[], p_counts int[],
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
    rekey int[] := '{}';
    refused int[];
    names text[];
    -- NULL: all of them.
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
        rekey := places_of(keep_keys(k_streams, k_ids, k_wrapped), p_streams);
    END IF;
    IF cardinality(repeated) + cardinality(rekey) > 0 THEN
        refused := repeated || rekey;
    END IF;

    -- Arrays are read by place: unnest() would store each of them once more, row by row.
    WITH fresh AS (
        INSERT INTO entry (stream, seq, prev, hash, bytes, payload_digest, payload_key, payload)
        SELECT p_streams[n], p_bases[n] + 1, p_prevs[n], p_hashes[n], p_bytes[n], p_digests[n], p_keys[n], p_payloads[n]
        FROM generate_series(1, cardinality(p_streams)) AS g (n)
        WHERE (refused IS NULL OR n <> ALL (refused)) AND p_prevs[n] = coalesce((
                SELECT CASE e.seq WHEN p_bases[n] THEN e.hash ELSE '' END FROM entry e
                WHERE e.stream = p_streams[n] AND e.seq >= p_bases[n] ORDER BY e.seq DESC LIMIT 1
            ), CASE p_bases[n] WHEN 0 THEN zero_hash() END)
        RETURNING stream
    )
    SELECT coalesce(array_agg(f.stream), '{}') INTO names FROM fresh f;
    IF cardinality(names) = cardinality(p_streams) THEN
        INSERT INTO unnumbered (total, streams, bases, counts)
        SELECT sum(c.count), p_streams, p_bases, p_counts FROM unnest(p_counts) AS c (count);
    ELSE
        landed := places_of(names, p_streams);
        INSERT INTO unnumbered (total, streams, bases, counts)
        SELECT sum(p_counts[n]), array_agg(p_streams[n]), array_agg(p_bases[n]), array_agg(p_counts[n])
        FROM unnest(landed) AS l (n) HAVING count(*) > 0;
    END IF;

    IF r_of IS NOT NULL THEN
        PERFORM append_rest(p_streams, p_bases, p_hashes, landed,
            r_of, r_prevs, r_hashes, r_bytes, r_digests, r_keys, r_payloads);
    END IF;
    IF c_of IS NOT NULL THEN
        FOR c IN 1 .. cardinality(c_of) LOOP
            DELETE FROM pointer
            WHERE key = c_keys[c] AND item = c_items[c] AND (landed IS NULL OR c_of[c] = ANY (landed));
        END LOOP;
    END IF;
    IF s_of IS NOT NULL THEN
        INSERT INTO pointer (key, item, stream)
        SELECT k.key, k.item, k.stream FROM unnest(s_of, s_keys, s_items, s_streams) AS k (of, key, item, stream)
        WHERE landed IS NULL OR k.of = ANY (landed)
        ON CONFLICT (key, item) DO UPDATE SET stream = excluded.stream;
    END IF;
    IF o_of IS NOT NULL THEN
        INSERT INTO outbox (stream, effect, due)
        SELECT o_streams[n], o_effects[n], o_dues[n] FROM generate_series(1, cardinality(o_of)) AS g (n)
        WHERE landed IS NULL OR o_of[n] = ANY (landed);
    END IF;

    IF landed IS NOT NULL THEN
        IF i_of IS NOT NULL THEN
            FOR i IN 1 .. cardinality(i_of) LOOP
                DELETE FROM idempotency
                WHERE scope = i_scopes[i] AND key = i_keys[i] AND i_of[i] <> ALL (landed) AND i_of[i] <> ALL (repeated);
            END LOOP;
        END IF;
        RETURN QUERY
        SELECT g.n::int,
            CASE WHEN g.n = ANY (repeated) THEN 'CS002' WHEN g.n = ANY (rekey) THEN 'CS003' ELSE 'CS001' END,
            e.seq, e.hash
        FROM unnest(p_streams) WITH ORDINALITY AS g (stream, n)
        LEFT JOIN LATERAL (
            SELECT a.seq, a.hash FROM entry a WHERE a.stream = g.stream ORDER BY a.seq DESC LIMIT 1
        ) AS e ON true
        WHERE g.n <> ALL (landed);
    END IF;
END $$;

-- The places, from 1, of those of `p_streams` that are among `p_names`.
CREATE FUNCTION places_of(p_names text[], p_streams text[]) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(s.n::int), '{}') FROM unnest(p_streams) WITH ORDINALITY AS s (stream, n)
    WHERE s.stream = ANY (p_names)
$$;

-- Gives the next leaf numbers to at most p_limit entries; returns how many leaves there are then. Those of one
-- stream get theirs in a row.
CREATE FUNCTION number_entries(p_name text, p_epoch bigint, p_limit bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    base bigint;
    taken tid[];
    total bigint;
BEGIN
    PERFORM hold_lease(p_name, p_epoch);
    SELECT coalesce((SELECT index + count FROM leaf ORDER BY index DESC LIMIT 1), 0) INTO base;
    LOOP
        SELECT array_agg(w.place), sum(w.total) INTO taken, total
        FROM (
            SELECT u.place, u.total, sum(u.total) OVER (ORDER BY u.id, u.base, u.place ROWS UNBOUNDED PRECEDING) AS until
            FROM (
                SELECT ctid AS place, id, bases[1] AS base, q.total FROM unnumbered q ORDER BY 2, 3, 1 LIMIT p_limit
            ) u
        ) w
        WHERE w.until <= p_limit;
        EXIT WHEN taken IS NOT NULL;
        IF p_limit < 1 THEN
            RETURN base;
        END IF;
        -- Empty, or the first row alone is more than the limit: it is cut into rows that are not.
        WITH first AS (
            DELETE FROM unnumbered WHERE id = (SELECT min(id) FROM unnumbered) RETURNING id, streams, bases, counts
        )
        INSERT INTO unnumbered (id, total, streams, bases, counts) OVERRIDING SYSTEM VALUE
        SELECT f.id, part.count, ARRAY[r.stream], ARRAY[r.base + part.after], ARRAY[part.count]
        FROM first f
        CROSS JOIN LATERAL unnest(f.streams, f.bases, f.counts) AS r (stream, base, count)
        CROSS JOIN LATERAL (
            SELECT g.after, least(p_limit, r.count - g.after)::int AS count
            FROM generate_series(0, r.count - 1, least(p_limit, r.count)) AS g (after)
        ) AS part;
        IF NOT FOUND THEN
            RETURN base;
        END IF;
    END LOOP;
    -- Nobody else deletes here, and what was taken is all that precedes it in the queue.
    WITH gone AS (
        DELETE FROM unnumbered WHERE ctid = ANY (taken) RETURNING streams, bases, counts
    ), run AS (
        SELECT r.stream, min(r.base) + 1 AS first, sum(r.count) AS count
        FROM gone g CROSS JOIN LATERAL unnest(g.streams, g.bases, g.counts) AS r (stream, base, count)
        GROUP BY r.stream
    )
    INSERT INTO leaf (index, stream, first, count)
    SELECT base + sum(r.count) OVER (ORDER BY r.stream) - r.count, r.stream, r.first, r.count FROM run r;
    RETURN base + total;
END $$;
