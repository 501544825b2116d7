// @ts-check
/** The trust file of evidence, and checkpoints under it, as crate `pcm` reads them (spec of PCM 3.6, 3.13). */

import { Num } from './canon.js';
import { logKey, base64, lineOf, parseNote, parseVkey, pins, verifyNote } from './note.js';
import { Refusal } from './refusal.js';
import { concat, equal, hex, sha256 } from './sha256.js';
import { verifySlhDsa } from './slh-dsa.js';

const CLASSES = ['public', 'customer', 'tracekit', 'operator'];
const MEMBERS = ['logs', 'witnesses', 'algs', 'witnesses_required', 'rekor', 'monitors', 'issuers', 'analyzers'];
const HYBRID = 0xff;
const SLH_DSA = 'tracekit/slh-dsa-sha2-128s';

/**
 * @typedef {import('./note.js').VerifierKey} VerifierKey
 * @typedef {{name: string, id: Uint8Array, key: Uint8Array}} HybridKey
 * @typedef {{key: VerifierKey, class: string}} Witness
 * @typedef {{logs: VerifierKey[], hybrids: HybridKey[], witnesses: Witness[], required: number, algs: string[],
 *   issuers: {key: VerifierKey, log: VerifierKey}[], rekor: Map<string, any> | undefined,
 *   pins: import('./note.js').Pins}} Evidence
 * @typedef {{origin: string, size: bigint, root: Uint8Array, hybrid: boolean,
 *   seen: {witness: string, class: string, time: bigint}[]}} Checkpoint
 */

/**
 * Whether a value is meant as this file: it alone has `algs`.
 * @param {any} value
 */
export function isEvidenceTrust(value) {
  return value instanceof Map && value.has('algs');
}

/**
 * @param {Map<string, any>} file
 * @returns {Evidence}
 */
export function readTrust(file) {
  if ([...file.keys()].some((name) => !MEMBERS.includes(name))) throw bad('it has a member that no trust file has');
  /** @type {VerifierKey[]} */
  const logs = [];
  /** @type {HybridKey[]} */
  const hybrids = [];
  for (const vkey of texts(file, 'logs')) {
    const hybrid = parseHybrid(vkey);
    if (hybrid) hybrids.push(hybrid);
    else logs.push(parseVkey(vkey));
  }
  const algs = texts(file, 'algs');
  if ((logs.length === 0 && hybrids.length === 0) || algs.length === 0) throw bad('logs and algs name at least one each');
  const witnesses = list(file, 'witnesses').map((one) => {
    members(one, ['vkey', 'class']);
    return { key: parseVkey(text(one.get('vkey'))), class: classOf(one) };
  });
  const required = file.has('witnesses_required') ? natural(file.get('witnesses_required')) : 0;
  if (required === undefined) throw bad('witnesses_required is no count');
  for (const one of list(file, 'monitors')) {
    members(one, ['vkey', 'class', 'max_age_s']);
    parseVkey(text(one.get('vkey')));
    classOf(one);
    if (!natural(one.get('max_age_s'))) throw bad('max_age_s is no count of seconds');
  }
  for (const one of list(file, 'analyzers')) {
    if (!/^[a-z0-9_]+:./su.test(text(one))) throw bad('an analyzer is not scheme:subject');
  }
  const issuers = list(file, 'issuers').map((one) => {
    members(one, ['vkey', 'issuance_log_vkey']);
    return { key: parseVkey(text(one.get('vkey'))), log: parseVkey(text(one.get('issuance_log_vkey'))) };
  });
  const keys = witnesses.map((witness) => witness.key);
  return { logs, hybrids, witnesses, required, algs, issuers, rekor: rekor(file), pins: pins(logs, keys, required) };
}

/**
 * Opens a note under the pinned keys: as its own log, or as the registry `name` of the log `origin`.
 * @param {Evidence} trust
 * @param {Uint8Array} bytes
 * @param {{origin: string, name: string}} [as]
 * @returns {Promise<Checkpoint>}
 */
export async function openCheckpoint(trust, bytes, as) {
  const note = parseNote(bytes);
  let { logs, hybrids } = trust;
  if (as) {
    logs = logs.filter((key) => key.name === as.origin).map((key) => logKey(as.name, key.key));
    hybrids = hybrids.filter((key) => key.name === as.origin).map((key) => hybridKey(as.name, key.key));
  }
  const keys = note.lines.map((line) => `${line.name} ${hex(line.id)}`);
  if (new Set(keys).size < keys.length) throw new Refusal('signed_twice', '', 'a key signs twice');
  const pinned = pins(logs, trust.witnesses.map((witness) => witness.key), 0);
  await verifyNote(note, pinned);
  const { origin, size, root } = note.checkpoint;
  let hybrid = false;
  for (const key of hybrids) {
    const line = note.lines.find((one) => one.name === key.name && equal(one.id, key.id));
    if (!line && key.name !== origin) continue;
    if (!line || !verifySlhDsa(key.key, concat(note.text), line.signature)) {
      throw new Refusal('hybrid_signature', '', 'the pinned post-quantum key of the log has no good line');
    }
    hybrid ||= key.name === origin;
  }
  // Every pinned witness that has a line has been found good above.
  const seen = trust.witnesses.flatMap((witness) => {
    const line = lineOf(note, witness.key);
    if (!line) return [];
    const time = new DataView(line.signature.buffer, line.signature.byteOffset).getBigUint64(0);
    return [{ witness: witness.key.name, class: witness.class, time }];
  });
  return { origin, size, root, hybrid, seen };
}

/**
 * A post-quantum key of a log; `undefined` for a vkey of another type.
 * @param {string} vkey
 * @returns {HybridKey | undefined}
 */
function parseHybrid(vkey) {
  const [name, id, ...rest] = vkey.split('+');
  const bytes = base64(rest.join('+')) ?? new Uint8Array();
  if (rest.length === 0 || bytes[0] !== HYBRID) return undefined;
  const form = (/** @type {string} */ why) => new Refusal('vkey_form', '', `not a verifier key: ${why}`);
  const prefix = concat(SLH_DSA);
  const key = bytes.slice(1 + prefix.length);
  if (!equal(bytes.slice(1, 1 + prefix.length), prefix) || key.length !== 32) throw form('the key is refused');
  const made = hybridKey(name, key);
  if (hex(made.id) !== id) throw form("the id is not the key's");
  return made;
}

/**
 * @param {string} name
 * @param {Uint8Array} key
 * @returns {HybridKey}
 */
function hybridKey(name, key) {
  return { name, key, id: sha256(name, '\n', Uint8Array.of(HYBRID), SLH_DSA, key).slice(0, 4) };
}

/** @param {Map<string, any>} file */
function rekor(file) {
  const value = file.get('rekor');
  if (value === undefined || (value instanceof Map && value.size === 0)) return undefined;
  members(value, ['trusted_root', 'publishing_key', 'class']);
  if (!(value.get('trusted_root') instanceof Map)) throw bad('trusted_root is no object');
  if (!base64(text(value.get('publishing_key')))) throw bad('publishing_key is not base64');
  classOf(value);
  return value;
}

/**
 * @param {Map<string, any>} file
 * @param {string} name
 * @returns {any[]}
 */
function list(file, name) {
  const value = file.get(name) ?? [];
  if (file.get(name) === null || !Array.isArray(value)) throw bad('a list is none');
  return value;
}

/**
 * @param {Map<string, any>} file
 * @param {string} name
 */
function texts(file, name) {
  return list(file, name).map(text);
}

/**
 * @param {any} value
 * @returns {string}
 */
function text(value) {
  if (typeof value !== 'string') throw bad('a member is no text');
  return value;
}

/**
 * @param {any} value
 * @param {string[]} names
 */
function members(value, names) {
  if (!(value instanceof Map) || value.size !== names.length || !names.every((name) => value.has(name))) {
    throw bad('an element has not exactly its members');
  }
}

/** @param {Map<string, any>} one */
function classOf(one) {
  if (!CLASSES.includes(one.get('class'))) throw bad('a class is none');
  return one.get('class');
}

/**
 * An integer token that is not negative.
 * @param {any} value
 * @returns {number | undefined}
 */
export function natural(value) {
  return value instanceof Num && value.isInteger && value.value >= 0 ? value.value + 0 : undefined;
}

/** @param {string} why */
function bad(why) {
  return new Refusal('bad_trust', '', `not a trust file: ${why}`);
}
