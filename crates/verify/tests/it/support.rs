use canon::Digest;
use env::{Duration, Timestamp};
use keys::{Algorithm, PublicKey, Signer, SoftwareSigner};
use ledger::export::{Header, Rule, TYPE};
use ledger::log::{LogProof, SignedHead, head_message, leaf_data};
use ledger::merkle::{MemoryTree, leaf_hash, prove_inclusion};
use ledger::note::{Checkpoint, KeyType, Note, VerifierKey};
use ledger::{Entry, Head, StreamId};
use verify::{Report, Trust, verify};

pub const ORIGIN: &str = "log.example";

pub fn signer(seed: u8) -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap()
}

pub fn vkey(name: &str, kind: KeyType, signer: &SoftwareSigner) -> VerifierKey {
    match signer.public() {
        PublicKey::Ed25519(key) => VerifierKey::new(name.parse().unwrap(), kind, key),
        PublicKey::P256(_) => panic!("an ed25519 key"),
    }
}

/// A trust file: the server of seed 1 and its log; the witness of seed 2 if it is required.
pub fn trust(servers: &[u8], logs: &[u8], required: usize) -> Trust {
    let servers: Vec<_> = servers.iter().map(|&seed| signer(seed).public()).collect();
    let logs: Vec<_> =
        logs.iter().map(|&seed| vkey(ORIGIN, KeyType::Log, &signer(seed)).to_string()).collect();
    let witnesses = [vkey("witness.example", KeyType::Witness, &signer(2)).to_string()];
    let file = serde_json::json!({
        "servers": servers, "logs": logs, "witnesses": witnesses, "witnesses_required": required,
    });
    Trust::parse(file.to_string().as_bytes()).unwrap()
}

/// A chain of `count` small entries.
pub fn chain(rule: Rule, count: u64) -> Vec<Entry> {
    let mut head = Head::EMPTY;
    (1..=count)
        .map(|seq| {
            let at = Timestamp::from_secs(1_800_000_000) + Duration::from_secs(seq);
            let body = format!(r#"{{"at":"{at}","data":{{"note":"entry {seq}"}},"n":{seq},"type":"noted"}}"#);
            let hash = rule.link(&head.hash, body.as_bytes());
            let entry = Entry { seq, prev: head.hash, hash, bytes: body.into_bytes(), payload: None };
            head = Head { seq, hash };
            entry
        })
        .collect()
}

/// A head and its place as leaf 5 of a log of 9, both signed by the server of seed 1.
pub fn signed(stream: &StreamId, head: Head) -> (SignedHead, LogProof) {
    let server = signer(1);
    let signature = server.sign(&head_message(stream, head.seq, &head.hash)).unwrap();
    let leaf = leaf_data(stream, head.seq, &head.hash);
    let mut tree = MemoryTree::new();
    for index in 0..9_u8 {
        tree.push(if index == 5 { leaf_hash(&leaf) } else { leaf_hash(&[index]) });
    }
    let checkpoint = Checkpoint { origin: ORIGIN.parse().unwrap(), size: tree.size(), root: tree.root() };
    let mut note = Note::sign(checkpoint, &server).unwrap();
    let seen =
        note.cosign("witness.example".parse().unwrap(), &signer(2), Timestamp::from_secs(1_800_000_000));
    note.append(&seen.unwrap()).unwrap();
    let proof = LogProof {
        checkpoint: note.to_string(),
        index: 5,
        leaf: hex(&leaf),
        proof: prove_inclusion(&tree, 5, 9).unwrap(),
    };
    (SignedHead { n: head.seq, hash: head.hash, signature }, proof)
}

pub fn export(rule: Rule, count: u64) -> (Header, Vec<Entry>) {
    let stream: StreamId = "room/r1".parse().unwrap();
    let entries = chain(rule, count);
    let head = entries.last().map_or(Head::EMPTY, |last| Head { seq: last.seq, hash: last.hash });
    let (head, log) = signed(&stream, head);
    (Header { kind: TYPE.to_owned(), stream, rule, head, key: signer(1).public(), log: Some(log) }, entries)
}

pub fn file(header: &Header, entries: &[Entry]) -> Vec<u8> {
    let mut file = header.line().unwrap();
    entries.iter().for_each(|entry| file.extend(ledger::export::line(entry)));
    file
}

/// The code, and the place where there is one.
pub fn verdict(bytes: &[u8], trust: Option<&Trust>) -> String {
    let Report { code, place, .. } = verify(bytes, trust);
    match (code, place) {
        (None, _) => "valid".to_owned(),
        (Some(code), None) => code.to_owned(),
        (Some(code), Some(place)) => format!("{code} at {place}"),
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn rehash(rule: Rule, entry: &mut Entry) {
    entry.hash = rule.link(&entry.prev, &entry.bytes);
}

pub fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}
