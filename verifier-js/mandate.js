// @ts-check
/** Proofs of mandates: a log read entry by entry, and what is said of it. Crate `mandate`, module `proofs`. */

import { toBytes } from './canon.js';
import { HEADER, checkHead, checkLog } from './log.js';
import { readTransaction, unhex } from './mandate-cbor.js';
import { alike } from './mandate-engine.js';
import { Replay, fits } from './mandate-replay.js';
import { proofOf } from './mandate-shapes.js';
import { hashOf } from './pxp-state.js';
import { Refusal } from './refusal.js';
import { shape } from './shape.js';
import { concat, digest, hex, sha256 } from './sha256.js';
import { verifyEd25519 } from './signature.js';

export const TYPE = 'urn:countersign:mandate-proof:1';
const EXPORT = 'urn:countersign:ledger-export:1';
const PROOF = proofOf(HEADER);
/** By the claim that a proof makes. */
const KINDS = new Map([
  ['receipt', 'receipt'],
  ['run', 'run_log'],
  ['brief', 'mandate_brief'],
]);

/** @typedef {import('./mandate-replay.js').LogHead} LogHead */

/**
 * A log in one file, with what is said of it.
 * @param {import('./canon.js').Value} value
 * @param {import('./index.js').Trust | undefined} trust
 * @param {import('./index.js').Report} report
 */
export async function checkProof(value, trust, report) {
  const claimed = [...KINDS].find(([name]) => /** @type {Map<string, any>} */ (value).has(name));
  report.kind = claimed ? claimed[1] : 'mandate_log';
  const proof = exactly(PROOF, value);
  const { brief, receipt, run, transaction } = proof;
  if ([brief, receipt, run].filter((claim) => claim !== undefined).length > 1) throw shape('');
  const header = proof.export;
  if (header.type !== EXPORT) throw shape('/export/type');
  headerFacts(header, report.facts);
  const replay = new Replay(receipt?.receipt.doc.evidence);
  const entries = /** @type {any} */ (value).get('entries');
  let head = { seq: 0, hash: '0'.repeat(64) };
  for (const one of entries) {
    const body = new Map(one);
    for (const name of ['hash', 'prev_hash']) body.delete(name);
    const seq = head.seq + 1;
    const refused = (/** @type {string} */ code) => new Refusal(code, `entry ${seq}`, 'see the code');
    if (one.get('seq').value !== seq) throw refused('bad_number');
    if (one.get('prev_hash') !== head.hash) throw refused('bad_prev');
    const bytes = toBytes(body);
    const hash = hex(sha256(/** @type {Uint8Array} */ (digest(head.hash)), bytes));
    if (hash !== one.get('hash')) throw refused('bad_hash');
    await replay.read(bytes, seq, hash);
    head = { seq, hash };
  }
  ends(header, head);
  named(header, replay);
  if (brief) checkBrief(brief, replay);
  if (receipt) checkReceipt(receipt, replay);
  if (run) await checkRun(run, replay);
  if (transaction !== undefined) checkTransaction(transaction, receipt, replay);
  verified(replay, trust);
  claimFacts(proof, replay, report.facts);
  await checkHead(header.stream, header.head, header.key, trust);
  await checkLog(header.log, header.stream, header.head, header.key, trust, report.facts);
}

/**
 * One spelling: what a writer leaves out is not there, and what it writes is. Another is the whole file's fault.
 * @param {any} form
 * @param {any} value
 */
function exactly(form, value) {
  try {
    return form.read(value, '', true);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    form.read(value);
    throw shape('');
  }
}

/**
 * The lines of a mandate's export, after its header.
 * @param {any} header
 * @param {AsyncIterable<{seq: number, hash: string, body: Uint8Array}> | Iterable<{seq: number, hash: string, body: Uint8Array}>} lines
 * @param {import('./index.js').Trust | undefined} trust
 */
export async function checkLines(header, lines, trust) {
  const replay = new Replay();
  let head = { seq: 0, hash: '0'.repeat(64) };
  for await (const { seq, hash, body } of lines) {
    await replay.read(body, seq, hash);
    head = { seq, hash };
  }
  ends(header, head);
  named(header, replay);
  verified(replay, trust);
  return replay;
}

/**
 * Every report that something was judged by is signed for by as many of the known verifiers as are demanded.
 * @param {Replay} replay
 * @param {import('./index.js').Trust | undefined} trust
 */
function verified({ reports }, trust) {
  if (!trust) return;
  const known = (/** @type {string} */ key) => trust.verifiers.includes(key);
  const few = reports.find(({ keys }) => keys.filter(known).length < trust.verifiers_required);
  if (few) throw new Refusal('verifiers_missing', `entry ${few.seq}`, 'too few of the verifiers in the trust file signed for its report');
}

/**
 * @param {any} header
 * @param {LogHead} end
 */
function ends({ head }, end) {
  if (end.seq < head.n) throw new Refusal('tail_missing', `entry ${end.seq + 1}`, `the head is entry ${head.n}`);
  if (end.seq !== head.n || end.hash !== head.hash) {
    throw new Refusal('head_mismatch', '/head', 'the chain does not end at its head');
  }
}

/**
 * @param {any} header
 * @param {Replay} replay
 */
function named({ rule, stream }, replay) {
  if (rule !== 'prev_raw') throw new Refusal('bad_rule', '/rule', "not the rule of mandates' chains");
  if (stream !== `mandate/${replay.state.mandate?.doc.id}`) {
    throw new Refusal('bad_stream', '/stream', 'not the stream of this mandate');
  }
}

/**
 * @param {any} claim
 * @param {Replay} replay
 */
function checkBrief({ brief, brief_hash }, replay) {
  if (brief_hash !== brief.hash) throw new Refusal('bad_brief_hash', '/brief/brief_hash', 'see the code');
  if (!replay.briefs.has(brief_hash)) throw new Refusal('brief_not_shown', '/brief/brief', 'see the code');
}

/**
 * @param {any} claim
 * @param {Replay} replay
 */
function checkReceipt({ authorization, mandate, receipt, receipt_hash }, replay) {
  const refused = (/** @type {string} */ code, /** @type {string} */ place) => new Refusal(code, place, 'see the code');
  if (receipt_hash !== receipt.hash) throw refused('bad_receipt_hash', '/receipt/receipt_hash');
  if (replay.receipt === undefined || hashOf(replay.receipt) !== receipt.hash) {
    throw refused('bad_receipt', '/receipt/receipt');
  }
  if (mandate.hash !== receipt.doc.mandate.hash) throw refused('bad_mandate_hash', '/receipt/mandate');
  const held = replay.state.authorizations.get(receipt.doc.authorization?.digest);
  if (!alike(authorization, held?.record ?? null)) throw refused('bad_authorization', '/receipt/authorization');
}

/**
 * @param {any} claim
 * @param {Replay} replay
 */
async function checkRun({ anchor, closing, run_id }, replay) {
  const head = replay.runs.get(run_id);
  if (!head) throw new Refusal('run_unknown', '/run/run_id', 'see the code');
  const release = replay.covers(head.seq);
  const expected = release ? { ...release.log_head, tx_hash: release.tx_hash } : null;
  if (!alike(anchor, expected)) throw new Refusal('bad_anchor', '/run/anchor', 'see the code');
  if (!closing) return;
  const finished = replay.state.runs.get(run_id)?.finished === true;
  if (!finished || closing.hash !== head.hash || closing.seq !== head.seq) {
    throw new Refusal('bad_closing', '/run/closing', 'see the code');
  }
  const number = new Uint8Array(8);
  new DataView(number.buffer).setBigUint64(0, BigInt(head.seq));
  const message = concat('EVIDENCE_ANCHOR_V1', run_id, number, /** @type {Uint8Array} */ (digest(head.hash)));
  const key = /** @type {Uint8Array} */ (unhex(replay.state.mandate.doc.authority_engine.public_key.slice(8)));
  if (!(await verifyEd25519(key, message, /** @type {Uint8Array} */ (unhex(closing.signature))))) {
    throw new Refusal('bad_closing_signature', '/run/closing/signature', 'see the code');
  }
}

/**
 * The release is one of this log, and commits to a head that is a place of it.
 * @param {string} text
 * @param {any} receipt
 * @param {Replay} replay
 */
function checkTransaction(text, receipt, replay) {
  const refused = (/** @type {string} */ code) => new Refusal(code, '/transaction', 'see the code');
  const transaction = readTransaction(text);
  if (!transaction) throw refused('bad_transaction');
  const release = replay.release(transaction.hash);
  if (!release) throw refused('transaction_mismatch');
  if (receipt) {
    const { authorization, settlement } = receipt.receipt.doc;
    const ofIt =
      authorization?.digest === release.digest && (settlement === null || settlement.tx_hash === transaction.hash);
    if (!ofIt) throw refused('transaction_mismatch');
  }
  const { note } = transaction;
  if (!note) throw refused('metadata_missing');
  const held = replay.state.authorizations.get(release.digest);
  if (!held || !fits(note, held, release.log_head) || !replay.has(note.log_head)) throw refused('log_head_mismatch');
}

/**
 * @param {any} header
 * @param {Record<string, string>} facts
 */
function headerFacts({ stream, head }, facts) {
  facts.stream = stream;
  facts.entries = String(head.n);
  facts.head = head.hash;
}

/**
 * @param {any} proof
 * @param {Replay} replay
 * @param {Record<string, string>} facts
 */
function claimFacts({ receipt, run, brief, transaction }, replay, facts) {
  mandateFacts(replay, facts);
  if (receipt) {
    const { doc, hash } = receipt.receipt;
    facts.receipt = hash;
    facts.outcome = doc.evaluation.outcome;
    if (doc.settlement) facts.settlement = doc.settlement.tx_hash;
  }
  if (run) facts.run = run.run_id;
  if (run?.anchor) facts.settlement = run.anchor.tx_hash;
  if (brief) facts.brief = brief.brief_hash;
  if (transaction !== undefined) facts.transaction = 'commits to this log';
}

/**
 * @param {Replay} replay
 * @param {Record<string, string>} facts
 */
export function mandateFacts(replay, facts) {
  const { doc } = replay.state.mandate;
  facts.mandate = `${doc.id}@${doc.version}`;
  facts.authorizations = String(replay.state.authorizations.size);
}
