//! What changes from one version of a mandate to the next, line by line.

use super::boundary::{instant, rule};
use crate::words::shown;
use mandate::Mandate;
use mandate::mandate::Approver;

/// One line: what it is about, what it was and what it becomes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub what: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Every difference; empty where both say the same.
pub(crate) fn difference(old: &Mandate, new: &Mandate) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut line = |what: &str, before: String, after: String| {
        if before != after {
            changes.push(Change { what: what.to_owned(), before: Some(before), after: Some(after) });
        }
    };
    let both = |of: &dyn Fn(&Mandate) -> String| (of(old), of(new));
    let parts: [(&str, (String, String)); 12] = [
        ("Version", both(&|it| it.version.to_string())),
        ("The principal’s name", both(&|it| shown(it.principal.name.as_str()))),
        ("The principal’s id", both(&|it| it.principal.id.to_string())),
        ("The principal’s key", both(&|it| it.principal.cardano_key_hash.to_string())),
        ("The agent", both(&|it| it.delegate.id.to_string())),
        ("The agent’s key", both(&|it| it.delegate.public_key.to_string())),
        ("The engine’s key", both(&|it| it.authority_engine.public_key.to_string())),
        ("The money", both(&|it| format!("{}, {} decimals", it.asset.symbol, it.asset.decimals))),
        ("In force from", both(&|it| instant(&it.validity.starts_at))),
        ("In force until", both(&|it| instant(&it.validity.expires_at))),
        ("Interruptions a day", both(&|it| it.interrupt_budget.per_day.to_string())),
        ("How many approvers must sign", both(&|it| it.required().to_string())),
    ];
    for (what, (before, after)) in parts {
        line(what, before, after);
    }
    let key = |approver: &Approver| approver.cardano_key_hash.to_string();
    lines(&mut changes, &old.approvers, &new.approvers, |one| {
        (format!("Approver {}", shown(one.role.as_str())), key(one))
    });
    let of = |mandate: &Mandate| {
        let told = mandate.constraints.iter().map(|one| (one.id.to_string(), rule(one, mandate)));
        told.map(|(id, rule)| (id, format!("{}, {}", rule.words, rule.then))).collect::<Vec<_>>()
    };
    let (before, after) = (of(old), of(new));
    lines(&mut changes, &before, &after, |(id, words)| (format!("Rule {id}"), words.clone()));
    let order = |all: &[(String, String)], in_both: &[(String, String)]| {
        let kept = all.iter().filter(|(id, _)| in_both.iter().any(|(other, _)| other == id));
        kept.map(|(id, _)| id.clone()).collect::<Vec<_>>()
    };
    let (was, is) = (order(&before, &after), order(&after, &before));
    if was != is {
        let what = "The order of the rules".to_owned();
        changes.push(Change { what, before: Some(was.join(", ")), after: Some(is.join(", ")) });
    }
    changes
}

/// What is gone, what is new and what changed in a list of named things.
fn lines<T>(changes: &mut Vec<Change>, old: &[T], new: &[T], told: impl Fn(&T) -> (String, String)) {
    let find = |all: &[T], name: &str| {
        let found = all.iter().map(&told).find(|(other, _)| other == name);
        found.map(|(_, words)| words)
    };
    for (what, before) in old.iter().map(&told) {
        let after = find(new, &what);
        if after.as_ref() != Some(&before) {
            changes.push(Change { what, before: Some(before), after });
        }
    }
    for (what, after) in new.iter().map(&told) {
        if find(old, &what).is_none() {
            changes.push(Change { what, before: None, after: Some(after) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_change_is_one_line() {
        let vectors: Value =
            serde_json::from_str(include_str!("../../../../vectors/claudia/claudia.json")).unwrap();
        let document = &vectors["derived"]["mandate_fixture"]["doc"];
        let read = |document: &Value| Mandate::read(document.to_string().as_bytes()).unwrap();
        let old = read(document);
        let check = |edit: &dyn Fn(&mut Value), expected: &[(&str, Option<&str>, Option<&str>)]| {
            let mut next = document.clone();
            edit(&mut next);
            let found = difference(&old, &read(&next));
            let found: Vec<_> = found
                .iter()
                .map(|line| (line.what.as_str(), line.before.as_deref(), line.after.as_deref()))
                .collect();
            assert_eq!(found, expected);
        };
        let rule = document["constraints"].as_array().unwrap();
        let alone =
            rule.iter().position(|rule| rule["on_violation"] == "ESCALATE" && rule["kind"] == "amount_lte");
        let alone = alone.unwrap();
        let id = rule[alone]["id"].as_str().unwrap();
        check(&|_| {}, &[]);
        check(&|it| it["version"] = json!(9), &[("Version", Some("3"), Some("9"))]);
        check(
            &|it| it["constraints"][alone]["value"] = json!("12500000"),
            &[(
                format!("Rule {id}").as_str(),
                Some("One payment is at most 10 USDM, else CFO must sign"),
                Some("One payment is at most 12.5 USDM, else CFO must sign"),
            )],
        );
        check(
            &|it| {
                let more =
                    json!({ "id": "more", "kind": "asset_eq", "value": "USDM", "on_violation": "DENY" });
                it["constraints"].as_array_mut().unwrap().push(more);
            },
            &[("Rule more", None, Some("The currency is USDM, else never"))],
        );
    }
}
