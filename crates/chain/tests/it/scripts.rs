//! The compiled validators.

use crate::world::NETWORK;
use chain::Scripts;
use mandate::issue::ChainName;
use mandate::price::OutRef;
use mandate::text::{KeyHash, TxHash};

#[test]
fn parameters_make_another_script() {
    let scripts = Scripts::embedded(NETWORK).unwrap();
    let main = Scripts::embedded(ChainName::Mainnet).unwrap();
    let seed = |index| OutRef { output_index: index, tx_hash: TxHash::from_bytes([1; 32]) };
    let mandate = scripts.anchor(&seed(0)).unwrap().hash();
    let hashes = [
        mandate,
        scripts.anchor(&seed(1)).unwrap().hash(),
        scripts.vault(mandate, &seed(0)).unwrap().hash(),
        scripts.vault(mandate, &seed(1)).unwrap().hash(),
        scripts.vault(KeyHash::from_bytes([1; 28]), &seed(0)).unwrap().hash(),
        main.vault(mandate, &seed(0)).unwrap().hash(),
        scripts.bond().hash(),
        main.bond().hash(),
        scripts.sink().hash(),
    ];
    let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
    assert_eq!(distinct.len(), hashes.len());
    assert_eq!(main.sink(), scripts.sink());
}

#[test]
fn the_sink_is_the_seeds() {
    let scripts = Scripts::embedded(NETWORK).unwrap();
    assert_eq!(scripts.sink().hash().to_string(), "22c9a103ed3f2fa97c982d76d6e2af50c5d54ac306983b196c8fcdab");
}
