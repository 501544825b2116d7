//! What the two agents say.

use serde_json::{Value, json};

pub fn room() -> Value {
    json!({
        "topic": "Hall hire for 4 May 2027",
        "your_principal": "Ana",
        "counterpart": "Ben",
        "agent_name": "Ana's agent",
    })
}

pub fn ana_card() -> Value {
    json!({"card": {
        "principal": {"name": "Ana", "role": "event planner"},
        "goal": "Hire a hall for the dinner on 4 May 2027",
        "must_haves": ["Seats for 80 guests", "The evening of 4 May 2027"],
        "may_agree_to": ["A rent of up to 900 EUR", "Payment by bank transfer in advance"],
        "must_never": ["Pay in cash"],
        "escalate_when": ["The date moves"],
        "known_facts": ["80 guests are confirmed"],
        "limits": [{
            "label": "rent", "kind": "money", "op": "le", "value": 90_000, "unit": "EUR", "exponent": 2,
            "clause": "may_agree_to[0]",
        }],
    }})
}

pub fn ben_card() -> Value {
    json!({"card": {
        "principal": {"name": "Ben", "role": "hall manager"},
        "goal": "Let the hall on 4 May 2027 at a fair rent",
        "must_haves": ["At least 900 EUR", "Payment before the event"],
        "may_agree_to": ["Use until midnight", "Chairs and tables included"],
        "known_facts": ["The hall is free on 4 May 2027"],
        "limits": [{
            "label": "rent", "kind": "money", "op": "ge", "value": 90_000, "unit": "EUR", "exponent": 2,
            "clause": "must_haves[0]",
        }],
    }})
}

/// Three claims, one of each origin, and a first offer.
pub fn opening() -> Value {
    json!({
        "message": "Ana would like your hall for a dinner on 4 May 2027.",
        "status": "continue",
        "client_msg_id": "ana-1",
        "claims": [
            {"text": "80 guests are confirmed", "origin": "stated", "ref": "known_facts[0]"},
            {"text": "The hall seats 120", "origin": "sourced", "ref": "Hall price list 2027",
             "source": {"uri": "https://hall.example/prices-2027.pdf", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
            {"text": "Guests may park in the yard", "origin": "assumed"},
        ],
        "proposal": {
            "terms": ["The hall on the evening of 4 May 2027", "850 EUR by bank transfer in advance"],
            "depends_on": ["new1", "new2"],
            "values": [rent(85_000)],
            "authority": [
                {"term": 0, "clauses": ["must_haves[1]"]},
                {"term": 1, "clauses": ["may_agree_to[0]", "may_agree_to[1]"]},
            ],
        },
    })
}

pub fn counter(claims: &[String]) -> Value {
    let reviews: Vec<Value> = claims
        .iter()
        .zip(["accept", "accept", "challenge"])
        .map(|(claim, verdict)| {
            let reason =
                if verdict == "challenge" { "The yard belongs to a neighbour; who says so?" } else { "" };
            json!({"claim_id": claim, "verdict": verdict, "reason": reason})
        })
        .collect();
    json!({
        "message": "The hall is free that evening. Chairs and tables are included in the rent.",
        "status": "continue",
        "client_msg_id": "ben-1",
        "claims": [{"text": "The hall is free on 4 May 2027", "origin": "stated", "ref": "known_facts[0]"}],
        "reviews": reviews,
        "proposal": {
            "terms": ["The hall on the evening of 4 May 2027, chairs and tables included", "950 EUR by bank transfer in advance"],
            "depends_on": ["new1"],
            "values": [rent(95_000)],
            "authority": [
                {"term": 0, "clauses": ["may_agree_to[1]"]},
                {"term": 1, "clauses": ["must_haves[0]", "must_haves[1]"]},
            ],
        },
    })
}

pub fn escalation(claims: &[String], offer: &str) -> Value {
    json!({
        "message": "I have to ask Ana about the rent.",
        "status": "escalate",
        "client_msg_id": "ana-2",
        "reviews": accept_all(claims),
        "escalation": {
            "question": "May I accept 950 EUR? Your card says up to 900 EUR.",
            "reason": "The offer is 50 EUR beyond what you allowed; chairs and tables are included.",
            "offer_hash": offer,
        },
    })
}

pub fn agreement(offer: &str) -> Value {
    json!({
        "message": "Ana agrees.",
        "status": "agree",
        "client_msg_id": "ana-3",
        "accepts": offer,
        "authority": [
            {"term": 0, "clauses": ["must_haves[1]"]},
            {"term": 1, "clauses": ["may_agree_to[1]", "amendment[0]"]},
        ],
    })
}

fn rent(cents: u32) -> Value {
    json!({"label": "rent", "kind": "money", "value": cents, "unit": "EUR", "exponent": 2, "term": 1})
}

fn accept_all(claims: &[String]) -> Vec<Value> {
    claims.iter().map(|claim| json!({"claim_id": claim, "verdict": "accept"})).collect()
}
