// @ts-check
/** A proof of a mandate from the parts a person has: an exported log, an answer of the API, a transaction from the chain. */

import { CanonError, parse, toBytes } from './canon.js';
import { TYPE as EXPORT } from './export.js';
import { TYPE } from './mandate.js';

const decoder = new TextDecoder();

/**
 * The parts as one proof. The first part alone, if there is no other or they do not belong together: then each is what it
 * is by itself.
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array}
 */
export function join(parts) {
  const [first] = parts;
  if (parts.length < 2) return first;
  /** @type {Map<string, any>} */
  const proof = new Map([['type', TYPE]]);
  for (const part of parts) {
    const read = logOf(part) ?? claimOf(part) ?? transactionOf(part);
    if (!read) return first;
    for (const [name, value] of read) proof.set(name, value);
  }
  return proof.has('export') ? toBytes(proof) : first;
}

/**
 * A mandate's export, or a proof: its header and entries.
 * @param {Uint8Array} part
 * @returns {Map<string, any> | undefined}
 */
function logOf(part) {
  const whole = attempt(part);
  if (whole instanceof Map && whole.get('type') === TYPE) return whole;
  const [header, ...lines] = decoder.decode(part).trimEnd().split('\n').map((line) => attempt(line));
  if (!(header instanceof Map) || header.get('type') !== EXPORT) return undefined;
  const entries = lines.map((line) => {
    const body = line instanceof Map ? line.get('body') : undefined;
    if (!(line instanceof Map) || !(body instanceof Map)) return line;
    return new Map([...body, ['hash', line.get('hash')], ['prev_hash', line.get('prev')]]);
  });
  return new Map(/** @type {[string, any][]} */ ([['export', header], ['entries', entries]]));
}

/**
 * What the API says of a receipt or a run.
 * @param {Uint8Array} part
 * @returns {Map<string, any> | undefined}
 */
function claimOf(part) {
  const value = attempt(part);
  if (!(value instanceof Map)) return undefined;
  if (value.get('receipt') instanceof Map && value.has('receipt_hash')) {
    const names = ['authorization', 'mandate', 'receipt', 'receipt_hash'];
    return new Map([['receipt', new Map(names.filter((name) => value.has(name)).map((name) => [name, value.get(name)]))]]);
  }
  const named = value.get('run');
  const id = named instanceof Map ? named.get('run_id') : named;
  if (typeof id === 'string' && value.has('events')) {
    /** @type {Map<string, any>} */
    const run = new Map([['run_id', id]]);
    for (const name of ['anchor', 'closing']) run.set(name, value.get(name) ?? null);
    return new Map([['run', run]]);
  }
  return undefined;
}

/**
 * A transaction: its bytes, or their hex.
 * @param {Uint8Array} part
 * @returns {Map<string, any> | undefined}
 */
function transactionOf(part) {
  const text = decoder.decode(part).trim().toLowerCase();
  if (/^([0-9a-f]{2})+$/.test(text)) return new Map([['transaction', text]]);
  const raw = part[0] === 0x84 || part[0] === 0x83;
  const hex = Array.from(part, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return raw ? new Map([['transaction', hex]]) : undefined;
}

/** @param {Uint8Array | string} text */
function attempt(text) {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof CanonError) return undefined;
    throw error;
  }
}
