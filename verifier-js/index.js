// @ts-check
/**
 * The second verifier: what crate `verify` answers, written apart from it. Runs in browsers and in Node 20 or later;
 * nothing leaves the machine.
 */

import { CanonError, parse } from './canon.js';
import { TYPE as BASIS, checkBasis } from './fx-basis.js';
import { TYPE as EXPORT, checkExport } from './export.js';
import { witnesses } from './log.js';
import { TYPE as JOB, checkJob } from './mandate-job.js';
import { TYPE as MANDATE, checkProof } from './mandate.js';
import { parseNote, parseVkey, pins, verifyNote } from './note.js';
import { checkEvidence } from './pcm.js';
import { isReceiver, judgeMessage, readReceiver } from './pcm-message.js';
import { isEvidenceTrust, readTrust } from './pcm-trust.js';
import { BRIEF_TYPE, TYPE as BUNDLE, checkBriefProof, checkBundle } from './pxp.js';
import { Refusal } from './refusal.js';
import { array, natural, object, orElse, publicKeyOf, spelled, text } from './shape.js';
import { hex } from './sha256.js';

/**
 * @typedef {{servers: import('./signature.js').PublicKey[], origins: string[], pins: import('./note.js').Pins,
 *   verifiers: string[], verifiers_required: number, evidence?: import('./pcm-trust.js').Evidence,
 *   messages?: import('./pcm-message.js').Receiver, now?: number, receiver?: string}} Trust
 * @typedef {{verdict: 'valid' | 'unproven' | 'refused' | 'unusable', kind: string | null, code?: string, place?: string,
 *   detail?: string, pinned: boolean, facts: Record<string, string>, unchecked?: string[], integrity?: string, first_failure?: string,
 *   checks?: import('./pcm.js').Check[], overall?: string, claims?: import('./pcm-message.js').Judgement['claims']}} Report
 */

const MAX_FILE = 64 << 20;
const MAX_LINE = 1 << 20;

const TRUST = object({
  servers: orElse(array(publicKeyOf), []),
  logs: orElse(array(text), []),
  witnesses: orElse(array(text), []),
  witnesses_required: orElse(natural, 0),
  origins: orElse(array(text), []),
  verifiers: orElse(array(spelled(/^ed25519:[0-9a-f]{64}$/)), []),
  verifiers_required: orElse(natural, 0),
});

/**
 * The keys a verifier already has, from a trust file. Throws a {@link Refusal} where it cannot be used.
 * @param {Uint8Array} bytes
 * @returns {Trust}
 */
export function parseTrust(bytes) {
  const value = strict(bytes);
  if (isReceiver(value)) {
    const messages = readReceiver(/** @type {any} */ (value));
    const { evidence } = messages;
    return { servers: [], origins: [], pins: evidence.pins, verifiers: [], verifiers_required: 0, evidence, messages };
  }
  if (isEvidenceTrust(value)) {
    const evidence = readTrust(/** @type {any} */ (value));
    return { servers: [], origins: [], pins: evidence.pins, verifiers: [], verifiers_required: 0, evidence };
  }
  const file = TRUST.read(value);
  const keys = (/** @type {string} */ list) =>
    file[list].map((/** @type {string} */ key, /** @type {number} */ index) =>
      Refusal.at(`/${list}/${index}`, () => parseVkey(key)),
    );
  const held = pins(keys('logs'), keys('witnesses'), file.witnesses_required);
  const { servers, origins, verifiers, verifiers_required } = file;
  if (new Set(verifiers).size < verifiers.length) {
    throw new Refusal('bad_verifiers', '/verifiers', "a verifier's key occurs twice");
  }
  if (verifiers_required > verifiers.length) {
    throw new Refusal('bad_verifiers', '/verifiers_required', 'more than there are verifiers');
  }
  return { servers, origins, pins: held, verifiers, verifiers_required };
}

/**
 * What is this file, does it hold, and if not, why and where.
 * @param {Uint8Array} bytes
 * @param {Trust} [trust]
 * @returns {Promise<Report>}
 */
export async function verify(bytes, trust) {
  /** @type {Report} */
  const report = { verdict: 'valid', kind: null, pinned: trust !== undefined, facts: {} };
  try {
    await run(bytes, trust, report);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    report.verdict = error.verdict;
    report.code = error.code;
    if (error.place) report.place = error.place;
    report.detail = error.detail;
  }
  return report;
}

/**
 * @param {Uint8Array} bytes
 * @param {Trust | undefined} trust
 * @param {Report} report
 */
async function run(bytes, trust, report) {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) {
    report.kind = 'evidence';
    return evidence(bytes, trust, report);
  }
  const header = exportHeader(bytes);
  if (header) {
    report.kind = isMandate(header.value) ? 'mandate_log' : 'ledger_export';
    return checkExport(header.value, bytes.subarray(header.length), trust, report.facts);
  }
  if (bytes.length > MAX_FILE) {
    throw new Refusal('file_too_long', '', 'the file is longer than 64 MiB', 'unusable');
  }
  if (isNote(bytes)) {
    report.kind = 'checkpoint';
    return checkCheckpoint(bytes, trust, report.facts);
  }
  if (isMessage(bytes, trust)) {
    report.kind = 'message';
    return message(bytes, trust, report);
  }
  const value = strict(bytes);
  if (value instanceof Map && value.get('type') === BASIS) {
    report.kind = 'basis';
    return checkBasis(value, trust, report);
  }
  if (value instanceof Map && value.get('type') === BUNDLE) {
    report.kind = 'room_bundle';
    return checkBundle(value, trust, report);
  }
  if (value instanceof Map && value.get('type') === BRIEF_TYPE) {
    report.kind = 'brief';
    return checkBriefProof(value, trust, report.facts);
  }
  if (value instanceof Map && value.get('type') === MANDATE) return checkProof(value, trust, report);
  if (value instanceof Map && value.get('type') === JOB) return checkJob(value, report);
  throw new Refusal('unknown_kind', '/type', 'no proof this verifier knows', 'unusable');
}

/**
 * @param {Uint8Array} bytes
 * @param {Trust | undefined} trust
 * @param {Report} report
 */
async function evidence(bytes, trust, report) {
  if (!trust?.evidence) {
    throw new Refusal('trust_missing', '', 'evidence is checked with a trust file that names logs and algs', 'unusable');
  }
  const { integrity, failed, checks, facts } = await checkEvidence(bytes, trust.evidence);
  Object.assign(report, { integrity, checks });
  Object.assign(report.facts, facts);
  if (!failed) return;
  report.first_failure = failed.check;
  throw new Refusal(failed.code ?? '', failed.place ?? '', failed.why ?? '');
}

/**
 * Whether bytes are to be judged as a message: they say so, or the trust is a message's and they are not even JSON.
 * @param {Uint8Array} bytes
 * @param {Trust | undefined} trust
 */
function isMessage(bytes, trust) {
  try {
    const value = parse(bytes);
    return value instanceof Map && value.has('pcm') && !isReceiver(value);
  } catch (error) {
    if (!(error instanceof CanonError)) throw error;
    return trust?.messages !== undefined;
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {Trust | undefined} trust
 * @param {Report} report
 */
async function message(bytes, trust, report) {
  if (!trust?.messages) {
    throw new Refusal('trust_missing', '', 'a message is checked with a trust file that names speakers', 'unusable');
  }
  if (trust.now === undefined) throw new Refusal('now_missing', '', 'a message is judged at an instant', 'unusable');
  const judged = await judgeMessage(bytes, trust.messages, { now: trust.now, receiver: trust.receiver });
  report.overall = judged.overall;
  report.claims = judged.claims;
  if (judged.overall === 'accept') return;
  const verdict = judged.overall === 'accept_unproven' ? 'unproven' : 'refused';
  throw new Refusal(judged.code ?? '', judged.place ?? '', judged.code ?? '', verdict);
}

/**
 * @param {Uint8Array} bytes
 * @param {Trust | undefined} trust
 * @param {Record<string, string>} facts
 */
async function checkCheckpoint(bytes, trust, facts) {
  const note = parseNote(bytes);
  facts.origin = note.checkpoint.origin;
  facts.size = String(note.checkpoint.size);
  facts.root = hex(note.checkpoint.root);
  if (!trust) {
    throw new Refusal('trust_missing', '', 'a checkpoint is checked with the keys of a trust file', 'unusable');
  }
  facts.witnesses = witnesses(await verifyNote(note, trust.pins));
}

/**
 * The first line, if it is the header of an export.
 * @param {Uint8Array} bytes
 */
function exportHeader(bytes) {
  const end = bytes.subarray(0, MAX_LINE).indexOf(10);
  if (end < 0) return undefined;
  try {
    const value = parse(bytes.subarray(0, end));
    return value instanceof Map && value.get('type') === EXPORT ? { value, length: end + 1 } : undefined;
  } catch (error) {
    if (error instanceof CanonError) return undefined;
    throw error;
  }
}

/** @param {Map<string, import('./canon.js').Value>} header */
function isMandate(header) {
  const stream = header.get('stream');
  return typeof stream === 'string' && stream.startsWith('mandate/');
}

/** @param {Uint8Array} bytes */
function isNote(bytes) {
  const dash = new TextEncoder().encode('\n\n— ');
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    if (dash.every((byte, i) => bytes[at + i] === byte)) return true;
  }
  return false;
}

/**
 * Strict JSON, or unusable.
 * @param {Uint8Array} bytes
 */
function strict(bytes) {
  try {
    return parse(bytes);
  } catch (error) {
    throw error instanceof CanonError ? new Refusal(error.code, error.place, error.message, 'unusable') : error;
  }
}
