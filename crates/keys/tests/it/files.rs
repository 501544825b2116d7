//! Key files and rings on a real disk.

use env::{Duration, Source, Timestamp, Virtual};
use keys::{Algorithm, Code, Error, Ring, Signer, SoftwareSigner};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn source() -> Virtual {
    Virtual::new(1, Timestamp::from_secs(1_800_000_000))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn refusal<T>(result: Result<T, Error>) -> Code {
    match result {
        Ok(_) => panic!("accepted"),
        Err(error) => error.code,
    }
}

#[test]
fn a_key_file_is_private_and_gives_its_key_back() {
    let directory = tempfile::tempdir().unwrap();
    for algorithm in [Algorithm::Ed25519, Algorithm::P256] {
        let path = directory.path().join(format!("{algorithm:?}.jwk"));
        let made = SoftwareSigner::create(&path, algorithm, &mut source().env()).unwrap();
        assert_eq!(mode(&path), 0o600);
        let read = SoftwareSigner::open(&path).unwrap();
        assert_eq!(read.public(), made.public());
        made.public().verify(b"message", &read.sign(b"message").unwrap()).unwrap();
        assert_eq!(
            refusal(SoftwareSigner::create(&path, algorithm, &mut source().env())),
            Code::KeyFileExists
        );
        let again = SoftwareSigner::open_or_create(&path, algorithm, &mut source().env()).unwrap();
        assert_eq!(again.public(), made.public());
    }
    // Nothing but the two keys is left behind.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn an_exposed_key_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.jwk");
    SoftwareSigner::create(&path, Algorithm::Ed25519, &mut source().env()).unwrap();
    for (bits, good) in
        [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false), (0o610, false)]
    {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(bits)).unwrap();
        let opened = SoftwareSigner::open(&path);
        assert_eq!(opened.is_ok(), good, "{bits:o}");
        if let Err(error) = opened {
            assert_eq!(error.code, Code::KeyFileExposed);
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }
    // What counts is the file, not the link to it.
    let link = directory.path().join("link.jwk");
    symlink(&path, &link).unwrap();
    assert_eq!(refusal(SoftwareSigner::open(&link)), Code::KeyFileExposed);
}

#[test]
fn a_file_that_holds_no_key_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.jwk");
    SoftwareSigner::create(&path, Algorithm::Ed25519, &mut source().env()).unwrap();
    let good = std::fs::read_to_string(&path).unwrap();
    let other = SoftwareSigner::from_seed(Algorithm::Ed25519, &[9; 32]).unwrap();
    let other = serde_json::to_value(other.public()).unwrap();
    let mut swapped: serde_json::Value = serde_json::from_str(&good).unwrap();
    swapped["x"] = other["x"].clone();
    for text in [
        String::new(),
        "{}".into(),
        good.replace("OKP", "EC"),
        good.replace("\"kty\"", "\"kid\":\"a\",\"kty\""),
        good.replace("{", "{\"d\":\"AA\","),
        swapped.to_string(),
        other.to_string(),
        " ".repeat(5000) + &good,
    ] {
        std::fs::write(&path, &text).unwrap();
        let error = SoftwareSigner::open(&path).err().unwrap();
        assert_eq!(error.code, Code::KeyFileUnusable, "{text}");
        assert_eq!(error.place, path.display().to_string());
    }
    assert_eq!(refusal(SoftwareSigner::open(directory.path())), Code::KeyFileUnusable);
    assert_eq!(refusal(SoftwareSigner::open(&directory.path().join("none"))), Code::KeyFileUnusable);
}

#[test]
fn of_many_who_create_at_once_all_hold_one_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.jwk");
    let source = source();
    let keys: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let signer = SoftwareSigner::open_or_create(&path, Algorithm::Ed25519, &mut source.env());
                    signer.unwrap().public().thumbprint().to_string()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[test]
fn a_rotated_ring_signs_with_the_new_key_and_knows_the_old() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys/log");
    let source = source();
    let mut ring = Ring::create(&path, Algorithm::Ed25519, &mut source.env()).unwrap();
    assert_eq!(mode(&path), 0o700);
    assert_eq!(refusal(Ring::create(&path, Algorithm::Ed25519, &mut source.env())), Code::KeyFileExists);
    let first = ring.signer().public();
    let signature = ring.signer().sign(b"before").unwrap();

    let mut stale = Ring::open(&path).unwrap();
    source.advance(Duration::from_secs(60));
    let rotation = ring.rotate(None, &mut source.env()).unwrap();
    assert_eq!(rotation.retired, first.thumbprint());
    assert_eq!(rotation.current, ring.signer().public().thumbprint());
    assert_ne!(rotation.retired, rotation.current);
    assert_eq!(rotation.at, source.now());
    assert_eq!(refusal(stale.rotate(None, &mut source.env())), Code::KeyFileUnusable);

    source.advance(Duration::from_secs(60));
    ring.rotate(Some(Algorithm::P256), &mut source.env()).unwrap();
    let ring = Ring::open_or_create(&path, Algorithm::Ed25519, &mut source.env()).unwrap();
    assert_eq!(ring.keys().len(), 3);
    assert_eq!(ring.keys()[0].key, ring.signer().public());
    assert_eq!(ring.signer().public().algorithm(), Algorithm::P256);
    assert_eq!(ring.keys()[1].until, Some(source.now()));
    let old = ring.find(&first.spki_kid()).unwrap();
    assert_eq!((old.key, old.until), (first, Some(rotation.at)));
    old.key.verify(b"before", &signature).unwrap();

    // The record, the lock and one private key.
    let mut names: Vec<String> = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected =
        [format!("{}.jwk", ring.signer().public().thumbprint()), "lock".into(), "ring.json".into()];
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn a_broken_ring_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ring");
    let source = source();
    let mut ring = Ring::create(&path, Algorithm::Ed25519, &mut source.env()).unwrap();
    ring.rotate(None, &mut source.env()).unwrap();
    let record = path.join("ring.json");
    let good = std::fs::read_to_string(&record).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&good).unwrap();
    let mut reversed = parsed.clone();
    reversed["keys"].as_array_mut().unwrap().reverse();
    let mut retired = parsed.clone();
    retired["keys"][0]["until"] = "2027-01-15T08:00:00.000Z".into();
    let mut empty = parsed.clone();
    empty["keys"] = serde_json::json!([]);
    for text in [
        String::new(),
        good.replace("\"v\":1", "\"v\":2"),
        good.replace("\"v\":1", "\"v\":1,\"w\":1"),
        reversed.to_string(),
        retired.to_string(),
        empty.to_string(),
    ] {
        std::fs::write(&record, &text).unwrap();
        assert_eq!(refusal(Ring::open(&path)), Code::KeyFileUnusable, "{text}");
    }
    std::fs::write(&record, &good).unwrap();
    Ring::open(&path).unwrap();
}
