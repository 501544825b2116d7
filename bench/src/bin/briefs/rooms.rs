//! The rooms, each with what is true of it.

use crate::deals::{DEALS, Deal, agree, buyer_lines, review, seller_lines};
use crate::play::{Person, Stage};
use bench::Outcome;
use pxp::Policy;
use pxp::command::Relayed;
use serde_json::{Value, json};

pub const COUNT: usize = 20;

/// How the buyer's principal came to allow a price beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Directly(Person),
    Relayed,
    Confirmed(Person),
}

pub fn all() -> Outcome<Vec<Stage>> {
    use Allowed::{Confirmed, Directly};
    let [van, catering, website, piano, manual, roof, stand, choir, book, bus, office, photos] = &DEALS;
    let rooms = vec![
        within(van, false)?,
        within(choir, true)?,
        beyond(catering, Directly(Person::Key))?,
        beyond(website, Directly(Person::Passkey))?,
        beyond(piano, Directly(Person::Session))?,
        beyond(manual, Allowed::Relayed)?,
        beyond(roof, Confirmed(Person::Key))?,
        beyond(stand, Directly(Person::Member))?,
        denied(catering)?,
        amended(website)?,
        left(book)?,
        three(true)?,
        three(false)?,
        turns_spent(bus)?,
        silent_agent(office)?,
        silent_person(manual)?,
        settled_dispute(photos)?,
        judged(book)?,
        typed()?,
        careless(office)?,
    ];
    if rooms.len() == COUNT { Ok(rooms) } else { Err("another number of rooms".into()) }
}

fn open(deal: &Deal, buyer: Person, seller: Person, policy: Policy) -> Outcome<Stage> {
    let sides = [(deal.buyer, buyer, deal.buyer_card()), (deal.seller, seller, deal.seller_card())];
    Stage::open(deal.topic, &sides, policy)
}

fn line(list: &str, nth: u8) -> String {
    format!("sealed card, {list} {nth}")
}

/// On whose authority, where each side cites the lines of [`buyer_lines`] and [`seller_lines`]; `more` is what the buyer
/// has besides for every term.
fn by_cards(deal: &Deal, more: Option<String>) -> Value {
    let buyer = |line: String| match &more {
        Some(more) => json!([line, more]),
        None => json!([line]),
    };
    json!([
        {"term": 1, deal.buyer: buyer(line("must have", 1)), deal.seller: [line("may agree to", 1)]},
        {"term": 2, deal.buyer: buyer(line("may agree to", 1)), deal.seller: [line("must have", 1), line("may agree to", 2)]},
    ])
}

fn sourced(deal: &Deal) -> String {
    format!("{} (source named: {}; no document on record)", deal.sourced.0, deal.sourced.1)
}

fn assumed(deal: &Deal) -> String {
    format!("{} (an assumption)", deal.assumption)
}

/// Agreed inside both cards. The offer rests on what is verified, or also on an assumption.
fn within(deal: &Deal, on_assumption: bool) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Absent, Policy::default())?;
    stage.send("A", deal.opening())?;
    let rests_on: &[&str] = if on_assumption { &["new1", "A1.3"] } else { &["new1"] };
    let hash = stage.offer("B", deal.counter(deal.counter, ["accept"; 3], rests_on))?;
    stage.send("A", agree(&hash, &buyer_lines()))?;
    stage.knows("agreed", deal.terms(deal.counter));
    stage.knows("authority", by_cards(deal, None));
    stage.knows("asked", json!("nobody"));
    stage.knows("unverified", json!([sourced(deal), assumed(deal)]));
    stage.knows(
        "unverified and the agreement rests on it",
        match on_assumption {
            true => json!([assumed(deal)]),
            false => json!([]),
        },
    );
    stage.knows("weak", json!(format!("no person has enrolled for {}", deal.seller)));
    Ok(stage)
}

/// The price is beyond the buyer's limit: the server asks the buyer, who allows exactly this offer.
fn beyond(deal: &Deal, allowed: Allowed) -> Outcome<Stage> {
    let (person, relayed) = match allowed {
        Allowed::Directly(person) => (person, Relayed::Accept),
        Allowed::Relayed => (Person::Session, Relayed::Accept),
        Allowed::Confirmed(person) => (person, Relayed::Hold),
    };
    let mut stage = open(deal, person, Person::Passkey, Policy { relayed, ..Policy::default() })?;
    stage.send("A", deal.opening())?;
    let verdicts = ["accept", "accept", "challenge"];
    let hash = stage.offer("B", deal.counter(deal.counter, verdicts, &["new1"]))?;
    stage.send("A", agree(&hash, &buyer_lines()))?;
    let answer = json!({"question_id": "q1", "ruling": "allow", "text": "All right this once."});
    let how = match allowed {
        Allowed::Directly(person) => {
            stage.answer("A", answer)?;
            match person {
                Person::Key => "signed with the principal's own key",
                Person::Passkey => "signed with a passkey",
                Person::Member => "given by member mia of the organization north in a session, not signed",
                Person::Session | Person::Absent => "given in a session, not signed",
            }
        }
        Allowed::Relayed => {
            stage.relay("A", answer)?;
            "passed on by the agent, NOT confirmed by the principal"
        }
        Allowed::Confirmed(_) => {
            stage.relay("A", answer)?;
            stage.confirm("A", "q1")?;
            "passed on by the agent, then confirmed by the principal with an own key"
        }
    };
    stage.send(
        "A",
        json!({"message": "Agreed.", "status": "agree", "accepts": hash, "authority": buyer_lines()}),
    )?;
    if person == Person::Passkey {
        stage.read_by("A")?;
    }
    let own = format!("own answer q1 about exactly this offer ({how})");
    stage.knows("agreed", deal.terms(deal.counter));
    stage.knows("authority", by_cards(deal, Some(own)));
    stage.knows(
        "asked",
        json!(format!(
            "{}, by the server, because the price is outside a limit; allowed it; {how}",
            deal.buyer
        )),
    );
    let mut unverified = vec![sourced(deal), assumed(deal)];
    if allowed == Allowed::Relayed {
        unverified.push(format!("that {} gave the answer to q1", deal.buyer));
    }
    stage.knows("unverified", json!(unverified));
    stage.knows("unverified and the agreement rests on it", json!([]));
    stage.knows(
        "challenged",
        json!([format!("{}, by {}'s agent; not settled", deal.assumption, deal.seller)]),
    );
    Ok(stage)
}

/// The buyer refuses the price; a lower one is agreed.
fn denied(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Session, Policy::default())?;
    stage.send("A", deal.opening())?;
    let hash = stage.offer("B", deal.counter(deal.counter, ["accept"; 3], &["new1"]))?;
    stage.send("A", agree(&hash, &buyer_lines()))?;
    let said = format!("{} stays within {} EUR", deal.buyer, deal.limit);
    stage.answer(
        "A",
        json!({"question_id": "q1", "ruling": "deny", "text": "Too much.", "public_summary": said}),
    )?;
    let lower = stage.offer("A", json!({
        "message": "Not at that price.", "status": "continue",
        "proposal": {"terms": deal.terms(deal.limit), "depends_on": ["B2.1"], "values": deal.values(deal.limit),
            "authority": buyer_lines()}}))?;
    stage.send(
        "B",
        json!({"message": "Then so.", "status": "agree", "accepts": lower, "authority": seller_lines()}),
    )?;
    stage.knows("agreed", deal.terms(deal.limit));
    stage.knows("authority", by_cards(deal, None));
    stage.knows(
        "asked",
        json!(format!(
            "{} about {} EUR; refused it, signed with an own key; told everyone: {said}",
            deal.buyer, deal.counter
        )),
    );
    stage.knows("unverified", json!([sourced(deal), assumed(deal)]));
    stage.knows("unverified and the agreement rests on it", json!([]));
    Ok(stage)
}

/// The agent asks first; the buyer gives new instructions, and the agent cites them.
fn amended(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Passkey, Person::Key, Policy::default())?;
    stage.send(
        "A",
        json!({"message": "I ask first.", "status": "escalate",
        "escalation": {"question": "How far may I go?", "reason": "Prices have risen"}}),
    )?;
    stage.answer("A", json!({"question_id": "q1", "ruling": "amend", "text": format!("Up to {} EUR now", deal.counter),
        "limits": [{"label": "price", "kind": "money", "op": "le", "value": deal.counter * 100, "unit": "EUR", "exponent": 2,
            "clause": "may_agree_to[0]"}]}))?;
    let authority =
        json!([{"term": 0, "clauses": ["must_haves[0]"]}, {"term": 1, "clauses": ["amendment[0]"]}]);
    let hash = stage.offer("A", json!({
        "message": "A better offer.", "status": "continue",
        "claims": [{"text": deal.need, "origin": "stated", "ref": "known_facts[0]"}],
        "proposal": {"terms": deal.terms(deal.counter), "depends_on": ["new1"], "values": deal.values(deal.counter),
            "authority": authority}}))?;
    stage.send(
        "B",
        json!({"message": "Agreed.", "status": "agree", "accepts": hash, "authority": seller_lines(),
        "reviews": [review("A2.1", "accept")]}),
    )?;
    stage.read_by("A")?;
    stage.knows("agreed", deal.terms(deal.counter));
    stage.knows(
        "authority",
        json!([
        {"term": 1, deal.buyer: [line("must have", 1)], deal.seller: [line("may agree to", 1)]},
        {"term": 2, deal.buyer: ["own answer q1 (new instructions, signed with a passkey)"],
            deal.seller: [line("must have", 1), line("may agree to", 2)]}]),
    );
    stage.knows(
        "asked",
        json!(format!("{}, by the own agent; gave new instructions, signed with a passkey", deal.buyer)),
    );
    stage.knows("unverified", json!([]));
    Ok(stage)
}

fn left(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Key, Policy::default())?;
    stage.send("A", deal.opening())?;
    stage.offer("B", deal.counter(deal.limit + 500, ["accept", "challenge", "accept"], &["new1"]))?;
    stage.leave("A", "We found another printer")?;
    stage.knows("agreed", json!(format!("nothing: {}'s side left (We found another printer)", deal.buyer)));
    stage.knows("asked", json!("nobody"));
    stage.knows("unverified", json!([sourced(deal), assumed(deal)]));
    stage
        .knows("challenged", json!([format!("{}, by {}'s agent; not settled", deal.sourced.0, deal.seller)]));
    Ok(stage)
}

/// Three share a flat's costs, or one of them leaves.
fn three(agreed: bool) -> Outcome<Stage> {
    let card = |name: &str, fact: &str| {
        json!({
        "principal": {"name": name, "role": "tenant"}, "goal": "Share the costs", "must_haves": ["The heating stays on"],
        "may_agree_to": ["A third of the costs"], "known_facts": [fact]})
    };
    let sides = [
        ("Mara", Person::Key, card("Mara", "Mara has the large room")),
        ("Nico", Person::Session, card("Nico", "Nico is away in winter")),
        ("Ola", Person::Passkey, card("Ola", "Ola works at home")),
    ];
    let mut stage = Stage::open("Costs of the shared flat", &sides, Policy::default())?;
    let lines =
        json!([{"term": 0, "clauses": ["may_agree_to[0]"]}, {"term": 1, "clauses": ["must_haves[0]"]}]);
    let terms = json!(["Each pays a third of the costs", "The heating stays on"]);
    let hash = stage.offer(
        "A",
        json!({
        "message": "Let us share alike.", "status": "continue",
        "claims": [{"text": "The heating bill will not rise", "origin": "assumed"}],
        "proposal": {"terms": terms, "depends_on": ["new1"], "authority": lines}}),
    )?;
    let accept = |reviews: Value| json!({"message": "Agreed.", "status": "agree", "accepts": hash, "authority": lines, "reviews": reviews});
    stage.send("B", accept(json!([review("A1.1", "accept")])))?;
    let cards =
        |seat: &str| json!({"term 1": line("may agree to", 1), "term 2": line("must have", 1), "of": seat});
    let assumption = "The heating bill will not rise (an assumption)";
    stage.knows("unverified", json!([assumption]));
    stage.knows("asked", json!("nobody"));
    if agreed {
        stage.send("C", accept(json!([review("A1.1", "accept")])))?;
        stage.knows("agreed", terms);
        stage.knows("authority", json!([cards("Mara"), cards("Nico"), cards("Ola")]));
        stage.knows("unverified and the agreement rests on it", json!([assumption]));
    } else {
        stage.leave("C", "")?;
        stage.knows(
            "agreed",
            json!("nothing: Ola's side left, without a reason; Mara and Nico alone are not bound"),
        );
    }
    Ok(stage)
}

fn turns_spent(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Key, Policy { max_turns: 3, ..Policy::default() })?;
    stage.send("A", deal.opening())?;
    stage.offer("B", deal.counter(deal.counter, ["accept", "accept", "conflict"], &["new1"]))?;
    stage.send(
        "A",
        json!({"message": "Still too much.", "status": "continue", "reviews": [review("B2.1", "accept")]}),
    )?;
    stage.knows("agreed", json!("nothing: the turns were used up"));
    stage.knows("asked", json!("nobody"));
    stage.knows("unverified", json!([sourced(deal), assumed(deal)]));
    stage.knows(
        "challenged",
        json!([format!(
            "{}, which {}'s agent says contradicts its card; not settled",
            deal.assumption, deal.seller
        )]),
    );
    Ok(stage)
}

fn silent_agent(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Absent, Person::Absent, Policy::default())?;
    stage.send("A", deal.opening())?;
    stage.wait(4)?;
    stage.knows("agreed", json!(format!("nothing: {}'s agent did not answer in time", deal.seller)));
    stage.knows("asked", json!("nobody"));
    stage.knows(
        "unverified",
        json!([sourced(deal), assumed(deal), "that either card is its principal's: nobody has enrolled"]),
    );
    Ok(stage)
}

fn silent_person(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Key, Policy::default())?;
    stage.send("A", deal.opening())?;
    let hash = stage.offer("B", deal.counter(deal.counter, ["accept"; 3], &["new1"]))?;
    stage.send("A", agree(&hash, &buyer_lines()))?;
    stage.wait(8)?;
    stage.knows(
        "agreed",
        json!(format!(
            "nothing: {} was asked about a price outside a limit and did not answer in time",
            deal.buyer
        )),
    );
    stage.knows("asked", json!(format!("{}, by the server; no answer", deal.buyer)));
    stage.knows("unverified", json!([sourced(deal), assumed(deal)]));
    Ok(stage)
}

/// A disputed claim on which the agreement rests, let pass by a ruling of the side that disputed it.
fn settled_dispute(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Passkey, Policy::default())?;
    let mut opening = deal.opening();
    if let Some(proposal) = opening.get_mut("proposal").and_then(Value::as_object_mut) {
        proposal.insert("depends_on".into(), json!(["new1", "new3"]));
    }
    let hash = stage.offer("A", opening)?;
    let reviews = json!([review("A1.1", "accept"), review("A1.2", "accept"), review("A1.3", "challenge")]);
    stage.send("B", json!({"message": "One thing is open.", "status": "escalate", "reviews": reviews,
        "escalation": {"question": "May I go on although nobody has shown this?", "reason": "The other side insists",
            "claims": ["A1.3"], "offer_hash": hash}}))?;
    stage.answer(
        "B",
        json!({"question_id": "q1", "ruling": "allow", "clears": ["A1.3"], "text": "I know the place.",
        "public_summary": "We take this on us"}),
    )?;
    stage.send(
        "B",
        json!({"message": "Agreed.", "status": "agree", "accepts": hash, "authority": seller_lines()}),
    )?;
    let own = "own answer q1 about exactly this offer (signed with a passkey)";
    stage.knows("agreed", deal.terms(deal.first));
    stage.knows("authority", json!([
        {"term": 1, deal.buyer: [line("must have", 1)], deal.seller: [line("may agree to", 1), own]},
        {"term": 2, deal.buyer: [line("may agree to", 1)], deal.seller: [line("must have", 1), line("may agree to", 2), own]}]));
    stage.knows(
        "asked",
        json!(format!(
            "{}, by the own agent; allowed it, signed with a passkey; told everyone: We take this on us",
            deal.seller
        )),
    );
    stage.knows(
        "challenged",
        json!([format!(
            "{}, by {}'s agent; {} let it pass, which does not make it true",
            deal.assumption, deal.seller, deal.seller
        )]),
    );
    stage.knows("unverified", json!([sourced(deal), assumed(deal)]));
    stage.knows("unverified and the agreement rests on it", json!([assumed(deal)]));
    Ok(stage)
}

/// One claim gets a document, a person confirms another, and calls a third wrong, on which the agreement rests.
fn judged(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Passkey, Policy::default())?;
    stage.send("A", deal.opening())?;
    stage.attach("A", "A1.2")?;
    stage.judge("B", "A1.3", false)?;
    let hash = stage.offer("B", deal.counter(deal.counter, ["accept"; 3], &["new1", "A1.2", "A1.3"]))?;
    stage.disclose("B", "A", "must_haves[0]")?;
    stage.send("A", agree(&hash, &buyer_lines()))?;
    stage.knows("agreed", deal.terms(deal.counter));
    stage.knows("authority", by_cards(deal, None));
    stage.knows("asked", json!("nobody"));
    stage.knows("verified by a document", json!([deal.sourced.0]));
    let wrong = format!("{} (a person said that it is wrong)", deal.assumption);
    stage.knows("unverified", json!([wrong]));
    stage.knows("unverified and the agreement rests on it", json!([wrong]));
    Ok(stage)
}

/// Typed values of several kinds, and figures that nobody stands for.
fn typed() -> Outcome<Stage> {
    let card = |name: &str, other: Value| {
        json!({
        "principal": {"name": name, "role": "planner"}, "goal": "Fix the delivery", "must_haves": ["Delivery before the opening"],
        "may_agree_to": ["A later day with a discount", "Payment in instalments"], "known_facts": ["The shop opens in June"], "limits": other})
    };
    let limits = json!([
        {"label": "delivery", "kind": "date", "op": "le", "value": "2027-05-28", "clause": "must_haves[0]"},
        {"label": "instalments", "kind": "count", "op": "le", "value": 4, "clause": "may_agree_to[1]"}]);
    let sides =
        [("Pia", Person::Session, card("Pia", limits)), ("Quinn", Person::Key, card("Quinn", json!([])))];
    let mut stage = Stage::open("Shelves for the new shop", &sides, Policy::default())?;
    let lines =
        json!([{"term": 0, "clauses": ["must_haves[0]"]}, {"term": 1, "clauses": ["may_agree_to[1]"]}]);
    let terms = json!(["Delivery of 36 shelves on 21 May 2027", "Payment in 3 instalments"]);
    stage.send(
        "A",
        json!({"message": "We need them early; our floor has 240 square metres.", "status": "continue",
        "claims": [{"text": "The shop opens in June", "origin": "stated", "ref": "known_facts[0]"}]}),
    )?;
    let hash = stage.offer("B", json!({
        "message": "We can do it, with 5 fitters.", "status": "continue", "reviews": [review("A1.1", "accept")],
        "claims": [{"text": "The road is open in May", "origin": "assumed"}],
        "proposal": {"terms": terms, "depends_on": ["A1.1", "new1"], "authority": lines,
            "values": [{"label": "delivery", "kind": "date", "value": "2027-05-21", "term": 0},
                {"label": "instalments", "kind": "count", "value": 3, "term": 1}]}}))?;
    stage.send(
        "A",
        json!({"message": "Agreed.", "status": "agree", "accepts": hash, "authority": lines,
        "reviews": [review("B2.1", "accept")]}),
    )?;
    let both = |list: &str, nth| json!([line(list, nth)]);
    stage.knows("agreed", terms);
    stage.knows("typed values", json!(["delivery 2027-05-21", "instalments 3"]));
    stage.knows(
        "authority",
        json!([
        {"term": 1, "Pia": both("must have", 1), "Quinn": both("must have", 1)},
        {"term": 2, "Pia": both("may agree to", 2), "Quinn": both("may agree to", 2)}]),
    );
    stage.knows("asked", json!("nobody"));
    stage.knows(
        "unverified",
        json!([
            "The road is open in May (an assumption)",
            "36 in the agreed terms: no claim, no typed value",
            "240 square metres, said by Pia's agent",
            "5 fitters, said by Quinn's agent"
        ]),
    );
    stage.knows(
        "unverified and the agreement rests on it",
        json!(["The road is open in May (an assumption)"]),
    );
    Ok(stage)
}

/// An agent that cites lines that do not exist, calls an assumption a statement, and names nothing its offer rests on.
fn careless(deal: &Deal) -> Outcome<Stage> {
    let mut stage = open(deal, Person::Key, Person::Session, Policy::default())?;
    let mut lines = buyer_lines();
    if let Some(list) = lines.as_array_mut() {
        list.push(json!({"term": 1, "clauses": ["may_agree_to[7]"]}));
    }
    let hash = stage.offer("A", json!({
        "message": "Here is our offer.", "status": "continue",
        "claims": [{"text": deal.assumption, "origin": "stated", "ref": "known_facts[4]"},
            {"text": deal.sourced.0, "origin": "sourced"}],
        "proposal": {"terms": deal.terms(deal.counter), "values": deal.values(deal.counter), "authority": lines}}))?;
    stage.send(
        "B",
        json!({"message": "Agreed.", "status": "agree", "accepts": hash, "authority": seller_lines(),
        "reviews": [review("A1.1", "accept"), review("A1.2", "challenge")]}),
    )?;
    stage.knows("agreed", deal.terms(deal.counter));
    stage.knows("authority", by_cards(deal, None));
    stage.knows("asked", json!("nobody"));
    stage.knows(
        "unverified",
        json!([
            format!(
                "{} (called stated, counts as an assumption: the card has no such line)",
                deal.assumption
            ),
            format!("{} (called sourced, counts as an assumption: no source named)", deal.sourced.0)
        ]),
    );
    stage.knows(
        "unverified and the agreement rests on it",
        json!("unknown: the offer names no claim that it rests on"),
    );
    stage
        .knows("challenged", json!([format!("{}, by {}'s agent; not settled", deal.sourced.0, deal.seller)]));
    stage.knows(
        "weak",
        json!("the buyer's agent cited a line of its card that does not exist, besides one that does"),
    );
    Ok(stage)
}
