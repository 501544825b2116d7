//! Decisions signed by a wallet (CIP-8): the new statement and the older decline.

use crate::desk::{Desk, action, key_hash};
use crate::fixture::{agent, approver};
use approvals::{Decided, Evidence};
use canon::Digest;
use keys::{Signer, SoftwareSigner};
use mandate::command::{Command, Decline, Reply};
use mandate::log::DeclineReason;
use mandate::proof::{ApproveBody, DeclineBody, Signed, decline_message};
use mandate::{Address, Credential, Network, Refusal, cose};

/// What a wallet gives back, in its parts.
#[derive(Clone)]
struct Wallet {
    address: Vec<u8>,
    protected: Vec<u8>,
    unprotected: Vec<u8>,
    payload: Vec<u8>,
    signature: Vec<u8>,
    key: Vec<u8>,
}

fn bytes(major: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = match bytes.len() {
        short @ 0..24 => vec![(major << 5) | short as u8],
        long => vec![(major << 5) | 24, long as u8],
    };
    out.extend_from_slice(bytes);
    out
}

fn protected(address: &[u8]) -> Vec<u8> {
    [&[0xa2, 0x01, 0x27], bytes(3, b"address").as_slice(), &bytes(2, address)].concat()
}

impl Wallet {
    fn sign(signer: &SoftwareSigner, message: &[u8]) -> Self {
        let keys::PublicKey::Ed25519(public) = signer.public() else { panic!() };
        let address = [&[0x60], key_hash(signer).as_bytes().as_slice()].concat();
        let protected = protected(&address);
        let signature = signer.sign(&cose::signed_bytes(&protected, message)).unwrap();
        Self {
            address,
            protected,
            unprotected: [&[0xa1], bytes(3, b"hashed").as_slice(), &[0xf4]].concat(),
            payload: message.to_vec(),
            signature: signature.as_bytes().to_vec(),
            key: [&[0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21], bytes(2, public.as_bytes()).as_slice()]
                .concat(),
        }
    }

    fn sign1(&self) -> Vec<u8> {
        let parts = [
            bytes(2, &self.protected),
            self.unprotected.clone(),
            bytes(2, &self.payload),
            bytes(2, &self.signature),
        ];
        [vec![0x84], parts.concat()].concat()
    }
}

fn verify(wallet: &Wallet, message: &[u8]) -> Result<(), &'static str> {
    cose::verify(&wallet.sign1(), &wallet.key, message, Network::Test).map(|_| ()).map_err(|bad| bad.0)
}

#[test]
fn a_wallets_signature_is_read_strictly() {
    let good = Wallet::sign(&approver(), b"message");
    assert_eq!(verify(&good, b"message"), Ok(()));
    let tagged = [vec![0xd2], good.sign1()].concat();
    assert!(cose::verify(&tagged, &good.key, b"message", Network::Test).is_ok());
    assert!(cose::verify(&good.sign1(), &good.key, b"message", Network::Main).is_err());
    let check = |edit: fn(&mut Wallet), expected: &str| {
        let mut wallet = good.clone();
        edit(&mut wallet);
        assert_eq!(verify(&wallet, b"message"), Err(expected));
    };
    check(|w| w.payload = b"another".to_vec(), "another message was signed");
    check(|w| w.signature[0] ^= 1, "not this key's signature");
    check(|w| w.signature.truncate(63), "a signature has 64 bytes");
    check(|w| *w.unprotected.last_mut().unwrap() = 0xf5, "the payload is a hash");
    // Unprotected headers are nobody's word: without them it holds as well.
    let mut bare = good.clone();
    bare.unprotected = vec![0xa0];
    assert_eq!(verify(&bare, b"message"), Ok(()));
}

#[test]
fn our_own_signature_is_a_wallets() {
    let keys::PublicKey::Ed25519(public) = approver().public() else { panic!() };
    let own = Credential::Key(key_hash(&approver()));
    for (network, stake) in [
        (Network::Test, None),
        (Network::Main, None),
        (Network::Test, Some(Credential::Key(key_hash(&agent())))),
    ] {
        let address = Address::new(network, own, stake);
        let signed = cose::sign(&approver(), &public, b"message", &address).unwrap();
        assert_eq!(cose::verify(&signed.signature, &signed.key, b"message", network), Ok(public));
    }
    let by_hand = Wallet::sign(&approver(), b"message");
    let address = Address::new(Network::Test, own, None);
    let signed = cose::sign(&approver(), &public, b"message", &address).unwrap();
    assert_eq!((signed.signature, signed.key), (by_hand.sign1(), by_hand.key));
}

#[test]
fn the_address_is_the_signers() {
    let good = Wallet::sign(&approver(), b"message");
    let check = |address: Vec<u8>| {
        let mut wallet = good.clone();
        wallet.protected = protected(&address);
        let signature = approver().sign(&cose::signed_bytes(&wallet.protected, b"message")).unwrap();
        wallet.signature = signature.as_bytes().to_vec();
        assert_eq!(verify(&wallet, b"message"), Err("the address is not the signer's"), "{address:?}");
    };
    let other = [&[0x60], key_hash(&agent()).as_bytes().as_slice()].concat();
    check(other);
    for head in [0x61, 0x70, 0xe0, 0x00, 0x40] {
        let mut address = good.address.clone();
        address[0] = head;
        check(address);
    }
    check(Vec::new());
}

#[test]
fn no_bytes_break_it() {
    let good = Wallet::sign(&approver(), b"message");
    let sign1 = good.sign1();
    // Unprotected headers are signed by nobody.
    let free = 1 + bytes(2, &good.protected).len();
    let free = free..free + good.unprotected.len();
    for at in 0..sign1.len() {
        for value in [0, 0x5f, 0x9f, 0xbf, 0xff, sign1[at] ^ 1] {
            let mut bent = sign1.clone();
            bent[at] = value;
            let read = cose::verify(&bent, &good.key, b"message", Network::Test);
            assert!(read.is_err() || bent == sign1 || free.contains(&at), "byte {at} as {value}");
        }
        assert!(cose::verify(&sign1[..at], &good.key, b"message", Network::Test).is_err());
    }
    let deep = vec![0x81; 100_000];
    assert!(cose::verify(&deep, &good.key, b"message", Network::Test).is_err());
    assert!(cose::verify(&sign1, &deep, b"message", Network::Test).is_err());
}

fn signed(wallet: &Wallet, signer: &SoftwareSigner, statement: Digest) -> Signed {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (address, cose_sign1, cose_key) = (hex(&wallet.address), hex(&wallet.sign1()), hex(&wallet.key));
    Signed {
        evidence: Evidence::Wallet { address, cose_sign1, cose_key },
        key: signer.public(),
        nonce: "0123456789abcdef".parse().unwrap(),
        statement,
    }
}

#[test]
fn a_wallet_approves_and_declines() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    let verification = desk.verification(&id);
    let drafted = desk.draft_with(&id, verification.clone()).unwrap().unwrap();
    let mut approve = desk.approval_of(&drafted, &approver());
    approve.verification = verification;
    let statement = approve.signed.statement;
    approve.signed = signed(&Wallet::sign(&approver(), b"something else"), &approver(), statement);
    let refused = desk.run(&Command::Approve(Box::new(approve.clone())));
    assert_eq!(refused, Err(Refusal::BadApproverSignature));
    approve.signed = signed(&Wallet::sign(&approver(), statement.as_bytes()), &approver(), statement);
    let reply = desk.run(&Command::Approve(Box::new(approve))).unwrap();
    assert!(matches!(reply, Reply::Approved { authorization: Some(_), .. }));
    let body = ApproveBody { authorization_digest: drafted.digest };
    assert_eq!(desk.signed(&id, Decided::Approve, &body, &approver()).statement, statement);

    let id = desk.ask(&action("two", 1800));
    let body = DeclineBody { comment: "not now".parse().ok(), reason: DeclineReason::Legitimate };
    let statement = desk.signed(&id, Decided::Decline, &body, &approver()).statement;
    let decline = Decline {
        approval_id: id.parse().unwrap(),
        reason: body.reason,
        comment: body.comment,
        signed: signed(&Wallet::sign(&approver(), statement.as_bytes()), &approver(), statement),
        approvers: desk.approvers.clone(),
    };
    assert!(desk.run(&Command::Decline(Box::new(decline))).is_ok());
}

#[test]
fn the_older_decline_is_for_this_approval_and_reason() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    let mut attempt = |signer: &SoftwareSigner, named: &str, signed_for: DeclineReason, comment: bool| {
        let message = decline_message(named, signed_for).unwrap();
        let decline = Decline {
            approval_id: id.parse().unwrap(),
            reason: DeclineReason::Frivolous,
            comment: if comment { "added".parse().ok() } else { None },
            signed: signed(&Wallet::sign(signer, &message), signer, Digest::of(&message)),
            approvers: desk.approvers.clone(),
        };
        desk.run(&Command::Decline(Box::new(decline))).err()
    };
    let frivolous = DeclineReason::Frivolous;
    assert_eq!(attempt(&agent(), &id, frivolous, false), Some(Refusal::NotTheApprover));
    assert_eq!(attempt(&approver(), "AP-9", frivolous, false), Some(Refusal::OtherStatement));
    assert_eq!(attempt(&approver(), &id, DeclineReason::Legitimate, false), Some(Refusal::OtherStatement));
    assert_eq!(attempt(&approver(), &id, frivolous, true), Some(Refusal::OtherStatement));
    assert_eq!(attempt(&approver(), &id, frivolous, false), None);
}
