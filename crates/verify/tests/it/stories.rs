//! Logs of mandates, played by a desk under a virtual clock: everything that can be in one.

use crate::desk::{Desk, action, key_hash, sign};
use crate::fixture::{approver, attested, engine_key, evidence, mandate_json};
use crate::support::{signed, signer};
use approvals::{Decided, Evidence};
use blake2::Digest as _;
use canon::Digest;
use keys::{Algorithm, Signer, SoftwareSigner};
use ledger::export::{Header, Rule, TYPE};
use ledger::{Entry, Head};
use mandate::command::{BondSpent, Checked, Command, Decline, Execution, Next, Reply, Verification, Veto};
use mandate::log::{DeclineReason, LogHead};
use mandate::proof::{Question, Signed, VetoBody, decline_message};
use mandate::proofs::{self, Proof};
use mandate::text::TxHash;
use mandate::{Millis, cose};
use serde_json::{Value, json};

/// A played log, and the transactions that settled what it authorized.
pub struct Story {
    pub name: &'static str,
    pub desk: Desk,
    pub transactions: Vec<Vec<u8>>,
}

pub fn stories() -> Vec<Story> {
    vec![first(), second()]
}

/// `mandate/v0.1`: allowed, denied, priced, approved, declined, expired, refused, settled, lost, paused, replaced.
pub fn first() -> Story {
    let mut desk = Desk::new();
    let mut transactions = Vec::new();
    desk.verified = false;
    desk.check(&action("one", 842));
    (desk.verified, desk.attested) = (true, true);
    let one = desk.check(&action("one", 842));
    desk.attested = false;
    transactions.push(release(&mut desk, &one, 7));
    desk.check(&json!({"nope": true}));
    let mut unsigned = desk.command(&action("two", 300));
    unsigned.agent_signature = None;
    desk.send(unsigned).unwrap();
    let mut same = action("three", 842);
    same["reference"]["invoice_id"] = json!("in_one");
    desk.check(&same);
    let mut renumbered = action("four", 100);
    renumbered["reference"]["invoice_number"] = json!("INV-1");
    let found = |r: &mut Value| r["invoice_id"] = renumbered["reference"]["invoice_id"].clone();
    // The verifiers read it for the action as it is, and say under which number it is on record.
    let evidence = attested(evidence(&action("four", 100), desk.now(), found), &renumbered);
    let differs =
        Verification::NumberDiffers { on_record: "INV-1".parse().ok(), evidence: Some(Box::new(evidence)) };
    for (name, verification) in [("four", differs), ("five", Verification::Unavailable)] {
        let mut check = desk.command(&action(name, 100));
        check.verification = verification;
        desk.send(check).unwrap();
    }
    desk.check(&action("six", 6000));
    let mut strange = action("seven", 100);
    strange["counterparty"]["id"] = json!("globex");
    desk.price(&strange);
    // Approved with a key, settled, rolled back, refused, settled again.
    let eight = action("eight", 1200);
    let id = desk.ask(&eight);
    assert!(matches!(desk.approve(&id), Ok(Reply::Approved { authorization: Some(_), .. })));
    desk.bond_spent(&id, BondSpent::Refunded { tx_hash: named("refund") }).unwrap();
    let checked = desk.check(&eight);
    transactions.push(release(&mut desk, &checked, 8));
    desk.execution(&checked, Execution::Unknown).unwrap();
    let refused = Execution::Rejected {
        tx_hash: None,
        invariant: "R12".parse().ok(),
        error: "cap ? False".parse().unwrap(),
    };
    desk.execution(&checked, refused).unwrap();
    let tx_hash = hash_of(&transactions[1]);
    desk.execution(&checked, Execution::Confirmed { tx_hash, block_height: 9 }).unwrap();
    // Declined by a wallet, in the older form; declined by a key, with a word to the agent.
    let id = desk.ask(&action("nine", 1100));
    let message = decline_message(&id, DeclineReason::Frivolous).unwrap();
    decline(&mut desk, &id, DeclineReason::Frivolous, wallet(&message, Digest::of(&message)));
    let captured = BondSpent::Captured { tx_hash: named("capture"), sink_address: "sink".parse().unwrap() };
    desk.bond_spent(&id, captured).unwrap();
    desk.check(&action("nine", 1100));
    let id = desk.ask(&action("ten", 1100));
    desk.decline(&id, DeclineReason::Legitimate).unwrap();
    // The day's interruptions are spent; the next day a wallet approves.
    desk.check(&action("eleven", 1100));
    desk.wait(Millis::DAY);
    desk.run(&Command::Tick).unwrap();
    desk.chain.day += 1;
    let id = desk.ask(&action("twelve", 1100));
    let verification = desk.verification(&id);
    let drafted = desk.draft_with(&id, verification.clone()).unwrap().unwrap();
    let mut approve = desk.approval_of(&drafted, &approver());
    approve.verification = verification;
    approve.signed = wallet(approve.signed.statement.as_bytes(), approve.signed.statement);
    desk.run(&Command::Approve(Box::new(approve))).unwrap();
    // One that nobody may approve any more, and one that nobody uses.
    let id = desk.ask(&action("thirteen", 1100));
    desk.chain.balance = 100_000_000;
    assert!(matches!(desk.approve(&id), Ok(Reply::Closed { .. })));
    desk.chain.balance = 500_000_000;
    let unused = desk.check(&action("fourteen", 100));
    desk.wait(Millis::TEN_MINUTES + 120_001);
    desk.execution(&unused, Execution::NotFound).unwrap();
    desk.run(&Command::Pause { reason: "a look".parse().unwrap() }).unwrap();
    desk.run(&Command::Resume).unwrap();
    desk.run(&Command::FinishRun { run: "run-1".parse().unwrap() }).unwrap();
    replace(&mut desk);
    let mut other = desk.command(&action("fifteen", 100));
    other.run = "run-2".parse().unwrap();
    let last = desk.send(other).unwrap();
    transactions.push(release(&mut desk, &last, 10));
    Story { name: "v0.1", desk, transactions }
}

/// One that is allowed and one that a person approves, both settled; the run is closed.
pub fn small() -> Story {
    let mut desk = Desk::new();
    desk.attested = true;
    let one = desk.check(&action("one", 842));
    let mut transactions = vec![release(&mut desk, &one, 7)];
    let two = action("two", 1800);
    let id = desk.ask(&two);
    assert!(matches!(desk.approve(&id), Ok(Reply::Approved { authorization: Some(_), .. })));
    desk.bond_spent(&id, BondSpent::Refunded { tx_hash: named("refund") }).unwrap();
    let checked = desk.check(&two);
    transactions.push(release(&mut desk, &checked, 8));
    desk.run(&Command::FinishRun { run: "run-1".parse().unwrap() }).unwrap();
    Story { name: "small", desk, transactions }
}

/// `mandate/v0.2`: windows, a delay that passes, a veto, two of three approvers; and a revocation.
pub fn second() -> Story {
    let ceo = SoftwareSigner::from_seed(Algorithm::Ed25519, &[6; 32]).unwrap();
    let mut desk = Desk::with(|mandate| {
        mandate["schema"] = json!("mandate/v0.2");
        mandate["quorum"] = json!({"required": 2});
        mandate["approvers"].as_array_mut().unwrap().extend([
            json!({"role": "CEO", "cardano_key_hash": key_hash(&ceo).to_string()}),
            json!({"role": "Board", "cardano_key_hash": "77".repeat(28)}),
        ]);
        mandate["constraints"].as_array_mut().unwrap().extend([
            json!({"id": "hour", "kind": "rolling_spend_lte", "value": "30000000", "window_seconds": 3600,
                "on_violation": "DENY"}),
            json!({"id": "vendor", "kind": "counterparty_spend_lte", "value": "25000000", "window_seconds": 7200,
                "counterparty": "aws", "on_violation": "DENY"}),
            json!({"id": "wait", "kind": "amount_lte", "value": "5000000", "on_violation": "DELAY",
                "delay_seconds": 900, "approver": "CFO"}),
        ]);
    });
    let one = action("one", 800);
    assert_eq!(desk.check(&one).next, Next::Delayed);
    desk.wait(900_000);
    let checked = desk.check(&one);
    assert_eq!(checked.next, Next::Authorized);
    let transactions = vec![release(&mut desk, &checked, 3)];
    let hash = desk.check(&action("two", 800)).evaluation.action_hash.unwrap();
    let ask_id = format!("veto:{hash}");
    let question = Question { ask_id: &ask_id, action_hash: hash, brief_hash: hash };
    let signed = sign(&question, Decided::Decline, &VetoBody {}, &approver());
    let approvers = desk.approvers.clone();
    desk.run(&Command::Veto(Box::new(Veto { action_hash: hash, signed, approvers }))).unwrap();
    desk.check(&action("two", 800));
    let three = action("three", 1100);
    let id = desk.ask(&three);
    let verification = desk.verification(&id);
    let drafted = desk.draft_with(&id, verification.clone()).unwrap().unwrap();
    for signer in [&ceo, &approver()] {
        let mut approve = desk.approval_of(&drafted, signer);
        approve.verification = verification.clone();
        desk.run(&Command::Approve(Box::new(approve))).unwrap();
    }
    desk.check(&action("four", 400));
    desk.check(&action("five", 1900));
    desk.run(&Command::Revoke { version: 4 }).unwrap();
    desk.check(&action("six", 100));
    Story { name: "v0.2", desk, transactions }
}

impl Story {
    pub fn header(&self) -> Header {
        header(&self.desk.entries)
    }

    /// The export as JSON Lines.
    pub fn lines(&self) -> Vec<u8> {
        crate::support::file(&self.header(), &self.desk.entries)
    }

    /// Every kind of proof of this log.
    pub fn proofs(&self) -> Vec<(String, Value)> {
        let entries = &self.desk.entries;
        let mut files = vec![("log".to_owned(), Proof::of(self.header(), entries).unwrap())];
        for run in ["run-1", "mandate"] {
            let proof = Proof::of_run(self.header(), entries, &run.parse().unwrap(), Some(&engine_key()));
            files.push((format!("run {run}"), proof.unwrap()));
        }
        for name in ["one", "two", "three", "eight", "nine", "ten", "twelve", "fifteen"] {
            if let Some(first) = self.proposal_of(name) {
                let claim = proofs::receipt(entries, &first).unwrap();
                let settled = claim.receipt.settlement.as_ref().map(|settled| settled.tx_hash);
                let transaction = self.transactions.iter().find(|tx| Some(hash_of(tx)) == settled);
                let proof = Proof::of_receipt(self.header(), entries, claim, transaction.map(Vec::as_slice));
                files.push((format!("receipt {name}"), proof.unwrap()));
            }
        }
        let brief = self.desk.events().into_iter().find_map(|event| match event.fact {
            mandate::log::Fact::ApprovalRequested(requested) => Some(requested.brief),
            _ => None,
        });
        files.push(("brief".to_owned(), Proof::of_brief(self.header(), entries, brief.unwrap()).unwrap()));
        files
            .into_iter()
            .map(|(what, proof)| {
                let value = serde_json::from_slice(&proof.to_vec().unwrap()).unwrap();
                (format!("{} {what}", self.name), value)
            })
            .collect()
    }

    /// The entry of an action's last proposal.
    fn proposal_of(&self, name: &str) -> Option<Digest> {
        let proposes = |fact: &mandate::log::Fact| matches!(fact, mandate::log::Fact::ActionProposed(_));
        let events = self.desk.events();
        let found = events.iter().zip(&self.desk.entries).rev().find(|(event, _)| {
            event.action_id.as_ref().is_some_and(|id| id.as_str() == name) && proposes(&event.fact)
        });
        found.map(|(_, entry)| entry.hash)
    }
}

/// The export's first line, signed by the server of seed 1.
pub fn header(entries: &[Entry]) -> Header {
    let last = entries.last().map_or(Head::EMPTY, |last| Head { seq: last.seq, hash: last.hash });
    let stream = "mandate/M-001".parse().unwrap();
    let (head, log) = signed(&stream, last);
    Header {
        kind: TYPE.to_owned(),
        stream,
        rule: Rule::PrevRaw,
        head,
        key: signer(1).public(),
        log: Some(log),
    }
}

/// Built, submitted and confirmed: a transaction whose note commits to the log as it stands.
fn release(desk: &mut Desk, checked: &Checked, block_height: u64) -> Vec<u8> {
    let record = checked.authorization.as_ref().unwrap();
    let head = desk.state.head();
    let log_head = LogHead { hash: head.hash, seq: head.seq };
    let mandate = format!("M-001@{}", record.fields.mandate_version);
    let transaction = transaction(
        &record.digest_hex.to_string(),
        &record.fields.action_hash.to_string(),
        &mandate,
        &log_head,
    );
    let tx_hash = hash_of(&transaction);
    let tx_body_cbor = crate::support::hex(&transaction[1..body_end(&transaction)]);
    for what in [
        Execution::Built { tx_hash, tx_body_cbor, log_head },
        Execution::Submitted { tx_hash },
        Execution::Confirmed { tx_hash, block_height },
    ] {
        desk.execution(checked, what).unwrap();
    }
    let fields = &record.fields;
    desk.chain.last_nonce = fields.nonce.get();
    desk.chain.spent += fields.amount.get();
    desk.chain.balance -= fields.amount.get();
    transaction
}

/// A body with a fee and the hash of its auxiliary data, no witnesses, and the metadata of spec 2.4.
pub fn transaction(auth: &str, action: &str, mandate: &str, head: &LogHead) -> Vec<u8> {
    let mut note = vec![0xa1, 0x19, 0x06, 0x9e, 0xa4];
    for (name, value) in [("auth", auth), ("action", action), ("mandate", mandate)] {
        text(&mut note, name);
        text(&mut note, value);
    }
    text(&mut note, "log_head");
    note.push(0xa2);
    text(&mut note, "seq");
    note.extend([0x1a, 0, 0]);
    note.extend(u16::try_from(head.seq).unwrap().to_be_bytes());
    text(&mut note, "hash");
    text(&mut note, &head.hash.to_string());
    let hash: [u8; 32] = blake2::Blake2b256::digest(&note).into();
    let body = [&[0xa2, 0x02, 0x1a, 0, 2, 0x8d, 0x15, 0x07, 0x58, 0x20], hash.as_slice()].concat();
    [&[0x84], body.as_slice(), &[0xa0, 0xf5], &note].concat()
}

fn body_end(_: &[u8]) -> usize {
    1 + 10 + 32
}

fn hash_of(transaction: &[u8]) -> TxHash {
    let hash: [u8; 32] = blake2::Blake2b256::digest(&transaction[1..body_end(transaction)]).into();
    TxHash::from_bytes(hash)
}

fn text(out: &mut Vec<u8>, text: &str) {
    match text.len() {
        short @ 0..24 => out.push(0x60 | short as u8),
        long => out.extend([0x78, long as u8]),
    }
    out.extend_from_slice(text.as_bytes());
}

fn named(name: &str) -> TxHash {
    TxHash::from_bytes(*Digest::of(name.as_bytes()).as_bytes())
}

fn decline(desk: &mut Desk, id: &str, reason: DeclineReason, signed: Signed) {
    let approvers = desk.approvers.clone();
    let decline = Decline { approval_id: id.parse().unwrap(), reason, comment: None, signed, approvers };
    desk.run(&Command::Decline(Box::new(decline))).unwrap();
}

/// The approver's wallet over a message.
fn wallet(message: &[u8], statement: Digest) -> Signed {
    let owner = approver();
    let keys::PublicKey::Ed25519(public) = owner.public() else { panic!("an ed25519 key") };
    let bytes = |bytes: &[u8]| {
        let head =
            if bytes.len() < 24 { vec![0x40 | bytes.len() as u8] } else { vec![0x58, bytes.len() as u8] };
        [head, bytes.to_vec()].concat()
    };
    let address = [&[0x60], key_hash(&owner).as_bytes().as_slice()].concat();
    let protected = [&[0xa2, 0x01, 0x27, 0x67], b"address".as_slice(), &bytes(&address)].concat();
    let signature = owner.sign(&cose::signed_bytes(&protected, message)).unwrap();
    let sign1 = [
        vec![0x84],
        bytes(&protected),
        [&[0xa1, 0x66], b"hashed".as_slice(), &[0xf4]].concat(),
        bytes(message),
        bytes(signature.as_bytes()),
    ]
    .concat();
    let key =
        [&[0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21], bytes(public.as_bytes()).as_slice()].concat();
    let hex = crate::support::hex;
    Signed {
        evidence: Evidence::Wallet { address: hex(&address), cose_sign1: hex(&sign1), cose_key: hex(&key) },
        key: owner.public(),
        nonce: "0123456789abcdef".parse().unwrap(),
        statement,
    }
}

/// A later version, with more interruptions a day.
fn replace(desk: &mut Desk) {
    let mut later = mandate_json();
    later["approvers"][0]["cardano_key_hash"] = json!(key_hash(&approver()).to_string());
    later["interrupt_budget"]["per_day"] = json!(9);
    later["version"] = json!(4);
    desk.mandate = mandate::Mandate::read(later.to_string().as_bytes()).unwrap();
    let anchor = desk.anchor();
    desk.run(&Command::Anchor(Box::new(anchor))).unwrap();
}
