//! A mandate's stream under a virtual clock, with a vault on a chain that keeps the vault's rules.

use crate::authorizing::vault;
use crate::fixture::{NOW, action_json, agent, approver, attested, engine_key, evidence, mandate_json};
use approvals::{Decided, Evidence as Proven};
use canon::Digest;
use env::{Duration, Source, Timestamp, Virtual};
use keys::{Signer, SoftwareSigner};
use ledger::{Aggregate, Effect, Entry, Head, Pointer};
use mandate::command::{
    Anchor, Approve, BondSpent, Check, Checked, Command, Decline, Draft, Drafted, EngineKey, Execution, Next,
    Observed, Reply, Verification,
};
use mandate::log::{DeclineReason, Event, Fact};
use mandate::price::{BondDatum, Locked, OutRef, Price, Tariff};
use mandate::proof::{ApproveBody, DeclineBody, Question, Signed};
use mandate::text::{Hex, KeyHash, TxHash, Units};
use mandate::{Authority, Hashed, HashedAction, Mandate, Millis, Refusal, Replay, State, Status};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Whatever was released, by a chain that keeps R7, R8, R10, R12 and R15.
#[derive(Debug, Clone)]
pub struct Vault {
    pub balance: u64,
    pub day: u64,
    pub spent: u64,
    pub last_nonce: u64,
}

pub struct Desk {
    pub clock: Virtual,
    pub mandate: Hashed<Mandate>,
    pub state: State,
    pub entries: Vec<Entry>,
    pub effects: Vec<Effect>,
    pub pointers: Vec<Pointer>,
    pub chain: Vault,
    pub anchor_status: Status,
    pub approvers: Vec<KeyHash>,
    /// A stranger who reads along.
    pub replay: Replay,
    /// The report's age is kept fresh by making one for each check.
    pub verified: bool,
    /// Whether verifiers sign for it, and one for another.
    pub attested: bool,
}

pub fn key_hash(signer: &SoftwareSigner) -> KeyHash {
    match signer.public() {
        keys::PublicKey::Ed25519(key) => KeyHash::of_key(&key),
        keys::PublicKey::P256(_) => panic!("an ed25519 key"),
    }
}

pub fn tariff() -> Tariff {
    let json = json!({
        "amount": "5000000", "asset": {"policy_id": "", "asset_name": "", "symbol": "ADA"}, "held_ms": 3_600_000,
        "escrow_address": "addr_test1wqplkq2g25g5ctsdaapk69dmxmp0lt005kw6dtat4k9yzdclx093f"
    });
    canon::from_slice(json.to_string().as_bytes()).unwrap()
}

/// An action of so many hundredths of a USDM, for an invoice of its own.
pub fn action(name: &str, cents: u64) -> Value {
    let mut action = action_json();
    action["id"] = json!(name);
    action["reference"]["invoice_id"] = json!(format!("in_{name}"));
    action["amount"]["value"] = json!((cents * 10_000).to_string());
    action
}

impl Desk {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(edit: impl FnOnce(&mut Value)) -> Self {
        Self::seeded(7, edit)
    }

    pub fn seeded(seed: u64, edit: impl FnOnce(&mut Value)) -> Self {
        let mut json = mandate_json();
        json["approvers"][0]["cardano_key_hash"] = json!(key_hash(&approver()).to_string());
        edit(&mut json);
        let mandate = Mandate::read(json.to_string().as_bytes()).unwrap();
        let start = Timestamp::from_micros(i64::try_from(NOW).unwrap() * 1000);
        let mut desk = Self {
            clock: Virtual::new(seed, start),
            approvers: mandate.approvers.iter().map(|approver| approver.cardano_key_hash).collect(),
            mandate,
            state: State::default(),
            entries: Vec::new(),
            effects: Vec::new(),
            pointers: Vec::new(),
            chain: Vault { balance: 500_000_000, day: NOW / Millis::DAY, spent: 0, last_nonce: 0 },
            anchor_status: Status::Active,
            verified: true,
            attested: false,
            replay: Replay::default(),
        };
        desk.run(&Command::Anchor(Box::new(desk.anchor()))).unwrap();
        desk
    }

    pub fn anchor(&self) -> Anchor {
        Anchor {
            mandate: self.mandate.clone(),
            observed: self.observed(),
            tariff: tariff(),
            vault: vault(),
            vault_name: None,
        }
    }

    pub fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_micros() / 1000).unwrap()
    }

    pub fn wait(&self, millis: u64) {
        self.clock.advance(Duration::from_millis(millis));
    }

    /// Decides, and folds what a reader of the chain would open.
    pub fn run(&mut self, command: &Command) -> Result<Reply, Refusal> {
        let decision = Authority::decide(&self.state, command, &mut self.clock.env())?;
        for event in &decision.events {
            let prev = self.state.head();
            let entry = Authority::seal(event, prev).unwrap();
            let opened = Authority::open(&entry, prev).unwrap();
            let at = Head { seq: entry.seq, hash: entry.hash };
            Authority::evolve(&mut self.state, &opened, at);
            self.replay.read(&entry).unwrap();
            self.entries.push(entry);
        }
        self.effects.extend(decision.effects);
        self.pointers.extend(decision.pointers);
        Ok(decision.answer)
    }

    pub fn events(&self) -> Vec<Event> {
        self.events_after(0)
    }

    pub fn events_after(&self, after: usize) -> Vec<Event> {
        let mut head = match after.checked_sub(1) {
            Some(last) => Head { seq: self.entries[last].seq, hash: self.entries[last].hash },
            None => Head::EMPTY,
        };
        self.entries[after..]
            .iter()
            .map(|entry| {
                let event = Authority::open(entry, head).unwrap();
                head = Head { seq: entry.seq, hash: entry.hash };
                event
            })
            .collect()
    }

    /// The types of the entries after the first so many.
    pub fn types(&self, after: usize) -> Vec<String> {
        self.events()[after..]
            .iter()
            .map(|event| {
                let json: Value = serde_json::from_slice(&canon::to_vec(&event.fact).unwrap()).unwrap();
                json["type"].as_str().unwrap().to_owned()
            })
            .collect()
    }

    pub fn observed(&self) -> Observed {
        Observed {
            anchor_status: self.anchor_status,
            anchor_version: self.mandate.version,
            mandate_hash: self.mandate.hash(),
            approvers: self.approvers.clone(),
            day_index: self.chain.day,
            last_nonce: Units::new(self.chain.last_nonce),
            slot: 1,
            spent_today: Units::new(self.chain.spent),
            vault_balance: Units::new(self.chain.balance),
        }
    }

    pub fn command(&self, action: &Value) -> Check {
        let text = action.to_string();
        let read = HashedAction::read(text.as_bytes());
        let hash = read.as_ref().map_or(Digest::ZERO, |action| action.hash());
        let signature = agent().sign(&mandate::signing_bytes(&hash)).unwrap();
        let verification = if self.verified && read.is_ok() {
            let found = |r: &mut Value| r["invoice_id"] = action["reference"]["invoice_id"].clone();
            let found = evidence(action, self.now(), found);
            let evidence = if self.attested { attested(found, action) } else { found };
            Verification::Reported { evidence, registry_tx: None }
        } else {
            Verification::NotTried
        };
        Check {
            run: "run-1".parse().unwrap(),
            run_kind: "agent".parse().unwrap(),
            goal: "".parse().unwrap(),
            action: Arc::from(text.as_bytes()),
            agent_signature: Some(Hex::from_bytes(*signature.as_bytes()).to_string().parse().unwrap()),
            execute: true,
            observed: self.observed(),
            verification,
            bond: None,
            engine: engine(),
        }
    }

    pub fn send(&mut self, check: Check) -> Result<Checked, Refusal> {
        match self.run(&Command::Check(Box::new(check)))? {
            Reply::Checked(checked) => Ok(*checked),
            other => panic!("{other:?}"),
        }
    }

    pub fn check(&mut self, action: &Value) -> Checked {
        self.send(self.command(action)).unwrap()
    }

    /// Asks, and takes the price.
    pub fn price(&mut self, action: &Value) -> Price {
        match self.check(action).next {
            Next::Priced { price, refused: None } => *price,
            other => panic!("{other:?}"),
        }
    }

    /// Asks again with the bond that pays the price.
    pub fn pay(&mut self, action: &Value, bond: Locked) -> Checked {
        let mut check = self.command(action);
        check.bond = Some(bond);
        self.send(check).unwrap()
    }

    /// From a proposal to a person's inbox. Gives the approval's id.
    pub fn ask(&mut self, action: &Value) -> String {
        let price = self.price(action);
        let checked = self.pay(action, lock(&price, 0));
        assert_eq!(checked.next, Next::Waiting, "{checked:?}");
        checked.approval_id.unwrap().to_string()
    }

    pub fn verification(&self, id: &str) -> Verification {
        let approval = self.state.approval(&id.parse().unwrap()).unwrap();
        let action: Value = serde_json::from_slice(&canon::to_vec(&approval.action).unwrap()).unwrap();
        let found = |r: &mut Value| r["invoice_id"] = action["reference"]["invoice_id"].clone();
        let found = evidence(&action, self.now(), found);
        let evidence = if self.attested { attested(found, &action) } else { found };
        Verification::Reported { evidence, registry_tx: None }
    }

    pub fn draft(&mut self, id: &str) -> Result<Drafted, Reply> {
        let verification = self.verification(id);
        self.draft_with(id, verification).unwrap()
    }

    pub fn draft_with(
        &mut self,
        id: &str,
        verification: Verification,
    ) -> Result<Result<Drafted, Reply>, Refusal> {
        let command = Draft { approval_id: id.parse().unwrap(), observed: self.observed(), verification };
        match self.run(&Command::Draft(Box::new(command)))? {
            Reply::Drafted(drafted) => Ok(Ok(*drafted)),
            other => Ok(Err(other)),
        }
    }

    /// The approver's signature over this draft.
    pub fn approval_of(&self, drafted: &Drafted, signer: &SoftwareSigner) -> Approve {
        let body = ApproveBody { authorization_digest: drafted.digest };
        Approve {
            approval_id: drafted.approval_id.clone(),
            digest: drafted.digest,
            signed: self.signed(drafted.approval_id.as_str(), Decided::Approve, &body, signer),
            observed: self.observed(),
            verification: self.verification(drafted.approval_id.as_str()),
            engine: engine(),
        }
    }

    pub fn signed<T: Serialize>(
        &self,
        id: &str,
        decided: Decided,
        body: &T,
        signer: &SoftwareSigner,
    ) -> Signed {
        let approval = self.state.approval(&id.parse().unwrap()).unwrap();
        let question = Question {
            ask_id: id,
            action_hash: approval.action.hash(),
            brief_hash: approval.brief.as_ref().unwrap().hash(),
        };
        sign(&question, decided, body, signer)
    }

    /// Opens, signs and approves with one report, as one sitting does.
    pub fn approve(&mut self, id: &str) -> Result<Reply, Refusal> {
        let verification = self.verification(id);
        let drafted = match self.draft_with(id, verification.clone())? {
            Ok(drafted) => drafted,
            Err(closed) => return Ok(closed),
        };
        let mut approve = self.approval_of(&drafted, &approver());
        approve.verification = verification;
        self.run(&Command::Approve(Box::new(approve)))
    }

    pub fn decline_of(&self, id: &str, reason: DeclineReason, signer: &SoftwareSigner) -> Decline {
        let body = DeclineBody { comment: None, reason };
        Decline {
            approval_id: id.parse().unwrap(),
            reason,
            comment: None,
            signed: self.signed(id, Decided::Decline, &body, signer),
            approvers: self.approvers.clone(),
        }
    }

    pub fn decline(&mut self, id: &str, reason: DeclineReason) -> Result<Reply, Refusal> {
        let decline = self.decline_of(id, reason, &approver());
        self.run(&Command::Decline(Box::new(decline)))
    }

    pub fn bond_spent(&mut self, id: &str, how: BondSpent) -> Result<Reply, Refusal> {
        self.run(&Command::BondSpent { approval_id: id.parse().unwrap(), how })
    }

    pub fn execution(&mut self, checked: &Checked, what: Execution) -> Result<Reply, Refusal> {
        let digest = checked.authorization.as_ref().unwrap().digest_hex;
        self.run(&Command::Execution { digest, what })
    }

    /// Bodies of what the rail was asked to do.
    pub fn submitted(&self) -> Vec<String> {
        let body = |effect: &Effect| match effect {
            Effect::Submit { body, .. } => Some(body.clone()),
            _ => None,
        };
        self.effects.iter().filter_map(body).collect()
    }

    /// How often a fact of this kind was recorded.
    pub fn count(&self, wanted: fn(&Fact) -> bool) -> usize {
        self.events().iter().filter(|event| wanted(&event.fact)).count()
    }
}

pub fn engine() -> EngineKey {
    EngineKey(Arc::new(engine_key()))
}

pub fn sign<T: Serialize>(
    question: &Question<'_>,
    decided: Decided,
    body: &T,
    signer: &SoftwareSigner,
) -> Signed {
    let nonce = "0123456789abcdef";
    let statement = question.statement(decided, body, nonce).unwrap().hash();
    Signed {
        evidence: Proven::Ed25519 {
            thumbprint: signer.public().thumbprint().to_string(),
            signature: signer.sign(statement.as_bytes()).unwrap().base64url(),
        },
        key: signer.public(),
        nonce: nonce.parse().unwrap(),
        statement,
    }
}

/// The output that pays a price; `n` tells outputs apart.
pub fn lock(price: &Price, n: u32) -> Locked {
    Locked {
        address: price.escrow_address.clone(),
        at: OutRef { output_index: n, tx_hash: tx(price.approval_id.as_str()) },
        datum: BondDatum::paying(price, vault().mandate_ref, KeyHash::from_bytes([0xad; 28]), None),
        value: price.amount.units(),
    }
}

pub fn tx(name: &str) -> TxHash {
    TxHash::from_bytes(*Digest::of(name.as_bytes()).as_bytes())
}
