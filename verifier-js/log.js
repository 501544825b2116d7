// @ts-check
/** The head of a stream under its server's signature, and its place in the server's log. */

import { leafHash, verifyInclusion } from './merkle.js';
import { logKey, parseNote, pins, verifyNote } from './note.js';
import { Refusal } from './refusal.js';
import { array, digestText, is, natural, object, optional, publicKeyOf, signatureText, text, words } from './shape.js';
import { base64url, sameKey, verifySignature } from './signature.js';
import { concat, digest, hex, sha256 } from './sha256.js';

export const signedHead = object({ n: natural, hash: digestText, signature: signatureText });

export const logProof = object({ checkpoint: text, index: natural, leaf: text, proof: array(digestText) });

const STREAM = /^[a-z]{1,16}\/[A-Za-z0-9._-]{1,100}$/;

/** The first line of a stream's export. */
export const HEADER = object({
  type: text,
  stream: is((value) => typeof value === 'string' && STREAM.test(value)),
  rule: words('prev_hex', 'prev_raw'),
  head: signedHead,
  key: publicKeyOf,
  log: optional(logProof),
});

/**
 * @typedef {{n: number, hash: string, signature: string}} SignedHead
 * @typedef {{checkpoint: string, index: number, leaf: string, proof: string[]}} LogProof
 * @typedef {import('./signature.js').PublicKey} PublicKey
 * @typedef {import('./index.js').Trust} Trust
 */

/**
 * @param {string} stream
 * @param {SignedHead} head
 * @param {PublicKey} key
 * @param {Trust | undefined} trust
 */
export async function checkHead(stream, head, key, trust) {
  knownServer(key, trust);
  const message = concat(`countersign.head.v1\n${stream}\n${head.n}\n${head.hash}`);
  const signature = /** @type {Uint8Array} */ (base64url(head.signature));
  if (!(await verifySignature(key, message, signature))) {
    throw new Refusal('bad_head_signature', '/head/signature', "not this key's signature over the head");
  }
}

/**
 * A verifier that has keys takes no others.
 * @param {PublicKey} key
 * @param {Trust | undefined} trust
 */
export function knownServer(key, trust) {
  if (trust && !trust.servers.some((known) => sameKey(known, key))) {
    throw new Refusal('server_untrusted', '/keys', "the server's key is not in the trust file");
  }
}

/**
 * @param {LogProof | undefined} proof
 * @param {string} stream
 * @param {SignedHead} head
 * @param {PublicKey} key
 * @param {Trust | undefined} trust
 * @param {Record<string, string>} facts
 */
export async function checkLog(proof, stream, head, key, trust, facts) {
  if (!proof) {
    facts.log = 'absent';
    if (trust && pinsLogs(trust)) throw new Refusal('log_missing', '/log', 'logs are pinned and there is no log proof');
    return;
  }
  const number = new Uint8Array(8);
  new DataView(number.buffer).setBigUint64(0, BigInt(head.n));
  const leaf = concat(sha256(stream), number, /** @type {Uint8Array} */ (digest(head.hash)));
  if (proof.leaf !== hex(leaf)) throw new Refusal('leaf_mismatch', '/log/leaf', 'the leaf is not that of the head');
  const note = Refusal.at('/log/checkpoint', () => parseNote(concat(proof.checkpoint)));
  let standing = 'signed';
  try {
    if (trust && pinsLogs(trust)) facts.witnesses = witnesses(await verifyNote(note, trust.pins));
    else standing = await carried(note, key);
  } catch (error) {
    Refusal.at('/log/checkpoint', () => {
      throw error;
    });
  }
  const { origin, size, root } = note.checkpoint;
  const path = proof.proof.map((hash) => /** @type {Uint8Array} */ (digest(hash)));
  Refusal.at('/log/proof', () => verifyInclusion(leafHash(leaf), BigInt(proof.index), size, path, root));
  facts.log = standing;
  facts.log_origin = origin;
  facts.log_size = String(size);
}

/**
 * Whether a head must have its place in a log that the verifier knows.
 * @param {Trust} trust
 */
function pinsLogs({ pins }) {
  return pins.logs.length + pins.required > 0;
}

/**
 * @param {{witness: string, time: bigint}[]} seen
 */
export function witnesses(seen) {
  return seen.map(({ witness, time }) => `${witness} at ${instant(time)}`).join(', ') || 'none';
}

/**
 * Without a pinned log key: a line of the server's own key must be good, lines of others prove nothing.
 * @param {import('./note.js').Note} note
 * @param {PublicKey} key
 */
async function carried(note, key) {
  if (key.algorithm !== 'Ed25519') return 'unsigned';
  try {
    await verifyNote(note, pins([logKey(note.checkpoint.origin, key.raw)], [], 0));
    return 'self_signed';
  } catch (error) {
    if (error instanceof Refusal && error.code === 'log_unsigned') return 'unsigned';
    throw error;
  }
}

/** @param {bigint} seconds */
function instant(seconds) {
  const last = 253_402_214_400n;
  return new Date(Number(seconds > last ? last : seconds) * 1000).toISOString();
}
