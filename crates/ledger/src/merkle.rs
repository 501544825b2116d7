//! Merkle trees of RFC 9162 section 2.1 over SHA-256: roots, inclusion and consistency proofs, made and checked.

use crate::Error;
use canon::Digest;

/// MTH of one leaf: SHA-256(0x00 ‖ data).
pub fn leaf_hash(data: &[u8]) -> Digest {
    Digest::of_parts(&[&[0], data])
}

/// MTH of two subtrees: SHA-256(0x01 ‖ left ‖ right).
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut bytes = [1_u8; 65];
    let (_, rest) = bytes.split_at_mut(1);
    let (one, two) = rest.split_at_mut(32);
    one.copy_from_slice(left.as_bytes());
    two.copy_from_slice(right.as_bytes());
    Digest::of(&bytes)
}

/// MTH of no leaf: SHA-256 of nothing.
pub fn empty_root() -> Digest {
    Digest::of(&[])
}

/// A tree that only grows and knows its root: the hashes of its complete subtrees, at most 64.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    size: u64,
    /// One hash a set bit of `size`, the largest subtree first.
    peaks: Vec<Digest>,
}

impl Tree {
    pub const fn new() -> Self {
        Self { size: 0, peaks: Vec::new() }
    }

    /// A tree resumed from its complete subtrees, the largest first. Refused unless there is one a set bit of `size`.
    pub fn resume(size: u64, peaks: Vec<Digest>) -> Result<Self, Error> {
        if u32::try_from(peaks.len()) == Ok(size.count_ones()) {
            Ok(Self { size, peaks })
        } else {
            Err(Error::Peaks { size })
        }
    }

    /// Appends the hash of a leaf (see [`leaf_hash`]).
    pub fn push(&mut self, leaf: Digest) {
        let mut hash = leaf;
        let mut size = self.size;
        while size & 1 == 1 {
            if let Some(left) = self.peaks.pop() {
                hash = node_hash(&left, &hash);
            }
            size >>= 1;
        }
        self.peaks.push(hash);
        self.size = self.size.saturating_add(1);
    }

    pub const fn size(&self) -> u64 {
        self.size
    }

    pub fn peaks(&self) -> &[Digest] {
        &self.peaks
    }

    pub fn root(&self) -> Digest {
        fold(&self.peaks).unwrap_or_else(empty_root)
    }
}

impl Extend<Digest> for Tree {
    fn extend<I: IntoIterator<Item = Digest>>(&mut self, leaves: I) {
        for leaf in leaves {
            self.push(leaf);
        }
    }
}

/// The root over the hashes of all leaves.
pub fn root(leaves: &[Digest]) -> Digest {
    let mut tree = Tree::new();
    tree.extend(leaves.iter().copied());
    tree.root()
}

/// A complete subtree: the `2^level` leaves from `index * 2^level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub level: u8,
    pub index: u64,
}

/// Where the hashes of complete subtrees are read from.
pub trait Nodes {
    fn node(&self, node: Node) -> Result<Digest, Error>;
}

/// The complete subtrees that a root of `size` is made of.
pub fn root_nodes(size: u64) -> Vec<Node> {
    nodes_of(0, size)
}

/// The complete subtrees that an inclusion proof is made of: read these, then call [`prove_inclusion`].
pub fn inclusion_nodes(index: u64, size: u64) -> Result<Vec<Node>, Error> {
    Ok(inclusion_ranges(index, size)?.into_iter().flat_map(|(from, to)| nodes_of(from, to)).collect())
}

/// The complete subtrees that a consistency proof is made of.
pub fn consistency_nodes(old: u64, new: u64) -> Result<Vec<Node>, Error> {
    Ok(consistency_ranges(old, new)?.into_iter().flat_map(|(from, to)| nodes_of(from, to)).collect())
}

/// The root of the first `size` leaves.
pub fn root_at(nodes: &impl Nodes, size: u64) -> Result<Digest, Error> {
    if size == 0 { Ok(empty_root()) } else { range_root(nodes, 0, size) }
}

/// PATH of RFC 9162 2.1.3.1, leaf to root.
pub fn prove_inclusion(nodes: &impl Nodes, index: u64, size: u64) -> Result<Vec<Digest>, Error> {
    inclusion_ranges(index, size)?.into_iter().map(|(from, to)| range_root(nodes, from, to)).collect()
}

/// What several leaves need beside them: the roots of the largest parts of the tree that hold none of them, from left to right.
/// `indices` ascend; refused if they do not.
pub fn prove_inclusions(nodes: &impl Nodes, indices: &[u64], size: u64) -> Result<Vec<Digest>, Error> {
    inclusions_ranges(indices, size)?.into_iter().map(|(from, to)| range_root(nodes, from, to)).collect()
}

/// The complete subtrees that such a proof is made of.
pub fn inclusions_nodes(indices: &[u64], size: u64) -> Result<Vec<Node>, Error> {
    Ok(inclusions_ranges(indices, size)?.into_iter().flat_map(|(from, to)| nodes_of(from, to)).collect())
}

/// PROOF of RFC 9162 2.1.4.1. Equal sizes have the empty proof; from size 0 there is none.
pub fn prove_consistency(nodes: &impl Nodes, old: u64, new: u64) -> Result<Vec<Digest>, Error> {
    consistency_ranges(old, new)?.into_iter().map(|(from, to)| range_root(nodes, from, to)).collect()
}

/// RFC 9162 2.1.3.2. Refuses an index beyond the tree and a path of any other length than the tree demands.
pub fn verify_inclusion(
    leaf: &Digest,
    index: u64,
    size: u64,
    path: &[Digest],
    root: &Digest,
) -> Result<(), Error> {
    if index >= size {
        return Err(Error::IndexBeyondTree { index, size });
    }
    let length = Error::PathLength { found: path.len() };
    let mut at = index;
    let mut last = size - 1;
    let mut hash = *leaf;
    for sibling in path {
        if last == 0 {
            return Err(length);
        }
        if at & 1 == 1 || at == last {
            hash = node_hash(sibling, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(length);
    }
    if hash == *root { Ok(()) } else { Err(Error::InclusionFailed) }
}

/// Whether these leaves, each with its index, are in the tree, by a proof as [`prove_inclusions`] makes it. Refused: indices
/// that do not ascend or are beyond the tree, a proof of any other length than the tree demands.
pub fn verify_inclusions(
    leaves: &[(u64, Digest)],
    size: u64,
    proof: &[Digest],
    root: &Digest,
) -> Result<(), Error> {
    ascending(leaves.iter().map(|(index, _)| *index), size)?;
    let length = Error::PathLength { found: proof.len() };
    let mut rest = proof.iter();
    let found = joined(leaves, 0, size, &mut rest).ok_or(length.clone())?;
    match rest.next() {
        Some(_) => Err(length),
        None if found == *root => Ok(()),
        None => Err(Error::InclusionFailed),
    }
}

/// RFC 9162 2.1.4.2. Equal sizes need the empty path and equal roots; size 0 proves nothing; a smaller tree shrunk.
pub fn verify_consistency(
    old: u64,
    old_root: &Digest,
    new: u64,
    new_root: &Digest,
    path: &[Digest],
) -> Result<(), Error> {
    if old > new {
        return Err(Error::Shrunk { old, new });
    }
    if old == 0 {
        return Err(Error::ConsistencyFromEmpty);
    }
    let length = Error::PathLength { found: path.len() };
    if old == new {
        return match (path.is_empty(), old_root == new_root) {
            (false, _) => Err(length),
            (true, false) => Err(Error::ConsistencyFailed),
            (true, true) => Ok(()),
        };
    }
    let (first, rest) = match path.split_first() {
        None => return Err(length),
        Some(_) if old.is_power_of_two() => (old_root, path),
        Some(split) => split,
    };
    let mut at = old - 1;
    let mut last = new - 1;
    while at & 1 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let mut before = *first;
    let mut after = *first;
    for hash in rest {
        if last == 0 {
            return Err(length);
        }
        if at & 1 == 1 || at == last {
            before = node_hash(hash, &before);
            after = node_hash(hash, &after);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            after = node_hash(&after, hash);
        }
        at >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(length);
    }
    if before == *old_root && after == *new_root { Ok(()) } else { Err(Error::ConsistencyFailed) }
}

/// A whole tree in memory, from which any proof can be made.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    /// The complete subtrees of each level, left to right.
    levels: Vec<Vec<Digest>>,
}

impl MemoryTree {
    pub const fn new() -> Self {
        Self { levels: Vec::new() }
    }

    pub fn push(&mut self, leaf: Digest) {
        let mut hash = leaf;
        for level in &mut self.levels {
            level.push(hash);
            if level.len() % 2 == 1 {
                return;
            }
            match level.as_slice() {
                [.., left, right] => hash = node_hash(left, right),
                _ => return,
            }
        }
        self.levels.push(vec![hash]);
    }

    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| u64::try_from(leaves.len()).unwrap_or(u64::MAX))
    }

    pub fn root(&self) -> Digest {
        root_at(self, self.size()).unwrap_or_else(|_| empty_root())
    }
}

impl Nodes for MemoryTree {
    fn node(&self, node: Node) -> Result<Digest, Error> {
        usize::try_from(node.index)
            .ok()
            .and_then(|index| self.levels.get(usize::from(node.level))?.get(index).copied())
            .ok_or(Error::IndexBeyondTree { index: node.index, size: self.size() })
    }
}

/// Subtrees from left to right to one hash: the last two are joined first.
fn fold(hashes: &[Digest]) -> Option<Digest> {
    hashes.iter().copied().rev().reduce(|right, left| node_hash(&left, &right))
}

fn range_root(nodes: &impl Nodes, from: u64, to: u64) -> Result<Digest, Error> {
    let hashes =
        nodes_of(from, to).into_iter().map(|node| nodes.node(node)).collect::<Result<Vec<_>, _>>()?;
    Ok(fold(&hashes).unwrap_or_else(empty_root))
}

/// The complete subtrees of the leaves `from..to`, where `from` is a multiple of each of their sizes.
fn nodes_of(from: u64, to: u64) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut at = from;
    while at < to {
        let level = (to - at).ilog2();
        nodes.push(Node { level: u8::try_from(level).unwrap_or(u8::MAX), index: at >> level });
        at += 1 << level;
    }
    nodes
}

fn inclusion_ranges(index: u64, size: u64) -> Result<Vec<(u64, u64)>, Error> {
    if index >= size {
        return Err(Error::IndexBeyondTree { index, size });
    }
    let mut ranges = Vec::new();
    let (mut from, mut to) = (0, size);
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            ranges.push((middle, to));
            to = middle;
        } else {
            ranges.push((from, middle));
            from = middle;
        }
    }
    ranges.reverse();
    Ok(ranges)
}

fn inclusions_ranges(indices: &[u64], size: u64) -> Result<Vec<(u64, u64)>, Error> {
    ascending(indices.iter().copied(), size)?;
    let mut ranges = Vec::new();
    beside(indices, 0, size, &mut ranges);
    Ok(ranges)
}

fn ascending(indices: impl Iterator<Item = u64>, size: u64) -> Result<(), Error> {
    let mut least = 0;
    for index in indices {
        if index >= size {
            return Err(Error::IndexBeyondTree { index, size });
        }
        if index < least {
            return Err(Error::InclusionFailed);
        }
        least = index + 1;
    }
    Ok(())
}

fn beside(indices: &[u64], from: u64, to: u64, ranges: &mut Vec<(u64, u64)>) {
    if indices.is_empty() {
        ranges.push((from, to));
    } else if to - from > 1 {
        let middle = from + split(to - from);
        let (left, right) = indices.split_at(indices.partition_point(|index| *index < middle));
        beside(left, from, middle, ranges);
        beside(right, middle, to, ranges);
    }
}

/// The root of the leaves `from..to`, of which these are known. `None`: the proof is too short.
fn joined<'p>(
    leaves: &[(u64, Digest)],
    from: u64,
    to: u64,
    proof: &mut impl Iterator<Item = &'p Digest>,
) -> Option<Digest> {
    match leaves {
        [] => proof.next().copied(),
        [(_, leaf)] if to - from == 1 => Some(*leaf),
        _ => {
            let middle = from + split(to - from);
            let (left, right) = leaves.split_at(leaves.partition_point(|(index, _)| *index < middle));
            let left = joined(left, from, middle, proof)?;
            Some(node_hash(&left, &joined(right, middle, to, proof)?))
        }
    }
}

fn consistency_ranges(old: u64, new: u64) -> Result<Vec<(u64, u64)>, Error> {
    if old > new {
        return Err(Error::Shrunk { old, new });
    }
    if old == 0 {
        return Err(Error::ConsistencyFromEmpty);
    }
    let mut ranges = Vec::new();
    let (mut from, mut to) = (0, new);
    while old != to {
        let middle = from + split(to - from);
        if old <= middle {
            ranges.push((middle, to));
            to = middle;
        } else {
            ranges.push((from, middle));
            from = middle;
        }
    }
    // The old root itself is known to whoever checks; only a part of it must be told.
    if from != 0 {
        ranges.push((from, to));
    }
    ranges.reverse();
    Ok(ranges)
}

/// The largest power of two below `n`, for `n` of at least 2.
fn split(n: u64) -> u64 {
    1 << (n - 1).ilog2()
}
