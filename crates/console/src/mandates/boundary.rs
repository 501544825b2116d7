//! A mandate as a boundary: what it allows, how much of that is used, and who may say more.

use super::brief::{bond_money, money};
use super::picture::{Bar, columns};
use super::{Denied, page, shell, somebody};
use crate::page::Shell;
use crate::visitor::Visitor;
use crate::words::{shown, when};
use askama::Template;
use axum::extract::{Path, Query};
use axum::response::Response;
use mandate::metrics::Metrics;
use mandate::rule::{Constraint, Kind, Violation};
use mandate::{Address, Credential, Mandate, Status};
use serde::Deserialize;
use server::mandates::desk::{Boundary, Reader};
use server::mandates::{ActTold, Refused};

#[derive(Template)]
#[template(path = "mandates/mandate.html")]
struct MandatePage {
    shell: Shell,
    id: String,
    version: u32,
    hash: Vec<String>,
    standing: (&'static str, &'static str),
    pictures: Vec<Picture>,
    rules: Vec<Rule>,
    principal: String,
    principal_key: String,
    delegate: String,
    delegate_key: String,
    approvers: Vec<(String, String)>,
    required: usize,
    engine: String,
    starts: String,
    expires: String,
    anchor: String,
    anchor_says: String,
    vault: String,
    vault_name: Option<String>,
    network: &'static str,
    bond: String,
    pending: usize,
    metrics: Vec<(&'static str, String)>,
    plots: Vec<Picture>,
    runs: Vec<RunLine>,
    /// For the principal.
    office: Option<Office>,
}

/// What the principal may do, and did.
#[derive(Debug)]
struct Office {
    symbol: String,
    /// The address of the principal's key alone.
    address: String,
    acts: Vec<ActLine>,
}

#[derive(Debug)]
struct ActLine {
    link: String,
    sentence: String,
    at: String,
    standing: super::acts::Standing,
}

/// A bar with its words.
#[derive(Debug)]
pub(crate) struct Picture {
    pub title: String,
    pub svg: String,
    pub words: String,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub words: String,
    pub then: String,
    pub class: &'static str,
    pub id: String,
}

#[derive(Debug)]
struct RunLine {
    id: String,
    what: String,
    started: String,
    finished: bool,
}

pub(crate) async fn mandate(Path(id): Path<String>, visitor: Visitor) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let told = visitor.app.boundary(&reader, &id).await?;
    let mandate = &told.mandate;
    let bond = bond_money(told.tariff.amount.get(), &told.tariff);
    let runs = told.runs.iter().map(|run| RunLine {
        id: run.id.to_string(),
        what: if run.goal.is_empty() { format!("A run of kind {}", run.kind) } else { shown(&run.goal) },
        started: when(run.started_at),
        finished: run.finished,
    });
    let office = office(&visitor, &reader, &told).await?;
    Ok(page(&MandatePage {
        office,
        id: mandate.id.to_string(),
        version: mandate.version,
        hash: crate::words::groups(&mandate.hash()),
        standing: standing(&told),
        pictures: pictures(&told),
        rules: mandate.constraints.iter().map(|rule| self::rule(rule, mandate)).collect(),
        principal: shown(mandate.principal.name.as_str()),
        principal_key: mandate.principal.cardano_key_hash.to_string(),
        delegate: mandate.delegate.id.to_string(),
        delegate_key: mandate.delegate.public_key.to_string(),
        approvers: mandate
            .approvers
            .iter()
            .map(|approver| (shown(approver.role.as_str()), approver.cardano_key_hash.to_string()))
            .collect(),
        required: mandate.required(),
        engine: mandate.authority_engine.public_key.to_string(),
        starts: instant(&mandate.validity.starts_at),
        expires: instant(&mandate.validity.expires_at),
        anchor: told.vault.mandate_ref.to_string(),
        anchor_says: anchor(&told),
        vault: told.vault.vault_hash.to_string(),
        vault_name: told.vault_name.as_ref().map(ToString::to_string),
        network: told.vault.network.name(),
        bond: format!("{} {}", bond.display, told.tariff.asset.symbol),
        pending: told.pending,
        metrics: metrics(&told),
        plots: plots(&told),
        runs: runs.collect(),
        shell: shell(&visitor, &format!("Mandate {}", mandate.id)).await?,
    }))
}

async fn office(visitor: &Visitor, reader: &Reader, told: &Boundary) -> Result<Option<Office>, Denied> {
    let mandate = &told.mandate;
    let key = mandate.principal.cardano_key_hash;
    if !reader.keys().contains(&key) {
        return Ok(None);
    }
    let (symbol, decimals) = (mandate.asset.symbol.to_string(), mandate.asset.decimals);
    let acts = visitor.app.acts_of(reader, mandate.id.as_str()).await;
    // A server without a chain of its own drafts nothing.
    let Ok(acts) = acts else { return Ok(None) };
    let line = |act: &ActTold| ActLine {
        link: act.tx_hash.to_string(),
        sentence: super::acts::sentence(&act.act, &symbol, decimals),
        at: when(act.at),
        standing: super::acts::standing(act),
    };
    Ok(Some(Office {
        acts: acts.iter().map(line).collect(),
        address: Address::new(told.vault.network.network(), Credential::Key(key), None).to_string(),
        symbol,
    }))
}

fn standing(told: &Boundary) -> (&'static str, &'static str) {
    match &told.observed {
        _ if told.paused => ("Stopped", "stand-bad"),
        _ if told.mandate.status == Status::Revoked => ("Revoked", "stand-bad"),
        None => ("The chain cannot be read now", "stand-warn"),
        Some(observed) if observed.anchor_status == Status::Revoked => ("Revoked", "stand-bad"),
        Some(observed) if observed.anchor_version != told.mandate.version => {
            ("Another version is anchored", "stand-bad")
        }
        Some(_) => ("In force", "stand-good"),
    }
}

fn anchor(told: &Boundary) -> String {
    match &told.observed {
        None => "The chain cannot be read now.".to_owned(),
        Some(observed) => {
            let status = match observed.anchor_status {
                Status::Active => "active",
                Status::Revoked => "revoked",
            };
            let same = if observed.mandate_hash == told.mandate.hash() {
                "the hash shown here"
            } else {
                "ANOTHER hash"
            };
            format!("Version {}, {status}, with {same}.", observed.anchor_version)
        }
    }
}

/// The boundary: one payment, today, the vault, people's attention.
fn pictures(told: &Boundary) -> Vec<Picture> {
    let mandate = &told.mandate;
    let limits = mandate.limits();
    let amount = |units: u64| money(units, mandate.asset.decimals, &mandate.asset.symbol);
    let (alone, cap) = (limits.autonomous_limit.get(), limits.hard_cap.get());
    let words = format!(
        "Up to {} the agent pays alone; up to {} with a signature; more never.",
        amount(alone),
        amount(cap)
    );
    let mut all = vec![Picture {
        title: "One payment".to_owned(),
        svg: Bar::of(cap, words.clone())
            .stretch(0, alone, "bar-good")
            .stretch(alone, cap, "bar-warn")
            .mark(alone)
            .svg(),
        words,
    }];
    if let Some(observed) = &told.observed {
        let spent = if observed.day_index < told.day { 0 } else { observed.spent_today.get() };
        let used = spent.saturating_add(told.in_flight);
        let daily = limits.daily_cap.get();
        let way = match told.in_flight {
            0 => String::new(),
            units => format!(" and {} on its way", amount(units)),
        };
        let words = format!("{} spent today{way}, of {}.", amount(spent), amount(daily));
        let bar =
            Bar::of(daily, words.clone()).stretch(0, spent, "bar-good").stretch(spent, used, "bar-warn");
        all.push(Picture { title: "Today".to_owned(), svg: bar.svg(), words });
        let (balance, floor) = (observed.vault_balance.get(), limits.treasury_minimum.get());
        let words = format!("{} in the vault; {} must stay.", amount(balance), amount(floor));
        let bar = Bar::of(balance.max(floor), words.clone())
            .stretch(0, balance, "bar-good")
            .stretch(0, floor.min(balance), "bar-bad")
            .mark(floor);
        all.push(Picture { title: "The vault".to_owned(), svg: bar.svg(), words });
    }
    all.push(attention(told.paged_today, mandate.interrupt_budget.per_day));
    all
}

fn attention(used: u32, per_day: u32) -> Picture {
    let words = match per_day.saturating_sub(used) {
        0 => format!("All {per_day} interruptions of today are used: nobody is asked any more."),
        left => format!("{left} of {per_day} interruptions are left today."),
    };
    let bar = Bar::of(u64::from(per_day), words.clone()).stretch(0, u64::from(used), "bar-warn");
    Picture { title: "People’s attention".to_owned(), svg: bar.svg(), words }
}

pub(crate) fn rule(rule: &Constraint, mandate: &Mandate) -> Rule {
    let amount =
        |units: mandate::text::Units| money(units.get(), mandate.asset.decimals, &mandate.asset.symbol);
    let list =
        |values: &[mandate::text::Id]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let words = match &rule.kind {
        Kind::PurposeIn { values } => format!("The purpose is one of: {}", list(values)),
        Kind::ActionIn { values } => format!("The act is one of: {}", list(values)),
        Kind::AssetEq { value } => format!("The currency is {value}"),
        Kind::CounterpartyIn { values } => format!("The payee is one of: {}", list(values)),
        Kind::AmountLte { value } => format!("One payment is at most {}", amount(*value)),
        Kind::DailySpendLte { value } => format!("A day’s payments are at most {}", amount(*value)),
        Kind::BalanceAfterGte { value } => format!("At least {} stay in the vault", amount(*value)),
        Kind::VerifiedFacts => "Independent verifiers confirm the invoice".to_owned(),
        Kind::RollingSpendLte { value, window_seconds } => {
            format!("At most {} within {}", amount(*value), span(*window_seconds))
        }
        Kind::CounterpartySpendLte { value, window_seconds, counterparty } => {
            let whom = counterparty.as_ref().map_or("each payee".to_owned(), ToString::to_string);
            format!("At most {} to {whom} within {}", amount(*value), span(*window_seconds))
        }
    };
    let (then, class) = match &rule.on_violation {
        Violation::Deny => ("else never".to_owned(), "stand-bad"),
        Violation::Escalate(role) => (format!("else {} must sign", shown(role.as_str())), "stand-warn"),
        Violation::Delay(role, seconds) => {
            (format!("else after {}, unless {} objects", span(*seconds), shown(role.as_str())), "stand-warn")
        }
    };
    Rule { words, then, class, id: rule.id.to_string() }
}

fn span(seconds: u32) -> String {
    let plural =
        |count: u32, word: &str| if count == 1 { format!("one {word}") } else { format!("{count} {word}s") };
    match seconds {
        s if s % 86_400 == 0 => plural(s / 86_400, "day"),
        s if s % 3600 == 0 => plural(s / 3600, "hour"),
        s if s % 60 == 0 => plural(s / 60, "minute"),
        s => plural(s, "second"),
    }
}

fn metrics(told: &Boundary) -> Vec<(&'static str, String)> {
    let metrics = &told.metrics;
    let tenths = metrics.interruptions_per_100_actions.0;
    let median = metrics.median_decision_ms.map_or("none yet".to_owned(), |ms| format!("{ms} ms"));
    vec![
        ("Actions judged", metrics.actions_evaluated.to_string()),
        ("Interruptions per 100 actions", format!("{}.{}", tenths / 10, tenths % 10)),
        ("Denied because nobody may be asked any more", metrics.budget_exhausted.to_string()),
        ("Median time of a decision", median),
    ]
}

/// What the public figures look like.
pub(crate) fn plots_of(metrics: &Metrics) -> Vec<Picture> {
    let (allow, escalate, deny) = (metrics.allow, metrics.escalate, metrics.deny);
    let asked = allow.saturating_add(escalate);
    let all = asked.saturating_add(deny);
    let words = format!("{allow} allowed, {escalate} needed a person, {deny} denied.");
    let outcomes = Bar::of(all, words.clone())
        .stretch(0, allow, "bar-good")
        .stretch(allow, asked, "bar-warn")
        .stretch(asked, all, "bar-bad");
    let bonds = &metrics.bonds;
    let bond_words = format!(
        "{} priced, {} locked, {} given back, {} lost.",
        bonds.required, bonds.locked, bonds.refunded, bonds.captured
    );
    let spent = bonds.refunded.saturating_add(bonds.captured);
    let bars = Bar::of(bonds.required, bond_words.clone())
        .stretch(0, bonds.locked, "bar-warn")
        .stretch(0, spent, "bar-good")
        .stretch(bonds.refunded, spent, "bar-bad");
    vec![
        Picture { title: "What proposals came to".to_owned(), svg: outcomes.svg(), words },
        Picture { title: "Bonds".to_owned(), svg: bars.svg(), words: bond_words },
    ]
}

fn plots(told: &Boundary) -> Vec<Picture> {
    let mut plots = plots_of(&told.metrics);
    if !told.days.is_empty() {
        let values: Vec<u64> = told.days.iter().map(|(_, paid)| *paid).collect();
        let amount = |units: u64| money(units, told.mandate.asset.decimals, &told.mandate.asset.symbol);
        let lines = told.days.iter().map(|(day, paid)| format!("{}: {}", date(*day), amount(*paid)));
        let words = lines.collect::<Vec<_>>().join("; ");
        plots.push(Picture { title: "Paid, by day".to_owned(), svg: columns(&values, &words), words });
    }
    plots
}

fn date(day: u64) -> String {
    let at = env::Timestamp::from_secs(i64::try_from(day.saturating_mul(86_400)).unwrap_or(0));
    when(at).split(',').next().unwrap_or_default().to_owned()
}

pub(crate) fn instant(at: &mandate::DateTime) -> String {
    at.millis().map_or_else(|| at.as_str().to_owned(), |millis| when(millis.timestamp()))
}

#[derive(Template)]
#[template(path = "mandates/authority.html")]
struct AuthorityPage {
    shell: Shell,
    role: String,
    mandate: String,
    key: String,
    bond: String,
    bond_units: String,
    minutes: u64,
    picture: Picture,
    open: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfMandate {
    #[serde(default)]
    mandate_id: Option<String>,
}

impl OfMandate {
    /// The mandate that must be named.
    pub fn named(self) -> Result<String, Refused> {
        let missing = || Refused::bad("mandate_id_missing", "/mandate_id", "say which mandate: ?mandate_id=");
        self.mandate_id.ok_or_else(missing)
    }
}

/// What asking a person costs. Anybody may read it.
pub(crate) async fn authority(
    Path(role): Path<String>,
    Query(of): Query<OfMandate>,
    visitor: Visitor,
) -> Result<Response, Denied> {
    let told = visitor.app.attention(&role, &of.named()?).await?;
    let per_day = told.mandate.interrupt_budget.per_day;
    let bond = bond_money(told.tariff.amount.get(), &told.tariff);
    Ok(page(&AuthorityPage {
        role: shown(&role),
        mandate: told.mandate.id.to_string(),
        key: told.key.to_string(),
        bond: format!("{} {}", bond.display, told.tariff.asset.symbol),
        bond_units: bond.units,
        minutes: told.tariff.held_ms / 60_000,
        picture: attention(told.paged_today, per_day),
        open: told.paged_today < per_day,
        shell: shell(&visitor, &format!("Asking {role}")).await?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_days_in_words() {
        assert_eq!(span(86_400), "one day");
        assert_eq!(span(7200), "2 hours");
        assert_eq!(span(61), "61 seconds");
        assert_eq!(date(0), "1 Jan 1970");
    }
}
