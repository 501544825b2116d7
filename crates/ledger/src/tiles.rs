//! Trees cut into static files as C2SP tlog-tiles says: hash tiles `tile/<L>/<N>[.p/<W>]`, entry bundles
//! `tile/entries/<N>[.p/<W>]`.

use crate::Error;
use crate::merkle::{Node, Nodes, node_hash, root_at};
use canon::Digest;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Hashes (or entries) of a full tile.
pub const WIDTH: u16 = 256;

/// The highest level a tile may have.
pub const MAX_LEVEL: u8 = 5;

/// A hash tile: `width` consecutive hashes of subtrees of `256^level` leaves, 1 to 256 of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    level: u8,
    index: u64,
    width: u16,
}

/// An entry bundle: `width` consecutive entries, 1 to 256 of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bundle {
    index: u64,
    width: u16,
}

impl Tile {
    /// Refuses a level above 5 and a width of 0 or above 256.
    pub fn new(level: u8, index: u64, width: u16) -> Result<Self, Error> {
        if level <= MAX_LEVEL && (1..=WIDTH).contains(&width) {
            Ok(Self { level, index, width })
        } else {
            Err(Error::TilePath { path: format!("tile/{level}/{index}.p/{width}") })
        }
    }

    /// The tile that holds a subtree's hashes in a tree of `size`, as wide as that tree lets it be.
    pub fn holding(node: Node, size: u64) -> Result<Self, Error> {
        let beyond = Error::IndexBeyondTree { index: node.index, size };
        if size.checked_shr(u32::from(node.level)).is_none_or(|subtrees| node.index >= subtrees) {
            return Err(beyond);
        }
        let level = node.level / 8;
        let first = node.index << (node.level % 8);
        let index = first / u64::from(WIDTH);
        let at_level = size >> (u32::from(level) * 8).min(63);
        let width = at_level.saturating_sub(index * u64::from(WIDTH)).min(u64::from(WIDTH));
        Self::new(level, index, u16::try_from(width).unwrap_or(WIDTH)).map_err(|_| beyond)
    }

    pub const fn level(self) -> u8 {
        self.level
    }
    pub const fn index(self) -> u64 {
        self.index
    }
    pub const fn width(self) -> u16 {
        self.width
    }
    pub const fn is_full(self) -> bool {
        self.width == WIDTH
    }

    /// The tile's bytes: its hashes, one after the other. Refuses any other length than its width demands.
    pub fn read(self, bytes: &[u8]) -> Result<Vec<Digest>, Error> {
        if bytes.len() != usize::from(self.width) * 32 {
            return Err(Error::Tile { path: self.to_string(), why: "its length does not fit its width" });
        }
        Ok(bytes.as_chunks::<32>().0.iter().copied().map(Digest::from_bytes).collect())
    }
}

impl Bundle {
    /// Refuses a width of 0 or above 256.
    pub fn new(index: u64, width: u16) -> Result<Self, Error> {
        if (1..=WIDTH).contains(&width) {
            Ok(Self { index, width })
        } else {
            Err(Error::TilePath { path: format!("tile/entries/{index}.p/{width}") })
        }
    }

    /// The bundle that holds an entry in a tree of `size`.
    pub fn holding(entry: u64, size: u64) -> Result<Self, Error> {
        let tile = Tile::holding(Node { level: 0, index: entry }, size)?;
        Self::new(tile.index, tile.width)
    }

    pub const fn index(self) -> u64 {
        self.index
    }
    pub const fn width(self) -> u16 {
        self.width
    }
    pub const fn is_full(self) -> bool {
        self.width == WIDTH
    }

    /// The bundle's entries. Refuses another number of them than its width, a cut one, and bytes left over.
    pub fn read(self, bytes: &[u8]) -> Result<Vec<&[u8]>, Error> {
        let form = |why| Error::Tile { path: self.to_string(), why };
        let mut entries = Vec::with_capacity(usize::from(self.width));
        let mut rest = bytes;
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            let (entry, after) = after.split_at_checked(length).ok_or_else(|| form("an entry is cut"))?;
            entries.push(entry);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(form("an entry is cut"));
        }
        if entries.len() != usize::from(self.width) {
            return Err(form("its entries do not fit its width"));
        }
        Ok(entries)
    }

    /// Bundle bytes of entries: each after its length as two bytes, big-endian.
    pub fn write<'a>(entries: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        for entry in entries {
            let length =
                u16::try_from(entry.len()).map_err(|_| Error::EntryTooLong { found: entry.len() })?;
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(entry);
        }
        Ok(bytes)
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile/{}/", self.level)?;
        write_place(f, self.index, self.width)
    }
}

impl fmt::Display for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tile/entries/")?;
        write_place(f, self.index, self.width)
    }
}

impl FromStr for Tile {
    type Err = Error;
    /// Reads exactly the spelling that is written.
    fn from_str(path: &str) -> Result<Self, Error> {
        let read = || {
            let (level, place) = path.strip_prefix("tile/")?.split_once('/')?;
            let (index, width) = read_place(place)?;
            Self::new(level.parse().ok()?, index, width).ok()
        };
        read()
            .filter(|tile| tile.to_string() == path)
            .ok_or_else(|| Error::TilePath { path: path.to_owned() })
    }
}

impl FromStr for Bundle {
    type Err = Error;
    /// Reads exactly the spelling that is written.
    fn from_str(path: &str) -> Result<Self, Error> {
        let read = || {
            let (index, width) = read_place(path.strip_prefix("tile/entries/")?)?;
            Self::new(index, width).ok()
        };
        read().filter(|it| it.to_string() == path).ok_or_else(|| Error::TilePath { path: path.to_owned() })
    }
}

/// A tree that grows and hands out the tiles to be written.
///
/// Its memory is one unfinished tile a level. [`Builder::take`] gives the finished tiles since the last call and, for
/// the present size, the partial ones.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    size: u64,
    /// The last, unfinished tile of each level: fewer than 256 hashes.
    open: Vec<Vec<Digest>>,
    finished: Vec<(Tile, Vec<u8>)>,
    /// The size at the last [`Builder::take`].
    taken: u64,
}

impl Builder {
    pub const fn new() -> Self {
        Self { size: 0, open: Vec::new(), finished: Vec::new(), taken: 0 }
    }

    /// The partial tiles from which a tree of `size` is resumed; a level whose last tile is full has none.
    pub fn edge(size: u64) -> Vec<Tile> {
        (0..=MAX_LEVEL)
            .filter_map(|level| {
                let at_level = size >> (u32::from(level) * 8);
                let width = u16::try_from(at_level % u64::from(WIDTH)).ok().filter(|&width| width > 0)?;
                Tile::new(level, at_level / u64::from(WIDTH), width).ok()
            })
            .collect()
    }

    /// A tree of `size` resumed from the bytes of the tiles of [`Builder::edge`].
    pub fn resume<E: From<Error>>(
        size: u64,
        mut read: impl FnMut(Tile) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let mut builder = Self { size, taken: size, ..Self::new() };
        for tile in Self::edge(size) {
            let level = usize::from(tile.level);
            builder.open.resize(level + 1, Vec::new());
            if let Some(open) = builder.open.get_mut(level) {
                *open = tile.read(&read(tile)?)?;
            }
        }
        Ok(builder)
    }

    /// Appends the hash of a leaf.
    pub fn push(&mut self, leaf: Digest) {
        let mut hash = leaf;
        let mut count = self.size;
        for level in 0..=MAX_LEVEL {
            let place = usize::from(level);
            if self.open.len() <= place {
                self.open.push(Vec::new());
            }
            let Some(open) = self.open.get_mut(place) else { break };
            open.push(hash);
            if open.len() < usize::from(WIDTH) {
                break;
            }
            let full = std::mem::take(open);
            hash = complete(&full);
            let tile = Tile { level, index: count / u64::from(WIDTH), width: WIDTH };
            self.finished.push((tile, flat(&full)));
            count /= u64::from(WIDTH);
        }
        self.size = self.size.saturating_add(1);
    }

    pub const fn size(&self) -> u64 {
        self.size
    }

    pub fn root(&self) -> Digest {
        let mut root: Option<Digest> = None;
        for open in &self.open {
            let mut end = open.len();
            while end > 0 {
                let width = 1 << end.trailing_zeros();
                let hash = complete(open.get(end - width..end).unwrap_or_default());
                root = Some(root.map_or(hash, |right| node_hash(&hash, &right)));
                end -= width;
            }
        }
        root.unwrap_or_else(crate::merkle::empty_root)
    }

    /// The tiles that must be written for the present size: those finished since the last call, then the partial ones.
    pub fn take(&mut self) -> Vec<(Tile, Vec<u8>)> {
        let mut tiles = std::mem::take(&mut self.finished);
        if self.taken != self.size {
            for tile in Self::edge(self.size) {
                if let Some(open) = self.open.get(usize::from(tile.level)) {
                    tiles.push((tile, flat(open)));
                }
            }
        }
        self.taken = self.size;
        tiles
    }
}

/// Tiles already fetched, read as a tree of `size`. What it answers is only as good as its root: compare
/// [`TileSet::root`], or check the proof made from it, against a signed checkpoint.
#[derive(Debug, Clone, Default)]
pub struct TileSet {
    size: u64,
    tiles: BTreeMap<(u8, u64), Vec<Digest>>,
}

impl TileSet {
    pub const fn new(size: u64) -> Self {
        Self { size, tiles: BTreeMap::new() }
    }

    /// The tiles that hold these subtrees, each once.
    pub fn needed(size: u64, nodes: &[Node]) -> Result<Vec<Tile>, Error> {
        let mut tiles = nodes.iter().map(|&node| Tile::holding(node, size)).collect::<Result<Vec<_>, _>>()?;
        tiles.sort_unstable();
        tiles.dedup();
        Ok(tiles)
    }

    pub fn insert(&mut self, tile: Tile, bytes: &[u8]) -> Result<(), Error> {
        self.tiles.insert((tile.level, tile.index), tile.read(bytes)?);
        Ok(())
    }

    pub fn root(&self) -> Result<Digest, Error> {
        root_at(self, self.size)
    }
}

impl Nodes for TileSet {
    fn node(&self, node: Node) -> Result<Digest, Error> {
        let tile = Tile::holding(node, self.size)?;
        let missing = || Error::TileMissing { path: tile.to_string() };
        let hashes = self.tiles.get(&(tile.level, tile.index)).ok_or_else(missing)?;
        let inner = node.level % 8;
        let from = usize::try_from((node.index << inner) % u64::from(WIDTH)).map_err(|_| missing())?;
        hashes.get(from..from + (1 << inner)).map(complete).ok_or_else(missing)
    }
}

/// The root over a power of two of hashes.
fn complete(hashes: &[Digest]) -> Digest {
    match hashes {
        [] => crate::merkle::empty_root(),
        [one] => *one,
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            node_hash(&complete(left), &complete(right))
        }
    }
}

fn flat(hashes: &[Digest]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

/// `1234067` is `x001/x234/067`; a width below 256 follows as `.p/<W>`.
fn write_place(f: &mut fmt::Formatter<'_>, index: u64, width: u16) -> fmt::Result {
    let mut parts = vec![index % 1000];
    let mut rest = index / 1000;
    while rest > 0 {
        parts.push(rest % 1000);
        rest /= 1000;
    }
    for (left, part) in parts.iter().enumerate().rev() {
        if left > 0 {
            write!(f, "x{part:03}/")?;
        } else {
            write!(f, "{part:03}")?;
        }
    }
    if width < WIDTH { write!(f, ".p/{width}") } else { Ok(()) }
}

/// Lenient: the caller compares the spelling.
fn read_place(place: &str) -> Option<(u64, u16)> {
    let (index, width) = match place.split_once(".p/") {
        Some((index, width)) => (index, width.parse().ok()?),
        None => (place, WIDTH),
    };
    let mut number = 0_u64;
    for part in index.split('/') {
        let part: u64 = part.strip_prefix('x').unwrap_or(part).parse().ok().filter(|&part| part < 1000)?;
        number = number.checked_mul(1000)?.checked_add(part)?;
    }
    Some((number, width))
}
