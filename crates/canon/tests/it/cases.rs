//! Public bug reports of other canonicalizers, each tried as its whole kind.

use canon::{canonicalize, parse};

fn check(input: &str, expected: Result<&str, &str>) {
    let written = canonicalize(input.as_bytes());
    match expected {
        Ok(canonical) => assert_eq!(String::from_utf8(written.unwrap()).unwrap(), canonical, "{input}"),
        Err(code) => {
            assert_eq!(written.unwrap_err().code.as_str(), code, "{input}");
            assert_eq!(parse(input.as_bytes()).unwrap_err().code.as_str(), code, "{input}");
        }
    }
}

/// cyberphone/json-canonicalization#20: 64-bit integers lose precision.
#[test]
fn no_integer_loses_precision() {
    let integers = [
        ("9007199254740991", true),
        ("9007199254740992", false),
        ("9007199254740993", false),
        ("9999999999999999", false),
        ("10000000000000000", false),
        ("9223372036854775807", false),
        ("18446744073709551615", false),
        ("18446744073709551616", false),
        ("340282366920938463463374607431768211456", false),
    ];
    for (digits, fits) in integers {
        for sign in ["", "-"] {
            for (before, after) in [("", ""), ("[", "]"), ("{\"amount\":", "}"), ("{\"a\":[{\"b\":", "}]}")] {
                let number = format!("{before}{sign}{digits}{after}");
                check(&number, if fits { Ok(&number) } else { Err("int_range") });
                let text = format!("{before}\"{sign}{digits}\"{after}");
                check(&text, Ok(&text));
            }
        }
    }
}

/// rurban/Cpanel-JSON-XS#248, Mindburn-Labs/helm-ai-kernel#805: keys sorted by code point.
#[test]
fn keys_are_sorted_by_utf16_code_units() {
    let sorted = [
        "",
        "\u{1}",
        "a",
        "aa",
        "a\u{1f600}",
        "a\u{fb33}",
        "a\u{fffd}",
        "\u{7f}",
        "é",
        "\u{d7ff}",
        "\u{10000}",
        "\u{1f600}",
        "\u{1f600}a",
        "\u{1f600}\u{e000}",
        "\u{1f601}",
        "\u{10ffff}",
        "\u{e000}",
        "\u{fb33}",
        "\u{fb33}\u{1f600}",
        "\u{fb33}\u{fb33}",
        "\u{fffd}",
        "\u{ffff}",
    ];
    let mut naive = sorted;
    naive.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
    assert_eq!(sorted, naive);
    for (at, first) in sorted.iter().enumerate() {
        for second in &sorted[at + 1..] {
            let (first, second) = (quote(first), quote(second));
            let expected = format!("{{{first}:1,{second}:2}}");
            check(&expected, Ok(&expected));
            check(&format!("{{{second}:2,{first}:1}}"), Ok(&expected));
        }
    }
}

/// mirkokiefer/canonical-json#11: U+007F escaped, empty key misplaced.
#[test]
fn bytes_are_literal_and_keys_are_distinct() {
    let literal = "{\"\":1,\"\u{7f}\":2,\"\u{2028}\":3}";
    check(literal, Ok(literal));
    check("{\"\\u2028\":3,\"\\u007F\":2,\"\":1}", Ok(literal));
    for twice in ["a", "", "\u{7f}", "\u{2028}", "\u{1f600}"] {
        let key = quote(twice);
        let escaped: String = twice.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        check(&format!("{{{key}:1,{key}:1}}"), Err("duplicate_key"));
        check(&format!("{{{key}:1,\"z\":0,\"{escaped}\":2}}"), Err("duplicate_key"));
        check(&format!("[{{\"in\":{{\"{escaped}\":1,{key}:1}}}}]"), Err("duplicate_key"));
        check(&format!("{{{key}:{{{key}:1}}}}"), Ok(&format!("{{{key}:{{{key}:1}}}}")));
    }
    for lone in [
        "\\ud800",
        "\\uDBFF",
        "\\udc00",
        "\\uDFFF",
        "\\ud800x",
        "\\ud800\\n",
        "\\ud800\\ud800",
        "\\udc00\\ud800",
    ] {
        check(&format!("\"{lone}\""), Err("lone_surrogate"));
        check(&format!("{{\"a{lone}\":1}}"), Err("lone_surrogate"));
        check(&format!("[{{\"a\":\"x{lone}\"}}]"), Err("lone_surrogate"));
    }
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
