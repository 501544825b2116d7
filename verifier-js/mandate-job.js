// @ts-check
/** Files of Masumi jobs: what was asked and delivered, under MIP-004 hashes. Crate `mandate`, module `job`. */

import { CanonError, parse, toBytes } from './canon.js';
import { unhex } from './mandate-cbor.js';
import { decisionHash, digestOf, isSound, messageOf } from './mandate-engine.js';
import { evaluation, hashed, nullable, outcome, present, raw, reason, receipt, record, row, texts } from './mandate-shapes.js';
import { Refusal } from './refusal.js';
import { array, digestText, object, text } from './shape.js';
import { hex, sha256 } from './sha256.js';
import { verifyEd25519 } from './signature.js';

export const TYPE = 'urn:countersign:masumi-job:1';

/** A Masumi job's file. */
const jobFile = object({
  blockchain_identifier: texts(1, 8000),
  identifier_from_purchaser: texts(1, 250),
  input_data: raw,
  input_hash: digestText,
  result: text,
  result_hash: digestText,
  result_hash_raw: digestText,
  type: text,
});

/** What such a job delivers. */
const delivered = object({
  authorization: nullable(record),
  brief: raw,
  checks: array(row),
  decision: outcome,
  decision_hash: digestText,
  escalation: raw,
  evaluation,
  interpreted_action: raw,
  notice: present(text),
  reason: nullable(reason),
  receipt: object({ receipt: hashed(receipt), receipt_hash: digestText, receipt_id: text }),
  summary: text,
  verification: raw,
});

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * @param {import('./canon.js').Value} value
 * @param {import('./index.js').Report} report
 */
export async function checkJob(value, report) {
  report.kind = 'masumi_job';
  report.pinned = false;
  const job = jobFile.read(value);
  const { facts } = report;
  facts.payment = job.blockchain_identifier;
  facts.input_hash = job.input_hash;
  facts.result_hash = job.result_hash;
  const under = (/** @type {string | Uint8Array} */ payload) =>
    hex(sha256(encoder.encode(`${job.identifier_from_purchaser};`), typeof payload === 'string' ? encoder.encode(payload) : payload));
  const refused = (/** @type {string} */ code, /** @type {string} */ place) => new Refusal(code, place, 'see the code');
  const input = /** @type {Map<string, any>} */ (value).get('input_data');
  if (under(toBytes(input)) !== job.input_hash) throw refused('bad_input_hash', '/input_hash');
  const escaped = toBytes(job.result).subarray(1, -1);
  if (under(escaped) !== job.result_hash) throw refused('bad_result_hash', '/result_hash');
  if (under(job.result) !== job.result_hash_raw) throw refused('bad_result_hash', '/result_hash_raw');
  const result = read(job.result);
  const code = result ? await fault(result) : 'bad_result';
  if (!result || code) throw refused(code ?? 'bad_result', '/result');
  facts.outcome = result.decision;
  facts.receipt = result.receipt.receipt_hash;
}

/**
 * What was delivered, if it is canonical and of the shape.
 * @param {string} text
 */
function read(text) {
  try {
    const value = parse(text);
    const result = delivered.read(value, '', true);
    return decoder.decode(toBytes(value)) === text ? { ...result, value } : undefined;
  } catch (error) {
    if (error instanceof CanonError || error instanceof Refusal) return undefined;
    throw error;
  }
}

/**
 * What of it does not fit.
 * @param {any} result
 * @returns {Promise<string | undefined>}
 */
async function fault({ authorization, decision, decision_hash, evaluation, receipt, value }) {
  const told = (/** @type {Map<string, any>} */ of, /** @type {string} */ name) => decoder.decode(toBytes(of.get(name)));
  const judged = value.get('evaluation');
  const same = ['checks', 'reason'].every((name) => told(value, name) === told(judged, name));
  if (!same || decision !== evaluation.outcome) return 'bad_result';
  if (decisionHash(evaluation) !== decision_hash) return 'bad_decision_hash';
  const { doc, hash } = receipt.receipt;
  if (receipt.receipt_hash !== hash) return 'bad_receipt_hash';
  if (doc.action.hash !== evaluation.action_hash || doc.mandate.hash !== evaluation.mandate_hash) return 'bad_receipt';
  const allowed = evaluation.outcome === 'ALLOW';
  if (authorization === null) return allowed && evaluation.signed ? 'bad_authorization' : undefined;
  const { digest_hex, engine_public_key, fields, message_hex, signature_hex } = authorization;
  const bytes = (/** @type {string} */ text) => /** @type {Uint8Array} */ (unhex(text));
  const right =
    (allowed || evaluation.outcome === 'ESCALATE') &&
    evaluation.signed &&
    fields.action_hash === evaluation.action_hash &&
    isSound(fields) &&
    hex(messageOf(fields)) === message_hex &&
    digestOf(fields) === digest_hex &&
    (await verifyEd25519(bytes(engine_public_key), bytes(digest_hex), bytes(signature_hex)));
  return right ? undefined : 'bad_authorization';
}
