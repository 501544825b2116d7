//! Any file given to the verifier: bundles, briefs, ledger exports, checkpoints. It never panics, and its report says
//! the same twice.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let report = serde_json::to_string(&verify::verify(bytes, None)).unwrap();
    assert_eq!(serde_json::to_string(&verify::verify(bytes, None)).unwrap(), report);
});
