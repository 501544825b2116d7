use crate::support::{digest, export, file, rehash, signed, trust, verdict};
use ledger::export::{Header, Rule};
use ledger::{Entry, Head};
use verify::{Kind, Verdict, verify};

#[test]
fn a_good_export() {
    for rule in [Rule::PrevHex, Rule::PrevRaw] {
        // Enough for several blocks.
        for count in [1, 3, 20_000] {
            let (header, entries) = export(rule, count);
            let bytes = file(&header, &entries);
            for trust in [None, Some(trust(&[1], &[1], 1))] {
                let report = verify(&bytes, trust.as_ref());
                assert_eq!(
                    (report.verdict, report.kind, report.pinned),
                    (Verdict::Valid, Some(Kind::LedgerExport), trust.is_some()),
                    "{report:?}"
                );
                assert_eq!(report.facts["entries"], count.to_string());
                assert_eq!(report.facts["log"], if trust.is_some() { "signed" } else { "self_signed" });
            }
        }
    }
}

/// What is refused, with the entry's number.
#[test]
fn bad_chains() {
    let check = |edit: fn(&mut Header, &mut Vec<Entry>), expected: &str| {
        let (mut header, mut entries) = export(Rule::PrevHex, 5);
        edit(&mut header, &mut entries);
        assert_eq!(verdict(&file(&header, &entries), None), expected);
    };
    let replace = |entry: &mut Entry, from: &str, to: &str| {
        entry.bytes = String::from_utf8(entry.bytes.clone()).unwrap().replace(from, to).into_bytes();
        rehash(Rule::PrevHex, entry);
    };
    check(|_, entries| entries[2].bytes[50] ^= 1, "bad_hash at entry 3");
    check(|_, entries| entries.swap(1, 2), "bad_number at entry 2");
    check(|_, entries| drop(entries.remove(0)), "bad_number at entry 1");
    check(|_, entries| drop(entries.pop()), "tail_missing at entry 5");
    check(|_, entries| entries.clear(), "tail_missing at entry 1");
    check(|header, _| header.head.n = 4, "head_mismatch at /head");
    check(|header, _| header.head.hash = digest("x"), "head_mismatch at /head");
    // A parent it never had, hashed rightly: the last entry, a middle one, the first.
    let forge = |entries: &mut Vec<Entry>, index: usize| {
        entries[index].prev = digest("x");
        rehash(Rule::PrevHex, &mut entries[index]);
    };
    for index in [0, 2, 4] {
        let (header, mut entries) = export(Rule::PrevHex, 5);
        forge(&mut entries, index);
        assert_eq!(verdict(&file(&header, &entries), None), format!("bad_prev at entry {}", index + 1));
    }
    for (from, to, expected) in [
        ("\"n\":5", "\"n\":6", "bad_number at entry 5"),
        ("\"data\":", "\"data\": ", "not_canonical at entry 5"),
        ("\"data\":{", "\"data\":{\"note\":1,", "bad_body at entry 5"),
        ("noted", "NOTED", "bad_number at entry 5"),
    ] {
        let (header, mut entries) = export(Rule::PrevHex, 5);
        replace(&mut entries[4], from, to);
        assert_eq!(verdict(&file(&header, &entries), None), expected);
    }
    // The other rule over the same bodies.
    check(|header, _| header.rule = Rule::PrevRaw, "bad_hash at entry 1");
}

/// A fault in a late block is found at its entry, and the earlier of two wins.
#[test]
fn faults_across_blocks() {
    let (header, mut entries) = export(Rule::PrevHex, 20_000);
    entries[17_000].prev = digest("x");
    rehash(Rule::PrevHex, &mut entries[17_000]);
    assert_eq!(verdict(&file(&header, &entries), None), "bad_prev at entry 17001");
    entries[9_000].bytes[20] ^= 1;
    assert_eq!(verdict(&file(&header, &entries), None), "bad_hash at entry 9001");
}

#[test]
fn bad_lines() {
    let (header, entries) = export(Rule::PrevHex, 3);
    let good = String::from_utf8(file(&header, &entries)).unwrap();
    let check = |file: String, expected: &str| assert_eq!(verdict(file.as_bytes(), None), expected);
    check(good.trim_end().to_owned(), "bad_line at entry 3");
    check(good.replace("\"seq\":2", "\"seq\": 2"), "bad_line at entry 2");
    check(format!("{good}\n"), "bad_line at entry 4");
    check(good.replacen('\n', "\n\n", 1), "bad_line at entry 1");
    check(good.replace('\n', "\r\n"), "bad_line at entry 1");
    check(format!("{good}{}\n", "x".repeat(1 << 20)), "line_too_long at entry 4");
    check(format!("{good}{}", "x".repeat(3 << 20)), "line_too_long at entry 4");
    check(good.replacen("\"rule\":", "\"more\":1,\"rule\":", 1), "shape at /more");
    check(good.replacen("prev_hex", "prev_HEX", 1), "shape at /rule");
    let other = good.replacen("ledger-export:1", "ledger-export:2", 1);
    assert!(verdict(other.as_bytes(), None).starts_with("syntax at byte"));
}

/// The head's signature, the server's key, and the place in the log.
#[test]
fn heads_and_logs() {
    let check = |edit: fn(&mut Header), trusted: Option<verify::Trust>, expected: &str| {
        let (mut header, entries) = export(Rule::PrevHex, 3);
        edit(&mut header);
        assert_eq!(verdict(&file(&header, &entries), trusted.as_ref()), expected);
    };
    let own = || Some(trust(&[1], &[1], 1));
    let log = |header: &mut Header, edit: fn(&mut ledger::log::LogProof)| edit(header.log.as_mut().unwrap());
    check(|_| {}, own(), "valid");
    check(|_| {}, Some(trust(&[3], &[1], 0)), "server_untrusted at /keys");
    check(|_| {}, Some(trust(&[], &[1], 0)), "server_untrusted at /keys");
    check(|_| {}, Some(trust(&[1], &[3], 0)), "log_unsigned at /log/checkpoint");
    // A quorum counts for nothing under a log that nobody vouches for.
    check(|_| {}, Some(trust(&[1], &[], 1)), "log_unknown at /log/checkpoint");
    check(|_| {}, Some(trust(&[1], &[], 0)), "valid");
    check(|header| header.log = None, None, "valid");
    check(|header| header.log = None, Some(trust(&[1], &[], 0)), "valid");
    check(|header| header.log = None, Some(trust(&[1], &[1], 0)), "log_missing at /log");
    check(|header| header.log = None, own(), "log_missing at /log");
    check(
        |header| header.key = keys::Signer::public(&crate::support::signer(3)),
        None,
        "bad_head_signature at /head/signature",
    );
    check(
        |header| header.head.signature = keys::Signature::from_bytes([0; 64]),
        None,
        "bad_head_signature at /head/signature",
    );
    // Another stream's head and log proof under this stream's name.
    check(|header| header.stream = "room/r2".parse().unwrap(), None, "bad_head_signature at /head/signature");
    check(
        |header| {
            let head = Head { seq: 3, hash: header.head.hash };
            header.log = Some(signed(&"room/r2".parse().unwrap(), head).1);
        },
        None,
        "leaf_mismatch at /log/leaf",
    );
    for (edit, expected) in [
        ((|log| log.index = 6) as fn(&mut ledger::log::LogProof), "inclusion_failed at /log/proof"),
        (|log| log.index = 9, "index_beyond_tree at /log/proof"),
        (|log| log.proof.truncate(1), "path_length at /log/proof"),
        (|log| log.proof[0] = digest("x"), "inclusion_failed at /log/proof"),
        (
            |log| log.checkpoint = log.checkpoint.replacen("\n9\n", "\n8\n", 1),
            "log_signature_bad at /log/checkpoint",
        ),
        (|log| log.checkpoint.insert(0, ' '), "checkpoint_form at /log/checkpoint"),
        (|log| log.leaf = "00".into(), "leaf_mismatch at /log/leaf"),
    ] {
        for trusted in [None, own()] {
            let (mut header, entries) = export(Rule::PrevHex, 3);
            log(&mut header, edit);
            assert_eq!(verdict(&file(&header, &entries), trusted.as_ref()), expected);
        }
    }
}
