//! The outbox: rows taken with SKIP LOCKED under a lease, each claim fencing the one before.

use super::error::{unreachable, unread, unwritten};
use super::{count, int, limit_of, stream_of};
use crate::{Claimed, ServerKey, StoreError};
use env::{Duration, Timestamp};
use sqlx::{PgPool, Row};

pub(super) async fn claim(
    pool: &PgPool,
    server: &ServerKey,
    now: Timestamp,
    lease: Duration,
    limit: usize,
) -> Result<Vec<Claimed>, StoreError> {
    // A look costs no transaction number, and most find nothing.
    let due: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM outbox WHERE due <= $1 AND leased_until <= $1)")
            .bind(now.as_micros())
            .fetch_one(pool)
            .await
            .map_err(unread)?;
    if !due {
        return Ok(Vec::new());
    }
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    let rows = sqlx::query(
        "WITH taken AS (
             UPDATE outbox o SET leased_until = $2, attempts = o.attempts + 1, lease = o.lease + 1
             WHERE o.id = ANY (ARRAY (
                 SELECT id FROM outbox WHERE due <= $1 AND leased_until <= $1
                 ORDER BY due, id LIMIT $3 FOR UPDATE SKIP LOCKED
             ))
             RETURNING o.id, o.stream, o.effect, o.attempts - 1, o.lease, o.due
         )
         SELECT * FROM taken ORDER BY due, id",
    )
    .bind(now.as_micros())
    .bind((now + lease).as_micros())
    .bind(limit_of(limit))
    .fetch_all(&mut *connection)
    .await
    .map_err(unwritten)?;
    let mut claimed = Vec::with_capacity(rows.len());
    for row in &rows {
        match read_claimed(row, server) {
            Ok(row) => claimed.push(row),
            // One row that does not open must not keep the others from running; it comes up again later.
            Err(error) => tracing::error!(%error, "an outbox row does not open"),
        }
    }
    Ok(claimed)
}

pub(super) async fn complete(pool: &PgPool, id: i64, lease: u64) -> Result<bool, StoreError> {
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    let done = sqlx::query("DELETE FROM outbox WHERE id = $1 AND lease = $2")
        .bind(id)
        .bind(int(lease))
        .execute(&mut *connection)
        .await
        .map_err(unwritten)?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn postpone(pool: &PgPool, id: i64, lease: u64, due: Timestamp) -> Result<bool, StoreError> {
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    let done = sqlx::query(
        "UPDATE outbox SET due = $3, leased_until = $3, lease = lease + 1 WHERE id = $1 AND lease = $2",
    )
    .bind(id)
    .bind(int(lease))
    .bind(due.as_micros())
    .execute(&mut *connection)
    .await
    .map_err(unwritten)?;
    Ok(done.rows_affected() > 0)
}

fn read_claimed(row: &sqlx::postgres::PgRow, server: &ServerKey) -> Result<Claimed, StoreError> {
    let stream = stream_of(row.try_get(1).map_err(unread)?)?;
    let sealed: &[u8] = row.try_get(2).map_err(unread)?;
    let effect = server.unseal(stream.as_str(), sealed)?;
    Ok(Claimed {
        id: row.try_get(0).map_err(unread)?,
        effect: canon::from_slice(&effect).map_err(|error| StoreError::Corrupt(error.to_string()))?,
        stream,
        attempts: u32::try_from(row.try_get::<i64, _>(3).map_err(unread)?).unwrap_or(u32::MAX),
        lease: count(row.try_get(4).map_err(unread)?),
    })
}
