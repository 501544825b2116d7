// @ts-check
/** Where a checkpoint is anchored, as crate `pcm` checks it: an entry of a Rekor v2 log and a time stamp (RFC 3161). */

import { CanonError, parse } from './canon.js';
import { leafHash, verifyInclusion } from './merkle.js';
import { base64, parseNote } from './note.js';
import { readPath } from './pcm-record.js';
import { Refusal } from './refusal.js';
import { concat, equal, hex, sha256 } from './sha256.js';
import { verifyEd25519, verifySignature } from './signature.js';

const SHA256 = '608648016503040201';
const ECDSA_SHA256 = '2a8648ce3d040302';
const SIGNED_DATA = '2a864886f70d010702';
const TST_INFO = '2a864886f70d0109100104';
const CONTENT_TYPE = '2a864886f70d010903';
const MESSAGE_DIGEST = '2a864886f70d010904';
const [INTEGER, OCTETS, OID, UTC_TIME, TIME, SEQUENCE, SET, ZERO] = [0x02, 0x04, 0x06, 0x17, 0x18, 0x30, 0x31, 0xa0];

/** @typedef {{tag: number, body: Uint8Array, whole: Uint8Array}} Der */

/**
 * Throws a {@link Refusal} where the anchor does not hold.
 * @param {Uint8Array} note
 * @param {Uint8Array} entryBytes
 * @param {Uint8Array} stamp
 * @param {import('./pcm-trust.js').Evidence} trust
 */
export async function checkAnchor(note, entryBytes, stamp, trust) {
  const rekor = /** @type {Map<string, any>} */ (trust.rekor);
  const root = rekor.get('trusted_root');
  const data = anchored(note, trust);
  const at = await stamped(stamp, data, root);
  if (at === undefined) throw bad('the time stamp is not over this note, or by no pinned authority valid at its time');
  const entry = strict(entryBytes);
  const body = bytes(get(entry, 'canonicalizedBody'));
  if (!body) throw bad('the entry has no body');
  await bound(strict(body), data, bytes(rekor.get('publishing_key')) ?? new Uint8Array());
  await included(entry, body, root, at);
}

/**
 * The bytes that are anchored: the note's text and the line of a pinned key of the log.
 * @param {Uint8Array} bytes
 * @param {import('./pcm-trust.js').Evidence} trust
 */
function anchored(bytes, trust) {
  const note = parseNote(bytes);
  const line = note.lines.find(({ name, id }) =>
    trust.logs.some((key) => key.name === name && equal(key.id, id) && name === note.checkpoint.origin),
  );
  if (!line) throw bad('the log has not signed');
  const encoded = btoa(String.fromCharCode(...concat(line.id, line.signature)));
  return concat(`${note.text}\n— ${line.name} ${encoded}\n`);
}

/**
 * @param {any} entry
 * @param {Uint8Array} data
 * @param {Uint8Array} publishing
 */
async function bound(entry, data, publishing) {
  const spec = get(entry, 'spec', 'hashedRekordV002');
  const digest = btoa(String.fromCharCode(...sha256(data)));
  const plain =
    get(entry, 'apiVersion') === '0.0.2' &&
    get(entry, 'kind') === 'hashedrekord' &&
    get(spec, 'data', 'algorithm') === 'SHA2_256' &&
    get(spec, 'data', 'digest') === digest;
  if (!plain) throw bad('the entry is not of this note');
  const verifier = get(spec, 'signature', 'verifier');
  const key = bytes(get(verifier, 'publicKey', 'rawBytes'));
  const signature = bytes(get(spec, 'signature', 'content')) ?? new Uint8Array();
  const details = get(verifier, 'keyDetails') === 'PKIX_ECDSA_P256_SHA_256';
  if (!details || !key || !equal(key, publishing) || !(await holds(publishing, data, signature))) {
    throw bad('the entry is not signed with the pinned publishing key');
  }
}

/**
 * @param {any} entry
 * @param {Uint8Array} body
 * @param {any} root
 * @param {number} at
 */
async function included(entry, body, root, at) {
  const id = get(entry, 'logId', 'keyId');
  const shards = get(root, 'tlogs');
  const shard = Array.isArray(shards) && typeof id === 'string' ? shards.find((one) => get(one, 'logId', 'keyId') === id) : undefined;
  if (!shard || !validAt(get(shard, 'publicKey'), at)) throw bad('the entry is in no pinned log valid at its time');
  const proof = get(entry, 'inclusionProof');
  const number = (/** @type {string} */ name) => {
    const text = get(proof, name);
    return typeof text === 'string' && /^\+?[0-9]+$/.test(text) && BigInt(text.replace('+', '')) < 1n << 64n ? BigInt(text.replace('+', '')) : undefined;
  };
  const [index, size] = [number('logIndex'), number('treeSize')];
  const hash = bytes(get(proof, 'rootHash'));
  const path = readPath(get(proof, 'hashes'));
  if (index === undefined || size === undefined || hash?.length !== 32 || !path) throw bad('the proof is malformed');
  try {
    verifyInclusion(leafHash(body), index, size, path, hash);
  } catch (error) {
    throw error instanceof Refusal ? bad('the entry is not in its log') : error;
  }
  const envelope = get(proof, 'checkpoint', 'envelope');
  const note = parseNote(concat(typeof envelope === 'string' ? envelope : ''));
  const key = bytes(get(shard, 'publicKey', 'rawBytes')) ?? new Uint8Array();
  const short = bytes(get(shard, 'logId', 'keyId'))?.slice(0, 4);
  let signed = false;
  for (const line of note.lines) {
    if (line.name !== note.checkpoint.origin || !short || short.length < 4 || !equal(line.id, short)) continue;
    signed ||= await holds(key, concat(note.text), line.signature);
  }
  if (!signed || note.checkpoint.size !== size || !equal(note.checkpoint.root, hash)) {
    throw bad("the log has not signed the proof's tree");
  }
}

/**
 * When a pinned authority stamped the bytes, in seconds.
 * @param {Uint8Array} stamp
 * @param {Uint8Array} data
 * @param {any} root
 * @returns {Promise<number | undefined>}
 */
async function stamped(stamp, data, root) {
  try {
    const [status, token] = two(alone(stamp, SEQUENCE).body);
    const granted = of(items(of(status, SEQUENCE).body)[0], INTEGER).body;
    if (granted.length !== 1 || granted[0] > 1) return undefined;
    const [kind, content] = two(of(token, SEQUENCE).body);
    if (hex(of(kind, OID).body) !== SIGNED_DATA) return undefined;
    const signed = items(alone(of(content, ZERO).body, SEQUENCE).body);
    const [type, held] = two(of(signed[2], SEQUENCE).body);
    const info = alone(of(held, ZERO).body, OCTETS).body;
    const signers = items(of(signed[signed.length - 1], SET).body);
    if (signers.length !== 1) return undefined;
    const signer = items(of(signers[0], SEQUENCE).body);
    const named = (/** @type {number} */ at) => hex(of(items(of(signer[at], SEQUENCE).body)[0], OID).body);
    const attributes = of(signer[3], ZERO);
    const told = (/** @type {string} */ name) => {
      for (const attribute of items(attributes.body)) {
        const [kind, values] = two(of(attribute, SEQUENCE).body);
        if (hex(kind.body) === name) return items(of(values, SET).body)[0].body;
      }
      throw FAULT;
    };
    const bound =
      hex(of(type, OID).body) === TST_INFO &&
      named(2) === SHA256 &&
      named(4) === ECDSA_SHA256 &&
      hex(told(CONTENT_TYPE)) === TST_INFO &&
      equal(told(MESSAGE_DIGEST), sha256(info));
    const fields = items(alone(info, SEQUENCE).body);
    const imprint = items(of(fields[2], SEQUENCE).body);
    const over =
      hex(of(items(of(imprint[0], SEQUENCE).body)[0], OID).body) === SHA256 && equal(of(imprint[1], OCTETS).body, sha256(data));
    if (!bound || !over) return undefined;
    const at = time(of(fields[4], TIME));
    const message = concat(Uint8Array.of(SET), attributes.whole.slice(1));
    const signature = of(signer[5], OCTETS).body;
    const authorities = get(root, 'timestampAuthorities');
    for (const authority of Array.isArray(authorities) ? authorities : []) {
      if (await stamps(authority, at, message, signature)) return at;
    }
    return undefined;
  } catch (error) {
    if (error === FAULT || error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * @param {any} authority
 * @param {number} at
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 */
async function stamps(authority, at, message, signature) {
  try {
    const chain = get(authority, 'certChain', 'certificates');
    const certificate = Array.isArray(chain) ? bytes(get(chain[0], 'rawBytes')) : undefined;
    if (!certificate) return false;
    const signed = items(of(items(alone(certificate, SEQUENCE).body)[0], SEQUENCE).body);
    const skip = signed[0].tag === ZERO ? 1 : 0;
    const [from, to] = two(of(signed[skip + 3], SEQUENCE).body);
    const key = of(signed[skip + 5], SEQUENCE).whole;
    return validAt(authority, at) && time(from) <= at && at <= time(to) && (await holds(key, message, signature));
  } catch (error) {
    if (error === FAULT || error instanceof TypeError) return false;
    throw error;
  }
}

/**
 * A signature of a key (DER): Ed25519, or ES256 in DER.
 * @param {Uint8Array} spki
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 */
async function holds(spki, message, signature) {
  const text = hex(spki);
  if (text.startsWith('302a300506032b6570032100')) return verifyEd25519(spki.slice(12), message, signature);
  if (!text.startsWith('3059301306072a8648ce3d020106082a8648ce3d030107034200') || spki.length !== 91) return false;
  const raw = es256(signature);
  if (!raw) return false;
  try {
    return await verifySignature({ algorithm: 'P-256', raw: spki.slice(26), x: '', y: '' }, message, raw);
  } catch {
    // Not a point of the curve.
    return false;
  }
}

/**
 * r‖s of a signature in strict DER.
 * @param {Uint8Array} der
 */
function es256(der) {
  try {
    const parts = two(alone(der, SEQUENCE).body).map((part) => {
      const { body } = of(part, INTEGER);
      const small = body.length > 1 && body[0] === 0 && body[1] < 0x80;
      if (body.length === 0 || body[0] >= 0x80 || small) throw FAULT;
      const digits = body[0] === 0 ? body.slice(1) : body;
      if (digits.length > 32) throw FAULT;
      return concat(new Uint8Array(32 - digits.length), digits);
    });
    return concat(...parts);
  } catch (error) {
    if (error === FAULT || error instanceof TypeError) return undefined;
    throw error;
  }
}

const FAULT = Symbol('not DER');

/**
 * @param {Uint8Array} bytes
 * @returns {Der[]}
 */
function items(bytes) {
  const all = [];
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    const tag = bytes[at++];
    if (at >= bytes.length) throw FAULT;
    let length = bytes[at++];
    if (length >= 0x80) {
      const count = length & 0x7f;
      if (count < 1 || count > 4 || at + count > bytes.length) throw FAULT;
      length = 0;
      for (let i = 0; i < count; i++) length = length * 256 + bytes[at++];
    }
    if (at + length > bytes.length) throw FAULT;
    all.push({ tag, body: bytes.slice(at, at + length), whole: bytes.slice(start, at + length) });
    at += length;
  }
  return all;
}

/**
 * @param {Uint8Array} bytes
 * @param {number} tag
 */
function alone(bytes, tag) {
  const all = items(bytes);
  if (all.length !== 1) throw FAULT;
  return of(all[0], tag);
}

/** @param {Uint8Array} bytes */
function two(bytes) {
  const all = items(bytes);
  if (all.length !== 2) throw FAULT;
  return all;
}

/**
 * @param {Der | undefined} der
 * @param {number} tag
 */
function of(der, tag) {
  if (der?.tag !== tag) throw FAULT;
  return der;
}

/**
 * @param {Der} der
 * @returns {number}
 */
function time(der) {
  let text = String.fromCharCode(...der.body);
  if (der.tag === UTC_TIME) text = (text.slice(0, 2) < '50' ? '20' : '19') + text;
  else if (der.tag !== TIME) throw FAULT;
  const at = /^\d{14}.*Z$/s.test(text) ? Date.parse(text.replace(/^(....)(..)(..)(..)(..)(..).*$/s, '$1-$2-$3T$4:$5:$6Z')) : NaN;
  if (Number.isNaN(at)) throw FAULT;
  return at / 1000;
}

/**
 * Whether `validFor` covers the time.
 * @param {any} entry
 * @param {number} at
 */
function validAt(entry, at) {
  const bound = (/** @type {string} */ name) => {
    const text = get(entry, 'validFor', name);
    if (typeof text !== 'string') return undefined;
    return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*)?Z$/.test(text) ? Date.parse(text.slice(0, 19) + 'Z') / 1000 : NaN;
  };
  const [start, end] = [bound('start'), bound('end')];
  return start !== undefined && start <= at && (end === undefined || at <= end);
}

/**
 * @param {any} value
 * @param {...string} names
 */
function get(value, ...names) {
  return names.reduce((/** @type {any} */ one, name) => (one instanceof Map ? one.get(name) : undefined), value);
}

/** @param {any} text */
function bytes(text) {
  return typeof text === 'string' ? base64(text) : undefined;
}

/** @param {Uint8Array} text */
function strict(text) {
  try {
    return parse(text);
  } catch (error) {
    throw error instanceof CanonError ? new Refusal('bad_json', '', error.message) : error;
  }
}

/** @param {string} why */
function bad(why) {
  return new Refusal('bad_anchor', '', `the anchor of the checkpoint does not hold: ${why}`);
}
