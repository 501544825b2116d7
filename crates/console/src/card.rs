//! The intent card: written as a plain form, read back, sealed.

use crate::page::{Fault, Shell, done, html};
use crate::visitor::{Fields, Posted, Visitor, room_id};
use crate::words;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use pxp::limit::{Kind, Limit, Op, Operand, Scalar};
use pxp::wire::Party;
use pxp::{CardInput, ClauseRef, List};
use server::{Caller, Error};

/// A card as its form holds it: one clause a line.
#[derive(Debug, Default)]
struct Form {
    name: String,
    role: String,
    org: String,
    goal: String,
    lists: Vec<ListField>,
    limits: Vec<LimitField>,
}

#[derive(Debug)]
struct ListField {
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    text: String,
    required: bool,
}

/// One typed limit, as a person writes it.
#[derive(Debug, Default, Clone)]
struct LimitField {
    n: usize,
    label: String,
    kind: String,
    op: String,
    value: String,
    unit: String,
    list: String,
    line: String,
}

#[derive(Template)]
#[template(path = "card.html")]
struct CardPage {
    shell: Shell,
    room: String,
    topic: String,
    form: Form,
    may_draft: bool,
    /// Why the card was not accepted as it is.
    problem: Option<String>,
    drafted: bool,
    sealed: Option<String>,
}

#[derive(Template)]
#[template(path = "card_check.html")]
struct Check {
    shell: Shell,
    room: String,
    topic: String,
    form: Form,
    read: Vec<(&'static str, Vec<String>)>,
    limits: Vec<String>,
    /// Clauses with a number or date that no limit makes checkable.
    loose: Vec<String>,
}

const LISTS: [(&str, List, &str, &str); 5] = [
    ("must_haves", List::MustHaves, "Must have", "What your agent has to get. It may agree to nothing less."),
    ("may_agree_to", List::MayAgreeTo, "May agree to", "What it may accept or give without asking you."),
    ("must_never", List::MustNever, "Must never", "Hard limits. It can never cross them alone."),
    ("escalate_when", List::EscalateWhen, "Ask me when", "When it has to stop and ask you."),
    ("known_facts", List::KnownFacts, "Facts it may state", "What you vouch for. It may say these as yours."),
];

/// Rows for limits on the form.
const ROWS: usize = 4;

pub(crate) async fn page(Path(room): Path<String>, visitor: Visitor) -> Result<Response, Fault> {
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let view = visitor.app.view_room(&caller, &id).await?;
    let you = view.room.you.as_ref().ok_or_else(only_a_side)?;
    let form = match &you.card {
        Some(card) => Form::of(&CardInput {
            principal: card.principal.clone(),
            goal: card.goal.clone(),
            must_haves: card.must_haves.clone(),
            may_agree_to: card.may_agree_to.clone(),
            must_never: card.must_never.clone(),
            escalate_when: card.escalate_when.clone(),
            known_facts: card.known_facts.clone(),
            limits: card.limits.clone(),
        }),
        None => Form::read(&Fields::of(vec![("name".to_owned(), you.seat.principal.clone())])),
    };
    let sealed = you.seat.card_hash.as_ref().map(words::short);
    show(&visitor, &caller, &id, form, None, false, sealed).await
}

/// Reads the card back to the person who wrote it; nothing is sealed yet.
pub(crate) async fn check(Path(room): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let form = Form::read(&fields);
    if fields.one("then") == "edit" {
        return show(&visitor, &caller, &id, form, None, false, None).await;
    }
    let card = match input(&fields) {
        Ok(card) => card,
        Err(problem) => return show(&visitor, &caller, &id, form, Some(problem), false, None).await,
    };
    let view = visitor.app.view_room(&caller, &id).await?;
    let clauses =
        [&card.must_haves, &card.may_agree_to, &card.must_never, &card.escalate_when, &card.known_facts];
    let limited: Vec<ClauseRef> = card.limits.iter().map(|limit| limit.clause).collect();
    let loose = LISTS
        .iter()
        .zip(clauses)
        .flat_map(|((_, list, _, _), texts)| {
            texts.iter().zip(0_u16..).map(move |(text, index)| (*list, index, text))
        })
        .filter(|(list, _, _)| !matches!(list, List::KnownFacts))
        .filter(|(list, index, text)| {
            text.bytes().any(|b| b.is_ascii_digit())
                && !limited.contains(&ClauseRef { list: *list, index: *index })
        })
        .map(|(_, _, text)| words::shown(text))
        .collect();
    Ok(html(&Check {
        topic: words::shown(&view.room.topic),
        read: LISTS
            .iter()
            .zip(clauses)
            .filter(|(_, texts)| !texts.is_empty())
            .map(|((_, _, label, _), texts)| (*label, texts.iter().map(|text| words::shown(text)).collect()))
            .collect(),
        limits: card.limits.iter().map(described).collect(),
        loose,
        form,
        room,
        shell: visitor.shell("Read your card once more", Some(&id)).await?,
    }))
}

/// Seals the card as it was read back.
pub(crate) async fn seal(Path(room): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let sealed = match input(&fields) {
        Ok(card) => visitor.app.seal_card(&caller, &id, card, None).await.map_err(|error| problem(&error)),
        Err(problem) => Err(problem),
    };
    match sealed {
        Ok(_) => Ok(done(&format!("/room/{id}"), "sealed")),
        Err(why) => show(&visitor, &caller, &id, Form::read(&fields), Some(why), false, None).await,
    }
}

/// Fills the form from the person's own words by the configured model.
pub(crate) async fn draft(Path(room): Path<String>, posted: Posted) -> Result<Response, Fault> {
    let Posted { visitor, fields } = posted;
    let id = room_id(&room)?;
    let caller = visitor.stand(&id).await?;
    let name = fields.one("name");
    let card = visitor
        .app
        .draft_card(&caller, &id, fields.one("text"), name, fields.one("role"))
        .await
        .map_err(|error| Fault::from(error).back_to(format!("/room/{id}/card")))?;
    show(&visitor, &caller, &id, Form::of(&card), None, true, None).await
}

async fn show(
    visitor: &Visitor,
    caller: &Caller,
    room: &pxp::RoomId,
    form: Form,
    problem: Option<String>,
    drafted: bool,
    sealed: Option<String>,
) -> Result<Response, Fault> {
    let view = visitor.app.view_room(caller, room).await?;
    Ok(html(&CardPage {
        topic: words::shown(&view.room.topic),
        form,
        may_draft: visitor.app.config().draft_with.is_some(),
        problem,
        drafted,
        sealed,
        room: room.to_string(),
        shell: visitor.shell("Your card", Some(room)).await?,
    }))
}

impl Form {
    fn read(fields: &Fields) -> Self {
        let text = |name: &str| fields.one(name).to_owned();
        Self {
            name: text("name"),
            role: text("role"),
            org: text("org"),
            goal: text("goal"),
            lists: LISTS
                .iter()
                .map(|(name, list, label, hint)| ListField {
                    name,
                    label,
                    hint,
                    text: text(name),
                    required: *list == List::MustHaves,
                })
                .collect(),
            limits: (0..ROWS).map(|n| LimitField::read(fields, n)).collect(),
        }
    }

    fn of(card: &CardInput) -> Self {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut pairs = vec![
            pair("name", &card.principal.name),
            pair("role", &card.principal.role),
            pair("org", card.principal.org.as_deref().unwrap_or_default()),
            pair("goal", &card.goal),
            pair("must_haves", &card.must_haves.join("\n")),
            pair("may_agree_to", &card.may_agree_to.join("\n")),
            pair("must_never", &card.must_never.join("\n")),
            pair("escalate_when", &card.escalate_when.join("\n")),
            pair("known_facts", &card.known_facts.join("\n")),
        ];
        for (n, limit) in card.limits.iter().take(ROWS).enumerate() {
            let field = |name: &str, value: String| (format!("limit{n}_{name}"), value);
            let (kind, op, value) = spelled(limit);
            pairs.extend([
                field("label", limit.label.clone().unwrap_or_default()),
                field("kind", kind.to_owned()),
                field("op", op.to_owned()),
                field("value", value),
                field("unit", limit.unit.clone().unwrap_or_default()),
                field("list", limit.clause.list.as_str().to_owned()),
                field("line", limit.clause.index.saturating_add(1).to_string()),
            ]);
        }
        Self::read(&Fields::of(pairs))
    }
}

impl LimitField {
    fn read(fields: &Fields, n: usize) -> Self {
        let text = |name: &str| fields.one(&format!("limit{n}_{name}")).to_owned();
        Self {
            n,
            label: text("label"),
            kind: text("kind"),
            op: text("op"),
            value: text("value"),
            unit: text("unit"),
            list: text("list"),
            line: text("line"),
        }
    }

    fn limit(&self) -> Result<Option<Limit>, String> {
        if self.value.is_empty() {
            return Ok(None);
        }
        let bad = |what: &str| format!("Limit {}: {what}", self.n.saturating_add(1));
        let kind = match self.kind.as_str() {
            "money" => Kind::Money,
            "number" => Kind::Number,
            "date" => Kind::Date,
            "duration" => Kind::Duration,
            "count" => Kind::Count,
            "enum" => Kind::Enum,
            _ => return Err(bad("choose what it measures.")),
        };
        let op = match self.op.as_str() {
            "le" => Op::Le,
            "ge" => Op::Ge,
            "lt" => Op::Lt,
            "gt" => Op::Gt,
            "eq" => Op::Eq,
            "in" => Op::In,
            "not_in" => Op::NotIn,
            _ => return Err(bad("choose how it compares.")),
        };
        let reads_list = matches!(op, Op::In | Op::NotIn);
        let texts: Vec<&str> = if reads_list {
            self.value.split(',').map(str::trim).filter(|text| !text.is_empty()).collect()
        } else {
            vec![&self.value]
        };
        // One exponent holds for every value of a limit.
        let decimals = match kind {
            Kind::Money => Some(2),
            Kind::Number => Some(texts.iter().map(|text| fraction(text)).max().unwrap_or(0)),
            Kind::Duration | Kind::Count | Kind::Date | Kind::Enum => None,
        };
        let exponent =
            decimals.map(u8::try_from).transpose().map_err(|_| bad("that is too many decimals."))?;
        let mut values = Vec::new();
        for text in texts {
            values.push(match kind {
                Kind::Date | Kind::Enum => Scalar::Text(text.to_owned()),
                Kind::Money | Kind::Number => Scalar::Integer(
                    scaled(text, decimals.unwrap_or(0))
                        .ok_or_else(|| bad("write the value as a plain number."))?,
                ),
                Kind::Duration | Kind::Count => Scalar::Integer(
                    scaled(text, 0)
                        .ok_or_else(|| bad("write a whole number, in a smaller unit if need be."))?,
                ),
            });
        }
        let value = match (reads_list, values.pop()) {
            (false, Some(one)) => Operand::One(one),
            (_, last) => Operand::Many(values.into_iter().chain(last).collect()),
        };
        let index: u16 = self.line.parse().map_err(|_| bad("say which line it makes precise."))?;
        let clause = format!("{}[{}]", self.list, index.saturating_sub(1));
        let clause: ClauseRef = clause.parse().map_err(|_| bad("say which line it makes precise."))?;
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let unit = some(&self.unit).filter(|_| !matches!(kind, Kind::Date | Kind::Enum));
        let limit = Limit { label: some(&self.label), kind, op, value, unit, exponent, clause };
        limit.check().map_err(|why| bad(&format!("{}.", words::shown(why))))?;
        Ok(Some(limit))
    }
}

/// The card of a form, or what is wrong with it.
fn input(fields: &Fields) -> Result<CardInput, String> {
    let form = Form::read(fields);
    let mut limits = Vec::new();
    for limit in &form.limits {
        limits.extend(limit.limit()?);
    }
    Ok(CardInput {
        principal: Party { name: form.name, role: form.role, org: fields.some("org") },
        goal: form.goal,
        must_haves: fields.lines("must_haves"),
        may_agree_to: fields.lines("may_agree_to"),
        must_never: fields.lines("must_never"),
        escalate_when: fields.lines("escalate_when"),
        known_facts: fields.lines("known_facts"),
        limits,
    })
}

fn problem(error: &Error) -> String {
    use ledger::Coded;
    match error.place().filter(|place| !place.is_empty()) {
        Some(place) => format!("{} ({place})", words::shown(&error.shown())),
        None => words::shown(&error.shown()),
    }
}

/// The limit in words, its clause by its plain name.
fn described(limit: &Limit) -> String {
    let said = limit.describe();
    let clause = limit.clause.to_string();
    words::shown(&said.replace(&format!("({clause})"), &format!("({})", words::clause(&clause))))
}

fn spelled(limit: &Limit) -> (&'static str, &'static str, String) {
    let kind = match limit.kind {
        Kind::Money => "money",
        Kind::Number => "number",
        Kind::Date => "date",
        Kind::Duration => "duration",
        Kind::Enum => "enum",
        Kind::Count => "count",
    };
    let op = match limit.op {
        Op::Le => "le",
        Op::Ge => "ge",
        Op::Lt => "lt",
        Op::Gt => "gt",
        Op::Eq => "eq",
        Op::In => "in",
        Op::NotIn => "not_in",
    };
    let one = |scalar: &Scalar| match scalar {
        Scalar::Text(text) => text.clone(),
        Scalar::Integer(amount) => decimal(*amount, usize::from(limit.exponent.unwrap_or(0))),
    };
    let value = match &limit.value {
        Operand::One(scalar) => one(scalar),
        Operand::Many(many) => many.iter().map(one).collect::<Vec<_>>().join(", "),
    };
    (kind, op, value)
}

fn fraction(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// `900.5` with two decimals as 90050. No float.
fn scaled(text: &str, decimals: usize) -> Option<i64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let good = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    if digits.is_empty() || !good(digits) || !good(rest) || rest.len() > decimals {
        return None;
    }
    format!("{whole}{rest:0<decimals$}").parse().ok()
}

fn decimal(amount: i64, decimals: usize) -> String {
    let digits = amount.unsigned_abs().to_string();
    let sign = if amount < 0 { "-" } else { "" };
    let padded = format!("{digits:0>width$}", width = decimals.saturating_add(1));
    let (whole, rest) = padded.split_at(padded.len().saturating_sub(decimals));
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

fn only_a_side() -> Error {
    Error::Forbidden { code: "not_permitted", text: "only a side of the room has a card".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_without_floats() {
        for (text, decimals, expected) in [
            ("900", 2, Some(90_000)),
            ("900.5", 2, Some(90_050)),
            ("-0.05", 2, Some(-5)),
            ("1.234", 2, None),
            ("1e3", 2, None),
            ("", 0, None),
            ("12", 0, Some(12)),
        ] {
            assert_eq!(scaled(text, decimals), expected, "{text}");
        }
        assert_eq!(decimal(90_050, 2), "900.50");
        assert_eq!(decimal(-5, 2), "-0.05");
        assert_eq!(decimal(7, 0), "7");
    }

    /// What the form's row comes to: the values as they are compared, and what the person reads.
    fn limit(kind: &str, op: &str, value: &str) -> Option<(Operand, Option<u8>)> {
        let text = |text: &str| text.to_owned();
        let unit = if kind == "duration" { "h" } else { "EUR" };
        let row = LimitField {
            n: 0,
            label: text("rent"),
            kind: text(kind),
            op: text(op),
            value: text(value),
            unit: text(unit),
            list: text("may_agree_to"),
            line: text("1"),
        };
        let limit = row.limit().ok()??;
        let again = LimitField { value: spelled(&limit).2, ..row };
        assert_eq!(again.limit().unwrap().unwrap(), limit, "{kind} {value}: read back as written");
        Some((limit.value, limit.exponent))
    }

    #[test]
    fn a_limit_is_what_was_typed() {
        let one = |amount| Operand::One(Scalar::Integer(amount));
        let many = |amounts: &[i64]| Operand::Many(amounts.iter().copied().map(Scalar::Integer).collect());
        for (kind, op, value, expected) in [
            ("count", "le", "10", Some((one(10), None))),
            ("count", "le", "1.0", None),
            ("count", "in", "1, 2.5", None),
            ("duration", "le", "15", Some((one(15), None))),
            ("duration", "le", "1.5", None),
            ("money", "le", "900.5", Some((one(90_050), Some(2)))),
            ("money", "in", "1.5, 2", Some((many(&[150, 200]), Some(2)))),
            ("number", "le", "1.25", Some((one(125), Some(2)))),
            ("number", "in", "1.5, 2", Some((many(&[15, 20]), Some(1)))),
            ("number", "in", "2, 1.5", Some((many(&[20, 15]), Some(1)))),
            ("number", "not_in", "1.25, 3.5, 10", Some((many(&[125, 350, 1_000]), Some(2)))),
            ("number", "le", "1.0000000000000000000000000000000000000000000001", None),
        ] {
            assert_eq!(limit(kind, op, value), expected, "{kind} {op} {value}");
        }
    }
}
