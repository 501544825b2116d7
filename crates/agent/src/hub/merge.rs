//! Answers of several upstreams, put together. Elements keep their bytes but for the name that says whose they are.

use super::many::List;
use crate::wire::{self, Span};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A page of a list.
pub(super) struct Merged {
    /// JSON.
    pub result: String,
    /// Whose each element is, as its upstream names it.
    pub names: Vec<(String, String)>,
}

/// One page: the next page of each upstream, one after the other.
pub(super) fn list(parts: &[(String, &str)], list: List, modern: bool) -> Merged {
    let (mut elements, mut names, mut more) = (Vec::new(), Vec::new(), BTreeMap::new());
    let (mut lifetime, mut shared) = (None::<u64>, true);
    for (up, result) in parts {
        let all = 0..result.len();
        let spans =
            wire::find(result, all.clone(), &[list.member]).and_then(|span| wire::elements(result, span));
        for span in spans.unwrap_or_default() {
            if let Some((element, name)) = renamed(result, span, up, list) {
                elements.push(element);
                names.push((up.clone(), name));
            }
        }
        let text = |name: &str| {
            wire::find(result, all.clone(), &[name]).and_then(|span| wire::text_at(result, &span))
        };
        if let Some(cursor) = text("nextCursor") {
            more.insert(up.clone(), cursor);
        }
        let own = wire::find(result, all.clone(), &["ttlMs"]).and_then(|span| result.get(span)?.parse().ok());
        lifetime = Some(lifetime.unwrap_or(u64::MAX).min(own.unwrap_or(0)));
        shared &= text("cacheScope").as_deref() == Some("public");
    }
    let mut result = format!("{{\"{}\":[{}]", list.member, elements.join(","));
    if !more.is_empty() {
        result.push_str(&format!(",\"nextCursor\":{}", wire::quoted(&cursor(&more))));
    }
    if modern {
        let scope = if shared { "public" } else { "private" };
        let lifetime = lifetime.unwrap_or(0);
        result.push_str(&format!(
            ",\"resultType\":\"complete\",\"ttlMs\":{lifetime},\"cacheScope\":\"{scope}\""
        ));
    }
    result.push('}');
    Merged { result, names }
}

fn renamed(text: &str, element: Span, up: &str, list: List) -> Option<(String, String)> {
    let span = wire::find(text, element.clone(), &[list.name])?;
    let name = wire::text_at(text, &span)?;
    let local = span.start.checked_sub(element.start)?..span.end.checked_sub(element.start)?;
    let new = wire::quoted(&list.by.prefixed(up, &name));
    Some((wire::splice(text.get(element)?, vec![(local, new)]), name))
}

/// The upstreams that have more, and where.
fn cursor(more: &BTreeMap<String, String>) -> String {
    URL_SAFE_NO_PAD.encode(json!(more).to_string())
}

/// What a cursor of ours says.
pub(super) fn pages(cursor: &str) -> Option<BTreeMap<String, String>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

/// Answers to `initialize` (`asked` has its parameters) or to `server/discover`: what any of them can do, we can.
pub(super) fn greeting(parts: &[(String, &str)], asked: Option<&str>) -> String {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let all: Vec<(&String, Value)> = parts.iter().map(|(up, text)| (up, read(text))).collect();
    let mut capabilities = Value::Object(Map::new());
    let mut said = Vec::new();
    for (up, one) in &all {
        unite(&mut capabilities, one.get("capabilities").unwrap_or(&Value::Null));
        if let Some(text) = one.get("instructions").and_then(Value::as_str) {
            said.push(format!("Of {up}:\n{text}"));
        }
    }
    let server =
        json!({ "name": "countersign", "title": "Countersign", "version": env!("CARGO_PKG_VERSION") });
    let mut merged = json!({ "capabilities": capabilities });
    let Some(object) = merged.as_object_mut() else { return String::new() };
    if !said.is_empty() {
        object.insert("instructions".to_owned(), json!(said.join("\n\n")));
    }
    match asked {
        Some(asked) => {
            let wanted = read(asked).get("protocolVersion").cloned().unwrap_or_default();
            let spoken = all.iter().filter_map(|(_, one)| one.get("protocolVersion"));
            // Where they do not speak the host's revision, the oldest of theirs.
            let oldest = spoken.min_by_key(|version| version.as_str().unwrap_or_default().to_owned());
            object.insert("protocolVersion".to_owned(), oldest.cloned().unwrap_or(wanted));
            object.insert("serverInfo".to_owned(), server);
        }
        None => {
            let lists =
                all.iter().filter_map(|(_, one)| one.get("supportedVersions").and_then(Value::as_array));
            let lists: Vec<&Vec<Value>> = lists.collect();
            let common = lists.first().map(|first| {
                first
                    .iter()
                    .filter(|version| lists.iter().all(|list| list.contains(version)))
                    .cloned()
                    .collect()
            });
            let lifetime = all.iter().filter_map(|(_, one)| one.get("ttlMs").and_then(Value::as_u64)).min();
            object.insert("supportedVersions".to_owned(), Value::Array(common.unwrap_or_default()));
            object.insert("resultType".to_owned(), json!("complete"));
            object.insert("ttlMs".to_owned(), json!(lifetime.unwrap_or(0)));
            object.insert("cacheScope".to_owned(), json!("private"));
            object.insert("_meta".to_owned(), json!({ "io.modelcontextprotocol/serverInfo": server }));
        }
    }
    merged.to_string()
}

/// Adds what `other` has. A switch is on where one of them has it on.
fn unite(one: &mut Value, other: &Value) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in other {
                unite(one.entry(name.clone()).or_insert_with(|| value.clone()), value);
            }
        }
        (Value::Bool(one), Value::Bool(other)) => *one |= *other,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::many::By;
    use super::*;

    const TOOLS: List =
        List { method: "tools/list", capability: "tools", member: "tools", name: "name", by: By::Name };

    #[test]
    fn a_page_is_the_next_page_of_each_and_elements_keep_their_bytes() {
        let parts = [
            ("a".to_owned(), r#"{"tools":[ {"x":1.0, "name":"t\u0031"} ],"nextCursor":"p2"}"#),
            ("b".to_owned(), r#"{"tools":[{"name":"t1","inputSchema":{"name":"x"}}]}"#),
        ];
        let merged = list(&parts, TOOLS, false);
        let cursor = URL_SAFE_NO_PAD.encode(r#"{"a":"p2"}"#);
        assert_eq!(
            merged.result,
            format!(
                r#"{{"tools":[{{"x":1.0, "name":"a__t1"}},{{"name":"b__t1","inputSchema":{{"name":"x"}}}}],"nextCursor":"{cursor}"}}"#
            )
        );
        assert_eq!(pages(&cursor).unwrap(), BTreeMap::from([("a".to_owned(), "p2".to_owned())]));
        assert_eq!(pages("p2"), None);
    }

    #[test]
    fn together_they_can_what_any_of_them_can() {
        let parts = [
            (
                "a".to_owned(),
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":false}},"instructions":"A"}"#,
            ),
            (
                "b".to_owned(),
                r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}}}"#,
            ),
        ];
        let merged: Value =
            serde_json::from_str(&greeting(&parts, Some(r#"{"protocolVersion":"2025-11-25"}"#))).unwrap();
        assert_eq!(merged["capabilities"], json!({ "tools": { "listChanged": true }, "logging": {} }));
        assert_eq!(merged["protocolVersion"], "2025-06-18");
        assert_eq!(merged["instructions"], "Of a:\nA");
    }
}
