use canon::Digest;
use env::Timestamp;
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::merkle::{self, MemoryTree, leaf_hash};
use ledger::note::{Checkpoint, KeyType, Note, VerifierKey};
use ledger::witness::{Answer, Refused, Request, attach, judge};

/// The request of the specification's page: five hashes, a note of two signatures of one key name.
const EXAMPLE: &str = "old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
";

fn signer(seed: u8) -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap()
}

fn key(name: &str, kind: KeyType, seed: u8) -> VerifierKey {
    let keys::PublicKey::Ed25519(public) = signer(seed).public() else { panic!() };
    VerifierKey::new(name.parse().unwrap(), kind, public)
}

fn leaves(count: u64) -> Vec<Digest> {
    (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect()
}

fn checkpoint(origin: &str, size: u64) -> Checkpoint {
    Checkpoint { origin: origin.parse().unwrap(), size, root: merkle::root(&leaves(size)) }
}

fn request(old: u64, size: u64) -> Request {
    let mut tree = MemoryTree::new();
    leaves(size).into_iter().for_each(|leaf| tree.push(leaf));
    let proof =
        if old == 0 || old > size { vec![] } else { merkle::prove_consistency(&tree, old, size).unwrap() };
    Request { old, proof, note: Note::sign(checkpoint("log.example", size), &signer(1)).unwrap() }
}

#[test]
fn the_published_request_reads_and_writes() {
    let request = Request::parse(EXAMPLE.as_bytes()).unwrap();
    assert_eq!((request.old, request.proof.len()), (20_852_014, 4));
    assert_eq!(request.note.unverified().size, 20_852_163);
    assert_eq!(request.to_text(), EXAMPLE);
}

#[test]
fn malformed_requests() {
    let check = |text: String, good: bool| {
        let parsed = Request::parse(text.as_bytes());
        assert_eq!(parsed.as_ref().map_err(Refused::status).is_ok(), good, "{text}");
        assert!(good || parsed.unwrap_err().status() == 400);
    };
    let (head, note) = EXAMPLE.split_once("\n\n").unwrap();
    let with = |head: &str| format!("{head}\n\n{note}");
    check(with(head), true);
    check(with("old 0"), true);
    let line = "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=";
    check(with(&format!("old 1{}", format!("\n{line}").repeat(63))), true);
    check(with(&format!("old 1{}", format!("\n{line}").repeat(64))), false);
    for head in [
        "",
        "old",
        "old ",
        "old 01",
        "old +1",
        "old -1",
        "old 18446744073709551616",
        "new 1",
        "Old 1",
        "old 1 ",
    ] {
        check(with(head), false);
    }
    check(with("old 1\nAAAA"), false);
    check(with(&format!("old 1\n{}", line.trim_end_matches('='))), false);
    check(with(&format!("old 1\r\n{line}")), false);
    check(head.to_owned(), false);
    check(format!("{head}\n\n"), false);
    check(with(head).replace("20852163", "020852163"), false);
    check(format!("{}{}", with(head), "x".repeat(16 << 10)), false);
}

#[test]
fn a_witness_cosigns_growth_and_nothing_else() {
    let logs = [key("log.example", KeyType::Log, 1), key("other.example", KeyType::Log, 2)];
    let check = |request: Request, seen: Option<u64>, expected: u16| {
        let seen = seen.map(|size| checkpoint("log.example", size));
        let judged = judge(&request, &logs, seen.as_ref());
        assert_eq!(judged.as_ref().map_or_else(Refused::status, |()| 200), expected, "{judged:?}");
    };
    for (old, size) in [(1, 2), (3, 7), (7, 8), (8, 13), (13, 13), (1, 300)] {
        check(request(old, size), Some(old), 200);
    }
    check(request(0, 5), None, 200);
    check(request(0, 5), Some(0), 200);
    // What it saw last is not what the log believes.
    check(request(3, 7), Some(4), 409);
    check(request(3, 7), None, 409);
    check(request(0, 7), Some(3), 409);
    check(request(9, 7), Some(9), 400);
    // A fork: of the same size, and of a later one.
    let forked = |size, old| {
        let root = Digest::of(b"another tree");
        let fork = Checkpoint { root, ..checkpoint("log.example", size) };
        Request { note: Note::sign(fork, &signer(1)).unwrap(), ..request(old, size) }
    };
    check(forked(7, 7), Some(7), 409);
    check(forked(9, 7), Some(7), 422);
    let mut long = request(3, 7);
    long.proof.push(Digest::ZERO);
    check(long, Some(3), 422);
    let mut early = request(0, 7);
    early.proof.push(Digest::ZERO);
    check(early, None, 422);
    // Logs it does not know, keys that are not the log's.
    let named = |name: &str, seed| Request {
        note: Note::sign(checkpoint(name, 5), &signer(seed)).unwrap(),
        ..request(0, 5)
    };
    check(named("unknown.example", 1), None, 404);
    check(named("log.example", 9), None, 403);
    check(named("other.example", 1), None, 403);
    check(named("other.example", 2), None, 200);
}

#[test]
fn an_answer_counts_only_with_the_line_of_the_pinned_key() {
    let note = request(0, 5).note;
    let line = |name: &str, seed| {
        note.cosign(name.parse().unwrap(), &signer(seed), Timestamp::from_secs(1_800_000_000)).unwrap()
    };
    let witness = key("witness.example", KeyType::Witness, 3);
    let (good, stranger) = (line("witness.example", 3), line("stranger.example", 4));
    let check = |lines: &[&String], expected: bool| {
        let mut with = note.clone();
        let lines: Vec<String> = lines.iter().map(|line| (*line).clone()).collect();
        let attached = attach(&mut with, &lines, &witness);
        assert_eq!(attached.is_ok(), expected, "{lines:?}");
        assert_eq!(with.cosigned_by(&witness).unwrap().is_some(), expected);
        assert_eq!(
            with.to_string().lines().count(),
            note.to_string().lines().count() + usize::from(expected)
        );
    };
    check(&[&good], true);
    check(&[&stranger, &good], true);
    check(&[&stranger], false);
    check(&[&line("witness.example", 4)], false);
    let other = request(0, 6).note;
    let of_another = other.cosign("witness.example".parse().unwrap(), &signer(3), Timestamp::EPOCH).unwrap();
    check(&[&of_another], false);
    check(&[&"not a line".to_owned()], false);
    check(&[], false);

    for (status, body, expected) in [
        (200, format!("{good}\n"), Answer::Cosigned(vec![good.clone()])),
        (200, good.clone(), Answer::Refused(200)),
        (409, "17\n".to_owned(), Answer::Seen(17)),
        (409, "017\n".to_owned(), Answer::Refused(409)),
        (409, String::new(), Answer::Refused(409)),
        (404, "17\n".to_owned(), Answer::Refused(404)),
    ] {
        assert_eq!(Answer::read(status, body.as_bytes()), expected, "{status} {body:?}");
    }
}
