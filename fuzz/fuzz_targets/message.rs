//! Messages: whatever bytes come, they are judged without a panic, and nothing but the sound ones is accepted. Beside them the
//! strict readings of the same bytes as text: what is read is read the same again.

#![no_main]

use env::Timestamp;
use pcm::message::{At, Message, Overall, Receiver, verify};
use pcm::strict;
use std::sync::LazyLock;

static RECEIVER: LazyLock<Receiver> = LazyLock::new(|| {
    Receiver::parse(include_bytes!("../corpus/message/trust.json")).unwrap()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let at = At { now: Timestamp::from_secs(1_796_000_000), receiver: None, replay: None };
    let judged = verify(bytes, &RECEIVER, &at);
    if judged.overall == Overall::Reject {
        assert!(judged.fault.is_some() && judged.acceptance.is_none());
    } else {
        let again = canon::canonicalize(bytes).unwrap();
        assert_eq!(Message::read(&again).unwrap().hash(), Message::read(bytes).unwrap().hash());
    }
    let _ = Receiver::parse(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(url) = strict::url(text) {
        assert_eq!(strict::url(url.as_str()).unwrap(), url);
    }
    if let Ok(host) = strict::host(text) {
        assert_eq!(strict::host(host.as_str()).unwrap(), host);
    }
    if let Ok(words) = strict::argv(text) {
        assert!(!words.is_empty());
    }
    let _ = strict::path(text);
});
