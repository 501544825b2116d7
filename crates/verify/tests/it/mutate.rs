//! Bundles changed by a forger: as they are, or with every hash and signature made anew by the server's own key.

use crate::play::Play;
use crate::room::{plays, viewers};
use crate::support::{signed, signer};
use crate::twins::{Case, Dice, agree, count, trust_text};
use canon::Digest;
use keys::Signer;
use ledger::Head;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use verify::Verdict;

const SEED: u64 = 20_261_130;
const MUTATIONS: usize = 2_000;

/// 2,000 changed bundles: both verifiers give one verdict, one code and one place for each.
#[test]
fn two_verifiers_agree_on_mutated_rooms() {
    let mut dice = Dice::new(SEED);
    let mut cases = Vec::new();
    let pinned = trust_text();
    let files: Vec<(String, Value)> = plays().iter().flat_map(|(name, play)| bundles(name, play)).collect();
    for (name, bundle) in &files {
        for trust in [None, Some(pinned.clone())] {
            cases.push(Case { name: name.clone(), file: bundle.to_string().into_bytes(), trust });
        }
    }
    let good = cases.len();
    for round in 0..MUTATIONS {
        let (name, bundle) = &files[dice.below(files.len())];
        let mut changed = bundle.clone();
        let mut what = String::new();
        while changed == *bundle {
            what = match round % 3 {
                0 => change(&mut changed, &mut dice),
                1 => {
                    let what = change_inside(&mut changed, &mut dice);
                    reseal(&mut changed);
                    format!("{what}, resealed")
                }
                _ => rearrange(&mut changed, &mut dice),
            };
        }
        let trust = (round % 2 == 0).then(|| pinned.clone());
        let name = format!("seed {SEED}, round {round}, {name}: {what}");
        cases.push(Case { name, file: changed.to_string().into_bytes(), trust });
    }
    let verdicts = agree(&cases);
    let (untouched, changed) = verdicts.split_at(good);
    assert_eq!(count(untouched, Verdict::Valid), good);
    assert!(count(changed, Verdict::Refused) > MUTATIONS * 8 / 10);
    // Whatever is changed in a file and not made anew by its server is found, unless only the brief is left out.
    for (case, verdict) in cases.iter().skip(good).zip(changed).step_by(3) {
        let without_brief = case.name.contains(": brief lost") || case.name.contains(": brief nulled");
        let of_log =
            ["log/checkpoint", ": log lost", ": log nulled"].iter().any(|what| case.name.contains(what));
        let of_others = case.trust.is_none() && of_log;
        assert!(*verdict != Verdict::Valid || without_brief || of_others, "{}", case.name);
    }
}

fn bundles(name: &str, play: &Play) -> Vec<(String, Value)> {
    let value = |bundle: pxp::bundle::Bundle| serde_json::from_slice(&bundle.to_vec().unwrap()).unwrap();
    let brief = serde_json::from_slice(&play.brief().to_vec().unwrap()).unwrap();
    let mut files = vec![(format!("{name} whole"), value(play.whole())), (format!("{name} brief"), brief)];
    for viewer in viewers() {
        files.push((format!("{name} for {viewer:?}"), value(play.bundle(viewer))));
    }
    files
}

/// One leaf changed, one member or element lost, one member too many.
pub fn change(value: &mut Value, dice: &mut Dice) -> String {
    let mut paths = Vec::new();
    walk(value, &mut Vec::new(), &mut paths);
    if paths.is_empty() {
        *value = json!({ "surplus": 1 });
        return "all replaced".to_owned();
    }
    let path = paths[dice.below(paths.len())].clone();
    let text = path.join("/");
    let kind = dice.below(10);
    if kind < 7 {
        flip(at(value, &path), dice);
        return format!("{text} flipped");
    }
    let (last, parent) = path.split_last().unwrap();
    match at(value, parent) {
        Value::Object(members) if kind == 7 => {
            // Names that a JSON Pointer escapes, and such as sort before and after the others.
            const NAMES: [&str; 4] = ["surplus", "a/b~c", "~1", "\u{10000}"];
            members.insert(NAMES[dice.below(NAMES.len())].into(), json!(1));
        }
        Value::Object(members) if kind == 8 => {
            members.insert(last.clone(), Value::Null);
        }
        Value::Object(members) => {
            members.remove(last);
        }
        Value::Array(values) => {
            values.remove(last.parse().unwrap());
        }
        _ => {}
    }
    format!("{text} {}", ["joined", "nulled", "lost"][kind - 7])
}

/// A change inside an entry's data or a payload: what a server could have written.
fn change_inside(bundle: &mut Value, dice: &mut Dice) -> String {
    let entries = bundle["entries"].as_array().unwrap().len();
    let payloads = bundle["payloads"].as_object();
    let names: Vec<String> = payloads.map(|payloads| payloads.keys().cloned().collect()).unwrap_or_default();
    if names.is_empty() || dice.below(2) == 0 {
        let index = dice.below(entries);
        let what = change(&mut bundle["entries"][index]["data"], dice);
        return format!("entry {}: {what}", index + 1);
    }
    let name = names[dice.below(names.len())].clone();
    let mut payload: Value = serde_json::from_str(bundle["payloads"][&name].as_str().unwrap()).unwrap();
    let what = change(&mut payload, dice);
    let text = canonical(&payload);
    let members = bundle["payloads"].as_object_mut().unwrap();
    members.remove(&name);
    let renamed = Digest::of(text.as_bytes()).to_string();
    members.insert(renamed.clone(), Value::String(text));
    let named =
        bundle["entries"].as_array_mut().unwrap().iter_mut().find(|entry| entry["data"]["payload"] == *name);
    let Some(entry) = named else { return format!("payload of nothing: {what}") };
    entry["data"]["payload"] = Value::String(renamed);
    // Half of the forgers also mend the hash that the entry gives of the payload's content.
    if dice.below(2) == 0 {
        let mended =
            if entry["type"] == "envelope" { canonical(&payload["envelope"]) } else { canonical(&payload) };
        let mended = Digest::of(mended.as_bytes()).to_string();
        for member in ["envelope_hash", "card_hash", "brief_hash"] {
            if entry["type"] != "principal_answer" && entry["data"].get(member).is_some() {
                entry["data"][member] = Value::String(mended.clone());
            }
        }
    }
    format!("payload of {}: {what}", entry["type"])
}

/// Entries dropped, swapped, repeated or cut; another key; another room's head.
fn rearrange(bundle: &mut Value, dice: &mut Dice) -> String {
    let count = bundle["entries"].as_array().unwrap().len();
    let (one, two) = (dice.below(count), dice.below(count));
    let kind = dice.below(9);
    let entries = bundle["entries"].as_array_mut().unwrap();
    match kind {
        0 => drop(entries.remove(one)),
        1 => entries.swap(one, two),
        2 => entries.truncate(one),
        3 => entries.insert(one, entries[two].clone()),
        4 => bundle["keys"]["server"] = serde_json::to_value(signer(3).public()).unwrap(),
        5 => bundle["room"] = json!("r2"),
        6 if bundle.get("payloads").is_some() => {
            let payloads = bundle["payloads"].as_object_mut().unwrap();
            if let Some(name) = payloads.keys().nth(one % payloads.len().max(1)).cloned() {
                payloads.remove(&name);
                bundle["withheld"].as_array_mut().unwrap().push(Value::String(name));
            }
        }
        7 => bundle["keys"]["seats"] = json!({ "B": signer(10).public() }),
        _ => bundle["brief"] = Value::Null,
    }
    let reseals = dice.below(2) == 0;
    if reseals {
        if let Some(withheld) = bundle.get_mut("withheld").and_then(Value::as_array_mut) {
            withheld.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            for (index, entry) in bundle["entries"].as_array_mut().unwrap().iter_mut().enumerate() {
                entry["n"] = json!(index + 1);
            }
        }
        reseal(bundle);
    }
    format!("rearranged {kind} at {one} and {two}, resealed: {reseals}")
}

/// Links, hashes, head and log made anew under the server's key.
pub fn reseal(bundle: &mut Value) {
    let mut head = Head::EMPTY;
    if let (None, Some(first)) = (bundle.get("payloads"), bundle["entries"].get(0)) {
        // A brief's proof begins in the middle of the chain.
        let prev = first["prev"].as_str().and_then(|prev| prev.parse().ok()).unwrap_or(Digest::ZERO);
        head = Head { seq: first["n"].as_u64().unwrap_or(1).saturating_sub(1), hash: prev };
    }
    for entry in bundle["entries"].as_array_mut().unwrap() {
        let body = json!({
            "at": entry["at"], "data": entry["data"], "n": entry["n"], "type": entry["type"],
        });
        let hash = Digest::of_parts(&[head.hash.to_string().as_bytes(), canonical(&body).as_bytes()]);
        entry["prev"] = Value::String(head.hash.to_string());
        entry["hash"] = Value::String(hash.to_string());
        head = Head { seq: head.seq + 1, hash };
    }
    let Some(room) = bundle["room"].as_str() else { return };
    let Ok(stream) = format!("room/{room}").parse() else { return };
    let (signed_head, log) = signed(&stream, head);
    bundle["head"] = serde_json::to_value(signed_head).unwrap();
    bundle["log"] = serde_json::to_value(log).unwrap();
}

pub fn canonical(value: &Value) -> String {
    String::from_utf8(canon::canonicalize(value.to_string().as_bytes()).unwrap()).unwrap()
}

fn walk(value: &Value, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let children: BTreeMap<String, &Value> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(values) => {
            values.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => BTreeMap::new(),
    };
    for (name, child) in children {
        path.push(name);
        paths.push(path.clone());
        walk(child, path, paths);
        path.pop();
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(values) => &mut values[step.parse::<usize>().unwrap()],
        value => &mut value[step],
    })
}

/// Another value of the same type, or nearly.
fn flip(value: &mut Value, dice: &mut Dice) {
    *value = match &*value {
        Value::Null => json!("x"),
        Value::Bool(flag) => json!(!flag),
        Value::Number(number) => match dice.below(4) {
            0 => json!(number.as_i64().unwrap_or(0) - 1),
            1 => json!(number.as_f64().unwrap_or(0.0) + 0.5),
            _ => json!(number.as_i64().unwrap_or(0) + 1),
        },
        Value::String(text) => json!(flip_text(text, dice)),
        Value::Array(values) => match dice.below(2) {
            0 => json!([]),
            _ => values.iter().rev().cloned().collect(),
        },
        Value::Object(_) => Value::Object(Map::new()),
    };
}

fn flip_text(text: &str, dice: &mut Dice) -> String {
    const WORDS: [&str; 12] = [
        "A", "B", "allow", "deny", "agree", "continue", "assumed", "stated", "accept", "conflict", "q1",
        "A1.1",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    if chars.is_empty() || dice.below(5) == 0 {
        return WORDS[dice.below(WORDS.len())].to_owned();
    }
    let place = dice.below(chars.len());
    chars[place] = match chars[place] {
        '0'..='8' => char::from(chars[place] as u8 + 1),
        'a' => 'b',
        _ => 'a',
    };
    chars.into_iter().collect()
}
