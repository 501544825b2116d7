use crate::merkle::{leaf, tree_of};
use canon::Digest;
use ledger::merkle::{
    Node, consistency_nodes, inclusion_nodes, prove_consistency, prove_inclusion, root_nodes,
    verify_consistency, verify_inclusion,
};
use ledger::tiles::{Builder, Bundle, Tile, TileSet};
use ledger::{Coded, Error};
use std::collections::BTreeMap;

#[test]
fn tile_paths() {
    let check = |path: &str, expected: Option<(u8, u64, u16)>| {
        let read = path.parse::<Tile>().ok();
        assert_eq!(read.map(|tile| (tile.level(), tile.index(), tile.width())), expected, "{path}");
    };
    check("tile/0/000", Some((0, 0, 256)));
    check("tile/0/000.p/1", Some((0, 0, 1)));
    check("tile/0/x001/x234/067", Some((0, 1_234_067, 256)));
    check("tile/5/x001/000.p/255", Some((5, 1000, 255)));
    for path in [
        "",
        "tile/0/",
        "tile/0/0",
        "tile/00/000",
        "tile/6/000",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/x000/001",
        "tile/0/001/001",
        "tile/0/x001",
        "tile/0/+01",
        "tile/0/x018/x446/x744/x073/x709/x551/616",
        "/tile/0/000",
        "tile/0/000/",
        "tile/entries/000",
    ] {
        check(path, None);
    }
}

#[test]
fn bundle_paths_and_bytes() {
    let check = |path: &str, bytes: &[u8], expected: Result<Vec<&[u8]>, &str>| {
        let read = path.parse::<Bundle>().and_then(|bundle| {
            bundle.read(bytes).map(|entries| entries.iter().map(|e| e.to_vec()).collect())
        });
        let expected = expected.map(|entries| entries.iter().map(|e| e.to_vec()).collect::<Vec<_>>());
        assert_eq!(read.map_err(|error| error.code()), expected, "{path}");
    };
    check("tile/entries/000.p/2", b"\0\x03abc\0\0", Ok(vec![b"abc", b""]));
    check("tile/entries/000.p/1", b"\0\x03abc\0\0", Err("tile_form"));
    check("tile/entries/000.p/3", b"\0\x03abc\0\0", Err("tile_form"));
    check("tile/entries/000.p/1", b"\0\x03ab", Err("tile_form"));
    check("tile/entries/000.p/1", b"\0\x03abc\0", Err("tile_form"));
    check("tile/entries/x001/000", b"", Err("tile_form"));
    check("tile/entries/1000", b"", Err("tile_path"));
    check("tile/entries/000.p/256", b"", Err("tile_path"));
    check("tile/0/000", b"", Err("tile_path"));
    assert_eq!(Bundle::write([b"abc".as_slice(), b""]).unwrap(), b"\0\x03abc\0\0");
    assert_eq!(Bundle::write([vec![0; 65_536].as_slice()]).unwrap_err().code(), "entry_too_long");
    assert_eq!(Bundle::holding(256, 300).unwrap().to_string(), "tile/entries/001.p/44");
    assert_eq!(Bundle::holding(300, 300).unwrap_err().code(), "index_beyond_tree");
}

/// A tree resumed from its tiles after every step gives the roots and proofs of the tree in memory.
#[test]
fn a_tree_of_tiles_is_the_tree() {
    const SIZE: u64 = 66_000;
    let tree = tree_of(SIZE);
    let mut stored = BTreeMap::<String, Vec<u8>>::new();
    let mut size = 0;
    for step in [1, 255, 1, 43, 212, 1, 65_023, 464] {
        let mut builder =
            Builder::resume(size, |tile| Ok::<_, Error>(stored[&tile.to_string()].clone())).unwrap();
        (size..size + step).for_each(|index| builder.push(leaf(index)));
        size += step;
        stored.extend(builder.take().into_iter().map(|(tile, bytes)| (tile.to_string(), bytes)));
        assert_eq!(builder.take(), []);

        let root = ledger::merkle::root_at(&tree, size).unwrap();
        assert_eq!(builder.root(), root, "{size}");
        assert_eq!(read(&stored, size, &root_nodes(size)).root().unwrap(), root, "{size}");
        for index in [0, size / 3, size - 1] {
            let path =
                prove_inclusion(&read(&stored, size, &inclusion_nodes(index, size).unwrap()), index, size)
                    .unwrap();
            verify_inclusion(&leaf(index), index, size, &path, &root).unwrap();
        }
        for old in [1, size / 2 + 1, size] {
            let set = read(&stored, size, &consistency_nodes(old, size).unwrap());
            let path = prove_consistency(&set, old, size).unwrap();
            let old_root = ledger::merkle::root_at(&tree, old).unwrap();
            verify_consistency(old, &old_root, size, &root, &path).unwrap();
        }
    }
    assert_eq!(size, SIZE);
    assert!(stored.contains_key("tile/2/000.p/1"));
}

#[test]
fn a_missing_or_cut_tile_is_named() {
    let mut set = TileSet::new(300);
    let node = Node { level: 0, index: 256 };
    let tile = Tile::holding(node, 300).unwrap();
    assert_eq!(tile.to_string(), "tile/0/001.p/44");
    let missing = ledger::merkle::Nodes::node(&set, node).unwrap_err();
    assert_eq!((missing.code(), missing.place().unwrap().as_str()), ("tile_missing", "tile/0/001.p/44"));
    assert_eq!(set.insert(tile, &[0; 43 * 32]).unwrap_err().code(), "tile_form");
    set.insert(tile, &[7; 44 * 32]).unwrap();
    assert_eq!(ledger::merkle::Nodes::node(&set, node), Ok(Digest::from_bytes([7; 32])));
}

fn read(stored: &BTreeMap<String, Vec<u8>>, size: u64, nodes: &[Node]) -> TileSet {
    let mut set = TileSet::new(size);
    for tile in TileSet::needed(size, nodes).unwrap() {
        set.insert(tile, &stored[&tile.to_string()]).unwrap();
    }
    set
}
