//! The recorded vectors, where they lie.

use pcm::Trust;
use std::path::PathBuf;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/pcm/tracekit").join(name)
}

pub fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn json(name: &str) -> serde_json::Value {
    serde_json::from_slice(&read(name)).unwrap()
}

pub fn trust(name: &str) -> Trust {
    Trust::parse(&read(name)).unwrap()
}
