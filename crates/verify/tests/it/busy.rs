//! A room in which enforcement finds much: every kind of limit, doubtful claims, facts in odd digits, offers that lapse.

use crate::play::{Play, id};
use pxp::command::{Join, Pause, Relayed, Resume, Rotate, Share, Unshare, WithdrawOffer};
use pxp::{Actor, Command, Scope};
use serde_json::{Value, json};

pub fn busy() -> Play {
    let mut play = Play::open(&["Ana", "Ben"], false, Relayed::Accept);
    play.enrol("A");
    play.enrol("B");
    play.seal("A", ana());
    play.seal("A", ana());
    play.seal("B", ben());
    let odd = "\u{ff19}\u{ff19} guests, [120] EUR, see B1.1, q2, must_haves[0], \u{661}\u{662}:30, x77, 4 May and May 5th, \
               2026, 10k pages, 12\u{a0}000 EUR, 1.000,5 EUR, 2\u{bd} days, 80%, 2026-05-04";
    play.send(
        "A",
        json!({"message": format!("1. First\n2. {odd}"), "status": "continue",
            "claims": [
                claim("The floor is NEW.", "stated", json!({"ref": "known_facts[0]", "quote": "eighty guests"})),
                claim("Guests: 80", "stated", json!({"ref": "known_facts[7]"})),
                claim("The hall is cheap", "stated", json!({})),
                claim("It has a bar", "sourced", json!({"touches": ["must_haves[0]"]})),
                claim("On 4 May it is free", "sourced", json!({"ref": "letter",
                    "source": {"uri": "https://hall.example/a", "sha256": "00".repeat(32)}})),
                claim("Parking costs 12000 EUR", "assumed", json!({"touches": ["must_haves[0]"]})),
                claim("80 guests come", "stated", json!({"ref": "known_facts[0]", "quote": "80 GUESTS"}))]}),
    );
    let reviews = |seq: u64, verdicts: &[&str]| {
        let one = |(k, verdict): (usize, &&str)| json!({"claim_id": format!("A{seq}.{}", k + 1), "verdict": verdict, "reason": "so", "touches": ["must_haves[0]"]});
        Value::Array(verdicts.iter().enumerate().map(one).collect())
    };
    // A claim of the other side said again, one cited, and an offer beyond every limit of its own card.
    play.send(
        "B",
        json!({"message": "See A1.1 and \u{9}tabs", "status": "continue",
            "reviews": reviews(1, &["accept", "challenge", "conflict", "accept", "accept", "accept", "accept"]),
            "claims": [
                claim("the  floor is new", "stated", json!({"ref": "known_facts[0]"})),
                claim("Ana says so", "stated", json!({"ref": "A1.3"})),
                claim("Ben's own", "stated", json!({"ref": "B2.2"})),
                claim("A source of my own", "assumed", json!({"ref": "A1.6",
                    "source": {"uri": "https://ben.example/b", "sha256": "11".repeat(32)}}))],
            "proposal": {"terms": ["Price 950.00 EUR", "Until \u{661}\u{662} May, cash"], "depends_on": ["A1.3", "new1", "A1.3"],
                "values": values(95_000, 90, "2026-05-12", "cash", 72, 5), "expires_in_seconds": 400,
                "authority": [{"term": 0, "clauses": ["may_agree_to[0]", "may_agree_to[9]", "x\"y"]}]}}),
    );
    play.answer("B", json!({"question_id": "q1", "ruling": "amend", "text": "Do it",
        "limits": [limit("price", "money", "le", json!(99_000), json!({"unit": "EUR", "exponent": 2}), "amendment[0]")]}));
    let offer = |price: i64, way: &str| {
        json!({"message": "An offer", "status": "continue",
            "proposal": {"terms": ["All of it", "The rest"], "depends_on": ["A1.1"],
                "values": values(price, 20, "2026-05-02", way, 24, 1), "expires_in_seconds": 400,
                "authority": [{"term": 0, "clauses": ["must_haves[0]"]}, {"term": 1, "clauses": ["may_agree_to[0]"]}]}})
    };
    let hash = play.send("B", offer(98_000, "card")).unwrap();
    play.pause(true);
    play.pause(false);
    // Ana's card: the price is over, the dispute is hers, what it rests on is assumed.
    play.send(
        "A",
        json!({"message": "Yes", "status": "agree", "accepts": hash.to_string(),
            "reviews": [
                {"claim_id": "B2.1", "verdict": "accept"},
                {"claim_id": "B2.2", "verdict": "challenge", "reason": "no", "touches": ["must_haves[0]"]},
                {"claim_id": "B2.3", "verdict": "conflict", "reason": "no"},
                {"claim_id": "B2.4", "verdict": "accept"}],
            "authority": [{"term": 1, "clauses": ["may_agree_to[0]", "known_facts[0]", "must_haves[5]"]}]}),
    );
    play.relay("A", json!({"question_id": "q2", "ruling": "allow", "text": "Yes", "clears": ["B2.3"]}));
    play.send(
        "A",
        json!({"message": "I ask of my own", "status": "escalate",
            "proposal": {"terms": ["A draft of 77 EUR"], "depends_on": []},
            "escalation": {"question": "May I?", "reason": "it is new", "claims": ["B2.2"], "offer_hash": hash.to_string()}}),
    );
    play.answer("A", json!({"question_id": "q3", "ruling": "deny", "text": "No"}));
    play.wait(500);
    play.send("A", json!({"message": "Nothing then", "status": "continue"}));
    let hash = play.send("B", offer(90_000, "card")).unwrap();
    let (actor, seat) = (Actor::Seat { seat: id("B") }, id("B"));
    play.run(&Command::WithdrawOffer(WithdrawOffer {
        actor: actor.clone(),
        seat,
        offer_hash: hash,
        reason: "no more".into(),
    }));
    let agent = Some("Agent Bee".to_owned());
    play.run(&Command::Join(Join { actor: actor.clone(), seat, agent, key: None, principal: None }));
    play.run(&Command::Rotate(Rotate { actor: actor.clone(), seat }));
    play.run(&Command::Share(Share { actor: actor.clone(), seat, scope: Scope::Ledger, expires_at: None }));
    let share = "s1".parse().unwrap();
    play.run(&Command::Unshare(Unshare { actor, seat, share }));
    play.confirm_claim("B", "A1.2", false);
    play.leave("A", "enough");
    play
}

impl Play {
    fn pause(&mut self, on: bool) {
        let actor = Actor::Server;
        self.run(&if on {
            Command::Pause(Pause { actor, reason: "lunch".into() })
        } else {
            Command::Resume(Resume { actor })
        });
    }
}

fn claim(text: &str, origin: &str, more: Value) -> Value {
    let mut claim = more;
    claim["text"] = json!(text);
    claim["origin"] = json!(origin);
    claim
}

fn values(price: i64, count: i64, day: &str, way: &str, hours: i64, number: i64) -> Value {
    json!([
        {"label": "Price", "kind": "money", "value": price, "unit": "EUR", "exponent": 2, "term": 0},
        {"label": "guests", "kind": "count", "value": count, "term": 0},
        {"label": "day", "kind": "date", "value": day, "term": 1},
        {"label": "way", "kind": "enum", "value": way, "term": 1},
        {"label": "span", "kind": "duration", "value": hours, "unit": "h", "term": 1},
        {"label": "factor", "kind": "number", "value": number, "exponent": 1, "term": 1}])
}

fn limit(label: &str, kind: &str, op: &str, value: Value, more: Value, clause: &str) -> Value {
    let mut limit = more;
    for (name, value) in [("label", json!(label)), ("kind", json!(kind)), ("op", json!(op)), ("value", value)]
    {
        limit[name] = value;
    }
    limit["clause"] = json!(clause);
    limit
}

fn ana() -> Value {
    json!({"principal": {"name": "Ana"}, "goal": "A hall", "must_haves": ["Seats for 80"], "may_agree_to": ["Up to 900 EUR"],
        "escalate_when": ["Many come"], "known_facts": ["We know that 80 guests  come."],
        "limits": [
            limit("price", "money", "le", json!(900), json!({"unit": "EUR", "exponent": 0}), "may_agree_to[0]"),
            limit("guests", "count", "ge", json!(15), json!({}), "escalate_when[0]"),
            limit("Day", "date", "lt", json!("2026-05-03"), json!({}), "may_agree_to[0]"),
            limit("vvay", "enum", "in", json!(["Card ", "transfer"]), json!({}), "may_agree_to[0]")]})
}

fn ben() -> Value {
    json!({"principal": {"name": "Ben"}, "goal": "Let the hall", "must_haves": ["A deposit"], "may_agree_to": ["Any day"],
        "known_facts": ["The floor is new"],
        "limits": [
            limit("price", "money", "lt", json!(90_000), json!({"unit": "EUR", "exponent": 2}), "may_agree_to[0]"),
            limit("day", "date", "le", json!("2026-05-11"), json!({}), "may_agree_to[0]"),
            limit("way", "enum", "not_in", json!(["cash"]), json!({}), "may_agree_to[0]"),
            limit("span", "duration", "eq", json!(1), json!({"unit": "d"}), "may_agree_to[0]"),
            limit("factor", "number", "gt", json!(5), json!({"exponent": 2}), "must_haves[0]")]})
}
