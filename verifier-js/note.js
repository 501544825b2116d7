// @ts-check
/** C2SP signed notes, tlog checkpoints and witness cosignatures, as crate `ledger` reads them. */

import { ed25519Key, verifyEd25519 } from './signature.js';
import { Refusal } from './refusal.js';
import { concat, equal, sha256 } from './sha256.js';

const MAX_NOTE = 1 << 20;
const MAX_SIGNATURES = 64;
const LOG = 1;
const WITNESS = 4;

/**
 * @typedef {{name: string, kind: number, id: Uint8Array, key: Uint8Array}} VerifierKey
 * @typedef {{origin: string, size: bigint, root: Uint8Array}} Checkpoint
 * @typedef {{checkpoint: Checkpoint, text: string, lines: {name: string, id: Uint8Array, signature: Uint8Array}[]}} Note
 * @typedef {{logs: VerifierKey[], witnesses: VerifierKey[], required: number}} Pins
 */

/**
 * A key under a name: its id is the first four bytes of SHA-256(name ‖ 0x0A ‖ type ‖ key).
 * @param {string} name
 * @param {number} kind
 * @param {Uint8Array} key
 * @returns {VerifierKey}
 */
export function verifierKey(name, kind, key) {
  return { name, kind, key, id: sha256(name, '\n', Uint8Array.of(kind), key).slice(0, 4) };
}

/**
 * The key of a log.
 * @param {string} name
 * @param {Uint8Array} key
 */
export function logKey(name, key) {
  return verifierKey(name, LOG, key);
}

/**
 * Reads `name+keyid+base64(type ‖ key)`.
 * @param {string} vkey
 * @returns {VerifierKey}
 */
export function parseVkey(vkey) {
  const form = (/** @type {string} */ why) => new Refusal('vkey_form', '', `not a verifier key: ${why}`);
  const one = vkey.indexOf('+');
  const two = vkey.indexOf('+', one + 1);
  if (one < 0 || two < 0) throw form('not name+id+key');
  const bytes = base64(vkey.slice(two + 1));
  if (!bytes) throw form('the key is not canonical base64');
  if (bytes.length === 0) throw form('the key is empty');
  const kind = bytes[0];
  if (kind !== LOG && kind !== WITNESS) {
    throw new Refusal('key_type_unsupported', '', `key type ${kind} cannot be checked here`);
  }
  const key = bytes.slice(1);
  if (!ed25519Key(key)) throw form('the key is refused');
  const name = vkey.slice(0, one);
  if (!isKeyName(name)) throw new Refusal('key_name', '', `${name} is no key name`);
  const made = verifierKey(name, kind, key);
  const id = Array.from(made.id, (byte) => byte.toString(16).padStart(2, '0')).join('');
  if (id !== vkey.slice(one + 1, two)) throw form("the id is not the key's");
  return made;
}

/**
 * Refuses a key in the wrong list, a key or a witness's key material pinned twice, and a quorum out of reach.
 * @param {VerifierKey[]} logs
 * @param {VerifierKey[]} witnesses
 * @param {number} required
 * @returns {Pins}
 */
export function pins(logs, witnesses, required) {
  if (logs.some((key) => key.kind !== LOG)) throw new Refusal('vkey_form', '', "a witness's key is pinned as a log's");
  if (witnesses.some((key) => key.kind !== WITNESS)) {
    throw new Refusal('vkey_form', '', "a log's key is pinned as a witness's");
  }
  const same = (/** @type {VerifierKey} */ a, /** @type {VerifierKey} */ b) => a.name === b.name && equal(a.id, b.id);
  once(logs, same);
  once(witnesses, (a, b) => equal(a.key, b.key) || same(a, b));
  const names = new Set(witnesses.map((key) => key.name));
  if (required > names.size) {
    throw new Refusal('quorum_beyond_pins', '', `${required} witnesses are required, ${names.size} are pinned`);
  }
  return { logs, witnesses, required };
}

/**
 * A note, well formed and unverified.
 * @param {Uint8Array} bytes
 * @returns {Note}
 */
export function parseNote(bytes) {
  if (bytes.length > MAX_NOTE) throw new Refusal('note_too_long', '', 'a note is longer than 1 MiB');
  const form = (/** @type {string} */ why) => new Refusal('note_form', '', `not a signed note: ${why}`);
  let note;
  try {
    note = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw form('it is not UTF-8');
  }
  if (/[^\P{Cc}\n]/u.test(note)) throw form('it has a control character');
  const cut = note.lastIndexOf('\n\n');
  if (cut < 0) throw form('no blank line before the signatures');
  const signatures = note.slice(cut + 2);
  if (!signatures.endsWith('\n')) throw form('the last line is not ended');
  const lines = signatures
    .slice(0, -1)
    .split('\n')
    .map((line, index) => {
      if (index >= MAX_SIGNATURES) throw new Refusal('note_too_many_signatures', '', 'more than 64 signatures');
      return signatureLine(line);
    });
  const text = note.slice(0, cut + 1);
  return { checkpoint: parseCheckpoint(text), text, lines };
}

/**
 * Checks a note under the pinned keys; lines of other keys are passed over. Gives the witnesses that cosigned.
 * @param {Note} note
 * @param {Pins} pinned
 * @returns {Promise<{witness: string, time: bigint}[]>}
 */
export async function verifyNote(note, pinned) {
  const { origin } = note.checkpoint;
  if (!pinned.logs.some((key) => key.name === origin)) {
    throw new Refusal('log_unknown', '', `no pinned log key is named after the origin ${origin}`);
  }
  const text = concat(note.text);
  let signed = false;
  for (const key of pinned.logs) {
    const line = lineOf(note, key);
    if (!line) continue;
    if (!(await verifyEd25519(key.key, text, line.signature))) {
      throw new Refusal('log_signature_bad', '', `the signature of ${key.name} is wrong`);
    }
    signed ||= key.name === origin;
  }
  if (!signed) throw new Refusal('log_unsigned', '', `the log ${origin} has not signed`);
  /** @type {{witness: string, time: bigint}[]} */
  const seen = [];
  for (const key of pinned.witnesses) {
    const line = lineOf(note, key);
    if (!line) continue;
    const bad = new Refusal('cosignature_bad', '', `the cosignature of ${key.name} is wrong`);
    if (line.signature.length < 8) throw bad;
    const time = new DataView(line.signature.buffer, line.signature.byteOffset).getBigUint64(0);
    const message = concat(`cosignature/v1\ntime ${time}\n`, note.text);
    if (!(await verifyEd25519(key.key, message, line.signature.slice(8)))) throw bad;
    if (time >= 1n << 63n) throw bad;
    if (!seen.some(({ witness }) => witness === key.name)) seen.push({ witness: key.name, time });
  }
  if (seen.length < pinned.required) {
    throw new Refusal('witness_quorum', '', `${seen.length} of ${pinned.required} required witnesses have cosigned`);
  }
  return seen;
}

/**
 * Padded base64 in its one spelling.
 * @param {string} text
 * @returns {Uint8Array | undefined}
 */
export function base64(text) {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined;
}

/** @param {string} name */
function isKeyName(name) {
  const length = concat(name).length;
  return length >= 1 && length <= 255 && !/[\p{White_Space}\p{Cc}+]/u.test(name);
}

/**
 * @param {string} text
 * @returns {Checkpoint}
 */
function parseCheckpoint(text) {
  const form = (/** @type {string} */ why) => new Refusal('checkpoint_form', '', `not a checkpoint: ${why}`);
  const lines = text.slice(0, -1).split('\n');
  if (lines.length !== 3) throw form('it has not exactly three lines');
  const [origin, size, root] = lines;
  if (!isKeyName(origin)) throw form('the origin is no key name');
  const number = /^(0|[1-9][0-9]{0,19})$/.test(size) ? BigInt(size) : undefined;
  if (number === undefined || number >= 1n << 64n) throw form('the size is no decimal number');
  const bytes = base64(root);
  if (bytes?.length !== 32) throw form('the root is not 32 bytes in canonical base64');
  return { origin, size: number, root: bytes };
}

/** @param {string} line */
function signatureLine(line) {
  const form = (/** @type {string} */ why) => new Refusal('note_signature_line', '', `a signature line: ${why}`);
  if (!line.startsWith('— ')) throw form('no dash');
  const rest = line.slice(2);
  const blank = rest.indexOf(' ');
  if (blank < 0) throw form('no signature');
  const bytes = base64(rest.slice(blank + 1));
  if (!bytes) throw form('not canonical base64');
  if (bytes.length < 5) throw form('no signature');
  const name = rest.slice(0, blank);
  if (!isKeyName(name)) throw form('no key name');
  return { name, id: bytes.slice(0, 4), signature: bytes.slice(4) };
}

/**
 * @param {Note} note
 * @param {VerifierKey} key
 */
export function lineOf(note, key) {
  const lines = note.lines.filter((line) => line.name === key.name && equal(line.id, key.id));
  if (lines.length > 1) throw new Refusal('signed_twice', '', `${key.name} signs twice`);
  return lines[0];
}

/**
 * @param {VerifierKey[]} keys
 * @param {(a: VerifierKey, b: VerifierKey) => boolean} same
 */
function once(keys, same) {
  keys.forEach((key, index) => {
    if (keys.slice(0, index).some((other) => same(other, key))) {
      throw new Refusal('key_pinned_twice', '', `key ${key.name} is pinned twice`);
    }
  });
}
