use env::{Source, Timestamp, Virtual};
use keys::{Secret, SecretHash};

#[test]
fn a_secret_is_known_by_its_hash_alone() {
    let source = Virtual::new(3, Timestamp::EPOCH);
    let (one, two) = (Secret::fresh(&mut source.env()), Secret::fresh(&mut source.env()));
    assert_eq!(one.expose().len(), 43);
    assert!(one.hash().matches(one.expose()));
    assert!(!one.hash().matches(two.expose()));
    assert!(!one.hash().matches(""));
    assert_ne!(one.hash(), two.hash());
    assert_eq!(format!("{one:?}"), "Secret(..)");
    let json = serde_json::to_string(&one.hash()).unwrap();
    assert_eq!(json.len(), 66);
    assert_eq!(serde_json::from_str::<SecretHash>(&json).unwrap(), one.hash());
}

#[test]
fn equal_is_equal() {
    for (one, two, expected) in [("", "", true), ("a", "a", true), ("a", "b", false), ("a", "aa", false)] {
        assert_eq!(keys::equal(one.as_bytes(), two.as_bytes()), expected, "{one:?} {two:?}");
    }
}
