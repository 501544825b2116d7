//! A message in plain words, as a person reads it: who says what, and what was found of it. What a claim says is that something
//! happened; only `still_holds` says more. Text that strangers wrote comes as it is: whoever shows it shows hidden characters too.

use super::check::Judgement;
use super::code::Verdict;
use super::wire::Message;
use canon::Value;

/// A message, told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    /// `name`, `value`: what is written on it.
    pub heading: Vec<(&'static str, String)>,
    /// What it asks for.
    pub asks: Option<String>,
    /// Free text, which proves nothing.
    pub text: Option<String>,
    pub claims: Vec<Said>,
    /// Root first; the lines of each.
    pub grants: Vec<Vec<String>>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub id: String,
    pub says: String,
    /// What was found of it, once it was judged.
    pub found: Option<Verdict>,
    pub why: String,
}

impl Telling {
    /// With what was found of each claim, if it was judged.
    pub fn of(message: &Message<'_>, judged: Option<&Judgement>) -> Self {
        let wire = &message.wire;
        let from = &wire.from;
        let heading = vec![
            ("message", wire.id.clone()),
            ("from", format!("{} in run {} of {}", from.agent, from.run_id, from.tenant)),
            ("log", from.origin.clone()),
            ("to", wire.to.clone()),
            ("issued", crate::spelled(wire.iat)),
            ("ends", crate::spelled(wire.exp)),
            ("hash", message.hash().prefixed()),
        ];
        let asks = wire.intent.as_ref().map(|intent| format!("{} with {}", intent.kind, json(&intent.args)));
        let claims = wire.claims.iter().map(|claim| {
            let of_it = |judged: &Judgement| {
                judged.claims.iter().find(|finding| finding.id == claim.id).map(|finding| finding.verdict)
            };
            let found = judged.and_then(of_it);
            Said {
                id: claim.id.clone(),
                says: sentence(&claim.pred, &claim.args),
                found,
                why: found.map(why).unwrap_or_default(),
            }
        });
        Self {
            heading,
            asks,
            text: wire.text.clone(),
            claims: claims.collect(),
            grants: wire.grants.iter().map(|link| grant(&link.grant)).collect(),
        }
    }

    /// Its lines, for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.heading.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        lines.extend(self.asks.iter().map(|asks| format!("asks: {asks}")));
        lines.extend(self.text.iter().map(|text| format!("says, which proves nothing: {text}")));
        for claim in &self.claims {
            lines.push(format!("claim {}: {}", claim.id, claim.says));
            if !claim.why.is_empty() {
                lines.push(format!("  {}", claim.why));
            }
        }
        lines.extend(tree(&self.grants));
        lines
    }
}

/// Grants as a tree, root first: each below the one it narrows.
pub fn tree(grants: &[Vec<String>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (depth, grant) in grants.iter().enumerate() {
        let indent = "   ".repeat(depth);
        for (at, line) in grant.iter().enumerate() {
            let mark = if at > 0 {
                "   "
            } else if depth == 0 {
                ""
            } else {
                "└─ "
            };
            lines.push(format!("{indent}{mark}{line}"));
        }
    }
    lines
}

/// The lines of a grant, or of a link that carries one.
pub fn grant(value: &Value<'_>) -> Vec<String> {
    let value = value.get("grant").unwrap_or(value);
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let list = |name: &str| {
        let names = value.get(name).and_then(Value::as_array).unwrap_or_default();
        names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let count = |name: &str| value.get(name).and_then(Value::as_u64);
    let root = text("/root/approval_id");
    let origin = if root.is_empty() { "delegated".to_owned() } else { format!("approved as {root}") };
    let terms = value.get("terms").and_then(Value::as_array).unwrap_or_default();
    let uses = count("max_uses").map_or(String::new(), |most| format!(", at most {most} times"));
    let further = match count("depth") {
        Some(0) | None => "not to be passed on".to_owned(),
        Some(depth) => format!("to be passed on {depth} times at most"),
    };
    let mut lines = vec![
        format!("grant {}, {origin}", text("/id")),
        format!("from {} to {}", text("/issuer"), text("/holder")),
        format!("for {} of {}{uses}", list("intents"), list("audience")),
    ];
    lines.extend(terms.iter().map(|term| format!("where {}", condition(term))));
    lines.push(format!("from {} until {}; {further}", text("/not_before"), text("/not_after")));
    lines
}

fn condition(term: &Value<'_>) -> String {
    let text = |name| term.get(name).and_then(Value::as_str).unwrap_or_default();
    let op = match text("op") {
        "eq" => "is",
        "in" => "is one of",
        "le" => "is at most",
        "ge" => "is at least",
        "range" => "is within",
        "host_is" => "is the host",
        "host_under" => "is a host under",
        "path_is" => "is the path",
        "path_under" => "is a path under",
        "subset_of" => "has only",
        other => other,
    };
    let unit = match text("unit") {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    format!("{} {op} {}{unit}", text("field"), json(term.get("value").unwrap_or(&Value::Null)))
}

/// What a claim says happened.
fn sentence(predicate: &str, args: &Value<'_>) -> String {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let any = |name: &str| json(args.get(name).unwrap_or(&Value::Null));
    let if_told = |name: &str, words: &str| {
        args.get(name).map_or(String::new(), |value| format!("{words}{}", json(value)))
    };
    match predicate {
        "tool_called" => format!("{} was called with {}", text("tool"), any("args")),
        "http_fetched" => format!(
            "{} {} was fetched{}{}",
            text("method"),
            text("url"),
            if_told("status", ", with status "),
            if_told("body_sha256", ", and the hash of its body was ")
        ),
        "tests_passed" => format!(
            "the tests of {} passed when {} ran{}{}",
            text("runner"),
            any("argv"),
            if_told("cwd", " in "),
            if_told("counts", ", counting ")
        ),
        "command_ran" => format!("{} ran and ended with exit code {}", any("argv"), any("exit_code")),
        "file_written" => format!("{} was written, with content of hash {}", text("path"), text("sha256")),
        "result_value" => format!(
            "{}, called with {}, had {} at {:?} of its result",
            text("tool"),
            any("args"),
            any("value"),
            text("pointer")
        ),
        "approved_by" => {
            let what = if args.get("tool").is_some() { text("tool") } else { text("intent") };
            let terms = args.get("terms").and_then(Value::as_array).unwrap_or_default();
            let terms: Vec<String> = terms.iter().map(condition).collect();
            let limits =
                if terms.is_empty() { String::new() } else { format!(" where {}", terms.join(" and ")) };
            let done = if args.get("done").is_some() { ", and it was done" } else { "" };
            format!("{} approved {what}{limits}{done}", text("person"))
        }
        "net_reached" => format!(
            "{} was contacted on port {} between {} and {}",
            text("host"),
            any("port"),
            args.pointer("/window/from").and_then(Value::as_str).unwrap_or_default(),
            args.pointer("/window/to").and_then(Value::as_str).unwrap_or_default()
        ),
        "decided" => format!(
            "a call of {} with {} was decided: {}; not that it ran",
            text("tool"),
            any("args"),
            text("decision")
        ),
        "still_holds" => format!("what claim {} says still holds for {}", text("claim"), any("paths")),
        other => format!("{other} with {}", json(args)),
    }
}

/// What was found, and what that means.
fn why(found: Verdict) -> String {
    match found {
        Verdict::Proven => "proven: it happened, by records the agent could not write".to_owned(),
        Verdict::Unproven(code) => format!("not proven: {} ({})", code.sentence(), code.as_str()),
        Verdict::Failed(code) => format!("contradicted: {} ({})", code.sentence(), code.as_str()),
    }
}

fn json(value: &Value<'_>) -> String {
    canon::to_vec(value).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
