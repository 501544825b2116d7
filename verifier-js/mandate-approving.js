// @ts-check
/** Who decided as an approver, by the signature over what they were asked. Crate `mandate`, module `proof`. */

import { blake2b } from './blake2b.js';
import { unhex, walletKey } from './mandate-cbor.js';
import { networkOf } from './mandate-engine.js';
import { canonical, hashOf } from './pxp-state.js';
import { concat, digest, equal, hex, sha256 } from './sha256.js';
import { base64url, thumbprint, verifyEd25519 } from './signature.js';

/**
 * Refuses with this code.
 * @param {boolean} holds
 * @param {string} code
 */
export function hold(holds, code) {
  if (!holds) throw code;
}

/**
 * What an approver is asked, as it is signed.
 * @param {any} approval
 */
export function questionOf(approval) {
  hold(approval.brief !== undefined, 'bad_approval');
  return {
    ask_id: approval.price.approval_id,
    action_hash: approval.action.hash,
    brief_hash: approval.brief.hash,
  };
}

/**
 * Which approver's key it is.
 * @param {any} mandate
 * @param {any} signed
 */
function named(mandate, { key }) {
  if (key.algorithm !== 'Ed25519') return undefined;
  const hash = hex(blake2b(key.raw, 28));
  const listed = mandate.doc.approvers.some((/** @type {any} */ one) => one.cardano_key_hash === hash);
  return listed ? hash : undefined;
}

/**
 * Which approver signed this decision, or undefined (decision D6).
 * @param {any} state
 * @param {any} question
 * @param {string} decision
 * @param {any} body
 * @param {any} signed
 * @returns {Promise<string | undefined>}
 */
export async function signerOf({ mandate, vault }, question, decision, body, signed) {
  const hash = named(mandate, signed);
  const { evidence, key, nonce } = signed;
  const statement = hashOf({ v: 1, ...question, decision, answer_hash: hashOf(body), nonce });
  if (hash === undefined || statement !== signed.statement) return undefined;
  const message = /** @type {Uint8Array} */ (digest(statement));
  if (evidence.kind === 'wallet') return (await wallet(vault, signed, message)) ? hash : undefined;
  if (evidence.kind !== 'ed25519' || evidence.thumbprint !== thumbprint(key)) return undefined;
  const signature = base64url(evidence.signature);
  if (signature?.length !== 64) return undefined;
  return (await verifyEd25519(key.raw, message, signature)) ? hash : undefined;
}

/**
 * Which approver's wallet signed the older form of a decline, or undefined (decision D33).
 * @param {any} state
 * @param {string} approval_id
 * @param {string} reason
 * @param {any} signed
 * @returns {Promise<string | undefined>}
 */
export async function olderDecline({ mandate, vault }, approval_id, reason, signed) {
  const hash = named(mandate, signed);
  if (hash === undefined || signed.evidence.kind !== 'wallet') return undefined;
  const message = concat(canonical({ approval_id, decision: 'decline', reason }));
  if (hex(sha256(message)) !== signed.statement) return undefined;
  return (await wallet(vault, signed, message)) ? hash : undefined;
}

/**
 * @param {any} vault
 * @param {any} signed
 * @param {Uint8Array} message
 */
async function wallet(vault, { evidence, key }, message) {
  const bytes = (/** @type {string} */ text) => unhex(text.toLowerCase());
  const found = await walletKey(
    bytes(evidence.cose_sign1),
    bytes(evidence.cose_key),
    message,
    networkOf(vault),
  );
  return found !== undefined && equal(found, key.raw);
}
