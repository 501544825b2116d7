//! Questions to principals as asks of crate `approvals`. Each is a pure function of the room at the moment of asking, so
//! that a verifier recomputes what was shown and signed.

use crate::event::{AnswerBody, Reason};
use crate::state::{Asked, Claim, Offer, Question, State};
use crate::wire::{AnswerInput, Origin};
use crate::{ClaimId, Refusal, Ruling, SeatId};
use approvals::{Accepts, Ask, Audience, Brief, EvidenceKind, Item, Section, Standing, text};
use canon::Digest;
use serde::Serialize;

impl State {
    /// What waits for a person now: the pending question (`q1`), or the confirmation of its relayed answer
    /// (`q1.confirm`).
    pub fn asks(&self) -> Vec<Ask> {
        let ask = |question: &Question| match question.state {
            Asked::Open => self.question_ask(question),
            Asked::Held(_) => self.confirm_ask(question),
            Asked::Answered(_) => None,
        };
        self.pending().and_then(ask).into_iter().collect()
    }

    /// What a person signs who vouches for a claim (approve) or says it is wrong (decline), from a seat.
    pub fn claim_ask(&self, seat: SeatId, claim: &ClaimId) -> Result<Ask, Refusal> {
        let unknown = || Refusal::UnknownClaim { place: "/claim_id".into(), id: claim.to_string() };
        let claim = self.claim(claim).ok_or_else(unknown)?;
        let brief = Brief {
            title: format!("A claim in \"{}\"", self.topic()),
            question: format!("Do you confirm that this is true? {}", text::show(&claim.text)),
            sections: vec![Section { heading: "The claim".into(), items: vec![claim_item(claim)] }],
            warnings: warnings([claim.text.as_str()]),
        };
        let action = Action {
            kind: "claim",
            subject: claim.id.to_string(),
            content: &claim.text,
            ..self.action(seat)?
        };
        self.ask(seat, format!("claim:{}", claim.id), &action, brief).ok_or_else(unknown)
    }

    /// The question to its principal, held answers or not. `None` where its words are withheld.
    pub fn question_ask(&self, question: &Question) -> Option<Ask> {
        let body = question.body.as_ref()?;
        let offer = self.asked_about(question);
        let mut sections = vec![Section {
            heading: "Why you are asked".into(),
            items: std::iter::once(&body.reason)
                .filter(|reason| !reason.is_empty())
                .map(|reason| item(None, reason, Standing::Claimed))
                .chain(body.reasons.iter().map(reason_item))
                .collect(),
        }];
        if let Some(offer) = offer {
            sections.push(offer_section(offer, question.seat));
        }
        let claims: Vec<&Claim> = question.claims.iter().filter_map(|id| self.claim(id)).collect();
        if !claims.is_empty() {
            let items = claims.iter().map(|claim| claim_item(claim)).collect();
            sections.push(Section { heading: "Claims in question".into(), items });
        }
        sections.push(self.card_section(question.seat)?);
        sections.retain(|section| !section.items.is_empty());
        let read = std::iter::once(body.question.as_str())
            .chain(offer.iter().flat_map(|offer| offer.terms.iter().map(String::as_str)))
            .chain(claims.iter().map(|claim| claim.text.as_str()));
        let brief = Brief {
            title: format!("Your agent asks, in \"{}\"", self.topic()),
            question: text::show(&body.question),
            sections,
            warnings: warnings(read),
        };
        let action = Action {
            kind: "question",
            subject: question.id.to_string(),
            content: &question.commitment.to_string(),
            claims: &question.claims,
            offer_hash: question.offer,
            matter: question.matter,
            ..self.action(question.seat).ok()?
        };
        self.ask(question.seat, question.id.to_string(), &action, brief)
    }

    /// The confirmation of an answer that an agent passed on; `None` where none is held.
    pub fn confirm_ask(&self, question: &Question) -> Option<Ask> {
        let Asked::Held(held) = &question.state else { return None };
        let AnswerBody { body, .. } = held.body.as_ref()?;
        let answer: AnswerInput = canon::from_slice(body.as_bytes()).ok()?;
        let ruling = match answer.ruling {
            Ruling::Allow => "allow",
            Ruling::Deny => "deny",
            Ruling::Amend => "amend",
        };
        let mut items = vec![
            item(Some("Ruling"), ruling, Standing::Claimed),
            item(Some("Answer"), &answer.text, Standing::Claimed),
        ];
        items.extend(
            answer.public_summary.iter().map(|said| item(Some("Told to others"), said, Standing::Claimed)),
        );
        items.extend(
            answer.clears.iter().map(|id| item(Some("No longer disputed"), id.as_str(), Standing::Claimed)),
        );
        items.extend(
            answer.limits.iter().map(|limit| item(Some("New limit"), &limit.describe(), Standing::Claimed)),
        );
        let asked = question.body.as_ref()?;
        let brief = Brief {
            title: format!("Your agent says you answered, in \"{}\"", self.topic()),
            question: "Did you give this answer?".into(),
            sections: vec![
                Section {
                    heading: "The question".into(),
                    items: vec![item(None, &asked.question, Standing::Claimed)],
                },
                Section { heading: "The answer".into(), items },
            ],
            warnings: warnings([answer.text.as_str()]),
        };
        let action = Action {
            kind: "confirmation",
            subject: question.id.to_string(),
            content: &held.commitment.to_string(),
            ..self.action(question.seat).ok()?
        };
        self.ask(question.seat, format!("{}.confirm", question.id), &action, brief)
    }

    fn ask(&self, seat: SeatId, id: String, action: &Action<'_>, brief: Brief) -> Option<Ask> {
        let room = self.room.as_ref()?;
        let stream = room.id.stream();
        let role = format!("principal:{seat}");
        let holder = || Audience::Holder { stream: stream.clone(), role };
        let mut kinds = room.policy.evidence.clone();
        kinds.push(EvidenceKind::Relayed);
        Some(Ask {
            id,
            protocol: "pxp".into(),
            action_hash: Digest::of(&canon::to_vec(action).ok()?),
            brief,
            audience: self.seat(seat)?.principal.audience.clone().unwrap_or_else(holder),
            accepts: Accepts { kinds, relayed_is_held: room.policy.holds_relayed() },
            asked_at: self.waiting_since.unwrap_or(room.at),
            expires_at: self.pending().and_then(|_| self.deadline()).map(|(at, _)| at),
            stream,
        })
    }

    fn action(&self, seat: SeatId) -> Result<Action<'_>, Refusal> {
        let room = self.id().ok_or(Refusal::RoomUnknown)?;
        Ok(Action {
            kind: "",
            room: room.as_str(),
            seat,
            intent_hash: self.seat(seat).and_then(|seat| seat.card_hash),
            subject: String::new(),
            content: "",
            claims: &[],
            offer_hash: None,
            matter: None,
        })
    }

    /// The offer a question is about: the one it names, or the draft sent with it.
    fn asked_about(&self, question: &Question) -> Option<&Offer> {
        match question.offer {
            Some(hash) => self.offer(hash),
            None => self.offers.iter().find(|offer| offer.seq == question.seq),
        }
    }

    fn card_section(&self, seat: SeatId) -> Option<Section> {
        let card = self.seat(seat)?.card.as_ref()?;
        let goal = item(Some("goal"), &card.goal, Standing::Stated);
        let clauses = card.clauses().map(|(at, text)| item(Some(&at.to_string()), text, Standing::Stated));
        Some(Section { heading: "Your card".into(), items: std::iter::once(goal).chain(clauses).collect() })
    }

    fn topic(&self) -> String {
        self.room.as_ref().map(|room| text::show(&room.topic)).unwrap_or_default()
    }
}

/// What would happen, as it is hashed into `action_hash`.
#[derive(Serialize)]
struct Action<'a> {
    kind: &'a str,
    room: &'a str,
    seat: SeatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent_hash: Option<Digest>,
    subject: String,
    content: &'a str,
    claims: &'a [ClaimId],
    #[serde(skip_serializing_if = "Option::is_none")]
    offer_hash: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matter: Option<Digest>,
}

fn offer_section(offer: &Offer, reader: SeatId) -> Section {
    let heading = if offer.seat == reader {
        "What your agent would offer".to_owned()
    } else {
        format!("The offer of seat {}", offer.seat)
    };
    let terms = offer
        .terms
        .iter()
        .enumerate()
        .map(|(index, term)| item(Some(&format!("term {}", index + 1)), term, Standing::Claimed));
    let values =
        offer.values.iter().map(|value| item(Some(&value.label), &value.spelled(), Standing::Claimed));
    Section { heading, items: terms.chain(values).collect() }
}

fn claim_item(claim: &Claim) -> Item {
    let standing = match claim.origin {
        Origin::Stated => Standing::Stated,
        Origin::Sourced => Standing::Sourced,
        Origin::Assumed => Standing::Claimed,
    };
    item(Some(&format!("{} of seat {}", claim.id, claim.seat)), &claim.text, standing)
}

fn reason_item(reason: &Reason) -> Item {
    item(Some(&reason.subject), &reason.detail, Standing::Checked)
}

/// The bytes that are signed are the text as it is shown.
fn item(label: Option<&str>, said: &str, standing: Standing) -> Item {
    Item { label: label.map(text::show), text: text::show(said), standing }
}

fn warnings<'a>(read: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for found in read.into_iter().flat_map(text::suspicious) {
        let sentence = found.sentence().to_owned();
        if !warnings.contains(&sentence) {
            warnings.push(sentence);
        }
    }
    warnings
}
