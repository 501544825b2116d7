#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions
)]

/// The desk and the fixtures of crate `mandate`.
mod authorizing {
    pub fn vault() -> mandate::Vault {
        let (hash, name) = (|byte: &str| byte.repeat(28), "745553444d");
        let json = serde_json::json!({"network": "cardano-preprod", "vault_hash": hash("aa"), "mandate_ref": hash("bb"),
            "asset_policy": hash("ee"), "asset_name": name});
        canon::from_slice(json.to_string().as_bytes()).unwrap()
    }
}
mod busy;
mod checkpoint;
#[allow(dead_code)]
#[path = "../../../mandate/tests/it/desk.rs"]
mod desk;
mod evidence;
mod export;
#[allow(dead_code)]
#[path = "../../../mandate/tests/it/fixture.rs"]
mod fixture;
mod forgeries;
mod mandate_vectors;
mod mandates;
mod messages;
mod mutate;
mod play;
mod quotes;
mod room;
mod stories;
mod support;
mod twins;
mod vectors;
