// @ts-check
/** Who signed for a report. Crate `mandate`, module `statement`. */

import { toBytes } from './canon.js';
import { unhex } from './mandate-cbor.js';
import { concat, digest, hex, sha256 } from './sha256.js';
import { verifyEd25519 } from './signature.js';

/** How old a reading may be when its report is recorded, and how far ahead of that, in milliseconds. */
const OLDEST = 600_000;
const AHEAD = 60_000;

/**
 * Whether what signs for a report does. Evidence without any statement is sound.
 * @param {any} evidence
 */
export async function isBacked({ block_time_ms, dissent, report_hash, statements }) {
  const all = [...statements, ...dissent.map((/** @type {any} */ other) => other.signed)];
  if (statements.length === 0) return dissent.length === 0;
  const said = (/** @type {any} */ signed) => signed.statement.doc;
  const distinct = (/** @type {any[]} */ values) => new Set(values).size;
  const numbers = new Set(statements.map((/** @type {any} */ signed) => said(signed).invoice_number));
  const apart =
    distinct(all.map((signed) => signed.key)) === all.length &&
    distinct(all.map((signed) => said(signed).verifier)) === all.length;
  const about = statements.every((/** @type {any} */ signed) => said(signed).report_hash === report_hash);
  const other = dissent.every((/** @type {any} */ { report, signed }) => {
    const { invoice_number, report_hash: named } = said(signed);
    return named === hex(sha256(toBytes(report))) && (named !== report_hash || !numbers.has(invoice_number));
  });
  const close = all.every((signed) => {
    const late = block_time_ms - said(signed).observed_at_ms;
    return late <= OLDEST && -late <= AHEAD;
  });
  if (numbers.size > 1 || !apart || !about || !other || !close) return false;
  for (const signed of all) if (!(await holds(signed))) return false;
  return true;
}

/** @param {any} signed */
async function holds({ key, signature, statement }) {
  const message = concat('VERIFICATION_STATEMENT_V1', /** @type {Uint8Array} */ (digest(statement.hash)));
  const bytes = (/** @type {string} */ text) => /** @type {Uint8Array} */ (unhex(text));
  return verifyEd25519(bytes(key.slice(8)), message, bytes(signature));
}
