//! The strict readings as vectors, and held against other parsers: never more permissive, never another reading.

use pcm::strict;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Kind, input, and whether it has one reading.
const TABLE: &[(&str, &str, bool)] = &[
    ("host", "example.com", true),
    ("host", "localhost", true),
    ("host", "a-b.1a.example", true),
    ("host", "127.0.0.1", true),
    ("host", "[::1]", true),
    ("host", "[2001:db8::1]", true),
    ("host", "", false),
    ("host", "Example.com", false),
    ("host", "example.com.", false),
    ("host", "a..example", false),
    ("host", "-a.example", false),
    ("host", "a_b.example", false),
    ("host", "bücher.example", false),
    ("host", "xn--bcher-kva.example", false),
    ("host", "0127.0.0.1", false),
    ("host", "127.1", false),
    ("host", "2130706433", false),
    ("host", "0x7f000001", false),
    ("host", "example.08", false),
    ("host", "1.2.3.256", false),
    ("host", "[::1%eth0]", false),
    ("host", "[::ffff:127.0.0.1]", false),
    ("host", "[64:ff9b::7f00:1]", false),
    ("host", "[2002:7f00:1::]", false),
    ("host", "[2001:DB8::1]", false),
    ("host", "[2001:db8:0:0:0:0:0:1]", false),
    ("host", "a%2eexample", false),
    ("host", "a\u{3002}example", false),
    ("url", "https://api.example.com/orders/81", true),
    ("url", "http://127.0.0.1:8080/a?b=c&d=%20", true),
    ("url", "https://a.example", true),
    ("url", "https://a.example?q=1", true),
    ("url", "https://[2001:db8::1]:8443/x", true),
    ("url", "https://a.example/%C3%A9", true),
    ("url", "HTTPS://a.example/", false),
    ("url", "ftp://a.example/", false),
    ("url", "https:///a.example/", false),
    ("url", "https:\\\\a.example/", false),
    ("url", "https://a.example\\@b.example/", false),
    ("url", "https://user@a.example/", false),
    ("url", "https://a.example:443/", false),
    ("url", "https://a.example:08443/", false),
    ("url", "https://a.example/#x", false),
    ("url", "https://a.example/a b", false),
    ("url", "https://a.example/a\tb", false),
    ("url", "https://a.example/%c3%a9", false),
    ("url", "https://a.example/%41", false),
    ("url", "https://a.example/%2E%2E/b", false),
    ("url", "https://a.example/../b", false),
    ("url", "https://a.example/?it's", false),
    ("url", "https://0127.0.0.1/", false),
    ("argv", "pytest -q", true),
    ("argv", "grep 'two words' a.txt", true),
    ("argv", "printf ''", true),
    ("argv", "env A=b make", true),
    ("argv", "", false),
    ("argv", "ls  -l", false),
    ("argv", "ls\n-l", false),
    ("argv", "ls; rm x", false),
    ("argv", "ls && rm x", false),
    ("argv", "ls | wc", false),
    ("argv", "ls $HOME", false),
    ("argv", "ls \"x\"", false),
    ("argv", "ls a'b'", false),
    ("argv", "ls 'a", false),
    ("argv", "ls *", false),
    ("argv", "ls ~", false),
    ("argv", "A=b make", false),
    ("argv", "if x", false),
    ("argv", "ls #x", false),
    ("path", "/srv/app/main.py", true),
    ("path", "/srv/übung.txt", true),
    ("path", "/srv/.hidden", true),
    ("path", "/", false),
    ("path", "srv/app", false),
    ("path", "/srv//app", false),
    ("path", "/srv/../app", false),
    ("path", "/srv\\app", false),
    ("path", "/srv/u\u{308}bung", false),
    ("path", "/srv/a\nb", false),
    ("text", "Ana", true),
    ("text", "Zoë", true),
    ("text", "Zoe\u{308}", false),
    ("text", "a\u{200b}b", false),
    ("text", "a\u{202e}b", false),
    ("text", "a\u{2028}b", false),
    ("number", "12000", true),
    ("number", "-12", true),
    ("number", "9007199254740991", true),
    ("number", "1.0", false),
    ("number", "1e3", false),
    ("number", "-0", false),
];

fn reading(kind: &str, input: &str) -> Value {
    let read = match kind {
        "host" => strict::host(input).map(|host| json!(host.as_str())),
        "url" => strict::url(input).map(|url| json!(url.as_str())),
        "argv" => strict::argv(input).map(|words| json!(words)),
        "path" => strict::path(input).map(|path| json!(path)),
        "text" => strict::text(input).map(|text| json!(text)),
        _ => strict::number(&canon::parse(input.as_bytes()).unwrap()).map(|number| json!(number)),
    };
    read.unwrap_or(Value::Null)
}

pub fn lines() -> String {
    let line = |(kind, input, _): &(&str, &str, bool)| json!({"kind": kind, "input": input, "reading": reading(kind, input)});
    TABLE.iter().map(|row| format!("{}\n", line(row))).collect()
}

#[test]
fn the_table_is_read_as_it_says() {
    for (kind, input, good) in TABLE {
        assert_eq!(!reading(kind, input).is_null(), *good, "{kind} {input:?}");
    }
}

/// Hosts, URLs and what is nearly one.
fn nearly_a_url() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a.example".to_owned()),
        Just("127.0.0.1".to_owned()),
        Just("0x7f".to_owned()),
        Just("[::1]".to_owned()),
        Just("08".to_owned()),
        "[a-zA-Z0-9.:@/\\\\?#%\\[\\] '~_&=-]{0,8}",
        "%[0-9A-Fa-f]{2}",
        "[0-9a-f:.]{1,12}".prop_map(|inside| format!("[{inside}]")),
    ];
    let scheme = prop_oneof![Just("https://"), Just("http://"), Just("https:/"), Just("")];
    (scheme, proptest::collection::vec(piece, 1..5))
        .prop_map(|(scheme, parts)| format!("{scheme}{}", parts.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn an_accepted_url_is_what_the_url_crate_reads(text in nearly_a_url()) {
        if let Ok(own) = strict::url(&text) {
            let theirs = url::Url::parse(&text).unwrap();
            prop_assert_eq!(theirs.as_str(), own.as_str());
            prop_assert_eq!(theirs.host_str(), Some(own.host().as_str()));
            prop_assert_eq!(theirs.port_or_known_default(), Some(own.port()));
        }
        if let Ok(own) = strict::host(&text) {
            let theirs = url::Host::parse(&text).unwrap();
            prop_assert_eq!(theirs.to_string(), own.as_str());
        }
    }

    #[test]
    fn an_accepted_command_is_what_shlex_splits(text in "[a-z=' \"\\\\$;&|<>*?~#%@+:,./A-Z0-9_\n-]{0,16}") {
        if let Ok(own) = strict::argv(&text) {
            let theirs = shlex::split(&text).map(|words| words.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(theirs, Some(own));
        }
    }

    #[test]
    fn an_accepted_path_is_its_own_components(text in "(/[a-z.\\\\ ]{0,3}){0,4}/?") {
        if let Ok(own) = strict::path(&text) {
            let parts: Vec<_> = std::path::Path::new(own).components().skip(1).map(|part| part.as_os_str().to_str().unwrap()).collect();
            prop_assert_eq!(format!("/{}", parts.join("/")), own);
        }
    }
}
