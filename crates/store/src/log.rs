//! The server's transparency log: every entry of every stream is a leaf, and the signed checkpoint says so.

use crate::StoreError;
use crate::journal::{Journal, Lease, Published, Tile};
use crate::witness::{Witness, Witnesses};
use env::{Duration, Source, Timestamp};
use keys::Signer;
use ledger::log::LogProof;
use ledger::merkle::{self, leaf_hash};
use ledger::note::{Checkpoint, KeyName, Note};
use ledger::tiles::{self, Builder, Bundle, TileSet};
use ledger::{Entry, StreamId};
use std::sync::Arc;

/// A log on a journal. One process at a time feeds it, under a lease; all of them read it.
#[derive(Clone)]
pub struct Log {
    journal: Arc<dyn Journal>,
    source: Arc<dyn Source>,
    signer: Arc<dyn Signer>,
    origin: KeyName,
    of: Of,
    holder: Arc<str>,
    feeding: Arc<tokio::sync::Mutex<Feeding>>,
    pub(crate) witnesses: Arc<Witnesses>,
}

/// What the feeding process remembers between two rounds.
#[derive(Default)]
struct Feeding {
    lease: Option<Lease>,
    /// The tree as published, if this process published it.
    builder: Option<Builder>,
}

/// What a log's leaves are.
#[derive(Debug, Clone)]
enum Of {
    /// Every entry of every stream, as [`ledger::log::leaf_data`] has it.
    Server,
    /// The hashes of the entries of one stream, in their order.
    Stream(StreamId),
}

impl Of {
    /// What the store calls the log; the name of its lease too.
    fn name(&self) -> &str {
        match self {
            Self::Server => SERVER_LOG,
            Self::Stream(stream) => stream.as_str(),
        }
    }
}

/// What the store calls the log over all entries.
pub const SERVER_LOG: &str = "log";

/// How long the process that feeds the log keeps the others away; another takes over after that.
const TERM: Duration = Duration::from_secs(4);
const RENEW: Duration = Duration::from_secs(2);

/// Leaves read at a time, and put under one checkpoint at most.
const PAGE: usize = 4096;
const ROUND: u64 = 65_536;

/// The least time between two checkpoints, and how long one who lost the lease waits.
const PACE: std::time::Duration = std::time::Duration::from_millis(80);
const APART: std::time::Duration = std::time::Duration::from_millis(1000);

impl Log {
    /// `origin` names the log and the key of `signer`, which must be Ed25519.
    pub fn new(
        journal: Arc<dyn Journal>,
        source: Arc<dyn Source>,
        signer: Arc<dyn Signer>,
        origin: KeyName,
    ) -> Self {
        let holder = source.env().id(16).into();
        let (feeding, witnesses) = (Arc::default(), Arc::default());
        Self { journal, source, signer, origin, of: Of::Server, holder, feeding, witnesses }
    }

    /// The log over one stream instead of the server's: leaf `n` is the hash of entry `n + 1`. One whose last entries are not
    /// there any more is never signed again.
    pub fn of_stream(mut self, stream: StreamId) -> Self {
        self.of = Of::Stream(stream);
        self
    }

    /// The log, asking these to cosign its checkpoints once they are published.
    pub fn with_witnesses(mut self, witnesses: Vec<Witness>) -> Self {
        self.witnesses = Arc::new(Witnesses::new(witnesses));
        self
    }

    pub const fn origin(&self) -> &KeyName {
        &self.origin
    }

    /// The key that signs the log's checkpoints.
    pub fn public(&self) -> keys::PublicKey {
        self.signer.public()
    }

    /// Feeds the log until `shutdown` resolves: a checkpoint follows an entry within a fraction of a second. Witnesses are
    /// asked beside that and hold nothing up.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        tokio::select! {
            () = self.feed(shutdown) => {}
            () = self.ask_witnesses() => {}
        }
        self.release().await;
    }

    /// Publishes what was appended since [`Log::run`] ended, unless another process feeds the log now.
    pub async fn finish(&self) -> Result<(), StoreError> {
        let mut size = None;
        let result = loop {
            match self.integrate().await {
                Ok(Some(published)) if size != Some(published.size) => size = Some(published.size),
                result => break result.map(drop),
            }
        };
        self.release().await;
        result
    }

    async fn release(&self) {
        if let Some(lease) = self.feeding.lock().await.lease.take()
            && let Err(error) = self.journal.release(&lease).await
        {
            tracing::warn!(%error, "the log's lease could not be given back");
        }
    }

    async fn feed(&self, shutdown: impl Future<Output = ()> + Send) {
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let pause = match self.integrate().await {
                Ok(Some(published)) => match self.wait(published.size, &mut shutdown).await {
                    Some(pause) => pause,
                    None => break,
                },
                Ok(None) => APART,
                Err(error) => {
                    tracing::warn!(%error, "the log could not be fed");
                    APART
                }
            };
            tokio::select! {
                () = &mut shutdown => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Numbers what was appended, puts it into the tree and publishes a signed checkpoint. Gives the newest one, or
    /// `None` while another process feeds the log. An empty log has a checkpoint too.
    pub async fn integrate(&self) -> Result<Option<Published>, StoreError> {
        let mut feeding = self.feeding.lock().await;
        let result = self.round(&mut feeding).await;
        match &result {
            Ok(Some(published)) => self.witnesses.show(published),
            Ok(None) => {}
            Err(_) => *feeding = Feeding::default(),
        }
        result
    }

    /// Publishes a checkpoint again with the lines of witnesses. `false` where the log has moved on, or is another
    /// process's to feed.
    pub(crate) async fn publish_again(&self, cosigned: &Published) -> Result<bool, StoreError> {
        let feeding = self.feeding.lock().await;
        let Some(lease) = &feeding.lease else { return Ok(false) };
        self.journal.publish(lease, cosigned.size, Vec::new(), cosigned.clone()).await
    }

    /// The newest checkpoint.
    pub async fn checkpoint(&self) -> Result<Option<Published>, StoreError> {
        self.journal.published(self.of.name()).await
    }

    /// Proves that an entry is in the log. `None` while it is not under a checkpoint (or does not exist).
    pub async fn proof(&self, stream: &StreamId, seq: u64) -> Result<Option<LogProof>, StoreError> {
        let (Some(published), Some(index)) =
            (self.journal.published(self.of.name()).await?, self.journal.leaf(stream, seq).await?)
        else {
            return Ok(None);
        };
        if index >= published.size {
            return Ok(None);
        }
        // An earlier checkpoint that more witnesses have cosigned proves more.
        let published = self.witnesses.better(published, index);
        let Some(leaf) = self.journal.leaves(index, 1).await?.pop().filter(|leaf| leaf.index == index) else {
            return Err(StoreError::Corrupt(format!("leaf {index} is missing")));
        };
        let nodes = merkle::inclusion_nodes(index, published.size).map_err(broken)?;
        let tiles = self.tiles(published.size, &nodes).await?;
        let proof = merkle::prove_inclusion(&tiles, index, published.size).map_err(broken)?;
        let data = leaf.data();
        merkle::verify_inclusion(&leaf_hash(&data), index, published.size, &proof, &published.root)
            .map_err(broken)?;
        Ok(Some(LogProof { checkpoint: published.note, index, leaf: hex::encode(data), proof }))
    }

    /// Proves that the log of `size` leaves goes on from the one of `old`. Refuses sizes beyond the published one.
    pub async fn consistency(&self, old: u64, size: u64) -> Result<Option<Vec<canon::Digest>>, StoreError> {
        if self.journal.published(self.of.name()).await?.is_none_or(|published| published.size < size) {
            return Ok(None);
        }
        let Ok(nodes) = merkle::consistency_nodes(old, size) else { return Ok(None) };
        let tiles = self.tiles(size, &nodes).await?;
        merkle::prove_consistency(&tiles, old, size).map(Some).map_err(broken)
    }

    /// The bytes at a path of C2SP tlog-tiles below the log: `checkpoint`, `tile/<L>/<N>[.p/<W>]`,
    /// `tile/entries/<N>[.p/<W>]`. `None` for anything that is not published.
    pub async fn file(&self, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(published) = self.journal.published(self.of.name()).await? else { return Ok(None) };
        if path == "checkpoint" {
            return Ok(Some(published.note.into_bytes()));
        }
        if let Ok(bundle) = path.parse::<Bundle>() {
            return self.bundle(bundle, published.size).await;
        }
        let Ok(tile) = path.parse::<tiles::Tile>() else { return Ok(None) };
        let end = tile.index().saturating_mul(256).saturating_add(tile.width().into());
        let at_level = published.size >> (u32::from(tile.level()) * 8).min(63);
        if end > at_level { Ok(None) } else { self.tile(tile).await.map(Some) }
    }

    async fn round(&self, feeding: &mut Feeding) -> Result<Option<Published>, StoreError> {
        let before = self.journal.published(self.of.name()).await?;
        let published = before.as_ref().map_or(0, |before| before.size);
        let Some(lease) = self.lease(feeding).await? else { return Ok(None) };
        let size = match &self.of {
            Of::Server => self.journal.number(&lease, PAGE).await?,
            Of::Stream(stream) => self.journal.head(stream).await?.seq,
        };
        if let Some(before) = before.as_ref().filter(|_| size <= published) {
            return if size < published {
                Err(StoreError::Corrupt(format!("the log has {published} leaves and the store only {size}")))
            } else {
                Ok(Some(before.clone()))
            };
        }
        let mut builder = match feeding.builder.take().filter(|builder| builder.size() == published) {
            Some(builder) => builder,
            None => self.resume(before.as_ref()).await?,
        };
        self.grow(&mut builder, size.min(published.saturating_add(ROUND))).await?;
        let tiles = builder
            .take()
            .into_iter()
            .map(|(tile, hashes)| Tile { level: tile.level(), index: tile.index(), hashes })
            .collect();
        let next = self.sign(&builder)?;
        if !self.journal.publish(&lease, published, tiles, next.clone()).await? {
            return Err(StoreError::Fenced(lease.name));
        }
        feeding.builder = Some(builder);
        Ok(Some(next))
    }

    /// Takes or renews the lease where it is not good for long enough.
    async fn lease(&self, feeding: &mut Feeding) -> Result<Option<Lease>, StoreError> {
        let now = self.source.now();
        if let Some(lease) = feeding.lease.as_ref().filter(|lease| lease.until > now + RENEW) {
            return Ok(Some(lease.clone()));
        }
        feeding.lease = self.journal.lease(self.of.name(), &self.holder, now, TERM).await?;
        if feeding.lease.is_none() {
            feeding.builder = None;
        }
        Ok(feeding.lease.clone())
    }

    /// The tree as published, from its tiles. One whose root is not the published one is never signed again.
    async fn resume(&self, published: Option<&Published>) -> Result<Builder, StoreError> {
        let Some(published) = published else { return Ok(Builder::new()) };
        let mut edge = Vec::new();
        for tile in Builder::edge(published.size) {
            edge.push((tile, self.tile(tile).await?));
        }
        let builder = Builder::resume(published.size, |wanted| {
            let found = edge.iter().find(|(tile, _)| *tile == wanted).map(|(_, bytes)| bytes.clone());
            found.ok_or_else(|| ledger::Error::TileMissing { path: wanted.to_string() })
        })
        .map_err(broken)?;
        // A full tree has no open tile to take its root from.
        let tiles = self.tiles(published.size, &merkle::root_nodes(published.size)).await?;
        let root = merkle::root_at(&tiles, published.size).map_err(broken)?;
        if root == published.root && builder.root() == root {
            Ok(builder)
        } else {
            Err(StoreError::Corrupt("the log's tiles are not those of its checkpoint".into()))
        }
    }

    async fn grow(&self, builder: &mut Builder, size: u64) -> Result<(), StoreError> {
        while builder.size() < size {
            let page = self.data(builder.size(), PAGE).await?;
            if page.is_empty() {
                return Err(StoreError::Corrupt(format!("leaf {} is missing", builder.size())));
            }
            for (index, data) in page.into_iter().take_while(|(index, _)| *index < size) {
                if index != builder.size() {
                    return Err(StoreError::Corrupt(format!("leaf {} is missing", builder.size())));
                }
                builder.push(leaf_hash(&data));
            }
        }
        Ok(())
    }

    fn sign(&self, builder: &Builder) -> Result<Published, StoreError> {
        let (size, root) = (builder.size(), builder.root());
        let checkpoint = Checkpoint { origin: self.origin.clone(), size, root };
        let note = Note::sign(checkpoint, &*self.signer)
            .map_err(|error| StoreError::Unavailable(format!("the log's signer: {error}")))?;
        Ok(Published { size, root, note: note.to_string(), at: self.source.now() })
    }

    /// Waits for entries beyond `size`, then gives how long to wait until the next round. `None`: shut down.
    async fn wait(
        &self,
        size: u64,
        shutdown: &mut std::pin::Pin<&mut (impl Future<Output = ()> + Send)>,
    ) -> Option<std::time::Duration> {
        let since = tokio::time::Instant::now();
        tokio::select! {
            () = &mut *shutdown => None,
            grown = self.grown(size) => Some(match grown {
                Ok(()) => PACE.saturating_sub(since.elapsed()),
                Err(_) => APART,
            }),
        }
    }

    async fn grown(&self, size: u64) -> Result<(), StoreError> {
        match &self.of {
            Of::Server => self.journal.grown(size).await,
            Of::Stream(stream) => self.journal.moved(stream, size).await.map(drop),
        }
    }

    /// What the tree hashes, from leaf `from` on, at most `limit`.
    async fn data(&self, from: u64, limit: usize) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok(match &self.of {
            Of::Server => {
                let leaves = self.journal.leaves(from, limit).await?;
                leaves.iter().map(|leaf| (leaf.index, leaf.data().to_vec())).collect()
            }
            Of::Stream(stream) => {
                let entries = self.journal.read(stream, from, limit).await?;
                let leaf = |entry: &Entry| (entry.seq.saturating_sub(1), entry.hash.as_bytes().to_vec());
                entries.iter().map(leaf).collect()
            }
        })
    }

    /// The newest checkpoint over at least `size` leaves, once there is one.
    pub async fn covering(&self, size: u64) -> Result<Published, StoreError> {
        loop {
            if let Some(published) = self.checkpoint().await?.filter(|published| published.size >= size) {
                return Ok(self.witnesses.better(published, size.saturating_sub(1)));
            }
            if self.integrate().await?.is_none_or(|published| published.size < size) {
                tokio::time::sleep(PACE).await;
            }
        }
    }

    /// The part of a published tree that holds these subtrees.
    pub async fn nodes(&self, size: u64, nodes: &[merkle::Node]) -> Result<TileSet, StoreError> {
        self.tiles(size, nodes).await
    }

    async fn tiles(&self, size: u64, nodes: &[merkle::Node]) -> Result<TileSet, StoreError> {
        let mut set = TileSet::new(size);
        for tile in TileSet::needed(size, nodes).map_err(broken)? {
            set.insert(tile, &self.tile(tile).await?).map_err(broken)?;
        }
        Ok(set)
    }

    /// A tile as wide as asked: the stored one may be wider.
    async fn tile(&self, tile: tiles::Tile) -> Result<Vec<u8>, StoreError> {
        let mut bytes =
            self.journal.tile(self.of.name(), tile.level(), tile.index()).await?.unwrap_or_default();
        let wanted = usize::from(tile.width()) * 32;
        if bytes.len() < wanted {
            return Err(StoreError::Corrupt(format!("{tile} is missing")));
        }
        bytes.truncate(wanted);
        Ok(bytes)
    }

    async fn bundle(&self, bundle: Bundle, size: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let from = bundle.index().saturating_mul(256);
        if from.saturating_add(bundle.width().into()) > size {
            return Ok(None);
        }
        let leaves = self.data(from, bundle.width().into()).await?;
        if leaves.len() != usize::from(bundle.width()) {
            return Err(StoreError::Corrupt(format!("{bundle} is missing leaves")));
        }
        Bundle::write(leaves.iter().map(|(_, data)| data.as_slice())).map(Some).map_err(broken)
    }
}

/// How long ago the newest checkpoint was published, for a health check: zero while nothing waits for one.
pub async fn behind(journal: &dyn Journal, now: Timestamp) -> Result<Duration, StoreError> {
    let entries = journal.stats().await?.entries;
    Ok(match journal.published(SERVER_LOG).await? {
        Some(published) if published.size >= entries => Duration::default(),
        Some(published) => now.since(published.at),
        None if entries == 0 => Duration::default(),
        None => now.since(Timestamp::EPOCH),
    })
}

fn broken(error: ledger::Error) -> StoreError {
    StoreError::Corrupt(format!("the log: {error}"))
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("origin", &self.origin).finish_non_exhaustive()
    }
}
