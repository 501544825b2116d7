//! A mandate as the fields of a plain form, and back: the same document, to the byte.

use crate::visitor::Fields;
use ledger::Coded;
use mandate::rule::{Constraint, Kind, Violation};
use mandate::text::{AssetName, Id, PolicyId};
use mandate::{Hashed, Mandate};
use serde_json::{Map, Value, json};
use server::mandates::office::Editing;

/// A mandate as the fields of a form.
#[derive(Debug, Default)]
pub(crate) struct Form {
    pub id: String,
    pub version: String,
    pub schema: String,
    pub principal_id: String,
    pub principal_name: String,
    pub principal_key: String,
    pub delegate_id: String,
    pub delegate_key: String,
    pub engine: String,
    pub symbol: String,
    pub decimals: String,
    pub starts: String,
    pub expires: String,
    pub per_day: String,
    pub required: String,
    pub approvers: Vec<(String, String)>,
    pub rules: Vec<Row>,
    pub asset_policy: String,
    pub asset_name: String,
    pub vault_name: String,
}

/// A constraint as it is edited. One without a kind is none.
#[derive(Debug, Default, Clone)]
pub(crate) struct Row {
    pub id: String,
    pub kind: String,
    pub value: String,
    pub window: String,
    pub counterparty: String,
    pub then: String,
    pub approver: String,
    pub delay: String,
}

/// The most rows of a form.
const ROWS: usize = 256;

/// The kinds of constraint, in plain words.
pub(crate) const KINDS: [(&str, &str); 11] = [
    ("", "no rule"),
    ("amount_lte", "One payment is at most"),
    ("daily_spend_lte", "A day’s payments are at most"),
    ("balance_after_gte", "So much stays in the vault"),
    ("counterparty_in", "The payee is one of"),
    ("purpose_in", "The purpose is one of"),
    ("action_in", "The act is one of"),
    ("asset_eq", "The currency is"),
    ("verified_facts", "Verifiers confirm the invoice"),
    ("rolling_spend_lte", "Within a window at most"),
    ("counterparty_spend_lte", "To one payee, within a window, at most"),
];
pub(crate) const THENS: [(&str, &str); 3] = [
    ("DENY", "never"),
    ("ESCALATE", "an approver must sign"),
    ("DELAY", "later, unless an approver objects"),
];

/// Fields that belong together.
#[derive(Debug)]
pub(crate) struct Part {
    pub title: &'static str,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    pub label: &'static str,
    pub hint: &'static str,
    pub value: String,
    pub fixed: bool,
    pub problem: Option<String>,
}

impl Form {
    pub fn of(editing: &Editing) -> Self {
        let mandate = &editing.mandate;
        let decimals = mandate.asset.decimals;
        Self {
            id: mandate.id.to_string(),
            version: editing.next.to_string(),
            schema: schema(mandate).to_owned(),
            principal_id: mandate.principal.id.to_string(),
            principal_name: mandate.principal.name.to_string(),
            principal_key: mandate.principal.cardano_key_hash.to_string(),
            delegate_id: mandate.delegate.id.to_string(),
            delegate_key: mandate.delegate.public_key.to_string(),
            engine: mandate.authority_engine.public_key.to_string(),
            symbol: mandate.asset.symbol.to_string(),
            decimals: decimals.to_string(),
            starts: mandate.validity.starts_at.to_string(),
            expires: mandate.validity.expires_at.to_string(),
            per_day: mandate.interrupt_budget.per_day.to_string(),
            required: mandate.required().to_string(),
            approvers: mandate
                .approvers
                .iter()
                .map(|one| (one.role.to_string(), one.cardano_key_hash.to_string()))
                .collect(),
            rules: mandate.constraints.iter().map(|rule| Row::of(rule, decimals)).collect(),
            ..Self::default()
        }
    }

    pub fn posted(fields: &Fields) -> Self {
        let one = |name: &str| fields.one(name).to_owned();
        let columns = |name: &'static str| fields.all(name).map(str::to_owned).collect::<Vec<_>>();
        let at = |all: &[String], n: usize| all.get(n).cloned().unwrap_or_default();
        let (roles, keys) = (columns("role"), columns("key"));
        let approvers = (0..roles.len().min(ROWS)).map(|n| (at(&roles, n), at(&keys, n)));
        let names = ["rule", "kind", "value", "window", "counterparty", "then", "approver", "delay"];
        let [ids, kinds, values, windows, whom, thens, who, delays] = names.map(columns);
        let rules = (0..kinds.len().min(ROWS)).map(|n| Row {
            id: at(&ids, n),
            kind: at(&kinds, n),
            value: at(&values, n),
            window: at(&windows, n),
            counterparty: at(&whom, n),
            then: at(&thens, n),
            approver: at(&who, n),
            delay: at(&delays, n),
        });
        Self {
            id: one("id"),
            version: one("version"),
            schema: one("schema"),
            principal_id: one("principal_id"),
            principal_name: one("principal_name"),
            principal_key: one("principal_key"),
            delegate_id: one("delegate_id"),
            delegate_key: one("delegate_key"),
            engine: String::new(),
            symbol: one("symbol"),
            decimals: one("decimals"),
            starts: one("starts"),
            expires: one("expires"),
            per_day: one("per_day"),
            required: one("required"),
            approvers: approvers.filter(|(role, key)| !role.is_empty() || !key.is_empty()).collect(),
            rules: rules.filter(|row| !row.kind.is_empty()).collect(),
            asset_policy: one("asset_policy"),
            asset_name: one("asset_name"),
            vault_name: one("vault_name"),
        }
    }

    /// The document, or what is wrong with it and where.
    pub fn read(&self, editing: Option<&Editing>) -> Result<Hashed<Mandate>, Vec<(String, String)>> {
        let mut faults = Vec::new();
        let document = self.document(&mut faults).to_string();
        if editing.is_none() {
            let checked = [
                ("/asset_policy", self.asset_policy.parse::<PolicyId>().is_ok(), POLICY),
                ("/asset_name", self.asset_name.parse::<AssetName>().is_ok(), NAME),
                ("/vault_name", self.vault_name.is_empty() || self.vault_name.parse::<Id>().is_ok(), ID),
            ];
            faults.extend(checked.iter().filter(|(_, good, _)| !good).map(|(at, _, text)| fault(*at, *text)));
        }
        let read = Hashed::<Mandate>::read(document.as_bytes());
        let mandate = match read {
            Ok(mandate) => mandate,
            Err(refusal) => {
                let place = refusal.place().unwrap_or_default();
                // What a field says of itself is said better there.
                if !faults.iter().any(|(known, _)| known.starts_with(&place)) {
                    faults.push((place, refusal.to_string()));
                }
                return Err(faults);
            }
        };
        faults.extend(mandate.faults());
        if let Some(editing) = editing {
            if mandate.id != editing.mandate.id {
                faults.push(fault("/id", "a mandate keeps its id"));
            }
            if mandate.version < editing.next {
                faults.push(fault("/version", format!("at least {}", editing.next)));
            }
            if mandate.asset != editing.mandate.asset {
                faults.push(fault("/asset/symbol", "the vault’s money is in another asset"));
            }
        }
        if faults.is_empty() { Ok(mandate) } else { Err(faults) }
    }

    fn document(&self, faults: &mut Vec<(String, String)>) -> Value {
        let mut number = |text: &str, place: &str| {
            text.parse::<u32>().unwrap_or_else(|_| {
                faults.push(fault(place, "a whole number"));
                0
            })
        };
        let decimals = number(&self.decimals, "/asset/decimals");
        let version = number(&self.version, "/version");
        let per_day = number(&self.per_day, "/interrupt_budget/per_day");
        let required = number(&self.required, "/quorum/required");
        let places = u8::try_from(decimals).unwrap_or(0);
        let mut rules = Vec::new();
        for (n, row) in self.rules.iter().enumerate() {
            rules.push(row.document(places, &format!("/constraints/{n}"), faults));
        }
        let newer = |row: &Row| {
            row.then == "DELAY" || row.kind.ends_with("_spend_lte") && row.kind != "daily_spend_lte"
        };
        let v02 = self.schema == "mandate/v0.2"
            || self.approvers.len() > 1
            || required > 1
            || self.rules.iter().any(newer);
        let mut document = json!({
            "schema": if v02 { "mandate/v0.2" } else { "mandate/v0.1" },
            "id": self.id, "version": version, "status": "active",
            "principal": { "type": "organization", "id": self.principal_id, "name": self.principal_name,
                "cardano_key_hash": self.principal_key },
            "delegate": { "type": "agent", "id": self.delegate_id, "public_key": self.delegate_key },
            "approvers": self.approvers.iter()
                .map(|(role, key)| json!({ "role": role, "cardano_key_hash": key })).collect::<Vec<_>>(),
            "authority_engine": { "public_key": self.engine },
            "asset": { "symbol": self.symbol, "decimals": decimals },
            "validity": { "starts_at": self.starts, "expires_at": self.expires },
            "delegation": { "allowed": false },
            "interrupt_budget": { "per_day": per_day },
            "constraints": rules,
        });
        if let (Some(members), true) = (document.as_object_mut(), required > 1) {
            members.insert("quorum".to_owned(), json!({ "required": required }));
        }
        document
    }

    pub fn parts(&self, is_new: bool, faults: &[(String, String)]) -> Vec<Part> {
        let field = |name, label, hint, value: &str, place: &str| Field {
            name,
            label,
            hint,
            value: value.to_owned(),
            fixed: !is_new && matches!(name, "id" | "symbol" | "decimals"),
            problem: wrong(faults, place),
        };
        let key = "the hash of an Ed25519 key: 56 digits and letters a to f";
        let mut parts = vec![
            Part {
                title: "The mandate",
                fields: vec![
                    field("id", "Id", ID, &self.id, "/id"),
                    field("version", "Version", "above the anchored one", &self.version, "/version"),
                    field("starts", "In force from", INSTANT, &self.starts, "/validity/starts_at"),
                    field("expires", "In force until", INSTANT, &self.expires, "/validity/expires_at"),
                ],
            },
            Part {
                title: "Who delegates, to whom",
                fields: vec![
                    field("principal_name", "Principal’s name", "", &self.principal_name, "/principal/name"),
                    field("principal_id", "Principal’s id", ID, &self.principal_id, "/principal/id"),
                    field(
                        "principal_key",
                        "Principal’s key",
                        key,
                        &self.principal_key,
                        "/principal/cardano_key_hash",
                    ),
                    field("delegate_id", "Agent’s id", ID, &self.delegate_id, "/delegate/id"),
                    field(
                        "delegate_key",
                        "Agent’s key",
                        "ed25519: and 64 digits",
                        &self.delegate_key,
                        "/delegate/public_key",
                    ),
                ],
            },
            Part {
                title: "The money",
                fields: vec![
                    field("symbol", "Currency", "2 to 10 letters", &self.symbol, "/asset/symbol"),
                    field("decimals", "Decimals", "0 to 18", &self.decimals, "/asset/decimals"),
                ],
            },
            Part {
                title: "People’s attention",
                fields: vec![
                    field(
                        "per_day",
                        "Interruptions a day",
                        "0 to 10000",
                        &self.per_day,
                        "/interrupt_budget/per_day",
                    ),
                    field(
                        "required",
                        "How many approvers must sign",
                        "one, or several of those below",
                        &self.required,
                        "/quorum",
                    ),
                ],
            },
        ];
        if let (true, Some(money)) = (is_new, parts.get_mut(2)) {
            money.fields.extend([
                field("asset_policy", "Token’s policy", POLICY, &self.asset_policy, "/asset_policy"),
                field("asset_name", "Token’s name", NAME, &self.asset_name, "/asset_name"),
                field(
                    "vault_name",
                    "Name of the vault",
                    "optional; actions must then name it",
                    &self.vault_name,
                    "/vault_name",
                ),
            ]);
        }
        parts
    }
}

impl Row {
    fn of(rule: &Constraint, decimals: u8) -> Self {
        let list = |values: &[Id]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let amount = |units: &mandate::text::Units| mandate::brief::amount(units.get(), decimals);
        let value = match &rule.kind {
            Kind::PurposeIn { values } | Kind::ActionIn { values } | Kind::CounterpartyIn { values } => {
                list(values)
            }
            Kind::AssetEq { value } => value.to_string(),
            Kind::AmountLte { value }
            | Kind::DailySpendLte { value }
            | Kind::BalanceAfterGte { value }
            | Kind::RollingSpendLte { value, .. }
            | Kind::CounterpartySpendLte { value, .. } => amount(value),
            Kind::VerifiedFacts => String::new(),
        };
        let (then, delay) = match &rule.on_violation {
            Violation::Deny => ("DENY", String::new()),
            Violation::Escalate(_) => ("ESCALATE", String::new()),
            Violation::Delay(_, seconds) => ("DELAY", written(*seconds)),
        };
        let whom = match &rule.kind {
            Kind::CounterpartySpendLte { counterparty: Some(whom), .. } => whom.to_string(),
            _ => String::new(),
        };
        let window = rule.kind.window_ms().and_then(|ms| u32::try_from(ms / 1000).ok());
        Self {
            id: rule.id.to_string(),
            kind: rule.kind.as_str().to_owned(),
            value,
            window: window.map(written).unwrap_or_default(),
            counterparty: whom,
            then: then.to_owned(),
            approver: rule.on_violation.approver().map(ToString::to_string).unwrap_or_default(),
            delay,
        }
    }

    fn document(&self, decimals: u8, place: &str, faults: &mut Vec<(String, String)>) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| {
            members.insert(name.to_owned(), value);
        };
        put("id", json!(self.id));
        put("kind", json!(self.kind));
        match self.kind.as_str() {
            "purpose_in" | "action_in" | "counterparty_in" => {
                let values = self.value.split([',', '\n', ' ']).map(str::trim).filter(|one| !one.is_empty());
                put("values", json!(values.collect::<Vec<_>>()));
            }
            "asset_eq" => put("value", json!(self.value)),
            "verified_facts" => put("source", json!("stripe")),
            _ => match units(&self.value, decimals) {
                Some(units) => put("value", json!(units.to_string())),
                None => {
                    let text = format!("an amount with at most {decimals} decimals, as 12.5");
                    faults.push(fault(format!("{place}/value"), text));
                    put("value", json!("0"));
                }
            },
        }
        let mut span = |text: &str, name: &str| {
            seconds(text).unwrap_or_else(|| {
                faults.push(fault(
                    format!("{place}/{name}"),
                    "a time from one minute to 366 days, as 7 d, 12 h or 30 m",
                ));
                60
            })
        };
        if matches!(self.kind.as_str(), "rolling_spend_lte" | "counterparty_spend_lte") {
            put("window_seconds", json!(span(&self.window, "window_seconds")));
        }
        if self.kind == "counterparty_spend_lte" && !self.counterparty.is_empty() {
            put("counterparty", json!(self.counterparty));
        }
        put("on_violation", json!(self.then));
        if self.then == "DELAY" {
            put("delay_seconds", json!(span(&self.delay, "delay_seconds")));
        }
        if self.then != "DENY" {
            put("approver", json!(self.approver));
        }
        Value::Object(members)
    }
}

pub(crate) const POLICY: &str = "the token’s policy: 56 digits and letters a to f";
pub(crate) const NAME: &str = "the token’s name in hex, at most 64 digits";
const INSTANT: &str = "as 2026-10-07T08:00:00Z";
pub(crate) const ID: &str = "1 to 64 characters of A-Z a-z 0-9 . _ -";

/// What is wrong at a place or below it, in sentences.
pub(crate) fn wrong(faults: &[(String, String)], place: &str) -> Option<String> {
    let below =
        |at: &str| at.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let found = faults.iter().filter(|(at, _)| below(at));
    let found: Vec<String> = found.map(|(_, text)| crate::page::sentence(text)).collect();
    (!found.is_empty()).then(|| found.join(" "))
}

/// A place in the document as the form calls it.
pub(crate) fn words(place: &str) -> String {
    let parts: Vec<&str> = place.split('/').skip(1).collect();
    let number = |text: &str| text.parse::<usize>().map_or_else(|_| text.to_owned(), |n| (n + 1).to_string());
    match parts.as_slice() {
        ["constraints"] => "The rules".to_owned(),
        ["constraints", n] => format!("Rule {}", number(n)),
        ["constraints", n, member, ..] => format!("Rule {}, {}", number(n), member.replace('_', " ")),
        ["approvers"] => "The approvers".to_owned(),
        ["approvers", n, ..] => format!("Approver {}", number(n)),
        [] => "The mandate".to_owned(),
        other => other.join(", ").replace('_', " "),
    }
}

const fn schema(mandate: &Mandate) -> &'static str {
    match mandate.schema {
        mandate::mandate::MandateSchema::V01 => "mandate/v0.1",
        mandate::mandate::MandateSchema::V02 => "mandate/v0.2",
    }
}

fn fault(place: impl Into<String>, text: impl Into<String>) -> (String, String) {
    (place.into(), text.into())
}

/// An amount as people write it, in base units, exactly: `12.5`. None for more decimals than there are, signs, blanks within.
pub(crate) fn units(text: &str, decimals: u8) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let missing = usize::from(decimals).checked_sub(part.len())?;
    let empty = whole.is_empty() || (text.contains('.') && part.is_empty());
    if empty || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part}{}", "0".repeat(missing)).parse().ok()
}

/// `7 d`, `12 h`, `30 m`, `90 s`; in seconds.
fn seconds(text: &str) -> Option<u32> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at_checked(at)?;
    let each = match unit.trim() {
        "d" | "day" | "days" => 86_400,
        "h" | "hour" | "hours" => 3600,
        "m" | "min" | "minute" | "minutes" => 60,
        "s" | "" | "second" | "seconds" => 1,
        _ => return None,
    };
    let seconds = count.parse::<u32>().ok()?.checked_mul(each)?;
    mandate::rule::SECONDS.contains(&seconds).then_some(seconds)
}

/// The same, written so that it is read back.
fn written(seconds: u32) -> String {
    match seconds {
        s if s % 86_400 == 0 => format!("{} d", s / 86_400),
        s if s % 3600 == 0 => format!("{} h", s / 3600),
        s if s % 60 == 0 => format!("{} m", s / 60),
        s => format!("{s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        let check = |text: &str, decimals, expected| assert_eq!(units(text, decimals), expected, "{text}");
        check("12.5", 6, Some(12_500_000));
        check("0.000001", 6, Some(1));
        check("18446744073709551615", 0, Some(u64::MAX));
        check("18.446744073709551615", 18, Some(u64::MAX));
        for wrong in ["", ".5", "5.", "1,5", "-1", "+1", "1e3", "0.0000001", "18446744073709.551616"] {
            check(wrong, 6, None);
        }
    }

    #[test]
    fn spans_are_read_as_they_are_written() {
        for count in [60, 90, 3600, 7200, 86_400, 366 * 86_400] {
            assert_eq!(seconds(&written(count)), Some(count));
        }
        for wrong in ["", "59", "367 d", "a day", "1 week", "-60"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_mandate_passes_through_its_form_unchanged() {
        let text = include_str!("../../../../vectors/claudia/claudia.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let document = vectors["derived"]["mandate_fixture"]["doc"].clone();
        let check = |document: &Value| {
            let mandate = Mandate::read(document.to_string().as_bytes()).unwrap();
            let vault = json!({ "network": "cardano-preprod", "vault_hash": "aa".repeat(28), "mandate_ref": "bb".repeat(28),
                "asset_policy": "ee".repeat(28), "asset_name": "" });
            let vault = canon::from_slice(vault.to_string().as_bytes()).unwrap();
            let editing = Editing { next: mandate.version, mandate, vault };
            let read = Form::of(&editing).read(Some(&editing)).unwrap();
            assert_eq!(read.hash(), editing.mandate.hash());
        };
        check(&document);
        let mut newer = document;
        newer["schema"] = json!("mandate/v0.2");
        newer["approvers"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "role": "COO", "cardano_key_hash": "77".repeat(28) }));
        newer["quorum"] = json!({ "required": 2 });
        newer["constraints"].as_array_mut().unwrap().extend([
            json!({ "id": "week", "kind": "rolling_spend_lte", "value": "1000000", "window_seconds": 604_800, "on_violation": "DENY" }),
            json!({ "id": "each", "kind": "counterparty_spend_lte", "value": "1500000", "window_seconds": 5400,
                "counterparty": "aws", "on_violation": "DELAY", "delay_seconds": 3660, "approver": "COO" }),
        ]);
        check(&newer);
    }
}
