//! `countersign mandate principal`: a vault opened, filled, emptied, its mandate changed, handed over and revoked, on an embedded
//! ledger in a file.

use crate::{err, out, run};
use serde_json::{Value, json};
use std::path::Path;

const TOKEN: &str = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.745553444d";

/// Runs an act, which must succeed, and gives what it printed.
fn act(at: &Path, arguments: &[&str]) -> String {
    let done = run(at, &[&["mandate", "principal"], arguments].concat());
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}{}", out(&done), err(&done));
    out(&done)
}

/// Runs one that must be refused, with this in its words.
fn refused(at: &Path, arguments: &[&str], words: &str) {
    let done = run(at, &[&["mandate", "principal"], arguments].concat());
    assert_ne!(done.status.code(), Some(0), "{arguments:?}: {}", out(&done));
    assert!(err(&done).contains(words), "{arguments:?}: {}", err(&done));
}

/// What stands after a word at the beginning of a line.
fn value<'a>(text: &'a str, word: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(word)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {word} in {text}")).trim()
}

/// A key file, and the key's hash.
fn key(at: &Path, name: &str) -> String {
    let line = out(&run(at, &["mandate", "key", name]));
    line.trim().split(' ').nth(1).unwrap().to_owned()
}

fn mandate(at: &Path, file: &str, edit: impl FnOnce(&mut Value)) {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../vectors/claudia/claudia.json")).unwrap();
    let mut document = vectors["derived"]["mandate_fixture"]["doc"].clone();
    document["validity"] =
        json!({ "starts_at": "2020-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z" });
    edit(&mut document);
    std::fs::write(at.join(file), document.to_string()).unwrap();
}

#[test]
fn from_an_anchor_to_a_revocation() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("countersign.toml"), "data = \"data\"\n[mandates]\n").unwrap();
    let (owner, heir) = (key(at, "owner.jwk"), key(at, "heir.jwk"));
    act(at, &["fund", "--times", "6"]);
    mandate(at, "m3.json", |it| it["principal"]["cardano_key_hash"] = json!(owner));

    // Without a key nothing is sent; with another's neither.
    let shown = act(at, &["anchor", "m3.json", "--asset", TOKEN]);
    assert!(shown.contains("Not sent") && shown.contains(&format!("must sign    {owner}")), "{shown}");
    refused(at, &["anchor", "m3.json", "--asset", TOKEN, "--key", "heir.jwk"], "is no key that signs this");
    let anchored = act(at, &["anchor", "m3.json", "--asset", TOKEN, "--key", "owner.jwk"]);
    let mandate_ref = value(&anchored, "mandate_ref");
    assert!(value(&anchored, "in block").parse::<u64>().is_ok());

    // By a file, for a signer elsewhere.
    act(at, &["open", mandate_ref, "--vault", "vault.json", "--out", "open.tx"]);
    refused(at, &["withdraw", "vault.json", "--amount", "1", "--to", RECIPIENT], "not on chain");
    let witness = out(&run(at, &["mandate", "witness", "open.tx", "--key", "owner.jwk"]));
    act(at, &["submit", "open.tx", "--witness", witness.trim()]);

    let own = act(at, &["fund", &address(&owner), "--asset", TOKEN, "--amount", "900"]);
    act(at, &["deposit", "vault.json", "--amount", "700", "--key", "owner.jwk"]);
    let taken =
        act(at, &["withdraw", "vault.json", "--amount", "50", "--to", own.trim(), "--key", "owner.jwk"]);
    assert!(
        taken.contains(&format!("50 of {TOKEN}")) && taken.contains(&format!("650 of {TOKEN}")),
        "{taken}"
    );
    refused(
        at,
        &["withdraw", "vault.json", "--amount", "651", "--to", own.trim(), "--key", "owner.jwk"],
        "651 of the vault's asset are needed",
    );

    let raised = |it: &mut Value| {
        it["principal"]["cardano_key_hash"] = json!(owner);
        it["version"] = json!(4);
        let alone = it["constraints"].as_array_mut().unwrap().iter_mut();
        let alone = alone.filter(|it| it["kind"] == "amount_lte" && it["on_violation"] == "ESCALATE");
        alone.for_each(|it| it["value"] = json!("12000000"));
    };
    mandate(at, "m4.json", raised);
    let updated = act(at, &["update", "vault.json", "m4.json", "--key", "owner.jwk"]);
    assert_eq!(value(&updated, "alone"), "10000000 -> 12000000");
    refused(at, &["update", "vault.json", "m4.json", "--key", "owner.jwk"], "the version must be above 4");

    // The old principal and the new one.
    mandate(at, "m5.json", |it| {
        it["principal"]["cardano_key_hash"] = json!(heir);
        it["version"] = json!(5);
    });
    refused(at, &["update", "vault.json", "m5.json", "--key", "owner.jwk"], "use handover");
    act(at, &["handover", "vault.json", "m5.json", "--key", "owner.jwk", "--out", "half.tx"]);
    act(at, &["submit", "half.tx", "--key", "heir.jwk"]);
    refused(at, &["revoke", "vault.json", "--key", "owner.jwk"], "is no key that signs this");
    act(at, &["revoke", "vault.json", "--key", "heir.jwk"]);
}

/// Two of three, then three of three: the anchor names them all, and how many must sign.
#[test]
fn a_quorum_is_anchored_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("countersign.toml"), "data = \"data\"\n[mandates]\n").unwrap();
    let owner = key(at, "owner.jwk");
    let approvers = ["one.jwk", "two.jwk", "three.jwk"].map(|name| key(at, name));
    let roles = ["CFO", "CEO", "COO"];
    let quorum = |version: u32, required: u32| {
        let (owner, approvers) = (owner.clone(), approvers.clone());
        move |it: &mut Value| {
            it["schema"] = json!("mandate/v0.2");
            it["version"] = json!(version);
            it["principal"]["cardano_key_hash"] = json!(owner);
            it["quorum"] = json!({ "required": required });
            it["approvers"] = (0..3)
                .map(|n| json!({ "role": roles[n], "cardano_key_hash": approvers[n] }))
                .collect::<Vec<_>>()
                .into();
        }
    };
    act(at, &["fund", "--times", "6"]);
    mandate(at, "four.json", quorum(3, 4));
    refused(at, &["anchor", "four.json", "--asset", TOKEN, "--key", "owner.jwk"], "quorum");
    mandate(at, "two.json", quorum(3, 2));
    let anchored = act(at, &["anchor", "two.json", "--asset", TOKEN, "--key", "owner.jwk"]);
    assert_eq!(value(&anchored, "approvers"), format!("2 of {}", approvers.join(", ")));
    act(at, &["open", value(&anchored, "mandate_ref"), "--vault", "vault.json", "--key", "owner.jwk"]);
    mandate(at, "three.json", quorum(4, 3));
    let updated = act(at, &["update", "vault.json", "three.json", "--key", "owner.jwk"]);
    let (before, after) = value(&updated, "approvers").split_once(" -> ").unwrap();
    assert!(before.starts_with("2 of ") && after.starts_with("3 of "), "{updated}");
}

const RECIPIENT: &str = "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl";

/// The enterprise address of a key on a test network.
fn address(key_hash: &str) -> String {
    let payment = mandate::Credential::Key(key_hash.parse().unwrap());
    mandate::Address::new(mandate::Network::Test, payment, None).to_string()
}
