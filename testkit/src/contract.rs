//! What every journal must do, whatever it stands on. Each part panics with what does not hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use crate::tally::link;
use canon::Digest;
use env::{Duration, Timestamp};
use ledger::{Effect, Entry, Head, Payload, Pointer, StreamId};
use std::sync::Arc;
use store::{Append, Idempotency, Journal, Outgoing, Published, StoreError, StreamAppend, Tile, fsck};

/// Runs the whole contract on an empty journal. Nobody else may use it meanwhile.
pub async fn journal_contract(journal: Arc<dyn Journal>) {
    compare_and_append(&journal).await;
    all_or_nothing(&journal).await;
    one_winner(&journal).await;
    broken_appends(&journal).await;
    idempotency(&journal).await;
    outbox(&journal).await;
    pointers(&journal).await;
    watching(&journal).await;
    payloads(&journal).await;
    leases(&journal).await;
    server_log(&journal).await;
    let report =
        fsck(
            &*journal,
            None,
            |_, entry, at| {
                if entry.hash == link(at.hash, &entry.bytes) { Ok(()) } else { Err("rule") }
            },
        );
    let report = report.await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    let stats = journal.stats().await.unwrap();
    assert_eq!((report.streams, report.entries), (stats.streams, stats.entries));
}

pub const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

pub fn stream(name: &str) -> StreamId {
    StreamId::new("tally", name).unwrap()
}

/// The next entry after a head under the tally's chain rule.
pub fn entry(at: Head, text: &str) -> Entry {
    let bytes = text.as_bytes().to_vec();
    Entry { seq: at.seq + 1, prev: at.hash, hash: link(at.hash, &bytes), bytes, payload: None }
}

/// An append of these texts to one stream.
pub fn append(name: &str, at: Head, texts: &[&str]) -> Append {
    Append { streams: vec![part(name, at, texts)], ..Append::default() }
}

fn part(name: &str, at: Head, texts: &[&str]) -> StreamAppend {
    let mut head = at;
    let entries = texts.iter().map(|text| {
        let entry = entry(head, text);
        head = Head { seq: entry.seq, hash: entry.hash };
        entry
    });
    StreamAppend { stream: stream(name), expected: at, entries: entries.collect() }
}

async fn compare_and_append(journal: &Arc<dyn Journal>) {
    let name = stream("cas");
    assert_eq!(journal.head(&name).await.unwrap(), Head::EMPTY);
    assert_eq!(journal.read(&name, 0, 10).await.unwrap(), []);
    let one = journal.append(append("cas", Head::EMPTY, &["a", "b", "c"])).await.unwrap();
    assert_eq!((one.len(), one[0].seq), (1, 3));
    assert_eq!(journal.head(&name).await.unwrap(), one[0]);
    let stale = journal.append(append("cas", Head::EMPTY, &["x"])).await.unwrap_err();
    assert!(
        matches!(&stale, StoreError::Stale { stream, actual } if *stream == name && *actual == one[0]),
        "{stale}"
    );
    let wrong = Head { seq: 3, hash: Digest::of(b"another") };
    let forked = journal.append(append("cas", wrong, &["x"])).await.unwrap_err();
    assert!(matches!(forked, StoreError::Stale { actual, .. } if actual == one[0]));
    let ahead = Head { seq: 4, hash: one[0].hash };
    assert!(matches!(journal.append(append("cas", ahead, &["x"])).await, Err(StoreError::Stale { .. })));
    let all = journal.read(&name, 0, 10).await.unwrap();
    assert_eq!(all.iter().map(|entry| entry.bytes.as_slice()).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    assert_eq!(journal.read(&name, 1, 1).await.unwrap(), all[1..2]);
    assert_eq!(journal.read(&name, 3, 9).await.unwrap(), []);
    let same = journal.append(append("cas", one[0], &[])).await.unwrap();
    assert_eq!(same, one, "an append of nothing checks the head and leaves it");
}

async fn all_or_nothing(journal: &Arc<dyn Journal>) {
    let both = |at: Head| Append {
        streams: vec![part("left", Head::EMPTY, &["l"]), part("right", at, &["r", "rr"])],
        outbox: vec![outgoing("left", NOW)],
        pointers: vec![(stream("left"), Pointer::Set { key: "atomic".into(), item: "left".into() })],
        idempotency: Some(key("atomic", b"request", NOW)),
    };
    let bad = Head { seq: 1, hash: Digest::of(b"?") };
    let stale = journal.append(both(bad)).await.unwrap_err();
    assert!(matches!(stale, StoreError::Stale { stream: at, .. } if at == stream("right")));
    assert_eq!(journal.head(&stream("left")).await.unwrap(), Head::EMPTY);
    assert_eq!(journal.find("atomic", "", 9).await.unwrap(), []);
    assert_eq!(journal.recall("scope", "atomic", NOW).await.unwrap(), None);
    assert!(journal.claim(NOW, Duration::from_secs(1), 9).await.unwrap().is_empty());
    let heads = journal.append(both(Head::EMPTY)).await.unwrap();
    assert_eq!(heads.iter().map(|head| head.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(journal.find("atomic", "", 9).await.unwrap(), [("left".to_owned(), stream("left"))]);
    assert!(journal.recall("scope", "atomic", NOW).await.unwrap().is_some());
    for row in journal.claim(NOW, Duration::from_secs(1), 9).await.unwrap() {
        assert!(journal.complete(row.id, row.lease).await.unwrap());
    }
}

/// Many append after the same head at once: exactly one is taken, and the chain has no fork.
async fn one_winner(journal: &Arc<dyn Journal>) {
    let mut at = Head::EMPTY;
    for round in 0..5 {
        let tries = (0..16).map(|n| {
            let journal = journal.clone();
            tokio::spawn(async move { journal.append(append("race", at, &[&format!("{round} {n}")])).await })
        });
        let mut won = Vec::new();
        for done in tries.collect::<Vec<_>>() {
            match done.await.unwrap() {
                Ok(heads) => won.push(heads[0]),
                Err(StoreError::Stale { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(won.len(), 1);
        at = won[0];
        assert_eq!(journal.head(&stream("race")).await.unwrap(), at);
    }
    let chain = journal.read(&stream("race"), 0, 99).await.unwrap();
    assert_eq!(chain.len(), 5);
    assert!(chain.windows(2).all(|pair| pair[1].prev == pair[0].hash && pair[1].seq == pair[0].seq + 1));
}

async fn broken_appends(journal: &Arc<dyn Journal>) {
    let check = async |why: &str, change: &dyn Fn(&mut Append)| {
        let mut broken = append("broken", Head::EMPTY, &["a", "b"]);
        change(&mut broken);
        let error = journal.append(broken).await.unwrap_err();
        assert!(matches!(error, StoreError::Broken(_)), "{why}: {error}");
    };
    check("gap", &|append| append.streams[0].entries[1].seq = 3).await;
    check("repeat", &|append| append.streams[0].entries[1].seq = 1).await;
    check("link", &|append| append.streams[0].entries[1].prev = Digest::ZERO).await;
    check("first link", &|append| append.streams[0].entries[0].prev = Digest::of(b"?")).await;
    check("twice", &|append| append.streams.push(append.streams[0].clone())).await;
    check("payload", &|append| {
        append.streams[0].entries[0].payload = Some(Payload { digest: Digest::ZERO, bytes: vec![1] });
    })
    .await;
    assert_eq!(journal.head(&stream("broken")).await.unwrap(), Head::EMPTY);
}

fn key(name: &str, request: &[u8], now: Timestamp) -> Idempotency {
    Idempotency {
        scope: "scope".into(),
        key: name.into(),
        request: Digest::of(request),
        response: [b"answer to ", request].concat(),
        now,
        expires: now + Duration::from_secs(60),
    }
}

/// The same key with the same request, with another, and after it expired.
async fn idempotency(journal: &Arc<dyn Journal>) {
    let keyed = |at: Head, request: &[u8], now: Timestamp| Append {
        idempotency: Some(key("idem", request, now)),
        ..append("idem", at, &["x"])
    };
    let first = journal.append(keyed(Head::EMPTY, b"one", NOW)).await.unwrap()[0];
    for (at, request) in [(Head::EMPTY, b"one"), (first, b"one"), (first, b"two")] {
        let repeated = journal.append(keyed(at, request, NOW)).await.unwrap_err();
        let StoreError::Repeated(kept) = repeated else { panic!("{repeated}") };
        assert_eq!((kept.request, kept.response.as_slice()), (Digest::of(b"one"), &b"answer to one"[..]));
    }
    assert_eq!(journal.head(&stream("idem")).await.unwrap(), first);
    let later = NOW + Duration::from_secs(60);
    assert!(journal.recall("scope", "idem", NOW).await.unwrap().is_some());
    assert_eq!(journal.recall("scope", "idem", later).await.unwrap(), None);
    assert_eq!(journal.recall("other", "idem", NOW).await.unwrap(), None);
    journal.append(keyed(first, b"two", later)).await.unwrap();
    let kept = journal.recall("scope", "idem", later).await.unwrap().unwrap();
    assert_eq!(kept.request, Digest::of(b"two"));
    // Nothing but the key: a decision without entries is remembered as well.
    let bare = Append { idempotency: Some(key("bare", b"one", NOW)), ..Append::default() };
    assert_eq!(journal.append(bare.clone()).await.unwrap(), []);
    assert!(matches!(journal.append(bare).await, Err(StoreError::Repeated(_))));
}

fn outgoing(name: &str, due: Timestamp) -> Outgoing {
    Outgoing { stream: stream(name), effect: Effect::Wake { stream: stream(name).to_string(), at: due }, due }
}

async fn outbox(journal: &Arc<dyn Journal>) {
    let heard = tokio::spawn({
        let journal = journal.clone();
        async move {
            // However many calls it takes to see the rows below, none of them hangs for ever.
            journal.outgoing(0).await
        }
    });
    let soon = NOW + Duration::from_secs(10);
    let minute = Duration::from_secs(60);
    let rows = vec![outgoing("outbox", soon), outgoing("outbox", NOW)];
    journal.append(Append { outbox: rows, ..append("outbox", Head::EMPTY, &["x"]) }).await.unwrap();
    heard.await.unwrap().unwrap();
    assert!(journal.claim(NOW - Duration::from_secs(1), minute, 9).await.unwrap().is_empty());
    let first = journal.claim(NOW, minute, 9).await.unwrap();
    assert_eq!(first.len(), 1);
    assert_eq!((first[0].attempts, &first[0].stream), (0, &stream("outbox")));
    assert_eq!(first[0].effect, Effect::Wake { stream: "tally/outbox".into(), at: NOW });
    assert!(journal.claim(NOW, minute, 9).await.unwrap().is_empty(), "leased");
    let again = journal.claim(NOW + minute, minute, 1).await.unwrap();
    assert_eq!((again.len(), again[0].id, again[0].attempts), (1, first[0].id, 1), "the lease ran out");
    assert!(!journal.complete(first[0].id, first[0].lease).await.unwrap(), "fenced");
    assert!(!journal.postpone(first[0].id, first[0].lease, NOW).await.unwrap(), "fenced");
    let due = NOW + minute + minute;
    assert!(journal.postpone(again[0].id, again[0].lease, due).await.unwrap());
    assert!(!journal.complete(again[0].id, again[0].lease).await.unwrap(), "given up");
    let other = journal.claim(due - Duration::from_micros(1), minute, 9).await.unwrap();
    assert_eq!(other.len(), 1, "only the other row");
    let last = journal.claim(due, minute, 9).await.unwrap();
    assert_eq!((last.len(), last[0].id), (1, again[0].id));
    for row in [&other[0], &last[0]] {
        assert!(journal.complete(row.id, row.lease).await.unwrap());
        assert!(!journal.complete(row.id, row.lease).await.unwrap());
    }
    let far = due + Duration::from_secs(100_000);
    assert!(journal.claim(far, minute, 9).await.unwrap().is_empty());
    assert_eq!(journal.stats().await.unwrap().outbox, 0);
}

async fn pointers(journal: &Arc<dyn Journal>) {
    let set =
        |key: &str, item: &str| (stream("pointers"), Pointer::Set { key: key.into(), item: item.into() });
    let clear =
        |key: &str, item: &str| (stream("pointers"), Pointer::Clear { key: key.into(), item: item.into() });
    let pointers = vec![set("k", "é"), set("k", "a"), set("k", "Z"), set("l", "a"), set("k", "a")];
    let head =
        journal.append(Append { pointers, ..append("pointers", Head::EMPTY, &["x"]) }).await.unwrap()[0];
    let check = async |key: &str, after: &str, limit: usize, expected: &[&str]| {
        let found = journal.find(key, after, limit).await.unwrap();
        assert!(found.iter().all(|(_, at)| *at == stream("pointers")));
        assert_eq!(found.iter().map(|(item, _)| item.as_str()).collect::<Vec<_>>(), expected);
    };
    check("k", "", 9, &["Z", "a", "é"]).await;
    check("k", "Z", 1, &["a"]).await;
    check("none", "", 9, &[]).await;
    let pointers = vec![clear("k", "a"), clear("k", "never"), set("k", "b")];
    journal.append(Append { pointers, ..append("pointers", head, &["y"]) }).await.unwrap();
    check("k", "", 9, &["Z", "b", "é"]).await;
    check("l", "", 9, &["a"]).await;
    let all = journal.pointers(("k", "Z"), 2).await.unwrap();
    assert_eq!(
        all.iter().map(|(key, item, _)| (key.as_str(), item.as_str())).collect::<Vec<_>>(),
        [("k", "b"), ("k", "é")]
    );
}

async fn watching(journal: &Arc<dyn Journal>) {
    let waits = |after: u64| {
        let journal = journal.clone();
        tokio::spawn(async move { journal.moved(&stream("watch"), after).await.unwrap() })
    };
    let (one, two) = (waits(0), waits(1));
    let head = journal.append(append("watch", Head::EMPTY, &["a"])).await.unwrap()[0];
    assert_eq!(one.await.unwrap(), head);
    assert!(!two.is_finished());
    let next = journal.append(append("watch", head, &["b", "c"])).await.unwrap()[0];
    assert_eq!(two.await.unwrap(), next);
    assert_eq!(waits(2).await.unwrap(), next, "what is past is seen at once");
}

async fn payloads(journal: &Arc<dyn Journal>) {
    let with = |at: Head, private: &str| {
        let mut append = append("payloads", at, &["public"]);
        append.streams[0].entries[0].payload = Some(Payload::new(private.into()));
        append
    };
    let one = journal.append(with(Head::EMPTY, "one")).await.unwrap()[0];
    let two = journal.append(with(one, "two")).await.unwrap()[0];
    let three = journal.append(append("payloads", two, &["bare"])).await.unwrap()[0];
    let opened = async || {
        let entries = journal.read(&stream("payloads"), 0, 9).await.unwrap();
        entries
            .into_iter()
            .map(|entry| entry.payload.map(|payload| String::from_utf8(payload.bytes).unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(opened().await, [Some("one".into()), Some("two".into()), None]);
    journal.erase(&stream("payloads")).await.unwrap();
    assert_eq!(opened().await, [None, None, None]);
    assert_eq!(journal.head(&stream("payloads")).await.unwrap(), three, "the chain is whole");
    journal.append(with(three, "after")).await.unwrap();
    assert_eq!(opened().await, [None, None, None, Some("after".into())]);
    journal.erase(&stream("never")).await.unwrap();
}

async fn leases(journal: &Arc<dyn Journal>) {
    let second = Duration::from_secs(1);
    let take =
        async |holder: &str, now: Timestamp| journal.lease("leases", holder, now, second).await.unwrap();
    let ana = take("ana", NOW).await.unwrap();
    assert_eq!(ana.until, NOW + second);
    assert_eq!(take("ben", NOW).await, None);
    let longer = take("ana", NOW + Duration::from_millis(500)).await.unwrap();
    assert_eq!(longer.epoch, ana.epoch, "renewed");
    let ben = take("ben", longer.until).await.unwrap();
    assert!(ben.epoch > ana.epoch);
    assert!(matches!(journal.number(&longer, 1).await, Err(StoreError::Fenced(name)) if name == "leases"));
    journal.release(&longer).await.unwrap();
    assert_eq!(take("ana", longer.until).await, None, "an old lease gives nothing back");
    journal.release(&ben).await.unwrap();
    let again = take("ana", longer.until).await.unwrap();
    assert!(again.epoch > ben.epoch);
}

async fn server_log(journal: &Arc<dyn Journal>) {
    let minute = Duration::from_secs(60);
    let lease = journal.lease("log", "one", NOW, minute).await.unwrap().unwrap();
    let entries = journal.stats().await.unwrap().entries;
    let mut size = 0;
    loop {
        let now = journal.number(&lease, 7).await.unwrap();
        if now == size {
            break;
        }
        size = now;
    }
    assert_eq!(size, entries, "every entry is numbered");
    journal.grown(entries - 1).await.unwrap();
    let leaves = journal.leaves(0, usize::MAX).await.unwrap();
    assert_eq!(leaves.len(), usize::try_from(size).unwrap());
    for (index, leaf) in leaves.iter().enumerate() {
        assert_eq!(leaf.index, u64::try_from(index).unwrap());
        assert_eq!(journal.leaf(&leaf.stream, leaf.seq).await.unwrap(), Some(leaf.index));
        let entry = journal.read(&leaf.stream, leaf.seq - 1, 1).await.unwrap().remove(0);
        assert_eq!(entry.hash, leaf.hash);
        let earlier = leaves[..index].iter().filter(|other| other.stream == leaf.stream).count();
        assert_eq!(leaf.seq, u64::try_from(earlier).unwrap() + 1, "after its predecessor");
    }
    assert_eq!(journal.leaves(2, 3).await.unwrap(), leaves[2..5]);
    assert_eq!(journal.leaf(&stream("none"), 1).await.unwrap(), None);

    assert_eq!(journal.published("log").await.unwrap(), None);
    assert_eq!(journal.tile("log", 0, 0).await.unwrap(), None);
    let tile = |count: usize| Tile { level: 0, index: 0, hashes: vec![7; count * 32] };
    let state = |size: u64| Published {
        size,
        root: Digest::of(&size.to_be_bytes()),
        note: format!("{size}"),
        at: NOW,
    };
    assert!(journal.publish(&lease, 0, vec![tile(3)], state(3)).await.unwrap());
    assert!(
        !journal.publish(&lease, 0, vec![tile(5)], state(5)).await.unwrap(),
        "compared with the published size"
    );
    assert_eq!(journal.tile("log", 0, 0).await.unwrap().unwrap().len(), 96);
    assert!(journal.publish(&lease, 3, vec![tile(4)], state(4)).await.unwrap());
    assert_eq!(journal.tile("log", 0, 0).await.unwrap().unwrap().len(), 128);
    assert_eq!(journal.published("log").await.unwrap(), Some(state(4)));
    let other = journal.lease("log", "two", NOW + minute, minute).await.unwrap().unwrap();
    assert!(matches!(journal.publish(&lease, 4, vec![], state(9)).await, Err(StoreError::Fenced(_))));
    // Another log, named by its lease, has tiles and a checkpoint of its own.
    let apart = journal.lease("apart", "one", NOW, minute).await.unwrap().unwrap();
    assert_eq!(journal.published("apart").await.unwrap(), None);
    assert!(journal.publish(&apart, 0, vec![tile(2)], state(2)).await.unwrap());
    assert_eq!(journal.tile("apart", 0, 0).await.unwrap().unwrap().len(), 64);
    assert_eq!(journal.published("apart").await.unwrap(), Some(state(2)));
    assert_eq!(journal.tile("log", 0, 0).await.unwrap().unwrap().len(), 128);
    assert_eq!(journal.published("log").await.unwrap(), Some(state(4)));
    // The real tree replaces the made-up one, so that the store is sound afterwards.
    let mut builder = ledger::tiles::Builder::new();
    for leaf in &leaves {
        builder.push(ledger::merkle::leaf_hash(&leaf.data()));
    }
    let root = builder.root();
    let tiles = builder.take().into_iter().map(|(tile, hashes)| Tile {
        level: tile.level(),
        index: tile.index(),
        hashes,
    });
    let whole = Published { size, root, note: "whole".into(), at: NOW };
    assert!(journal.publish(&other, 4, tiles.collect(), whole).await.unwrap());
}
