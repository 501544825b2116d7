// @ts-check
/** Ledger exports: JSON Lines, a header and a line an entry, as crate `ledger` writes them. */

import { CanonError, canonicalize } from './canon.js';
import { Refusal } from './refusal.js';
import { HEADER, checkHead, checkLog } from './log.js';
import { checkLines, mandateFacts } from './mandate.js';
import { digest, equal, hex, sha256 } from './sha256.js';

export const TYPE = 'urn:countersign:ledger-export:1';

const MAX_LINE = 1 << 20;
const LINE = /^\{"body":(.*),"hash":"([0-9a-f]{64})","prev":"([0-9a-f]{64})","seq":(0|[1-9][0-9]*)\}$/s;
const INNER = /,"n":(0|[1-9][0-9]*),"type":"[a-z_.]*"\}$/;

/**
 * @param {import('./canon.js').Value} header the first line, read
 * @param {Uint8Array} rest the file after it
 * @param {import('./index.js').Trust | undefined} trust
 * @param {Record<string, string>} facts
 */
export async function checkExport(header, rest, trust, facts) {
  const { stream, rule, head, key, log } = HEADER.read(header);
  facts.stream = stream;
  facts.entries = String(head.n);
  facts.head = head.hash;
  if (stream.startsWith('mandate/')) {
    const replay = await checkLines({ stream, rule, head }, lines(rule, rest), trust);
    mandateFacts(replay, facts);
    await checkHead(stream, head, key, trust);
    return checkLog(log, stream, head, key, trust, facts);
  }
  const end = chain(rule, rest);
  if (end.seq < head.n) {
    throw new Refusal('tail_missing', `entry ${end.seq + 1}`, `the head is entry ${head.n}`);
  }
  if (end.seq !== head.n || hex(end.hash) !== head.hash) {
    throw new Refusal('head_mismatch', '/head', 'the chain does not end at its head');
  }
  await checkHead(stream, head, key, trust);
  await checkLog(log, stream, head, key, trust, facts);
}

/**
 * @param {string} rule
 * @param {Uint8Array} bytes
 */
function chain(rule, bytes) {
  let end = { seq: 0, hash: new Uint8Array(32) };
  for (const { seq, hash, body } of lines(rule, bytes)) {
    if (latin(body).match(INNER)?.[1] !== String(seq)) throw new Refusal('bad_number', `entry ${seq}`, 'see the code');
    end = { seq, hash: /** @type {Uint8Array<ArrayBuffer>} */ (digest(hash)) };
  }
  return end;
}

/**
 * The entries, each after its form, number, link, hash and spelling have been checked.
 * @param {string} rule
 * @param {Uint8Array} bytes
 * @returns {Generator<{seq: number, hash: string, body: Uint8Array}>}
 */
function* lines(rule, bytes) {
  let hash = new Uint8Array(32);
  let seq = 0;
  for (let at = 0; at < bytes.length; ) {
    seq += 1;
    const refused = (/** @type {string} */ code) => new Refusal(code, `entry ${seq}`, 'see the code');
    const end = bytes.indexOf(10, at);
    const length = (end < 0 ? bytes.length : end + 1) - at;
    if (length > MAX_LINE) throw refused('line_too_long');
    const line = end < 0 ? undefined : latin(bytes.subarray(at, end)).match(LINE);
    if (!line || BigInt(line[4]) >= 1n << 64n) throw refused('bad_line');
    const start = at + 8;
    const body = bytes.subarray(start, start + line[1].length);
    const prev = /** @type {Uint8Array} */ (digest(line[3]));
    if (line[4] !== String(seq)) throw refused('bad_number');
    if (!equal(prev, hash)) throw refused('bad_prev');
    const linked = rule === 'prev_hex' ? sha256(line[3], body) : sha256(prev, body);
    if (hex(linked) !== line[2]) throw refused('bad_hash');
    if (!isCanonical(body, refused)) throw refused('not_canonical');
    yield { seq, hash: line[2], body };
    hash = Uint8Array.from(linked);
    at = end + 1;
  }
}

/**
 * @param {Uint8Array} body
 * @param {(code: string) => Refusal} refused
 */
function isCanonical(body, refused) {
  try {
    return equal(canonicalize(body), body);
  } catch (error) {
    throw error instanceof CanonError ? refused('bad_body') : error;
  }
}

/**
 * One character a byte, so that offsets are those of the bytes.
 * @param {Uint8Array} bytes
 */
function latin(bytes) {
  let out = '';
  for (let at = 0; at < bytes.length; at += 0x8000) {
    out += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return out;
}
