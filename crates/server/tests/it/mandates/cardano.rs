//! The same under Cardano's own rules: the embedded ledger, the real scripts, real wallets. Each submission four ways, and blocks
//! that are taken back.

use super::desk::{
    AGENT, Facts, action, evidence_of, key, key_hash, mandate_json, paid, proposal, setup_with,
    signed_approval, statement_of, told,
};
use crate::support::{Ahead, Server, Told, folder};
use chain::faulty::{Call, Fault};
use chain::wallet::sign_tx;
use chain::{Anchor, Asset, Built, Faulty, LedgerChain, Treasury, Value, Wallet};
use env::Source;
use keys::SoftwareSigner;
use mandate::authorization::AuthorizationDigest;
use mandate::issue::ChainName;
use mandate::price::{BondStatus, OutRef, Price};
use mandate::state::AuthorizationStatus;
use mandate::{Authority, Mandate, State, Vault};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::Journal;
use tempfile::TempDir;
use testkit::FaultyJournal;

pub struct Coast {
    pub server: Server,
    pub ledger: Arc<LedgerChain>,
    pub faulty: Arc<Faulty<Arc<LedgerChain>>>,
    pub treasury: Arc<Treasury>,
    pub agent: Wallet,
    pub vault: Vault,
    /// The server's store.
    pub journal: Arc<FaultyJournal>,
    folder: TempDir,
}

/// A server over a ledger.
struct Afloat {
    server: Server,
    ledger: Arc<LedgerChain>,
    faulty: Arc<Faulty<Arc<LedgerChain>>>,
    treasury: Arc<Treasury>,
    journal: Arc<FaultyJournal>,
}

type Parts = (Arc<LedgerChain>, Arc<Faulty<Arc<LedgerChain>>>, Arc<Treasury>);

const NETWORK: ChainName = ChainName::Preprod;
/// How long the chain is waited for.
const PATIENCE: Duration = Duration::from_millis(400);
const FEE_WALLET: u8 = 3;
const AGENT_WALLET: u8 = 10;
const DEPOSITOR: u8 = 7;

impl Coast {
    /// A mandate anchored by its principal, a vault with 500 USDM.
    pub async fn start() -> Self {
        Self::made(|_| {}, |_| {}).await
    }

    /// Set up otherwise.
    pub async fn with(edit: impl FnOnce(&mut server::mandates::Setup)) -> Self {
        Self::made(edit, |_| {}).await
    }

    /// With another mandate.
    pub async fn of(mandate: impl FnOnce(&mut Json)) -> Self {
        Self::made(|_| {}, mandate).await
    }

    async fn made(edit: impl FnOnce(&mut server::mandates::Setup), mandate: impl FnOnce(&mut Json)) -> Self {
        let folder = folder();
        let clock = Arc::new(Ahead::default());
        let Afloat { server, ledger, faulty, treasury, journal } =
            Self::serve(folder.path(), &clock, None, edit).await;
        let source: Arc<dyn Source> = clock;
        let agent =
            Wallet::new(ledger.clone(), NETWORK, Arc::new(key(AGENT_WALLET)), source.clone()).unwrap();
        for _ in 0..12 {
            ledger.fund(treasury.wallet().address(), Value::of(200_000_000)).unwrap();
        }
        ledger.fund(agent.address(), Value::of(300_000_000)).unwrap();
        let mut document = mandate_json();
        mandate(&mut document);
        let document = document.to_string();
        let mandate = Mandate::read(document.as_bytes()).unwrap();
        let asset: Asset = ("ee".repeat(28).parse().unwrap(), "745553444d".parse().unwrap());
        let anchoring = treasury.anchor(&Anchor::of(&mandate, asset.clone()).unwrap()).await.unwrap();
        signed_by(&treasury, &anchoring.built, &key(6)).await;
        let opening = treasury.open_vault(anchoring.mandate_ref).await.unwrap();
        signed_by(&treasury, &opening.built, &key(6)).await;
        let depositor = Wallet::new(ledger.clone(), NETWORK, Arc::new(key(DEPOSITOR)), source).unwrap();
        let money = Value::of(5_000_000).with(asset, 500_000_000);
        ledger.fund(depositor.address(), money).unwrap();
        let deposit = treasury.deposit(&opening.vault, depositor.address(), 500_000_000).await.unwrap();
        signed_by(&treasury, &deposit, &key(DEPOSITOR)).await;
        server.app.anchor_mandate(document.as_bytes(), opening.vault.clone(), None).await.unwrap();
        Self { server, ledger, faulty, treasury, agent, vault: opening.vault, journal, folder }
    }

    /// Over this ledger, or a new one.
    async fn serve(
        folder: &Path,
        clock: &Arc<Ahead>,
        ledger: Option<Arc<LedgerChain>>,
        edit: impl FnOnce(&mut server::mandates::Setup),
    ) -> Afloat {
        let made: OnceLock<Parts> = OnceLock::new();
        let behind: OnceLock<Arc<FaultyJournal>> = OnceLock::new();
        let notifier = |_: &fetch::Client| -> Arc<dyn server::Tell> { Arc::new(Told::default()) };
        let setup = |source: &Arc<dyn Source>| {
            let fresh = || Arc::new(LedgerChain::open(None, Arc::clone(source), NETWORK).unwrap());
            let ledger = ledger.unwrap_or_else(fresh);
            let dead = behind.get().unwrap().dead();
            let faulty = Arc::new(Faulty::of(Arc::clone(&ledger), dead));
            let wallet = Arc::new(key(FEE_WALLET));
            let treasury =
                Treasury::with_patience(faulty.clone(), NETWORK, wallet, Arc::clone(source), PATIENCE);
            let treasury = Arc::new(treasury.unwrap());
            let mut tariff = super::desk::tariff();
            tariff.escrow_address = treasury.escrow().clone();
            let facts = Arc::new(Facts::new(Arc::clone(source)));
            let mut setup = setup_with(treasury.clone(), facts, tariff);
            edit(&mut setup);
            let _ = made.set((ledger, faulty, treasury));
            Some(setup)
        };
        let store = |store: Arc<dyn Journal>| -> Arc<dyn Journal> {
            behind.get_or_init(|| Arc::new(FaultyJournal::new(store, 1))).clone()
        };
        let server = Server::standing(folder, |_| {}, notifier, setup, Arc::clone(clock), store).await;
        let (ledger, faulty, treasury) = made.into_inner().unwrap();
        Afloat { server, ledger, faulty, treasury, journal: behind.into_inner().unwrap() }
    }

    /// If the server is dead, another is started on the same store and chain, once the dead one's leases are over.
    pub async fn revive(&mut self) {
        if !self.journal.dead().load(Ordering::SeqCst) {
            return;
        }
        let clock = Arc::clone(&self.server.clock);
        let ledger = Some(Arc::clone(&self.ledger));
        clock.later(61);
        let Afloat { server, faulty, treasury, journal, .. } =
            Self::serve(self.folder.path(), &clock, ledger, |_| {}).await;
        (self.faulty, self.treasury, self.journal) = (faulty, treasury, journal);
        std::mem::replace(&mut self.server, server).end().await;
    }

    pub async fn post(&self, path: &str, body: &Json) -> (u16, Json) {
        told(self.server.http.post(self.server.url(path)).json(body).send().await.unwrap()).await
    }

    pub async fn check(&self, action: &Json, payment: Option<&str>) -> (u16, Json) {
        let mut request = self.server.http.post(self.server.url("/v1/authority/check")).bearer_auth(AGENT);
        if let Some(payment) = payment {
            request = request.header("payment-signature", payment);
        }
        told(request.json(&proposal(action, true)).send().await.unwrap()).await
    }

    async fn allowed(&self, name: &str) -> AuthorizationDigest {
        let (status, body) = self.check(&action(name, 842), None).await;
        assert_eq!(status, 200, "{body}");
        body["authorization"]["digest_hex"].as_str().unwrap().parse().unwrap()
    }

    /// Priced, locked by the agent's wallet, paid. Gives the approval's id.
    pub async fn ask(&self, action: &Json) -> String {
        let (status, required) = self.check(action, None).await;
        assert_eq!(status, 402, "{required}");
        let price: Price = canon::from_slice(required["accepts"][0]["extra"].to_string().as_bytes()).unwrap();
        let lock = self.agent.lock(&price, self.vault.mandate_ref).await.unwrap();
        self.treasury.submit(&lock.tx).await.unwrap();
        let at = OutRef { output_index: 0, tx_hash: lock.tx_hash };
        let (status, body) = self.check(action, Some(&paid(&required, &at))).await;
        assert_eq!((status, &body["bond"]["status"]), (200, &json!("locked")), "{body}");
        body["approval_id"].as_str().unwrap().to_owned()
    }

    pub async fn approve(&self, id: &str) -> Json {
        self.approve_as(id, 5).await
    }

    /// The approver with the key of this seed reads the draft and signs it.
    async fn approve_as(&self, id: &str, seed: u8) -> Json {
        let path = format!("/v1/approvals/{id}/approve");
        let desk = super::desk::Signs { server: &self.server };
        let (status, draft) =
            told(desk.signed(&key(seed), reqwest::Method::POST, &path, Some(&json!({}))).await).await;
        assert_eq!(status, 200, "{draft}");
        let (status, approved) = self.post(&path, &signed_approval(&draft, &key(seed))).await;
        assert_eq!(status, 200, "{approved}");
        approved
    }

    pub async fn execute(&self, id: &str, approved: &Json) {
        let (status, sent) = self.execute_as(id, approved, 5).await;
        assert_eq!((status, &sent["tx_hash"]), (200, &approved["tx_hash"]), "{sent}");
    }

    async fn execute_as(&self, id: &str, approved: &Json, seed: u8) -> (u16, Json) {
        let witness = witness(approved["unsigned_tx_cbor"].as_str().unwrap(), &key(seed));
        let body = json!({ "approval_id": id, "authorization_digest": approved["authorization"]["digest_hex"],
            "cfo_witness_cbor": witness });
        self.post("/v1/executions", &body).await
    }

    /// Declines as the approver with the key of this seed. Gives what is to be signed for the bond.
    async fn decline_as(&self, id: &str, reason: &str, seed: u8) -> Json {
        let desk = super::desk::Signs { server: &self.server };
        let path = format!("/v1/approvals/{id}/statement");
        let asked = json!({ "reason": reason });
        let shown = told(desk.signed(&key(seed), reqwest::Method::POST, &path, Some(&asked)).await).await.1;
        let body = json!({ "reason": reason, "signed": evidence_of(&statement_of(&shown), &key(seed)) });
        let (status, declined) = self.post(&format!("/v1/approvals/{id}/decline"), &body).await;
        assert_eq!(status, 200, "{declined}");
        declined["bond_tx"].clone()
    }

    async fn spend_bond_as(&self, id: &str, bond: &Json, seed: u8) -> (u16, Json) {
        let witness = witness(bond["unsigned_tx_cbor"].as_str().unwrap(), &key(seed));
        let body = json!({ "tx_hash": bond["tx_hash"], "cfo_witness_cbor": witness });
        self.post(&format!("/v1/approvals/{id}/bond-submit"), &body).await
    }

    pub async fn state(&self) -> Arc<State> {
        self.look().await.unwrap()
    }

    /// The mandate's state; none where the server is dead.
    pub async fn look(&self) -> Option<Arc<State>> {
        let stream = ledger::StreamId::new("mandate", "M-001").unwrap();
        Some(self.server.app.runtime().state::<Authority>(&stream).await.ok()?.0)
    }

    /// Moves the clock on until it holds.
    pub async fn until(&self, what: &str, seconds: u64, holds: impl Fn(&State) -> bool) {
        let wait = async {
            while !holds(self.state().await.as_ref()) {
                self.server.later(seconds);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(60), wait).await.is_ok(), "never: {what}");
    }

    /// Whoever has the key of this seed, reading pages.
    pub async fn reader(&self, seed: u8) -> server::mandates::desk::Reader {
        let app = &self.server.app;
        let invitation = app.invitation();
        let signature = super::pages::signature(&invitation.message, &key(seed));
        let cookie = app.prove(&invitation.ticket, &signature).await.unwrap();
        app.reader(&super::pages::browser(&cookie)).await.unwrap()
    }

    pub async fn balance(&self) -> u64 {
        self.treasury.observe(&self.vault).await.unwrap().vault_balance.get()
    }

    pub async fn received(&self) -> u64 {
        use chain::Chain;
        let asset = (self.vault.asset_policy, self.vault.asset_name.clone());
        let utxos = self.ledger.utxos(super::desk::RECIPIENT).await.unwrap();
        utxos.iter().map(|utxo| utxo.output.value.quantity(&asset)).sum()
    }
}

/// Adds a wallet's signature and submits.
pub async fn signed_by(treasury: &Treasury, built: &Built, signer: &SoftwareSigner) {
    let set = sign_tx(&built.tx, signer).unwrap();
    let tx = treasury.witness(&built.tx, &set, key_hash(signer)).unwrap();
    treasury.submit(&tx).await.unwrap();
}

/// What a CIP-30 wallet gives back for a transaction.
pub fn witness(tx: &str, signer: &SoftwareSigner) -> String {
    hex::encode(sign_tx(&hex::decode(tx).unwrap(), signer).unwrap())
}

fn settled(digest: AuthorizationDigest) -> impl Fn(&State) -> bool {
    move |state| state.authorization(&digest).unwrap().status == AuthorizationStatus::Settled
}

#[tokio::test]
async fn what_is_allowed_is_paid_by_the_vault() {
    let coast = Coast::start().await;
    let digest = coast.allowed("A1").await;
    coast.until("settled", 0, settled(digest)).await;
    assert_eq!((coast.balance().await, coast.received().await), (491_580_000, 8_420_000));
    let tx = coast.state().await.authorization(&digest).unwrap().tx_hash.unwrap();
    assert!(coast.treasury.confirmed(tx).await.unwrap().is_some());
}

#[tokio::test]
async fn w7_what_a_person_signs_is_paid_and_the_bond_goes_back_with_it() {
    let coast = Coast::start().await;
    let before = coast.agent.address().clone();
    let id = coast.ask(&action("A1", 1800)).await;
    let approved = coast.approve(&id).await;
    // The agent's, the principal's and the engine's signatures are no approver's.
    for seed in [1, 2, 6, AGENT_WALLET] {
        let witness = witness(approved["unsigned_tx_cbor"].as_str().unwrap(), &key(seed));
        let body = json!({ "approval_id": id, "authorization_digest": approved["authorization"]["digest_hex"],
            "cfo_witness_cbor": witness });
        let (status, refused) = coast.post("/v1/executions", &body).await;
        assert_eq!((status, &refused["code"]), (401, &json!("bad_witness")), "{seed}");
    }
    coast.execute(&id, &approved).await;
    coast.until("the bond is back", 0, |state| state.open().count() == 0).await;
    assert_eq!((coast.balance().await, coast.received().await), (482_000_000, 18_000_000));
    let state = coast.state().await;
    let bond = state.approval(&id.parse().unwrap()).unwrap().bond.clone().unwrap();
    assert_eq!(bond.status, BondStatus::Refunded);
    assert_eq!(bond.outcome_tx.unwrap().to_string(), approved["tx_hash"].as_str().unwrap());
    use chain::Chain;
    let back = coast.ledger.utxos(before.as_str()).await.unwrap();
    assert!(
        back.iter().any(
            |utxo| utxo.at.tx_hash == bond.outcome_tx.unwrap() && utxo.output.value.lovelace == 5_000_000
        )
    );
    // Asked again it is refused, for it is paid: whoever reads the whole log comes to the same receipt.
    let (status, denied) = coast.check(&action("A1", 1800), None).await;
    assert_eq!((status, &denied["evaluation"]["reason"]), (200, &json!("INVOICE_NOT_OPEN")), "{denied}");
    let path = format!("/v1/receipts/{}/proof", denied["receipt_id"].as_str().unwrap());
    let sent = coast.server.http.get(coast.server.url(&path)).bearer_auth(AGENT).send().await.unwrap();
    let (status, proof) = told(sent).await;
    assert_eq!((status, &proof["receipt"]["authorization"]), (200, &Json::Null), "{proof}");
    let proof: mandate::Proof = canon::from_slice(proof.to_string().as_bytes()).unwrap();
    let replay = proof.check().unwrap();
    assert_eq!(proof.check_claim(&replay), Ok(()));
}

#[tokio::test]
async fn a_frivolous_question_costs_its_bond() {
    let coast = Coast::start().await;
    let id = coast.ask(&action("A1", 1800)).await;
    let bond = coast.decline_as(&id, "frivolous", 5).await;
    let (status, spent) = coast.spend_bond_as(&id, &bond, 5).await;
    assert_eq!((status, &spent["bond"]["status"]), (200, &json!("captured")), "{spent}");
    use chain::Chain;
    let sink = coast.ledger.utxos(coast.treasury.sink().as_str()).await.unwrap();
    assert_eq!(sink.iter().map(|utxo| utxo.output.value.lovelace).sum::<u64>(), 5_000_000);
    assert_eq!(coast.balance().await, 500_000_000);
}

/// Two of three (D38): each approver's own key, over the decision and over the transaction.
#[tokio::test]
async fn a_quorum_signs_what_is_paid_and_what_is_captured() {
    let approvers = [(5, "CFO"), (11, "CEO"), (12, "COO")];
    let coast = Coast::of(|mandate| {
        mandate["schema"] = json!("mandate/v0.2");
        mandate["quorum"] = json!({ "required": 2 });
        mandate["approvers"] = approvers
            .map(|(seed, role)| json!({ "cardano_key_hash": key_hash(&key(seed)).to_string(), "role": role }))
            .into();
    })
    .await;
    let id = coast.ask(&action("A1", 1800)).await;
    let price = coast.state().await.approval(&id.parse().unwrap()).unwrap().price.clone();
    assert_eq!(price.signatories().keys, approvers.map(|(seed, _)| key_hash(&key(seed))));
    let first = coast.approve_as(&id, 5).await;
    assert_eq!((&first["signed"], &first["authorization"]), (&json!(1), &Json::Null), "{first}");
    let approved = coast.approve_as(&id, 12).await;
    assert_eq!((&approved["signed"], &approved["required"]), (&json!(2), &json!(2)));
    // The one who did not approve is no signer of this release.
    for seed in [11, 6, AGENT_WALLET] {
        let (status, refused) = coast.execute_as(&id, &approved, seed).await;
        assert_eq!((status, &refused["code"]), (401, &json!("bad_witness")), "{seed}");
    }
    for _ in 0..2 {
        let (status, sent) = coast.execute_as(&id, &approved, 12).await;
        assert_eq!((status, &sent["signed"], &sent["required"]), (200, &json!(1), &json!(2)), "{sent}");
    }
    assert_eq!(coast.received().await, 0);
    coast.execute(&id, &approved).await;
    coast.until("the bond is back", 0, |state| state.open().count() == 0).await;
    assert_eq!((coast.balance().await, coast.received().await), (482_000_000, 18_000_000));

    let id = coast.ask(&action("A2", 1900)).await;
    let bond = coast.decline_as(&id, "frivolous", 11).await;
    let (status, spent) = coast.spend_bond_as(&id, &bond, 11).await;
    assert_eq!(
        (status, &spent["bond"]["status"], &spent["signed"]),
        (200, &json!("locked"), &json!(1)),
        "{spent}"
    );
    assert_eq!(coast.spend_bond_as(&id, &bond, 12).await.0, 401);
    let (status, spent) = coast.spend_bond_as(&id, &bond, 5).await;
    assert_eq!((status, &spent["bond"]["status"]), (200, &json!("captured")), "{spent}");
}

#[tokio::test]
async fn a_bond_that_nobody_answered_goes_back_by_time() {
    let coast = Coast::start().await;
    coast.ask(&action("A1", 1800)).await;
    coast.server.later(3_700);
    coast.until("refunded", 61, |state| state.open().count() == 0).await;
    use chain::Chain;
    assert!(coast.ledger.utxos(coast.treasury.escrow().as_str()).await.unwrap().is_empty());
}

#[tokio::test]
async fn w17_what_the_fee_wallet_pays_for_is_told() {
    let coast = Coast::start().await;
    let digest = coast.allowed("A1").await;
    coast.until("settled", 0, settled(digest)).await;
    let released = coast.state().await.authorization(&digest).unwrap().tx_hash.unwrap();
    let id = coast.ask(&action("A2", 1800)).await;
    coast.server.later(3_700);
    coast.until("refunded", 61, |state| state.open().count() == 0).await;
    let refunded =
        coast.state().await.approval(&id.parse().unwrap()).unwrap().bond.clone().unwrap().outcome_tx.unwrap();
    use chain::Chain;
    let mut lovelace = 0;
    for tx in [released, refunded] {
        let confirmed = coast.ledger.transaction(tx).await.unwrap().unwrap();
        lovelace += chain::transaction::Transaction::read(&confirmed.tx).unwrap().fee().unwrap();
    }
    assert!(lovelace > 400_000, "{lovelace}");
    for _ in 0..2 {
        let metrics = coast.server.http.get(coast.server.url("/v1/metrics?mandate_id=M-001"));
        let (_, metrics) = told(metrics.send().await.unwrap()).await;
        assert_eq!(metrics["fees"], json!({ "releases": 1, "bond_spends": 1, "lovelace": lovelace }));
    }
}

#[tokio::test]
async fn each_submission_four_ways_pays_once() {
    for fault in
        [Fault::FailsClean, Fault::FailsAfterLanding, Fault::NeverAnswers, Fault::LandsAndNeverAnswers]
    {
        let coast = Coast::start().await;
        coast.faulty.next(Call::Submit, fault);
        let digest = coast.allowed("A1").await;
        coast.until("settled", 1, settled(digest)).await;
        assert_eq!((coast.balance().await, coast.received().await), (491_580_000, 8_420_000), "{fault:?}");
        // And what a person signed.
        let id = coast.ask(&action("A2", 1800)).await;
        let approved = coast.approve(&id).await;
        coast.faulty.next(Call::Submit, fault);
        coast.execute(&id, &approved).await;
        coast.until("the bond is back", 1, |state| state.open().count() == 0).await;
        assert_eq!((coast.balance().await, coast.received().await), (473_580_000, 26_420_000), "{fault:?}");
    }
}

#[tokio::test]
async fn five_blocks_taken_back_pay_nothing_twice() {
    let coast = Coast::start().await;
    for n in 0..5 {
        let digest = coast.allowed(&format!("A{n}")).await;
        coast.until("settled", 0, settled(digest)).await;
    }
    let seen = coast.balance().await;
    assert_eq!(seen, 500_000_000 - 5 * 8_420_000);
    coast.check(&action("seen", 100), None).await;
    coast.until("quiet", 0, |state| state.unsettled().count() == 0).await;
    coast.ledger.roll_back(5).unwrap();
    coast.server.app.sweep_mandates().await.unwrap();
    coast.until("quiet again", 1, |state| state.unsettled().count() == 0).await;
    let (left, received) = (coast.balance().await, coast.received().await);
    assert_eq!(left + received, 500_000_000);
    assert!(received <= 5 * 8_420_000 + 1_000_000, "{received}");
}
