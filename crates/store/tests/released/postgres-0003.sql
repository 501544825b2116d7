SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.append_batch(p_name text, p_epoch bigint, p_streams text[], p_bases bigint[], p_prevs bytea[], p_counts integer[], p_hashes bytea[], p_bytes bytea[], p_digests bytea[], p_keys bytea[], p_payloads bytea[], r_of integer[], r_prevs bytea[], r_hashes bytea[], r_bytes bytea[], r_digests bytea[], r_keys bytea[], r_payloads bytea[], k_streams text[], k_ids bytea[], k_wrapped bytea[], o_of integer[], o_streams text[], o_effects bytea[], o_dues bigint[], s_of integer[], s_keys text[], s_items text[], s_streams text[], c_of integer[], c_keys text[], c_items text[], i_of integer[], i_scopes text[], i_keys text[], i_requests bytea[], i_responses bytea[], i_now bigint, i_expires bigint[]) RETURNS TABLE(place integer, code text, head_seq bigint, head_hash bytea)
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.append_entries(p_streams text[], p_bases bigint[], p_prevs bytea[], p_counts integer[], p_hashes bytea[], p_bytes bytea[], p_digests bytea[], p_keys bytea[], p_payloads bytea[], r_of integer[], r_prevs bytea[], r_hashes bytea[], r_bytes bytea[], r_digests bytea[], r_keys bytea[], r_payloads bytea[], k_streams text[], k_ids bytea[], k_wrapped bytea[], o_streams text[], o_effects bytea[], o_dues bigint[], s_keys text[], s_items text[], s_streams text[], c_keys text[], c_items text[], i_scope text, i_key text, i_request bytea, i_response bytea, i_now bigint, i_expires bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.append_rest(p_streams text[], p_bases bigint[], p_hashes bytea[], landed integer[], r_of integer[], r_prevs bytea[], r_hashes bytea[], r_bytes bytea[], r_digests bytea[], r_keys bytea[], r_payloads bytea[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.hold_lease(p_name text, p_epoch bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM lease WHERE name = p_name AND epoch = p_epoch AND holder <> '' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION '%', p_name USING ERRCODE = 'CS004';
    END IF;
END $$;
CREATE FUNCTION public.keep_keys(k_streams text[], k_ids bytea[], k_wrapped bytea[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.number_entries(p_name text, p_epoch bigint, p_limit bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.places_of(p_names text[], p_streams text[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce(array_agg(s.n::int), '{}') FROM unnest(p_streams) WITH ORDINALITY AS s (stream, n)
    WHERE s.stream = ANY (p_names)
$$;
CREATE FUNCTION public.publish_log(p_name text, p_epoch bigint, p_expected bigint, p_levels smallint[], p_indexes bigint[], p_hashes bytea[], p_size bigint, p_root bytea, p_note text, p_at bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.refuse_stale(p_stream text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    at_seq bigint;
    at_hash bytea;
BEGIN
    SELECT seq, hash INTO at_seq, at_hash FROM entry WHERE stream = p_stream ORDER BY seq DESC LIMIT 1;
    RAISE EXCEPTION 'stale' USING ERRCODE = 'CS001',
        DETAIL = p_stream || ' ' || coalesce(at_seq, 0) || ' ' || coalesce(encode(at_hash, 'hex'), repeat('0', 64));
END $$;
CREATE FUNCTION public.sweep_answers(p_now bigint, p_count bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.take_lease(p_name text, p_holder text, p_now bigint, p_until bigint) RETURNS bigint
    LANGUAGE sql
    AS $$
    INSERT INTO lease AS held (name, holder, epoch, until) VALUES (p_name, p_holder, 1, p_until)
    ON CONFLICT (name) DO UPDATE
        SET epoch = held.epoch + CASE WHEN held.holder = excluded.holder AND held.until > p_now THEN 0 ELSE 1 END,
            holder = excluded.holder,
            until = excluded.until
        WHERE held.holder = excluded.holder OR held.until <= p_now
    RETURNING epoch;
$$;
CREATE FUNCTION public.zero_hash() RETURNS bytea
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
CREATE TABLE public.about (
    name text NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL
);
CREATE TABLE public.data_key (
    stream text NOT NULL COLLATE pg_catalog."C",
    id bytea NOT NULL,
    wrapped bytea NOT NULL
);
CREATE TABLE public.entry (
    stream text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    prev bytea NOT NULL,
    hash bytea NOT NULL,
    bytes bytea NOT NULL,
    payload_digest bytea,
    payload_key bytea,
    payload bytea
);
CREATE TABLE public.idempotency (
    scope text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    request bytea NOT NULL,
    response bytea NOT NULL,
    expires bigint NOT NULL
);
CREATE TABLE public.leaf (
    index bigint NOT NULL,
    stream text NOT NULL COLLATE pg_catalog."C",
    first bigint NOT NULL,
    count bigint NOT NULL
);
CREATE TABLE public.lease (
    name text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL,
    epoch bigint NOT NULL,
    until bigint NOT NULL
);
CREATE TABLE public.outbox (
    id bigint NOT NULL,
    stream text NOT NULL COLLATE pg_catalog."C",
    effect bytea NOT NULL,
    due bigint NOT NULL,
    leased_until bigint DEFAULT '-9223372036854775808'::bigint NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    lease bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000');
ALTER TABLE public.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.pointer (
    key text NOT NULL COLLATE pg_catalog."C",
    item text NOT NULL COLLATE pg_catalog."C",
    stream text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.published (
    size bigint NOT NULL,
    root bytea NOT NULL,
    note text NOT NULL,
    at bigint NOT NULL,
    log text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.tile (
    level smallint NOT NULL,
    index bigint NOT NULL,
    hashes bytea NOT NULL,
    log text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.unnumbered (
    id bigint NOT NULL,
    total integer NOT NULL,
    streams text[] NOT NULL COLLATE pg_catalog."C",
    bases bigint[] NOT NULL,
    counts integer[] NOT NULL
)
WITH (toast_tuple_target='8160', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000');
ALTER TABLE public.unnumbered ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.unnumbered_id_seq1
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO public._sqlx_migrations VALUES (1, 'journal', '2026-11-30 23:06:46.116796+00', true, '\x6bd1bff97222a2c5c9d8d44558ac0bca02624978b07537c713a8b1e1b6fa63c78646d992edb7f79b845664363d72a3d3', 210923550);
INSERT INTO public._sqlx_migrations VALUES (2, 'runs', '2026-11-30 23:06:46.328947+00', true, '\x8f93d85ad25344837195848127774d56585f5e0278b351879b9eb37e87bfe93364b81082ce455cf77d9f980773861c6c', 45620143);
INSERT INTO public._sqlx_migrations VALUES (3, 'logs', '2026-11-30 23:06:46.379535+00', true, '\x6f53d7d496bd3497918d119935c3142cc6337d06a738bad10f4825abe66526225b3e089f76e450925b76f4f89d0239c4', 40005460);
INSERT INTO public.about VALUES ('server_key', '\x14b952ea3633dfe4ce0e7bd3c4f897950a27c7ba6fedf6eead55d39cce36f590');
INSERT INTO public.data_key VALUES ('room/released', '\x34cbd12c8f0e17b82d98ef1d075eddda289d19f4aab9c916c3dae42851e26875', '\xce4d7c8900f12c7d4f0fdbfb5328cdfb2998427ac114c965daf2576f4052b448ae432b6a90a11128249ce068ef2b278b84c44c42c6016cf5db03ef93514a58057bfcb0786e44f64c');
INSERT INTO public.entry VALUES ('room/released', 1, '\x0000000000000000000000000000000000000000000000000000000000000000', '\x41a0370c3d9f42773a59e8e01651911cf43b1e3f66944cbb690029debc4eb647', '\x61', NULL, NULL, NULL);
INSERT INTO public.entry VALUES ('room/released', 2, '\x41a0370c3d9f42773a59e8e01651911cf43b1e3f66944cbb690029debc4eb647', '\xabccbe9b24d2bbd3aa1360d605147a841dd051130131c6929d6004e1ae4796e8', '\x62', NULL, NULL, NULL);
INSERT INTO public.entry VALUES ('room/released', 3, '\xabccbe9b24d2bbd3aa1360d605147a841dd051130131c6929d6004e1ae4796e8', '\x6cfd76e3b839b167fdaa81ac834a84c2b54abc25736876f24384a2472bb3d959', '\x6e616d65732061207061796c6f6164', '\xaaee2381b66884782610bb53fb2b1535d631b3ca756b289b8d79f1b683119b31', '\x34cbd12c8f0e17b82d98ef1d075eddda289d19f4aab9c916c3dae42851e26875', '\xd161a1a33c341153197e8c7619953bb2f9e634db6460747aff7a38e8291bab480b2db7d1c7ee53722189b0ac204c73db8a08af3a5b9266a900');
INSERT INTO public.idempotency VALUES ('scope', 'key', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x88b62e93e70136f8e4c1e957761de747e6ace276bf024934888a8a4b0af79dced8013cd7b82da0497fa75396087d', 1800000001000000);
INSERT INTO public.leaf VALUES (0, 'room/released', 1, 2);
INSERT INTO public.lease VALUES ('log', '', 1, -9223372036854775808);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (1, 'room/released', '\xd83f8430c5f68e1200dc37f8b852c7a9fd7416a1ab2cde9d8cf0135fb38ed671ce4cfdbd1c15b1b685d436b83098baf81a6bfdd409f1075767db49a7ec3d03ad27cf6d9c5e5179d389443acb10b4f003db8111e2a20f750988', 1800000000000000, -9223372036854775808, 0, 0);
INSERT INTO public.pointer VALUES ('released', 'i', 'room/released');
INSERT INTO public.unnumbered OVERRIDING SYSTEM VALUE VALUES (2, 1, '{room/released}', '{2}', '{1}');
SELECT pg_catalog.setval('public.outbox_id_seq', 1, true);
SELECT pg_catalog.setval('public.unnumbered_id_seq1', 2, true);
ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.about
    ADD CONSTRAINT about_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.data_key
    ADD CONSTRAINT data_key_pkey PRIMARY KEY (stream);
ALTER TABLE ONLY public.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (stream, seq);
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (scope, key);
ALTER TABLE ONLY public.leaf
    ADD CONSTRAINT leaf_pkey PRIMARY KEY (index);
ALTER TABLE ONLY public.leaf
    ADD CONSTRAINT leaf_stream_seq_key UNIQUE (stream, first);
ALTER TABLE ONLY public.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pointer
    ADD CONSTRAINT pointer_pkey PRIMARY KEY (key, item);
ALTER TABLE ONLY public.published
    ADD CONSTRAINT published_pkey PRIMARY KEY (log);
ALTER TABLE ONLY public.tile
    ADD CONSTRAINT tile_pkey PRIMARY KEY (log, level, index);
CREATE INDEX idempotency_expires ON public.idempotency USING btree (expires);
CREATE INDEX outbox_due ON public.outbox USING btree (due, id);
