use canon::{Code, Value, canonicalize, parse, to_vec};

const SEED: u64 = 0x5eed_0001;

/// 1,000,000 doubles, every bit pattern equally likely, written as serde_json_canonicalizer writes them.
#[test]
fn random_doubles_equal_the_other_canonicalizer() {
    let mut state = SEED;
    let mut random = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut seen = 0;
    while seen < 1_000_000 {
        let value = f64::from_bits(random());
        if value.is_finite() {
            let theirs = serde_json_canonicalizer::to_vec(&value).unwrap();
            assert_eq!(to_vec(&value).unwrap(), theirs, "seed {SEED:#x}, {value:e}");
            // The spelling of Rust always has an exponent, so the token is never an integer's.
            let token = format!("{value:e}");
            assert_eq!(canonicalize(token.as_bytes()).unwrap(), theirs, "seed {SEED:#x}, {value:e}");
            seen += 1;
        }
    }
}

#[test]
fn token_kind_is_kept() {
    fn check(token: &str, integer: Option<i64>, double: f64, canonical: &str) {
        let value = parse(token.as_bytes()).unwrap();
        let number = value.as_number().unwrap();
        assert_eq!(number.token(), token);
        assert_eq!(number.is_integer_token(), integer.is_some(), "{token}");
        assert_eq!(value.as_i64(), integer, "{token}");
        assert_eq!(value.as_u64(), integer.and_then(|value| u64::try_from(value).ok()), "{token}");
        assert_eq!(number.as_f64(), double, "{token}");
        assert_eq!(to_vec(&value).unwrap(), canonical.as_bytes(), "{token}");
        let owned: Value = canon::from_slice(token.as_bytes()).unwrap();
        assert_eq!(owned, value);
    }
    check("0", Some(0), 0.0, "0");
    check("-0", Some(0), 0.0, "0");
    check("1", Some(1), 1.0, "1");
    check("-1", Some(-1), -1.0, "-1");
    check("9007199254740991", Some(9_007_199_254_740_991), 9_007_199_254_740_991.0, "9007199254740991");
    check("1.0", None, 1.0, "1");
    check("-0.0", None, 0.0, "0");
    check("-1e-400", None, 0.0, "0");
    check("1E+2", None, 100.0, "100");
    check("1e20", None, 1e20, "100000000000000000000");
    check("9007199254740993.0", None, 9_007_199_254_740_992.0, "9007199254740992");
}

#[test]
fn numbers_are_made_only_in_range() {
    fn check<T: TryInto<canon::Number<'static>, Error = canon::Error>>(
        value: T,
        expected: Result<&str, Code>,
    ) {
        let made = value.try_into();
        assert_eq!(made.as_ref().map(canon::Number::token).map_err(|error| error.code), expected);
    }
    check(-7_i64, Ok("-7"));
    check(i64::MIN, Err(Code::IntRange));
    check(9_007_199_254_740_991_u64, Ok("9007199254740991"));
    check(9_007_199_254_740_992_u64, Err(Code::IntRange));
    check(1.0, Ok("1.0"));
    check(1e300, Ok("1e300"));
    check(f64::NAN, Err(Code::NonFinite));
    check(f64::NEG_INFINITY, Err(Code::NonFinite));
}
