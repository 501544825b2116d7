// @ts-check
/**
 * Messages signed by a wallet's own libraries, with a wallet's own keys (an extended key, an address with a stake part), against
 * `countersign mandate sign` and `signer`; and the console's scripts, as far as they sign.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import MS from '@emurgo/cardano-message-signing-nodejs';
import CSL from '@emurgo/cardano-serialization-lib-nodejs';
import { base64url, fromHex, hex, utf8, witnessSet } from '../../../crates/console/static/mandates/bytes.js';
import { blake2b } from '../../../verifier-js/blake2b.js';

const COUNTERSIGN = process.env['COUNTERSIGN'] ?? 'countersign';
const OUT = process.env['OUT'] ?? '.';
const ZERO = '00'.repeat(32);
const STATEMENT = JSON.stringify({ v: 1, ask_id: 'AP-1', action_hash: ZERO, brief_hash: ZERO, decision: 'approve', nonce: '0123456789abcdef' });
const SENTENCE = 'Countersign sign-in. I show that this key is mine. Nonce: 1.';

let failed = 0;
/** @param {string} name @param {() => void | Promise<void>} play */
async function check(name, play) {
  try {
    await play();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error instanceof Error ? error.message : error}`);
  }
}

/** @param {unknown} got @param {unknown} expected @param {string} what */
function same(got, expected, what) {
  if (got !== expected) throw new Error(`${what}: ${got}, not ${expected}`);
}

/** @param {string[]} args */
const own = (...args) => execFileSync(COUNTERSIGN, ['mandate', ...args], { encoding: 'utf8' }).trim();

/** What `signer` says of a wallet's answer: its output, or its exit status. @param {string} what @param {object} answer */
function signer(what, answer) {
  const done = spawnSync(COUNTERSIGN, ['mandate', 'signer', what, '--signature', JSON.stringify(answer)], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : done.status;
}

/** What is signed of a text: its bytes, or the hash of a statement's canonical form. @param {string} what */
async function message(what) {
  if (what === SENTENCE) return utf8(what);
  const sorted = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(what)).sort(([a], [b]) => (a < b ? -1 : 1))));
  return new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(sorted)));
}

/** A wallet of twenty-four words, as they all derive them: an account's first payment key and its stake key. */
class Wallet {
  constructor() {
    const hard = (/** @type {number} */ index) => 0x80000000 + index;
    const root = CSL.Bip32PrivateKey.from_bip39_entropy(crypto.getRandomValues(new Uint8Array(32)), new Uint8Array());
    const account = root.derive(hard(1852)).derive(hard(1815)).derive(hard(0));
    this.key = account.derive(0).derive(0).to_raw_key();
    const stake = account.derive(2).derive(0).to_raw_key().to_public().hash();
    this.public = this.key.to_public();
    const credential = CSL.Credential.from_keyhash(this.public.hash());
    this.address = CSL.BaseAddress.new(0, credential, CSL.Credential.from_keyhash(stake)).to_address();
    /** As the command line prints a key. */
    this.line = `ed25519:${hex(this.public.as_bytes())} ${hex(this.public.hash().to_bytes())}`;
  }

  /** CIP-30. @param {Uint8Array} payload @param {Uint8Array} [address] */
  signData(payload, address = this.address.to_bytes()) {
    const protectedHeaders = MS.HeaderMap.new();
    protectedHeaders.set_algorithm_id(MS.Label.from_algorithm_id(MS.AlgorithmId.EdDSA));
    protectedHeaders.set_header(MS.Label.new_text('address'), MS.CBORValue.new_bytes(address));
    const headers = MS.Headers.new(MS.ProtectedHeaderMap.new(protectedHeaders), MS.HeaderMap.new());
    const builder = MS.COSESign1Builder.new(headers, payload, false);
    const signature = this.key.sign(builder.make_data_to_sign().to_bytes()).to_bytes();
    const key = MS.COSEKey.new(MS.Label.from_key_type(MS.KeyType.OKP));
    key.set_algorithm_id(MS.Label.from_algorithm_id(MS.AlgorithmId.EdDSA));
    const label = (/** @type {string} */ number) => MS.Label.new_int(MS.Int.new_negative(MS.BigNum.from_str(number)));
    key.set_header(label('1'), MS.CBORValue.new_int(MS.Int.new_i32(6)));
    key.set_header(label('2'), MS.CBORValue.new_bytes(this.public.as_bytes()));
    return { signature: hex(builder.build(signature).to_bytes()), key: hex(key.to_bytes()) };
  }
}

/** The libraries' own verdict on an answer. @param {Uint8Array} payload @param {{signature: string, key: string}} answer */
function theirs(payload, answer) {
  try {
    const sign1 = MS.COSESign1.from_bytes(fromHex(answer.signature));
    const label = MS.Label.new_int(MS.Int.new_negative(MS.BigNum.from_str('2')));
    const key = CSL.PublicKey.from_bytes(MS.COSEKey.from_bytes(fromHex(answer.key)).header(label)?.as_bytes() ?? new Uint8Array());
    const headers = sign1.headers().protected().deserialized_headers();
    const address = CSL.Address.from_bytes(headers.header(MS.Label.new_text('address'))?.as_bytes() ?? new Uint8Array());
    const signature = CSL.Ed25519Signature.from_bytes(sign1.signature());
    return (
      hex(sign1.payload() ?? new Uint8Array()) === hex(payload) &&
      address.payment_cred()?.to_keyhash()?.to_hex() === key.hash().to_hex() &&
      key.verify(sign1.signed_data(undefined, undefined).to_bytes(), signature)
    );
  } catch {
    return false;
  }
}

/** One changed digit: in the signature, the message, the address, the key. @param {{signature: string, key: string}} answer @param {Uint8Array} payload @param {string} address */
function tampered({ signature, key }, payload, address) {
  const flip = (/** @type {string} */ text, /** @type {number} */ at) => text.slice(0, at) + (parseInt(text[at] ?? '0', 16) ^ 1).toString(16) + text.slice(at + 1);
  return [
    ['the signature', { signature: flip(signature, signature.length - 10), key }],
    ['the message', { signature: flip(signature, signature.indexOf(hex(payload)) + 3), key }],
    ['the address', { signature: flip(signature, signature.indexOf(address) + 9), key }],
    ['the key', { signature, key: flip(key, key.length - 3) }],
  ];
}

const wallet = new Wallet();
const file = join(OUT, 'approver.jwk');
const line = own('key', file);

for (const [name, what] of [['a statement', STATEMENT], ['a sign-in', SENTENCE]]) {
  const payload = await message(what);
  const answer = wallet.signData(payload);
  await check(`${name} that a wallet signs is accepted here`, () => {
    same(theirs(payload, answer), true, 'by the libraries');
    same(signer(what, answer), wallet.line, 'here');
    const evidence = { kind: 'wallet', address: wallet.address.to_hex(), cose_sign1: answer.signature, cose_key: answer.key };
    const whole = { evidence, key: wallet.line.split(' ')[0], ...(what === STATEMENT ? { nonce: '0123456789abcdef' } : {}) };
    same(signer(what, whole), wallet.line, 'as a page sends it');
  });
  for (const network of ['preprod', 'mainnet']) {
    await check(`${name} that is signed here for ${network} is accepted by a wallet's libraries`, () => {
      const { evidence, key } = JSON.parse(own('sign', what, '--key', file, '--wallet', network));
      same(`${key} ${CSL.PublicKey.from_bytes(fromHex(key.slice(8))).hash().to_hex()}`, line, 'the key');
      same(theirs(payload, { signature: evidence.cose_sign1, key: evidence.cose_key }), true, 'by the libraries');
      same(CSL.Address.from_hex(evidence.address).network_id(), network === 'mainnet' ? 1 : 0, 'the address');
      same(signer(what, { signature: evidence.cose_sign1, key: evidence.cose_key }), line, 'here');
    });
  }
  await check(`${name} that was tampered with is refused by both`, () => {
    for (const [part, bent] of tampered(answer, payload, wallet.address.to_hex())) {
      same(theirs(payload, bent), false, `${part}, by the libraries`);
      same(typeof signer(what, bent), 'number', `${part}, here`);
    }
    const other = wallet.signData(utf8('something else'));
    same(theirs(payload, other), false, 'another message, by the libraries');
    same(signer(what, other), 1, 'another message, here');
    const stranger = wallet.signData(payload, new Wallet().address.to_bytes());
    same(theirs(payload, stranger), false, "another's address, by the libraries");
    same(signer(what, stranger), 1, "another's address, here");
  });
}

await check('a plain signature of the command line and of a key of the browser are Ed25519 to them', async () => {
  const payload = await message(STATEMENT);
  const { evidence, key } = JSON.parse(own('sign', STATEMENT, '--key', file));
  const signature = CSL.Ed25519Signature.from_bytes(new Uint8Array(Buffer.from(evidence.signature, 'base64url')));
  same(CSL.PublicKey.from_bytes(fromHex(key.slice(8))).verify(payload, signature), true, 'the command line');
  const pair = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']));
  const bytes = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const made = new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, payload));
  const held = CSL.PublicKey.from_bytes(bytes);
  same(held.verify(payload, CSL.Ed25519Signature.from_bytes(made)), true, 'the browser');
  same(held.hash().to_hex(), hex(blake2b(bytes, 28)), 'its name');
  const jwk = `{"crv":"Ed25519","kty":"OKP","x":"${base64url(bytes)}"}`;
  const thumbprint = base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(jwk))));
  const said = { key: `ed25519:${hex(bytes)}`, nonce: '0123456789abcdef', evidence: { kind: 'ed25519', thumbprint, signature: base64url(made) } };
  same(signer(STATEMENT, said), `${said.key} ${held.hash().to_hex()}`, 'here');
  const set = CSL.TransactionWitnessSet.from_hex(witnessSet(bytes, made)).vkeys();
  same(set?.get(0).vkey().public_key().hash().to_hex(), held.hash().to_hex(), 'its witness');
});

process.exit(failed === 0 ? 0 : 1);
