//! Messages inside other protocols.

use super::{claim, sealed, stage};
use canon::Value;
use pcm::message::carriage::{
    Carried, EXTENSION, MEDIA_TYPE, META, agrees_with_call, agrees_with_parts, meta, of_a2a, of_mcp, part,
};
use pcm::message::sample::{Custody, Order};
use pcm::message::{Code, Fault};
use serde_json::json;

/// A message that asks for a refund.
fn asking() -> Vec<u8> {
    let mut stage = stage(250);
    let (d, r) = stage.call(Custody::Executor, "http_get", "{}", "{}").unwrap();
    let order = Order {
        intent: Some((
            "refund.request",
            canon::Digest::of(b"schema"),
            r#"{"order":81,"amount":1}"#.to_owned(),
        )),
        ..claim("tool_called", json!({"tool": "http_get", "args": {}}), &[d, r])
    };
    sealed(&mut stage, &order)
}

fn value(json: &serde_json::Value) -> Value<'static> {
    canon::parse(json.to_string().as_bytes()).unwrap().into_static()
}

fn code<T>(found: Result<T, Fault>) -> Option<(Code, String)> {
    found.err().map(|fault| (fault.code, fault.place))
}

#[test]
fn a_call_of_a_tool_carries_a_message() {
    let message = asking();
    let inside: serde_json::Value =
        serde_json::from_slice(&canon::to_vec(&meta(&message, "").unwrap()).unwrap()).unwrap();
    let call = |name: &str, arguments: serde_json::Value| {
        value(&json!({"name": name, "arguments": arguments, "_meta": {META: inside}}))
    };
    let good = call("refund", json!({"amount": 1, "order": 81}));
    // As it was signed, whatever order the carrier gave its members.
    assert_eq!(of_mcp(&good), Ok(Some(Carried::Message(message.clone()))));
    let read = canon::parse(&message).unwrap();
    let check = |call: &Value<'_>, expected: Option<&str>| {
        let found = code(agrees_with_call(&read, call));
        let expected = expected.map(|place| (Code::IntentInvalid, place.to_owned()));
        assert_eq!(found, expected, "{call:?}");
    };
    check(&good, None);
    check(&call("refund.request", json!({"order": 81, "amount": 1})), None);
    check(&call("transfer", json!({"amount": 1, "order": 81})), Some("/intent/type"));
    check(&call("http_get", json!({"amount": 1, "order": 81})), Some("/intent/type"));
    check(&call("refund", json!({"amount": 2, "order": 81})), Some("/intent/args"));
    check(&call("refund", json!({"amount": "1", "order": 81})), Some("/intent/args"));
    check(&call("refund", json!({"amount": 1, "order": 81, "memo": null})), Some("/intent/args"));
    check(&call("refund", json!({"amount": 1})), Some("/intent/args"));
    check(&value(&json!({"name": "refund"})), Some("/intent/args"));
    // Spelled otherwise, the same number.
    let spelled = canon::parse(br#"{"name":"refund","arguments":{"amount":1.0,"order":81}}"#).unwrap();
    check(&spelled, None);
    let silent = canon::parse(b"{}").unwrap();
    assert_eq!(code(agrees_with_call(&silent, &good)), Some((Code::IntentInvalid, "/intent".to_owned())));
}

#[test]
fn a_call_without_a_message_carries_none() {
    let place = "/_meta/countersign.pcm~1message".to_owned();
    for (params, expected) in [
        (json!({"name": "refund"}), Ok(None)),
        (json!({"name": "refund", "_meta": {"progressToken": 1}}), Ok(None)),
        (json!({"_meta": {META: "message"}}), Err((Code::BadSchema, place.clone()))),
        (
            json!({"_meta": {META: {"type": "resource_link", "uri": "x"}}}),
            Err((Code::BadSchema, place.clone())),
        ),
        (
            json!({"_meta": {META: {"type": "resource_link", "uri": "x", "mimeType": MEDIA_TYPE}}}),
            Ok(Some(Carried::Link("x".to_owned()))),
        ),
    ] {
        let found = of_mcp(&value(&params)).map_err(|fault| (fault.code, fault.place));
        assert_eq!(found, expected, "{params}");
    }
}

#[test]
fn a_long_message_is_linked() {
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(64 << 10));
    let link = meta(long.as_bytes(), "https://a.example/m").unwrap();
    let params = value(&json!({"_meta": {META: serde_json::to_value(&link).unwrap()}}));
    assert_eq!(of_mcp(&params), Ok(Some(Carried::Link("https://a.example/m".to_owned()))));
}

#[test]
fn a_part_of_an_a2a_message_carries_one() {
    let message = asking();
    let ours: serde_json::Value = serde_json::to_value(part(&message).unwrap()).unwrap();
    let asked = json!({"kind": "data", "data": {"amount": 1, "order": 81}});
    let carrier = |parts: Vec<&serde_json::Value>| json!({"kind": "message", "role": "user", "messageId": "m1", "extensions": [EXTENSION], "parts": parts});
    let good = carrier(vec![&json!({"kind": "text", "text": "Please"}), &asked, &ours]);
    let sent = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": good}});
    let read = canon::parse(&message).unwrap();
    for carried in [&good, &sent] {
        let carried = value(carried);
        assert_eq!(of_a2a(&carried), Ok(Some(message.clone())));
        assert_eq!(agrees_with_parts(&read, &carried), Ok(()));
    }
    let parts = |other: &serde_json::Value| agrees_with_parts(&read, &value(&carrier(vec![other, &ours])));
    let differs = |place: &str| Some((Code::IntentInvalid, place.to_owned()));
    assert_eq!(
        code(parts(&json!({"kind": "data", "data": {"amount": 2, "order": 81}}))),
        differs("/intent/args")
    );
    assert_eq!(code(parts(&json!({"kind": "text", "text": "Please"}))), None);
    let several = value(&carrier(vec![&asked, &asked, &ours]));
    assert_eq!(code(agrees_with_parts(&read, &several)), differs("/parts"));
    let bad = |place: &str| Some((Code::BadSchema, place.to_owned()));
    assert_eq!(code(of_a2a(&value(&carrier(vec![&ours, &ours])))), bad("/parts"));
    let mut unnamed = carrier(vec![&ours]);
    unnamed["extensions"] = json!([]);
    assert_eq!(code(of_a2a(&value(&unnamed))), bad("/extensions"));
    assert_eq!(of_a2a(&value(&carrier(vec![&asked]))), Ok(None));
}
