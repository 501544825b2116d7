//! Everything goes wrong once, on every way that money takes: what is allowed, what a person signs, what they approve and
//! never sign, what is captured, what nobody answers. Each call of the chain in each of four ways; the server dies at each
//! step and is started again; midnight passes, or five blocks are taken back, right after each call. Whatever it is, each is
//! paid once, no bond is lost, and nobody was asked who was not paid for.

use super::cardano::{Coast, witness};
use super::desk::{Signs, action, evidence_of, key, paid, signed_approval, statement_of, told};
use chain::faulty::{Call, Fault};
use chain::{Chain, Value};
use mandate::State;
use mandate::price::{BondStatus, OutRef, Price};
use mandate::state::AuthorizationStatus;
use reqwest::Method;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const CALLS: [Call; 7] =
    [Call::Tip, Call::Parameters, Call::Utxos, Call::Utxo, Call::Submit, Call::Transaction, Call::Evaluate];
const FAULTS: [Fault; 4] =
    [Fault::FailsClean, Fault::FailsAfterLanding, Fault::NeverAnswers, Fault::LandsAndNeverAnswers];

/// What becomes of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Allowed,
    Approved,
    NeverSigned,
    Frivolous,
    NobodyAnswers,
}

const WAYS: [Way; 5] = [Way::Allowed, Way::Approved, Way::NeverSigned, Way::Frivolous, Way::NobodyAnswers];

/// What goes wrong, once the question is paid for (where it must be).
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trouble {
    Chain(Call, Fault),
    /// The server dies at this step.
    Death(u64),
    /// A day ends between this call and its answer.
    Midnight(Call),
    /// Five blocks are taken back between this call and its answer.
    Fork(Call),
    /// Five blocks are taken back once all is done.
    LateFork,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_what_is_allowed_is_paid_once() {
    chain_fails(Way::Allowed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_what_a_person_signs_is_paid_once_and_the_bond_goes_back() {
    chain_fails(Way::Approved).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_a_frivolous_bond_is_captured() {
    chain_fails(Way::Frivolous).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_a_bond_that_nobody_answered_goes_back() {
    chain_fails(Way::NobodyAnswers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_at_any_step_pays_once_and_loses_no_bond() {
    futures::future::join_all(WAYS.map(async |way| {
        let mut table = Table::of(way).await;
        let mut step = 0;
        while table.play(Trouble::Death(step)).await {
            step += 1;
        }
        assert!(step > 10, "{way:?}: {step} steps");
        table.end().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn midnight_between_any_two_steps_counts_each_payment_on_one_day() {
    for way in [Way::Allowed, Way::Approved] {
        let mut table = Table::of(way).await;
        for call in CALLS {
            table.play(Trouble::Midnight(call)).await;
        }
        table.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_blocks_taken_back_at_any_step_pay_nothing_twice_and_lose_no_bond() {
    for way in WAYS {
        let mut table = Table::of(way).await;
        for call in [Call::Submit, Call::Transaction, Call::Utxo] {
            table.play(Trouble::Fork(call)).await;
        }
        table.play(Trouble::LateFork).await;
        table.end().await;
    }
}

async fn chain_fails(way: Way) {
    let mut table = Table::of(way).await;
    for call in CALLS {
        for fault in FAULTS {
            table.play(Trouble::Chain(call, fault)).await;
        }
    }
    table.end().await;
}

/// One way that is gone again and again, over one server and one chain.
struct Table {
    coast: Coast,
    way: Way,
    played: u64,
    /// What the vault says it spent on its newest day, and that day.
    spent: (u64, u64),
    /// The newest lock, which its agent hands in again where a block of it is gone.
    lock: Arc<std::sync::Mutex<Vec<u8>>>,
}

impl Table {
    async fn of(way: Way) -> Self {
        let coast = Coast::of(|mandate| {
            mandate["interrupt_budget"]["per_day"] = json!(1000);
            for constraint in mandate["constraints"].as_array_mut().unwrap() {
                if constraint["kind"] == "daily_spend_lte" {
                    constraint["value"] = json!("1000000000000");
                }
            }
        })
        .await;
        Self { coast, way, played: 0, spent: (0, 0), lock: Arc::default() }
    }

    const fn cents(&self) -> u64 {
        if matches!(self.way, Way::Allowed) { 100 } else { 1100 }
    }

    /// Goes the way once. Gives whether the server died.
    async fn play(&mut self, trouble: Trouble) -> bool {
        self.played += 1;
        let case = format!("{:?} {trouble:?}", self.way);
        let action = action(&format!("F{}", self.played), self.cents());
        if matches!(trouble, Trouble::Fork(_) | Trouble::LateFork) {
            // What was done in cases before stays done.
            for n in 0..5 {
                self.coast.ledger.fund(self.coast.agent.address(), Value::of(2_000_000 + n)).unwrap();
            }
        }
        if matches!(trouble, Trouble::Midnight(_)) {
            let left = 86_400 - self.coast.server.app.now().as_micros() / 1_000_000 % 86_400;
            self.coast.server.later(u64::try_from(left).unwrap().saturating_sub(3));
        }
        let dead = self.coast.journal.dead();
        let play = async {
            match self.way {
                Way::Allowed => self.allowed(&action, trouble).await,
                Way::Approved => self.approved(&action, trouble, true).await,
                Way::NeverSigned => self.approved(&action, trouble, false).await,
                Way::Frivolous => self.frivolous(&action, trouble).await,
                Way::NobodyAnswers => self.unanswered(&action, trouble).await,
            }
            if trouble == Trouble::LateFork {
                take_back(&self.coast.ledger, &self.lock).await;
                self.coast.server.app.sweep_mandates().await.unwrap();
            }
        };
        let ends = tokio::time::timeout(Duration::from_secs(90), play).await.is_ok();
        assert!(ends, "{case}: it never ends");
        self.coast.faulty.heal();
        self.coast.journal.dies_at(u64::MAX);
        let died = dead.load(Ordering::SeqCst);
        self.coast.revive().await;
        self.right(&case, trouble).await;
        died
    }

    /// Waits until the chain shows what it should, and looks that it does.
    async fn right(&mut self, case: &str, trouble: Trouble) {
        let mut seen = self.seen().await;
        let started = std::time::Instant::now();
        while seen != self.expected() && started.elapsed() < Duration::from_secs(10) {
            if matches!(trouble, Trouble::Fork(_) | Trouble::LateFork) {
                self.coast.server.app.sweep_mandates().await.unwrap();
            }
            self.coast.server.later(20);
            tokio::time::sleep(Duration::from_millis(50)).await;
            seen = self.seen().await;
        }
        assert_eq!(seen, self.expected(), "{case}");
        let vault = self.coast.treasury.observe(&self.coast.vault).await.unwrap();
        if self.pays() {
            let (day, before) = self.spent;
            let before = if vault.day_index == day { before } else { 0 };
            assert_eq!(vault.spent_today.get(), before + self.cents() * 10_000, "{case}: of one day");
            self.spent = (vault.day_index, vault.spent_today.get());
        }
    }

    const fn pays(&self) -> bool {
        matches!(self.way, Way::Allowed | Way::Approved)
    }

    /// What the recipient got, what the vault has left, bonds that stay, what the sink has, whose bond is not settled on record.
    async fn seen(&self) -> (u64, u64, usize, u64, usize) {
        let coast = &self.coast;
        let escrow = coast.ledger.utxos(coast.treasury.escrow().as_str()).await.unwrap();
        let sink = coast.ledger.utxos(coast.treasury.sink().as_str()).await.unwrap();
        let sunk: u64 = sink.iter().map(|utxo| utxo.output.value.lovelace).sum();
        let open = coast.state().await.open().count();
        (coast.received().await, coast.balance().await, escrow.len(), sunk, open)
    }

    fn expected(&self) -> (u64, u64, usize, u64, usize) {
        let paid = if self.pays() { self.played * self.cents() * 10_000 } else { 0 };
        let sunk = if self.way == Way::Frivolous { self.played * 5_000_000 } else { 0 };
        (paid, 500_000_000 - paid, 0, sunk, 0)
    }

    /// Nobody was asked who was not paid for; and the log of all of it is one that others can follow.
    async fn end(&self) {
        let state = self.coast.state().await;
        for number in 1..=self.played {
            let Some(approval) = state.approval(&format!("AP-{number}").parse().unwrap()) else { continue };
            assert!(approval.paged_on.is_none() || approval.bond.is_some(), "an unpaid page");
        }
        let sent = self.coast.server.http.get(self.coast.server.url("/v1/mandates/M-001/proof"));
        let proof = told(sent.bearer_auth(super::desk::AGENT).send().await.unwrap()).await.1;
        let proof: mandate::Proof = canon::from_slice(proof.to_string().as_bytes()).unwrap();
        proof.check().unwrap();
    }

    /// From now on it goes wrong.
    fn begin(&self, trouble: Trouble) {
        let coast = &self.coast;
        match trouble {
            Trouble::Chain(call, fault) => coast.faulty.next(call, fault),
            Trouble::Death(step) => coast.journal.dies_at(step),
            Trouble::Midnight(call) => {
                let clock = Arc::clone(&coast.server.clock);
                coast.faulty.after(call, async move { clock.later(5) });
            }
            Trouble::Fork(call) => {
                let (ledger, lock) = (Arc::clone(&coast.ledger), Arc::clone(&self.lock));
                coast.faulty.after(call, async move { take_back(&ledger, &lock).await });
            }
            Trouble::LateFork => {}
        }
    }

    async fn allowed(&mut self, action: &Json, trouble: Trouble) {
        self.begin(trouble);
        let body = self.answered(async |coast| coast.check(action, None).await).await;
        // Where its answer was lost, it may be paid by the time it is asked again.
        let hash = body["evaluation"]["action_hash"].as_str().unwrap().parse().unwrap();
        self.reach("settled", 1, |state| {
            state.authorization_of(&hash).is_some_and(|held| held.status == AuthorizationStatus::Settled)
        })
        .await;
    }

    async fn approved(&mut self, action: &Json, trouble: Trouble, signs: bool) {
        let id = self.ask(action, trouble).await;
        let path = format!("/v1/approvals/{id}/approve");
        let approved = loop {
            let draft = self
                .answered(async |coast| {
                    let desk = Signs { server: &coast.server };
                    told(desk.signed(&key(5), Method::POST, &path, Some(&json!({}))).await).await
                })
                .await;
            let body = signed_approval(&draft, &key(5));
            let (status, approved) = self.coast.post(&path, &body).await;
            if status == 200 {
                break approved;
            }
            assert!(status >= 500, "{approved}");
            self.coast.revive().await;
            // It may be authorized by now: then it is asked for again with the same signature.
            let (status, approved) = self.coast.post(&path, &body).await;
            if status == 200 {
                break approved;
            }
        };
        if !signs {
            self.coast.server.later(3_700);
            self.reach("the bond is back", 61, |state| over(state, &id) == Some(BondStatus::Refunded)).await;
            return;
        }
        let body = json!({ "approval_id": id, "authorization_digest": approved["authorization"]["digest_hex"],
            "cfo_witness_cbor": witness(approved["unsigned_tx_cbor"].as_str().unwrap(), &key(5)) });
        self.answered(async |coast| done(coast.post("/v1/executions", &body).await, "authorization_used"))
            .await;
        self.reach("paid, and the bond is back", 1, |state| over(state, &id) == Some(BondStatus::Refunded))
            .await;
    }

    async fn frivolous(&mut self, action: &Json, trouble: Trouble) {
        let id = self.ask(action, trouble).await;
        let path = format!("/v1/approvals/{id}");
        let asked = json!({ "reason": "frivolous" });
        let shown = self
            .answered(async |coast| {
                let desk = Signs { server: &coast.server };
                let path = format!("{path}/statement");
                told(desk.signed(&key(5), Method::POST, &path, Some(&asked)).await).await
            })
            .await;
        let body = json!({ "reason": "frivolous", "signed": evidence_of(&statement_of(&shown), &key(5)) });
        let decline = format!("{path}/decline");
        self.answered(async |coast| done(coast.post(&decline, &body).await, "approval_not_pending")).await;
        // What is to be signed is on the approver's page, whatever became of the answer.
        while self.coast.look().await.is_none_or(|state| over(&state, &id) != Some(BondStatus::Captured)) {
            self.coast.revive().await;
            let reader = self.coast.reader(5).await;
            let asked = self.coast.server.app.approval_asked(&reader, "M-001", &id).await;
            let Some(to_sign) = asked.ok().and_then(|asked| asked.to_sign) else { continue };
            let set = witness(&to_sign.tx, &key(5));
            let body = json!({ "tx_hash": to_sign.tx_hash, "cfo_witness_cbor": set });
            self.coast.post(&format!("{path}/bond-submit"), &body).await;
        }
    }

    async fn unanswered(&mut self, action: &Json, trouble: Trouble) {
        let id = self.ask(action, trouble).await;
        self.coast.server.later(3_700);
        self.reach("the bond is back", 61, |state| over(state, &id) == Some(BondStatus::Refunded)).await;
    }

    /// Priced, locked by the agent on the ledger itself, paid. Gives the approval's id. A server dies from the first step on;
    /// what else goes wrong does so once a person has been asked.
    async fn ask(&mut self, action: &Json, trouble: Trouble) -> String {
        let early = matches!(trouble, Trouble::Death(_));
        if early {
            self.begin(trouble);
        }
        let required = loop {
            let (status, required) = self.coast.check(action, None).await;
            if status == 402 {
                break required;
            }
            assert!(status >= 500, "{required}");
            self.coast.revive().await;
        };
        let price = required["accepts"][0]["extra"].to_string();
        let price: Price = canon::from_slice(price.as_bytes()).unwrap();
        let lock = self.coast.agent.lock(&price, self.coast.vault.mandate_ref).await.unwrap();
        self.coast.ledger.submit(&lock.tx).await.unwrap();
        *self.lock.lock().unwrap() = lock.tx;
        let payment = paid(&required, &OutRef { output_index: 0, tx_hash: lock.tx_hash });
        let body = self.answered(async |coast| coast.check(action, Some(&payment)).await).await;
        if !early {
            self.begin(trouble);
        }
        let case = format!("{:?} {trouble:?}", self.way);
        body["approval_id"].as_str().unwrap_or_else(|| panic!("{case}: {body}")).to_owned()
    }

    /// Asks until the answer is no outage, as clients do.
    async fn answered(&mut self, ask: impl AsyncFn(&Coast) -> (u16, Json)) -> Json {
        loop {
            let (status, body) = ask(&self.coast).await;
            if status < 500 {
                assert_eq!(status, 200, "{:?} {}: {body}", self.way, self.played);
                return body;
            }
            self.coast.revive().await;
        }
    }

    /// Moves the clock on until it holds; looks at the chain as a server does by itself now and then.
    async fn reach(&mut self, what: &str, seconds: u64, holds: impl Fn(&State) -> bool) {
        for _ in 0..600 {
            if self.coast.look().await.is_some_and(|state| holds(&state)) {
                return;
            }
            self.coast.revive().await;
            let _ = self.coast.server.app.sweep_mandates().await;
            self.coast.server.later(seconds);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never: {what}");
    }
}

/// What was asked for before, and its answer lost, is done.
fn done((status, body): (u16, Json), code: &str) -> (u16, Json) {
    if status == 409 && body["code"] == code { (200, body) } else { (status, body) }
}

/// What became of an approval's bond.
fn over(state: &State, id: &str) -> Option<BondStatus> {
    state.approval(&id.parse().unwrap())?.bond.as_ref().map(|bond| bond.status)
}

/// Takes five blocks back. Of what was in them the agent hands in its lock again, as its wallet does.
async fn take_back(ledger: &chain::LedgerChain, lock: &std::sync::Mutex<Vec<u8>>) {
    ledger.roll_back(5).unwrap();
    let lock = lock.lock().unwrap().clone();
    if !lock.is_empty() {
        let _there = ledger.submit(&lock).await;
    }
}
