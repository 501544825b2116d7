//! Documents of the mandate protocol: what is read is written back to the same bytes, and nothing panics. Beside them a log
//! whose links are made here, so that the entries themselves are reached.

#![no_main]

use ledger::Entry;
use mandate::log::link;
use mandate::{HashedAction, Mandate, Replay, Report, Snapshot};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(action) = HashedAction::read(bytes) {
        let written = canon::to_vec(&action).unwrap();
        assert_eq!(HashedAction::read(&written).unwrap().hash(), action.hash());
    }
    if let Ok(mandate) = Mandate::read(bytes) {
        let written = canon::to_vec(&mandate).unwrap();
        assert_eq!(Mandate::read(&written).unwrap().hash(), mandate.hash());
        let _ = mandate.limits();
    }
    if let Ok(report) = Report::read(bytes) {
        assert_eq!(Report::read(&canon::to_vec(&report).unwrap()).unwrap().hash(), report.hash());
    }
    let _ = Snapshot::read(bytes);
    let _ = mandate::transaction::Transaction::read(bytes);
    let mut replay = Replay::default();
    let mut prev = canon::Digest::ZERO;
    for (seq, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let hash = link(&prev, line);
        let entry = Entry { seq, prev, hash, bytes: line.to_vec(), payload: None };
        if replay.read(&entry).is_err() {
            break;
        }
        prev = hash;
    }
});
