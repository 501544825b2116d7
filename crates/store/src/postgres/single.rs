//! The commonplace append, one entry more in a stream that has some: a statement as short as it can be.

use super::error::{Failure, failure};
use super::int;
use super::rows::One;
use sqlx::Executor;
use sqlx::postgres::PgConnection;

/// `false` if nothing was written: the stream has moved or its data key is another one, and `append_entries` tells
/// which. The predecessor is compared with the stored one, and whoever else wants the number violates the primary
/// key, as there.
pub(super) async fn append(connection: &mut PgConnection, one: &One<'_>) -> Result<bool, Failure> {
    let sql = match (one.payload.is_some(), one.outgoing.is_some()) {
        (false, false) => PLAIN,
        (false, true) => PLAIN_OUTGOING,
        (true, false) => SEALED,
        (true, true) => SEALED_OUTGOING,
    };
    let mut query = sqlx::query(sql)
        .bind(one.stream)
        .bind(int(one.expected.seq))
        .bind(one.expected.hash.as_bytes().as_slice())
        .bind(one.entry.hash.as_bytes().as_slice())
        .bind(one.entry.bytes.as_slice());
    if let Some((digest, key, sealed)) = one.payload {
        query = query.bind(digest.as_bytes().as_slice()).bind(key.as_bytes().as_slice()).bind(sealed);
    }
    if let Some((stream, effect, due)) = one.outgoing {
        query = query.bind(stream).bind(effect).bind(due);
    }
    connection.execute(query).await.map(|done| done.rows_affected() > 0).map_err(failure)
}

/// The columns and values of a payload, what its data key must be, and the rows of the outbox.
macro_rules! statement {
    ($columns:literal, $values:literal, $key:literal, $outgoing:literal) => {
        concat!(
            "WITH next AS (
                 INSERT INTO entry (stream, seq, prev, hash, bytes",
            $columns,
            ") SELECT stream, seq + 1, hash, $4, $5",
            $values,
            " FROM entry WHERE stream = $1 AND seq = $2 AND hash = $3",
            $key,
            " RETURNING stream, seq
             )",
            $outgoing,
            " INSERT INTO unnumbered (total, streams, bases, counts)
              SELECT 1, ARRAY[stream], ARRAY[seq - 1], ARRAY[1] FROM next"
        )
    };
}

const PLAIN: &str = statement!("", "", "", "");
const PLAIN_OUTGOING: &str = statement!(
    "",
    "",
    "",
    ", sent AS (INSERT INTO outbox (stream, effect, due) SELECT $6::text, $7::bytea, $8::bigint FROM next)"
);
const SEALED: &str = statement!(
    ", payload_digest, payload_key, payload",
    ", $6, $7, $8",
    " AND (SELECT id FROM data_key WHERE stream = $1) = $7",
    ""
);
const SEALED_OUTGOING: &str = statement!(
    ", payload_digest, payload_key, payload",
    ", $6, $7, $8",
    " AND (SELECT id FROM data_key WHERE stream = $1) = $7",
    ", sent AS (INSERT INTO outbox (stream, effect, due) SELECT $9::text, $10::bytea, $11::bigint FROM next)"
);
