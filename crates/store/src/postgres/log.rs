//! The server's log in the database: leaf numbers, tiles, the published checkpoint.

use super::error::{unreachable, unread, unwritten};
use super::{count, digest, int, limit_of, stream_of};
use crate::{Leaf, Lease, Published, StoreError, Tile};
use env::Timestamp;
use ledger::StreamId;
use sqlx::{PgPool, Row};

pub(super) async fn number(pool: &PgPool, lease: &Lease, limit: usize) -> Result<u64, StoreError> {
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    let total: i64 = sqlx::query_scalar("SELECT number_entries($1, $2, $3)")
        .bind(&lease.name)
        .bind(int(lease.epoch))
        .bind(limit_of(limit))
        .fetch_one(&mut *connection)
        .await
        .map_err(unwritten)?;
    Ok(count(total))
}

/// Makes room where numbered entries were queued: the queue has no index, and is read whole. A hint.
pub(super) async fn sweep(pool: &PgPool) {
    let swept = sqlx::raw_sql("VACUUM (SKIP_LOCKED, TRUNCATE false) unnumbered").execute(pool).await;
    if let Err(error) = swept {
        tracing::debug!(%error, "the queue of the log was not vacuumed");
    }
}

pub(super) async fn leaves(pool: &PgPool, from: u64, limit: usize) -> Result<Vec<Leaf>, StoreError> {
    let rows = sqlx::query(
        "SELECT l.index + g.n, l.stream, l.first + g.n,
             (SELECT e.hash FROM entry e WHERE e.stream = l.stream AND e.seq = l.first + g.n)
         FROM (
             SELECT r.*, greatest($1 - r.index, 0) AS skip FROM leaf r
             WHERE r.index >= coalesce((SELECT max(index) FROM leaf WHERE index <= $1), 0) ORDER BY r.index LIMIT $2
         ) l
         CROSS JOIN LATERAL generate_series(l.skip, l.skip + least($2, l.count - l.skip) - 1) AS g (n)
         ORDER BY l.index, g.n LIMIT $2",
    )
    .bind(int(from))
    .bind(limit_of(limit))
    .fetch_all(pool)
    .await
    .map_err(unread)?;
    rows.iter()
        .map(|row| {
            Ok(Leaf {
                index: count(row.try_get(0).map_err(unread)?),
                stream: stream_of(row.try_get(1).map_err(unread)?)?,
                seq: count(row.try_get(2).map_err(unread)?),
                hash: digest(row.try_get(3).map_err(unread)?)?,
            })
        })
        .collect()
}

pub(super) async fn leaf(pool: &PgPool, stream: &StreamId, seq: u64) -> Result<Option<u64>, StoreError> {
    let index: Option<i64> = sqlx::query_scalar(
        "SELECT r.index + $2 - r.first FROM (
             SELECT index, first, count FROM leaf WHERE stream = $1 AND first <= $2 ORDER BY first DESC LIMIT 1
         ) r WHERE $2 < r.first + r.count",
    )
    .bind(stream.as_str())
    .bind(int(seq))
    .fetch_optional(pool)
    .await
    .map_err(unread)?;
    Ok(index.map(count))
}

/// Whether there may be more than `after` entries.
pub(super) async fn has_grown(pool: &PgPool, after: u64) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM unnumbered)
             OR coalesce((SELECT index + count FROM leaf ORDER BY index DESC LIMIT 1), 0) > $1",
    )
    .bind(int(after))
    .fetch_one(pool)
    .await
    .map_err(unread)
}

pub(super) async fn tile(
    pool: &PgPool,
    log: &str,
    level: u8,
    index: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("SELECT hashes FROM tile WHERE log = $1 AND level = $2 AND index = $3")
        .bind(log)
        .bind(i16::from(level))
        .bind(int(index))
        .fetch_optional(pool)
        .await
        .map_err(unread)
}

pub(super) async fn published(pool: &PgPool, log: &str) -> Result<Option<Published>, StoreError> {
    let row = sqlx::query("SELECT size, root, note, at FROM published WHERE log = $1")
        .bind(log)
        .fetch_optional(pool)
        .await
        .map_err(unread)?;
    row.map(|row| {
        Ok(Published {
            size: count(row.try_get(0).map_err(unread)?),
            root: digest(row.try_get(1).map_err(unread)?)?,
            note: row.try_get(2).map_err(unread)?,
            at: Timestamp::from_micros(row.try_get(3).map_err(unread)?),
        })
    })
    .transpose()
}

pub(super) async fn publish(
    pool: &PgPool,
    lease: &Lease,
    expected: u64,
    tiles: Vec<Tile>,
    published: Published,
) -> Result<bool, StoreError> {
    let mut connection = pool.acquire().await.map_err(unreachable)?;
    let mut tiles = tiles;
    tiles.sort_by_key(|tile| (tile.level, tile.index, tile.hashes.len()));
    // Of two widths of one tile the wider one is stored; one statement cannot store both.
    tiles.reverse();
    tiles.dedup_by_key(|tile| (tile.level, tile.index));
    tiles.reverse();
    let levels: Vec<i16> = tiles.iter().map(|tile| i16::from(tile.level)).collect();
    let indexes: Vec<i64> = tiles.iter().map(|tile| int(tile.index)).collect();
    let hashes: Vec<&[u8]> = tiles.iter().map(|tile| tile.hashes.as_slice()).collect();
    sqlx::query_scalar("SELECT publish_log($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
        .bind(&lease.name)
        .bind(int(lease.epoch))
        .bind(int(expected))
        .bind(levels)
        .bind(indexes)
        .bind(hashes)
        .bind(int(published.size))
        .bind(published.root.as_bytes().as_slice())
        .bind(published.note)
        .bind(published.at.as_micros())
        .fetch_one(&mut *connection)
        .await
        .map_err(unwritten)
}
