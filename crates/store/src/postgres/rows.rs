//! An append in the shape the database functions take: columns as arrays, payloads sealed.

use super::error::{Failure, failure};
use super::{Keys, int};
use crate::{Append, DataKey, Lease, Outgoing, ServerKey, StoreError};
use canon::Digest;
use ledger::{Head, Pointer, StreamId};
use sqlx::postgres::PgConnection;
use sqlx::{Executor, Row};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// A checked append with its payloads sealed.
#[derive(Debug)]
pub(super) struct Prepared {
    pub append: Append,
    /// Places of `append.streams` in byte order of their names.
    order: Vec<usize>,
    /// By stream and entry as in `append.streams`.
    sealed: Vec<Vec<Option<Sealed>>>,
    pub keys: Vec<StreamKey>,
    effects: Vec<Vec<u8>>,
    /// Sealed answer to keep.
    response: Option<Vec<u8>>,
    /// The last word on each (key, item): the stream it is set to, or `None` to clear it.
    pointers: BTreeMap<(String, String), Option<StreamId>>,
}

#[derive(Debug)]
struct Sealed {
    key: Digest,
    bytes: Vec<u8>,
}

/// A stream's data key. `id` is the digest of its wrapped form, which is there as long as nobody has stored it.
#[derive(Debug, Clone)]
pub(super) struct StreamKey {
    pub stream: StreamId,
    pub id: Digest,
    pub key: Arc<DataKey>,
    pub wrapped: Option<Vec<u8>>,
}

impl Prepared {
    pub async fn new(append: Append, keys: &Keys) -> Result<Self, StoreError> {
        let mut order: Vec<usize> = (0..append.streams.len()).collect();
        order.sort_by_key(|place| append.streams.get(*place).map(|part| part.stream.clone()));
        let mut used = Vec::new();
        let mut sealed = Vec::with_capacity(append.streams.len());
        for part in &append.streams {
            if part.entries.iter().all(|entry| entry.payload.is_none()) {
                sealed.push(Vec::new());
                continue;
            }
            let key = keys.of(&part.stream, part.expected).await?;
            let mut payloads = Vec::with_capacity(part.entries.len());
            for entry in &part.entries {
                payloads.push(match &entry.payload {
                    Some(payload) => {
                        Some(Sealed { key: key.id, bytes: key.key.seal(&part.stream, entry.seq, payload)? })
                    }
                    None => None,
                });
            }
            sealed.push(payloads);
            used.push(key);
        }
        used.sort_by(|a: &StreamKey, b| a.stream.cmp(&b.stream));
        let effects =
            append.outbox.iter().map(|row| seal_effect(keys.server(), row)).collect::<Result<_, _>>()?;
        let response = match &append.idempotency {
            Some(idem) => Some(keys.server().seal(&answer_context(&idem.scope, &idem.key), &idem.response)?),
            None => None,
        };
        let mut pointers = BTreeMap::new();
        for (stream, pointer) in &append.pointers {
            match pointer {
                Pointer::Set { key, item } => {
                    pointers.insert((key.clone(), item.clone()), Some(stream.clone()))
                }
                Pointer::Clear { key, item } => pointers.insert((key.clone(), item.clone()), None),
            };
        }
        Ok(Self { append, order, sealed, keys: used, effects, response, pointers })
    }

    /// Whether it may be batched: one stream that really grows.
    pub fn is_single(&self) -> bool {
        matches!(self.append.streams.as_slice(), [part] if !part.entries.is_empty())
    }

    /// The append as [`single::append`] writes it: one entry for a stream that has some, whose data key is stored,
    /// and at most one effect.
    pub fn one(&self) -> Option<One<'_>> {
        let [part] = self.append.streams.as_slice() else { return None };
        let [entry] = part.entries.as_slice() else { return None };
        let plain = self.append.idempotency.is_none() && self.pointers.is_empty();
        let stored = self.keys.iter().all(|key| key.wrapped.is_none());
        if part.expected == Head::EMPTY || !plain || !stored {
            return None;
        }
        let outgoing = match (self.append.outbox.as_slice(), self.effects.as_slice()) {
            ([], []) => None,
            ([row], [effect]) => Some((row.stream.as_str(), effect.as_slice(), row.due.as_micros())),
            _ => return None,
        };
        let payload = match (&entry.payload, self.sealed.first().and_then(|sealed| sealed.first())) {
            (Some(payload), Some(Some(sealed))) => {
                Some((&payload.digest, &sealed.key, sealed.bytes.as_slice()))
            }
            (None, _) => None,
            _ => return None,
        };
        Some(One { stream: part.stream.as_str(), expected: part.expected, entry, payload, outgoing })
    }

    /// What no two appends under way in one process may share.
    pub fn claims(&self) -> impl Iterator<Item = String> {
        let streams = self.append.streams.iter().map(|part| format!("s{}", part.stream));
        let key = self.append.idempotency.iter().map(|idem| format!("i{}\0{}", idem.scope, idem.key));
        let pointers = self.pointers.keys().map(|(key, item)| format!("p{key}\0{item}"));
        streams.chain(key).chain(pointers)
    }

    /// Claims all of that or, with `false`, nothing.
    pub fn claim(&self, claimed: &mut HashSet<String>) -> bool {
        let wanted: Vec<String> = self.claims().collect();
        let free = wanted.iter().all(|claim| !claimed.contains(claim));
        if free {
            claimed.extend(wanted);
        }
        free
    }
}

/// See [`Prepared::one`].
#[derive(Debug)]
pub(super) struct One<'a> {
    pub stream: &'a str,
    pub expected: Head,
    pub entry: &'a ledger::Entry,
    /// Digest, id of the data key, sealed bytes.
    pub payload: Option<(&'a Digest, &'a Digest, &'a [u8])>,
    /// Stream, sealed effect, when it is due.
    pub outgoing: Option<(&'a str, &'a [u8], i64)>,
}

/// Why one append of a batch was refused.
#[derive(Debug)]
pub(super) struct Refused {
    /// Its place in the batch, from 0.
    pub place: usize,
    pub why: Failure,
}

/// The arguments of `append_entries` and `append_batch`, by the names those have.
#[derive(Default)]
pub(super) struct Columns<'a> {
    streams: Vec<&'a str>,
    bases: Vec<i64>,
    prevs: Vec<&'a [u8]>,
    counts: Vec<i32>,
    first: Entries<'a>,
    rest_of: Vec<i32>,
    rest_prevs: Vec<&'a [u8]>,
    rest: Entries<'a>,
    key_streams: Vec<&'a str>,
    key_ids: Vec<&'a [u8]>,
    key_wrapped: Vec<Option<&'a [u8]>>,
    outbox_of: Vec<i32>,
    outbox_streams: Vec<&'a str>,
    effects: Vec<&'a [u8]>,
    dues: Vec<i64>,
    set_of: Vec<i32>,
    set_keys: Vec<&'a str>,
    set_items: Vec<&'a str>,
    set_streams: Vec<&'a str>,
    clear_of: Vec<i32>,
    clear_keys: Vec<&'a str>,
    clear_items: Vec<&'a str>,
    idem_of: Vec<i32>,
    scopes: Vec<&'a str>,
    idem_keys: Vec<&'a str>,
    requests: Vec<&'a [u8]>,
    responses: Vec<&'a [u8]>,
    now: Option<i64>,
    expires: Vec<i64>,
}

#[derive(Default)]
struct Entries<'a> {
    hashes: Vec<Option<&'a [u8]>>,
    bytes: Vec<Option<&'a [u8]>>,
    digests: Vec<Option<&'a [u8]>>,
    keys: Vec<Option<&'a [u8]>>,
    payloads: Vec<Option<&'a [u8]>>,
}

impl<'a> Columns<'a> {
    pub fn add(&mut self, prepared: &'a Prepared) {
        let of = place(self.streams.len());
        for at in &prepared.order {
            if let (Some(part), Some(sealed)) = (prepared.append.streams.get(*at), prepared.sealed.get(*at)) {
                self.add_stream(part, sealed);
            }
        }
        for key in &prepared.keys {
            self.key_streams.push(key.stream.as_str());
            self.key_ids.push(key.id.as_bytes());
            self.key_wrapped.push(key.wrapped.as_deref());
        }
        for (row, effect) in prepared.append.outbox.iter().zip(&prepared.effects) {
            self.outbox_of.push(of);
            self.outbox_streams.push(row.stream.as_str());
            self.effects.push(effect);
            self.dues.push(row.due.as_micros());
        }
        for ((key, item), stream) in &prepared.pointers {
            if let Some(stream) = stream {
                self.set_of.push(of);
                self.set_keys.push(key);
                self.set_items.push(item);
                self.set_streams.push(stream.as_str());
            } else {
                self.clear_of.push(of);
                self.clear_keys.push(key);
                self.clear_items.push(item);
            }
        }
        if let (Some(idem), Some(response)) = (&prepared.append.idempotency, &prepared.response) {
            self.idem_of.push(of);
            self.scopes.push(&idem.scope);
            self.idem_keys.push(&idem.key);
            self.requests.push(idem.request.as_bytes());
            self.responses.push(response);
            self.expires.push(idem.expires.as_micros());
            // One instant for a whole batch: the earliest frees no key too soon.
            let now = idem.now.as_micros();
            self.now = Some(self.now.map_or(now, |earliest| earliest.min(now)));
        }
    }

    fn add_stream(&mut self, part: &'a crate::StreamAppend, sealed: &'a [Option<Sealed>]) {
        self.streams.push(part.stream.as_str());
        self.bases.push(int(part.expected.seq));
        self.prevs.push(part.expected.hash.as_bytes());
        self.counts.push(i32::try_from(part.entries.len()).unwrap_or(i32::MAX));
        let of = place(self.streams.len().saturating_sub(1));
        if part.entries.is_empty() {
            self.first.add(None, None);
        }
        for (at, entry) in part.entries.iter().enumerate() {
            let sealed = sealed.get(at).and_then(Option::as_ref);
            if at == 0 {
                self.first.add(Some(entry), sealed);
            } else {
                self.rest_of.push(of);
                self.rest_prevs.push(entry.prev.as_bytes());
                self.rest.add(Some(entry), sealed);
            }
        }
    }

    /// One append, all or nothing.
    pub async fn append(self, connection: &mut PgConnection) -> Result<(), Failure> {
        let query = sqlx::query(
            "SELECT append_entries($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,\
             $24,$25,$26,$27,$28,$29,$30,$31,$32,$33)",
        )
        .bind(self.streams)
        .bind(self.bases)
        .bind(self.prevs)
        .bind(self.counts)
        .bind(self.first.hashes)
        .bind(self.first.bytes)
        .bind(self.first.digests)
        .bind(self.first.keys)
        .bind(self.first.payloads)
        .bind(some(self.rest_of))
        .bind(some(self.rest_prevs))
        .bind(some(self.rest.hashes))
        .bind(some(self.rest.bytes))
        .bind(some(self.rest.digests))
        .bind(some(self.rest.keys))
        .bind(some(self.rest.payloads))
        .bind(some(self.key_streams))
        .bind(some(self.key_ids))
        .bind(some(self.key_wrapped))
        .bind(some(self.outbox_streams))
        .bind(some(self.effects))
        .bind(some(self.dues))
        .bind(some(self.set_keys))
        .bind(some(self.set_items))
        .bind(some(self.set_streams))
        .bind(some(self.clear_keys))
        .bind(some(self.clear_items))
        .bind(self.scopes.first().copied())
        .bind(self.idem_keys.first().copied())
        .bind(self.requests.first().copied())
        .bind(self.responses.first().copied())
        .bind(self.now)
        .bind(self.expires.first().copied());
        connection.execute(query).await.map(|_| ()).map_err(failure)
    }

    /// Many appends of one stream each, each for itself: returns those that were refused.
    pub async fn batch(self, connection: &mut PgConnection, lease: &Lease) -> Result<Vec<Refused>, Failure> {
        let names: Vec<&str> = self.streams.clone();
        let query = sqlx::query(
            "SELECT place, code, head_seq, head_hash FROM append_batch($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,\
             $15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32,$33,$34,$35,$36,$37,$38,$39)",
        )
        .bind(lease.name.as_str())
        .bind(int(lease.epoch))
        .bind(self.streams)
        .bind(self.bases)
        .bind(self.prevs)
        .bind(self.counts)
        .bind(self.first.hashes)
        .bind(self.first.bytes)
        .bind(self.first.digests)
        .bind(self.first.keys)
        .bind(self.first.payloads)
        .bind(some(self.rest_of))
        .bind(some(self.rest_prevs))
        .bind(some(self.rest.hashes))
        .bind(some(self.rest.bytes))
        .bind(some(self.rest.digests))
        .bind(some(self.rest.keys))
        .bind(some(self.rest.payloads))
        .bind(some(self.key_streams))
        .bind(some(self.key_ids))
        .bind(some(self.key_wrapped))
        .bind(some(self.outbox_of))
        .bind(some(self.outbox_streams))
        .bind(some(self.effects))
        .bind(some(self.dues))
        .bind(some(self.set_of))
        .bind(some(self.set_keys))
        .bind(some(self.set_items))
        .bind(some(self.set_streams))
        .bind(some(self.clear_of))
        .bind(some(self.clear_keys))
        .bind(some(self.clear_items))
        .bind(some(self.idem_of))
        .bind(some(self.scopes))
        .bind(some(self.idem_keys))
        .bind(some(self.requests))
        .bind(some(self.responses))
        .bind(self.now)
        .bind(some(self.expires));
        let rows = connection.fetch_all(query).await.map_err(failure)?;
        let mut refused = Vec::with_capacity(rows.len());
        for row in rows {
            refused.push(read_refusal(&row, &names).map_err(failure)?);
        }
        Ok(refused)
    }
}

impl<'a> Entries<'a> {
    fn add(&mut self, entry: Option<&'a ledger::Entry>, sealed: Option<&'a Sealed>) {
        let digest = entry.and_then(|entry| entry.payload.as_ref()).filter(|_| sealed.is_some());
        self.hashes.push(entry.map(|entry| entry.hash.as_bytes().as_slice()));
        self.bytes.push(entry.map(|entry| entry.bytes.as_slice()));
        self.digests.push(digest.map(|payload| payload.digest.as_bytes().as_slice()));
        self.keys.push(sealed.map(|sealed| sealed.key.as_bytes().as_slice()));
        self.payloads.push(sealed.map(|sealed| sealed.bytes.as_slice()));
    }
}

fn seal_effect(server: &ServerKey, row: &Outgoing) -> Result<Vec<u8>, StoreError> {
    let plain = canon::to_vec(&row.effect).map_err(|_| StoreError::Broken("an effect cannot be written"))?;
    server.seal(row.stream.as_str(), &plain)
}

/// What a kept answer is sealed for.
pub(super) fn answer_context(scope: &str, key: &str) -> String {
    format!("{scope}\0{key}")
}

fn read_refusal(row: &sqlx::postgres::PgRow, names: &[&str]) -> Result<Refused, sqlx::Error> {
    let place: i32 = row.try_get(0)?;
    let place = usize::try_from(place).unwrap_or(0).saturating_sub(1);
    let why = match row.try_get::<&str, _>(1)? {
        "CS002" => Failure::Repeated,
        "CS003" => Failure::Rekey,
        _ => {
            let seq: Option<i64> = row.try_get(2)?;
            let hash: Option<&[u8]> = row.try_get(3)?;
            let actual = match (seq, hash.and_then(|hash| <[u8; 32]>::try_from(hash).ok())) {
                (Some(seq), Some(hash)) => {
                    Head { seq: u64::try_from(seq).unwrap_or(0), hash: Digest::from_bytes(hash) }
                }
                _ => Head::EMPTY,
            };
            let stream = names.get(place).and_then(|name| name.parse().ok());
            Failure::Store(stream.map_or_else(
                || StoreError::Corrupt("a batch refused an append it was not given".into()),
                |stream| StoreError::Stale { stream, actual },
            ))
        }
    };
    Ok(Refused { place, why })
}

/// `NULL` for nothing, which the functions skip without a look.
fn some<T>(column: Vec<T>) -> Option<Vec<T>> {
    (!column.is_empty()).then_some(column)
}

/// Places count from 1 in SQL.
fn place(at: usize) -> i32 {
    i32::try_from(at.saturating_add(1)).unwrap_or(i32::MAX)
}
