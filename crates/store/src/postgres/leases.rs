//! Rights to act alone, fenced by an epoch.

use super::error::{unreachable, unread, unwritten};
use super::int;
use crate::{Lease, StoreError};
use env::{Duration, Timestamp};
use sqlx::PgPool;

pub(super) async fn take(
    pool: &PgPool,
    name: &str,
    holder: &str,
    now: Timestamp,
    length: Duration,
) -> Result<Option<Lease>, StoreError> {
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    let until = now + length;
    let epoch: Option<i64> = sqlx::query_scalar("SELECT take_lease($1, $2, $3, $4)")
        .bind(name)
        .bind(holder)
        .bind(now.as_micros())
        .bind(until.as_micros())
        .fetch_one(&mut *connection)
        .await
        .map_err(unwritten)?;
    Ok(epoch.map(|epoch| Lease { name: name.to_owned(), epoch: super::count(epoch), until }))
}

/// The holder's name goes too, so that whoever takes it next, the same holder included, has a larger epoch.
pub(super) async fn release(pool: &PgPool, lease: &Lease) -> Result<(), StoreError> {
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    sqlx::query("UPDATE lease SET holder = '', until = $3 WHERE name = $1 AND epoch = $2")
        .bind(&lease.name)
        .bind(int(lease.epoch))
        .bind(i64::MIN)
        .execute(&mut *connection)
        .await
        .map_err(unwritten)?;
    Ok(())
}

/// The store's own mark, set by whoever asks first.
pub(super) async fn mark(pool: &PgPool, name: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    sqlx::query("INSERT INTO about (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(name)
        .bind(value)
        .execute(&mut *connection)
        .await
        .map_err(unwritten)?;
    sqlx::query_scalar("SELECT value FROM about WHERE name = $1")
        .bind(name)
        .fetch_one(&mut *connection)
        .await
        .map_err(unread)
}
