//! A chain in memory: one vault, its anchor, an escrow. It keeps R3, R4, R8, R11, R12 and R15, and fails as told.

use async_trait::async_trait;
use canon::Digest;
use env::Source;
use keys::ed25519::PublicKey;
use mandate::authorization::{AuthorizationDigest, Record};
use mandate::command::Observed;
use mandate::price::{Locked, OutRef};
use mandate::text::{KeyHash, TxHash, Units};
use mandate::{Hashed, Mandate, Millis, Status, Vault};
use serde::{Deserialize, Serialize};
use server::mandates::{Built, ChainError, Found, Rail, Release};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// What becomes of one submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    FailsClean,
    /// It lands, and the answer is lost.
    LostLanded,
    /// It does not land, and the answer is lost.
    LostClean,
}

pub struct Till {
    source: Arc<dyn Source>,
    pub books: Mutex<Books>,
}

/// Balance, day, spent that day, last nonce, bonds.
type Before = (u64, u64, u64, u64, HashMap<OutRef, Locked>);

#[derive(Clone)]
pub struct Books {
    pub mandate: Hashed<Mandate>,
    pub status: Status,
    pub version: u32,
    pub approvers: Vec<KeyHash>,
    pub balance: u64,
    pub day: u64,
    pub spent: u64,
    pub last_nonce: u64,
    pub bonds: HashMap<OutRef, Locked>,
    pub blocks: Vec<Block>,
    /// The vault as it was before each block.
    pub before: Vec<Before>,
    pub fates: VecDeque<Fate>,
    pub down: bool,
    pub built: u64,
    pub submissions: usize,
}

#[derive(Debug, Clone)]
pub struct Block {
    pub tx_hash: TxHash,
    pub pays: Option<AuthorizationDigest>,
}

/// A transaction of this chain: what it does, in JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Tx {
    body: Body,
    witnessed: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Body {
    Release { number: u64, nonce_seen: u64, record: Box<Record>, bond: Option<OutRef> },
    Spend { number: u64, bond: OutRef, approver: Option<KeyHash>, captures: bool },
    Lock { locked: Box<Locked> },
}

impl Body {
    fn hash(&self) -> TxHash {
        TxHash::from_bytes(*Digest::of(&canon::to_vec(self).unwrap()).as_bytes())
    }
}

impl Till {
    pub fn new(source: Arc<dyn Source>, mandate: Hashed<Mandate>) -> Self {
        let approvers = mandate.approvers.iter().map(|approver| approver.cardano_key_hash).collect();
        let version = mandate.version;
        Self {
            source,
            books: Mutex::new(Books {
                mandate,
                status: Status::Active,
                version,
                approvers,
                balance: 500_000_000,
                day: 0,
                spent: 0,
                last_nonce: 0,
                bonds: HashMap::new(),
                blocks: Vec::new(),
                before: Vec::new(),
                fates: VecDeque::new(),
                down: false,
                built: 0,
                submissions: 0,
            }),
        }
    }

    pub fn edit<T>(&self, change: impl FnOnce(&mut Books) -> T) -> T {
        change(&mut self.books.lock().unwrap())
    }

    /// What becomes of the next submissions.
    pub fn script(&self, fates: impl IntoIterator<Item = Fate>) {
        self.edit(|books| books.fates.extend(fates));
    }

    /// Drops the newest blocks.
    pub fn roll_back(&self, blocks: usize) {
        self.edit(|books| {
            for _ in 0..blocks {
                let Some(before) = books.before.pop() else { return };
                books.blocks.pop();
                (books.balance, books.day, books.spent, books.last_nonce) =
                    (before.0, before.1, before.2, before.3);
                books.bonds = before.4;
            }
        });
    }

    /// How often each authorization was paid.
    pub fn payments(&self) -> HashMap<AuthorizationDigest, usize> {
        let mut paid = HashMap::new();
        for block in self.edit(|books| books.blocks.clone()) {
            if let Some(digest) = block.pays {
                *paid.entry(digest).or_insert(0) += 1;
            }
        }
        paid
    }

    /// A signed transaction that locks a bond, as an agent's wallet gives it.
    pub fn lock_tx(locked: &Locked) -> Vec<u8> {
        let body = Body::Lock { locked: Box::new(locked.clone()) };
        canon::to_vec(&Tx { body, witnessed: true }).unwrap()
    }

    /// The hash of that transaction.
    pub fn lock_hash(locked: &Locked) -> TxHash {
        Body::Lock { locked: Box::new(locked.clone()) }.hash()
    }

    /// The witness of a key over a transaction: its public key and its signature over the hash.
    pub fn witness_of(tx_hash: &str, signer: &dyn keys::Signer) -> String {
        let keys::PublicKey::Ed25519(public) = signer.public() else { panic!("an ed25519 key") };
        let signature = signer.sign(tx_hash.as_bytes()).unwrap();
        hex::encode([public.as_bytes().as_slice(), signature.as_bytes().as_slice()].concat())
    }

    fn up(&self) -> Result<(), ChainError> {
        if self.books.lock().unwrap().down { Err(ChainError::Unavailable("down".into())) } else { Ok(()) }
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.source.now()).unwrap()
    }

    fn land(&self, tx: &Tx) -> Result<TxHash, ChainError> {
        let refused = |rule: &str| {
            Err(ChainError::Rejected { invariant: Some(rule.to_owned()), error: format!("{rule} ? False") })
        };
        let now = self.now();
        let tx_hash = tx.body.hash();
        let mut books = self.books.lock().unwrap();
        if books.blocks.iter().any(|block| block.tx_hash == tx_hash) {
            return Ok(tx_hash);
        }
        let mut next = books.clone();
        let mut pays = None;
        match &tx.body {
            Body::Lock { locked } => {
                let at = OutRef { output_index: locked.at.output_index, tx_hash };
                next.bonds.insert(at, Locked { at, ..(**locked).clone() });
            }
            Body::Spend { bond, approver, .. } => {
                let Some(there) = next.bonds.remove(bond) else {
                    return Err(ChainError::Contention("the bond was spent".into()));
                };
                if approver.is_some() && !tx.witnessed {
                    return refused("b4");
                }
                if approver.is_none() && now <= there.datum.locked_until_ms {
                    return refused("b2");
                }
            }
            Body::Release { nonce_seen, record, bond, .. } => {
                let fields = &record.fields;
                if *nonce_seen != books.last_nonce {
                    return Err(ChainError::Contention("the vault was spent".into()));
                }
                if books.status != Status::Active {
                    return refused("R3");
                }
                if fields.mandate_version != books.version {
                    return refused("R4");
                }
                if now > fields.valid_until {
                    return refused("R7");
                }
                if fields.nonce.get() <= books.last_nonce {
                    return refused("R8");
                }
                if fields.requires_principal && !tx.witnessed {
                    return refused("R11");
                }
                let spent = if books.day == now.day() { books.spent } else { 0 };
                let limits = books.mandate.limits();
                if spent + fields.amount.get() > limits.daily_cap.get() {
                    return refused("R12");
                }
                if books.balance < fields.amount.get() + limits.treasury_minimum.get() {
                    return refused("R15");
                }
                next.balance -= fields.amount.get();
                next.day = now.day();
                next.spent = spent + fields.amount.get();
                next.last_nonce = fields.nonce.get();
                if let Some(bond) = bond
                    && next.bonds.remove(bond).is_none()
                {
                    return Err(ChainError::Contention("the bond was spent".into()));
                }
                pays = Some(record.digest_hex);
            }
        }
        next.before.push((books.balance, books.day, books.spent, books.last_nonce, books.bonds.clone()));
        next.blocks.push(Block { tx_hash, pays });
        *books = next;
        Ok(tx_hash)
    }

    fn number(&self) -> u64 {
        self.edit(|books| {
            books.built += 1;
            books.built
        })
    }

    fn built(body: Body) -> Built {
        let tx_hash = body.hash();
        let bytes = canon::to_vec(&body).unwrap();
        Built { tx: canon::to_vec(&Tx { body, witnessed: false }).unwrap(), tx_hash, body: bytes }
    }
}

#[async_trait]
impl Rail for Till {
    async fn observe(&self, _: &Vault) -> Result<Observed, ChainError> {
        self.up()?;
        let books = self.books.lock().unwrap();
        Ok(Observed {
            anchor_status: books.status,
            anchor_version: books.version,
            mandate_hash: books.mandate.hash(),
            approvers: books.approvers.clone(),
            day_index: books.day,
            last_nonce: Units::new(books.last_nonce),
            slot: 1,
            spent_today: Units::new(books.spent),
            vault_balance: Units::new(books.balance),
        })
    }

    async fn bond(&self, at: OutRef) -> Result<Option<Locked>, ChainError> {
        self.up()?;
        Ok(self.books.lock().unwrap().bonds.get(&at).cloned())
    }

    fn hash_of(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        let tx: Tx = canon::from_slice(tx).map_err(|_| ChainError::Malformed("no transaction".into()))?;
        Ok(tx.body.hash())
    }

    async fn lock_by(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        self.submit(tx).await
    }

    async fn release(&self, release: &Release<'_>) -> Result<Built, ChainError> {
        self.up()?;
        let nonce_seen = self.books.lock().unwrap().last_nonce;
        let record = Box::new(release.record.clone());
        Ok(Self::built(Body::Release { number: self.number(), nonce_seen, record, bond: release.bond }))
    }

    async fn refund(&self, bond: OutRef, approver: Option<KeyHash>) -> Result<Built, ChainError> {
        self.up()?;
        Ok(Self::built(Body::Spend { number: self.number(), bond, approver, captures: false }))
    }

    async fn capture(&self, bond: OutRef, approver: KeyHash) -> Result<Built, ChainError> {
        self.up()?;
        Ok(Self::built(Body::Spend { number: self.number(), bond, approver: Some(approver), captures: true }))
    }

    fn witness(&self, tx: &[u8], witness_set: &[u8], key: KeyHash) -> Result<Vec<u8>, ChainError> {
        let bad = |text: &str| ChainError::BadWitness(text.to_owned());
        let mut tx: Tx = canon::from_slice(tx).map_err(|_| bad("no transaction"))?;
        let (public, signature) = witness_set.split_at_checked(32).ok_or_else(|| bad("too short"))?;
        let public = PublicKey::from_bytes(public).map_err(|_| bad("no key"))?;
        let signature = keys::Signature::from_slice(signature).map_err(|_| bad("no signature"))?;
        if KeyHash::of_key(&public) != key {
            return Err(bad("another key's"));
        }
        public
            .verify(tx.body.hash().to_string().as_bytes(), &signature)
            .map_err(|_| bad("not over this body"))?;
        tx.witnessed = true;
        Ok(canon::to_vec(&tx).unwrap())
    }

    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        self.up()?;
        let fate = self.edit(|books| {
            books.submissions += 1;
            books.fates.pop_front()
        });
        let tx: Tx = canon::from_slice(tx).map_err(|_| ChainError::Malformed("no transaction".into()))?;
        match fate {
            None => self.land(&tx),
            Some(Fate::FailsClean) => Err(ChainError::Unavailable("told to".into())),
            Some(Fate::LostClean) => Err(ChainError::Unknown("told to".into())),
            Some(Fate::LostLanded) => {
                self.land(&tx)?;
                Err(ChainError::Unknown("told to".into()))
            }
        }
    }

    async fn find(&self, record: &Record) -> Result<Option<Found>, ChainError> {
        self.up()?;
        let books = self.books.lock().unwrap();
        let at = books.blocks.iter().position(|block| block.pays == Some(record.digest_hex));
        Ok(at.map(|at| Found { tx_hash: books.blocks[at].tx_hash, block_height: at as u64 + 1 }))
    }

    async fn confirmed(&self, tx: TxHash) -> Result<Option<u64>, ChainError> {
        self.up()?;
        let books = self.books.lock().unwrap();
        Ok(books.blocks.iter().position(|block| block.tx_hash == tx).map(|at| at as u64 + 1))
    }
}

impl std::fmt::Debug for Till {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Till")
    }
}
