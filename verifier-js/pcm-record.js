// @ts-check
/** Records and the keys that sign them, as crate `pcm` reads them (spec of PCM 3.2 to 3.5). */

import { CanonError, Num, parse, toBytes } from './canon.js';
import { leafHash, verifyInclusion } from './merkle.js';
import { base64 } from './note.js';
import { isEvent } from './pcm-schema.js';
import { natural, openCheckpoint } from './pcm-trust.js';
import { Refusal } from './refusal.js';
import { digest, hex, sha256 } from './sha256.js';
import { ed25519Key, verifyEd25519 } from './signature.js';

/**
 * @typedef {Map<string, any>} Event
 * @typedef {{event: Event, hash: string | undefined, kid: string, alg: string, sig: string}} Unverified
 * @typedef {{kid: string, key: Uint8Array, from: number, until: number | undefined, cert: Certificate | undefined}} RecordKey
 * @typedef {{tenants: string[], notBefore: number, notAfter: number}} Certificate
 */

/** @param {string} code @param {string} why */
export function refuse(code, why = '') {
  return new Refusal(code, '', why || code);
}

/**
 * One strict JSON text as a record of which nothing is checked. Throws a {@link CanonError} for what is none, a
 * {@link Refusal} for another set of members.
 * @param {Uint8Array} line
 * @returns {Unverified}
 */
export function parseRecord(line) {
  return readRecord(parse(line));
}

/**
 * The same of a value.
 * @param {any} value
 * @returns {Unverified}
 */
export function readRecord(value) {
  const text = (/** @type {string} */ name) => value instanceof Map && typeof value.get(name) === 'string';
  if (!(value instanceof Map) || value.size !== 6 || !['hash', 'alg', 'kid', 'sig'].every(text)) {
    throw refuse('bad_record', 'it has not the six members');
  }
  if (natural(value.get('v')) !== 2) throw refuse('bad_record', 'v is not 2');
  const event = value.get('event');
  if (!(event instanceof Map)) throw refuse('bad_record', 'the event is no object');
  const get = (/** @type {string} */ name) => /** @type {string} */ (value.get(name));
  return { event, hash: hashText(get('hash')), kid: get('kid'), alg: get('alg'), sig: get('sig') };
}

/**
 * `sha256:` and 64 hex digits, or nothing.
 * @param {any} text
 * @returns {string | undefined}
 */
export function hashText(text) {
  return typeof text === 'string' && /^sha256:[0-9a-f]{64}$/.test(text) ? text : undefined;
}

/** @param {string} text */
export function hashBytes(text) {
  return digest(text.slice('sha256:'.length)) ?? new Uint8Array(32);
}

/**
 * The leaf of a record.
 * @param {string} hash
 */
export function leafOf(hash) {
  return leafHash(hashBytes(hash));
}

/** The record keys of one log, declared and retired by its own records. */
export class Keys {
  /**
   * @param {string} logId
   * @param {import('./pcm-trust.js').Evidence} trust
   */
  constructor(logId, trust) {
    this.logId = logId;
    this.trust = trust;
    /** @type {RecordKey[]} */
    this.declared = [];
    /** @type {number | undefined} */
    this.last = undefined;
  }

  /**
   * The next key record of the log; throws where it does not hold, and nothing has changed then.
   * @param {Unverified} record
   */
  async take(record) {
    const { event } = record;
    if (!isEvent(event)) throw refuse('bad_schema');
    const seq = natural(event.get('seq')) ?? 0;
    if (this.last === undefined ? seq !== 0 : seq <= this.last) throw refuse('bad_key_record', 'out of order');
    const next = new Keys(this.logId, this.trust);
    next.declared = this.declared.map((key) => ({ ...key }));
    const type = event.get('type');
    if (type === 'signer.epoch') await next.declare(event, seq);
    else if (type !== 'key.retire') throw refuse('bad_key_record', 'it neither declares nor retires a key');
    await checkRecord(record, next);
    if (type === 'key.retire') next.retire(event);
    this.declared = next.declared;
    this.last = seq;
  }

  /**
   * The key of that name, if it may sign at that place.
   * @param {string} kid
   * @param {number} seq
   */
  at(kid, seq) {
    const key = this.declared.find((one) => one.kid === kid);
    if (!key || seq < key.from) throw refuse('unknown_key');
    if (key.until !== undefined && seq > key.until) throw refuse('key_retired');
    return key;
  }

  /**
   * @param {Event} event
   * @param {number} seq
   */
  async declare(event, seq) {
    const data = event.get('data');
    for (const one of data.get('keys') ?? []) {
      const spki = base64(one.get('spki') ?? '');
      if (!spki) throw refuse('bad_encoding');
      const key = keyOfSpki(spki);
      if (!key) throw refuse('bad_key_record', 'a key is none');
      const kid = `sha256:${hex(sha256(spki))}`;
      if (key === 'p-256' || kid !== one.get('kid') || one.get('alg') !== 'ed25519') {
        throw refuse('bad_key_record', 'a key is not what its name or its algorithm says');
      }
      /** @type {Certificate | undefined} */
      let cert;
      if (one.has('cert')) cert = await this.certificate(one.get('cert'), kid, one.get('spki'));
      else if (this.trust.issuers.length > 0 && !data.has('bridge')) throw refuse('bad_certificate', 'there is none');
      const known = this.declared.find((other) => other.kid === kid);
      if (known?.until !== undefined) throw refuse('bad_key_record', 'a retired key is declared again');
      if (!known) this.declared.push({ kid, key, from: seq, until: undefined, cert });
    }
  }

  /** @param {Event} event */
  retire(event) {
    const data = event.get('data');
    const last = natural(data.get('last_seq'));
    if (last === undefined) throw refuse('bad_key_record', 'it names no last place');
    const key = this.declared.find((one) => one.kid === data.get('kid'));
    if (!key) throw refuse('bad_key_record', 'it retires an unknown key');
    key.until = Math.min(key.until ?? last, last);
  }

  /**
   * @param {any} entry
   * @param {string} kid
   * @param {string} spki
   * @returns {Promise<Certificate>}
   */
  async certificate(entry, kid, spki) {
    const form = refuse('bad_certificate', 'it is malformed');
    const document = entry instanceof Map ? entry.get('certificate') : undefined;
    const cert = document instanceof Map ? document.get('cert') : undefined;
    if (!(cert instanceof Map) || typeof document.get('sig') !== 'string') throw form;
    const signature = base64(document.get('sig'));
    if (signature?.length !== 64) throw refuse('bad_encoding');
    const message = toBytes(new Map([...cert, ['t', 'tracekit.cert.v2']]));
    let issuer;
    for (const one of this.trust.issuers) {
      if (!issuer && (await verifyEd25519(one.key.key, message, signature))) issuer = one;
    }
    if (!issuer) throw refuse('bad_certificate', 'no pinned issuer has signed it');
    if (typeof entry.get('checkpoint') !== 'string') throw form;
    const trust = { ...this.trust, logs: [issuer.log], hybrids: [] };
    let checkpoint;
    try {
      checkpoint = await openCheckpoint(trust, new TextEncoder().encode(entry.get('checkpoint')));
    } catch (error) {
      throw error instanceof Refusal ? refuse('bad_certificate', 'the issuer\'s log does not hold') : error;
    }
    if (checkpoint.seen.length < Math.max(this.trust.required, 1)) throw refuse('bad_certificate', 'too few witnesses');
    const index = natural(entry.get('index'));
    const path = readPath(entry.get('inclusion'));
    if (index === undefined || !path) throw form;
    const leaf = leafHash(sha256(toBytes(document)));
    try {
      verifyInclusion(leaf, BigInt(index), checkpoint.size, path, checkpoint.root);
    } catch (error) {
      throw error instanceof Refusal ? refuse('bad_certificate', 'it is not in the log of the issuer') : error;
    }
    if (cert.get('kid') !== kid || cert.get('spki') !== spki || cert.get('log_id') !== this.logId) {
      throw refuse('bad_certificate', 'it is of another key or log');
    }
    const [notBefore, notAfter] = ['not_before', 'not_after'].map((name) => {
      const seconds = cert.get(name);
      return seconds instanceof Num && seconds.isInteger ? seconds.value : undefined;
    });
    if (!Array.isArray(cert.get('tenants')) || notBefore === undefined || notAfter === undefined) throw form;
    return { tenants: cert.get('tenants'), notBefore, notAfter };
  }
}

/**
 * Everything about a record alone: schema, hash, key at its place, algorithm, signature, log.
 * @param {Unverified} record
 * @param {Keys} keys
 */
export async function checkRecord(record, keys) {
  const { event, hash, kid } = record;
  if (!isEvent(event)) throw refuse('bad_schema');
  if (hash !== `sha256:${hex(sha256(toBytes(event)))}`) throw refuse('record_hash');
  const key = keys.at(kid, natural(event.get('seq')) ?? 0);
  if (record.alg !== 'ed25519' || !keys.trust.algs.includes('ed25519')) throw refuse('alg_not_allowed');
  const signature = base64(record.sig);
  if (signature?.length !== 64) throw refuse('bad_encoding');
  const names = ['log_id', 'seq', 'prev_hash', 'tenant', 'run_id', 'run_seq', 'run_prev_hash'];
  const said = names.map((name) => /** @type {[string, any]} */ ([name, event.get(name)]));
  const message = new Map([...said, ['alg', 'ed25519'], ['kid', kid], ['hash', hash], ['t', 'tracekit.record.v2']]);
  if (!(await verifyEd25519(key.key, toBytes(message), signature))) throw refuse('record_signature');
  if (event.get('log_id') !== keys.logId) throw refuse('wrong_log');
  if (!key.cert) return;
  const at = instant(event.get('ts'));
  if (at === undefined || at < key.cert.notBefore || at > key.cert.notAfter) throw refuse('outside_certificate');
  const own = event.get('tenant') === 'tracekit' && event.get('run_id') === 'tracekit/signer';
  if (!own && !key.cert.tenants.includes(event.get('tenant'))) throw refuse('outside_certificate');
}

/**
 * A proof: hashes in padded base64, leaf to root.
 * @param {any} value
 * @returns {Uint8Array[] | undefined}
 */
export function readPath(value) {
  if (!Array.isArray(value)) return undefined;
  const hashes = value.map((one) => (typeof one === 'string' ? base64(one) : undefined));
  return hashes.every((hash) => hash?.length === 32) ? /** @type {Uint8Array[]} */ (hashes) : undefined;
}

/**
 * The 32 bytes of an Ed25519 key, `p-256` for a key of that curve, nothing for anything else.
 * @param {Uint8Array} spki
 * @returns {Uint8Array | 'p-256' | undefined}
 */
function keyOfSpki(spki) {
  const text = hex(spki);
  if (text.startsWith('302a300506032b6570032100')) {
    const key = spki.slice(12);
    return ed25519Key(key) ? key : undefined;
  }
  return text.startsWith('3059301306072a8648ce3d020106082a8648ce3d030107034200') ? 'p-256' : undefined;
}

/**
 * Seconds since 1970, if there is such a day and hour.
 * @param {string} text
 */
function instant(text) {
  const [year, month, day, hour, minute, second] = text.split(/[-T:.Z]/).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const real = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!real || year === 0 || hour > 23 || minute > 59 || second > 59) return undefined;
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + second + Number(`0.${text.slice(20, 26)}`);
}

/**
 * The lines of a JSON lines file: whole, none too long, none too short.
 * @param {Uint8Array} bytes
 * @returns {Generator<Uint8Array>}
 */
export function* lines(bytes) {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    if (end < 0) throw new Structure('bad_structure', 'the last line is not ended');
    if (end - start < 256) throw new Structure('bad_structure', 'a line shorter than a record');
    if (end - start > 1 << 20) throw new Structure('bad_structure', 'a line longer than 1 MiB');
    yield bytes.subarray(start, end);
    start = end + 1;
  }
}

/** A bundle is not built as a bundle is. */
export class Structure extends Refusal {
  /** @param {string} code @param {string} why */
  constructor(code, why) {
    super(code, '', why);
  }
}

/**
 * The records of a JSON lines file, of which nothing is checked.
 * @param {Uint8Array} bytes
 * @returns {Unverified[]}
 */
export function parseRecords(bytes) {
  return [...lines(bytes)].map((line) => {
    try {
      return parseRecord(line);
    } catch (error) {
      if (error instanceof CanonError) throw new Structure('bad_json', error.message);
      throw error instanceof Refusal ? new Structure('bad_structure', 'a line is no record') : error;
    }
  });
}

