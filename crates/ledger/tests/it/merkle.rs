use canon::Digest;
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use ledger::merkle::{
    MemoryTree, Tree, empty_root, leaf_hash, prove_consistency, prove_inclusion, prove_inclusions, root_at,
    verify_consistency, verify_inclusion, verify_inclusions,
};
use ledger::{Coded, Error};
use proptest::prelude::*;
use sha2::Sha256;

const SIZES: u64 = 300;

/// The roots of the eight standard leaves (spec of VXP 3.14).
#[test]
fn eight_roots() {
    let leaves =
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    let roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut tree = Tree::new();
    assert_eq!(tree.root(), empty_root());
    for (leaf, root) in leaves.iter().zip(roots) {
        tree.push(leaf_hash(&hex::decode(leaf).unwrap()));
        assert_eq!(tree.root().to_string(), root, "{} leaves", tree.size());
    }
    let resumed = Tree::resume(tree.size(), tree.peaks().to_vec()).unwrap();
    assert_eq!(resumed, tree);
    assert_eq!(Tree::resume(3, tree.peaks().to_vec()).unwrap_err().code(), "tree_form");
}

/// Every inclusion proof of every size, equal to those of `ct-merkle`.
#[test]
fn inclusion_equals_ct_merkle() {
    let (mut ours, mut theirs) = (MemoryTree::new(), MemoryBackedTree::<Sha256, Vec<u8>>::new());
    let mut compact = Tree::new();
    for size in 1..=SIZES {
        grow(&mut ours, &mut theirs, size);
        compact.push(leaf(size - 1));
        let root = ours.root();
        assert_eq!(root.as_bytes()[..], theirs.root().as_bytes()[..]);
        assert_eq!(root, compact.root());
        for index in 0..size {
            let path = prove_inclusion(&ours, index, size).unwrap();
            assert_eq!(flat(&path), theirs.prove_inclusion(index as usize).as_bytes(), "{index} of {size}");
            verify_inclusion(&leaf(index), index, size, &path, &root).unwrap();
        }
    }
}

/// Every consistency proof between every two sizes, equal to those of `ct-merkle`.
#[test]
fn consistency_equals_ct_merkle() {
    let (mut ours, mut theirs) = (MemoryTree::new(), MemoryBackedTree::<Sha256, Vec<u8>>::new());
    for new in 1..=SIZES {
        grow(&mut ours, &mut theirs, new);
        let root = ours.root();
        for old in 1..=new {
            let path = prove_consistency(&ours, old, new).unwrap();
            let their_path = theirs.prove_consistency((new - old) as usize);
            assert_eq!(flat(&path), their_path.as_bytes(), "{old} to {new}");
            verify_consistency(old, &root_at(&ours, old).unwrap(), new, &root, &path).unwrap();
        }
    }
}

/// Every choice of leaves of every small tree: the hashes of one leaf are those of its path, and nothing else holds.
#[test]
fn several_leaves_in_one_proof() {
    for size in 1..=9_u64 {
        let tree = tree_of(size);
        let root = tree.root();
        for choice in 1..1_u64 << size {
            let indices: Vec<u64> = (0..size).filter(|index| choice >> index & 1 == 1).collect();
            let mut leaves: Vec<_> = indices.iter().map(|index| (*index, leaf(*index))).collect();
            let proof = prove_inclusions(&tree, &indices, size).unwrap();
            verify_inclusions(&leaves, size, &proof, &root).unwrap();
            if let [index] = indices[..] {
                let (mut one, mut path) = (proof.clone(), prove_inclusion(&tree, index, size).unwrap());
                one.sort_unstable();
                path.sort_unstable();
                assert_eq!(one, path);
            }
            let longer = [proof.clone(), vec![Digest::ZERO]].concat();
            let refused = |leaves: &[_], proof: &[_]| verify_inclusions(leaves, size, proof, &root).is_err();
            assert!(refused(&leaves, &longer));
            if let Some((_, shorter)) = proof.split_last() {
                assert!(refused(&leaves, shorter));
            }
            leaves.reverse();
            assert!(leaves.len() == 1 || refused(&leaves, &proof));
            leaves.reverse();
            leaves[0].1 = leaf(size);
            assert!(refused(&leaves, &proof));
            leaves[0] = (size, leaf(0));
            assert!(refused(&leaves, &proof));
        }
    }
}

/// An index beyond the tree and a path of the wrong length are refused.
#[test]
fn inclusion_refusals() {
    let tree = tree_of(7);
    let root = tree.root();
    let path = |index| prove_inclusion(&tree, index, 7).unwrap();
    let longer = |index| [path(index), vec![Digest::ZERO]].concat();
    let one = leaf(0);
    let check = |index: u64, at: u64, size: u64, path: &[Digest], root: &Digest, expected: &str| {
        let code = verify_inclusion(&leaf(index), at, size, path, root).map_err(|error| error.code());
        assert_eq!(code.err().unwrap_or("ok"), expected, "leaf {index} at {at} of {size}");
    };
    check(0, 0, 1, &[], &one, "ok");
    check(0, 0, 1, &[one], &one, "path_length");
    check(0, 0, 0, &[], &empty_root(), "index_beyond_tree");
    check(0, 1, 1, &[], &one, "index_beyond_tree");
    check(6, 6, 7, &path(6), &root, "ok");
    check(6, 7, 7, &path(6), &root, "index_beyond_tree");
    check(6, u64::MAX, 7, &path(6), &root, "index_beyond_tree");
    check(6, 6, 7, &longer(6), &root, "path_length");
    check(6, 6, 7, &path(6)[..1], &root, "path_length");
    check(6, 6, 7, &[], &root, "path_length");
    check(0, 0, 7, &longer(0), &root, "path_length");
    check(0, 0, 7, &path(1), &root, "inclusion_failed");
    check(0, 1, 7, &path(0), &root, "inclusion_failed");
    check(5, 0, 7, &path(0), &root, "inclusion_failed");
    check(0, 0, 7, &path(0), &one, "inclusion_failed");
    check(6, 6, u64::MAX, &path(6), &root, "path_length");
}

/// From an empty tree nothing follows; equal sizes need equal roots; a smaller tree has shrunk.
#[test]
fn consistency_refusals() {
    let tree = tree_of(8);
    let root = |size| root_at(&tree, size).unwrap();
    let path = |old, new| prove_consistency(&tree, old, new).unwrap();
    let check = |old: u64, old_root: Digest, new: u64, new_root: Digest, path: &[Digest], expected: &str| {
        let code = verify_consistency(old, &old_root, new, &new_root, path).map_err(|error| error.code());
        assert_eq!(code.err().unwrap_or("ok"), expected, "{old} to {new}");
    };
    check(0, empty_root(), 0, empty_root(), &[], "consistency_from_empty");
    check(0, empty_root(), 8, root(8), &[], "consistency_from_empty");
    check(8, root(8), 8, root(8), &[], "ok");
    check(8, root(7), 8, root(8), &[], "consistency_failed");
    check(8, root(8), 8, root(8), &[root(8)], "path_length");
    check(8, root(8), 7, root(7), &path(7, 8), "shrunk");
    check(4, root(4), 8, root(8), &path(4, 8), "ok");
    check(4, root(4), 8, root(8), &[], "path_length");
    check(4, root(4), 8, root(8), &[path(4, 8), path(4, 8)].concat(), "path_length");
    check(3, root(3), 8, root(8), &path(3, 8)[..2], "path_length");
    check(3, root(4), 8, root(8), &path(3, 8), "consistency_failed");
    check(3, root(3), 8, root(7), &path(3, 8), "consistency_failed");
    for (old, new, code) in [(0, 8, "consistency_from_empty"), (8, 7, "shrunk")] {
        assert_eq!(prove_consistency(&tree, old, new).unwrap_err().code(), code);
    }
    assert!(matches!(prove_inclusion(&tree, 8, 8), Err(Error::IndexBeyondTree { index: 8, size: 8 })));
}

proptest! {
    /// One changed hash, in the path or at either end, never verifies.
    #[test]
    fn altered_proofs_fail(size in 2_u64..200, index: prop::sample::Index, place: prop::sample::Index, bit in 0_usize..256) {
        let tree = tree_of(size);
        let index = index.index(size as usize) as u64;
        let mut hashes = prove_inclusion(&tree, index, size).unwrap();
        hashes.extend([leaf(index), tree.root()]);
        let place = place.index(hashes.len());
        let mut bytes = *hashes[place].as_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        hashes[place] = Digest::from_bytes(bytes);
        let (root, leaf) = (hashes.pop().unwrap(), hashes.pop().unwrap());
        prop_assert_eq!(verify_inclusion(&leaf, index, size, &hashes, &root), Err(Error::InclusionFailed));
    }
}

pub fn leaf(index: u64) -> Digest {
    leaf_hash(&index.to_be_bytes())
}

pub fn tree_of(size: u64) -> MemoryTree {
    let mut tree = MemoryTree::new();
    (0..size).for_each(|index| tree.push(leaf(index)));
    tree
}

fn grow(ours: &mut MemoryTree, theirs: &mut MemoryBackedTree<Sha256, Vec<u8>>, size: u64) {
    ours.push(leaf(size - 1));
    theirs.push((size - 1).to_be_bytes().to_vec());
}

fn flat(path: &[Digest]) -> Vec<u8> {
    path.iter().flat_map(|hash| *hash.as_bytes()).collect()
}
