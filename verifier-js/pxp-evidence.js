// @ts-check
/** Evidence that an answer is the principal's own: a key's signature, or a WebAuthn assertion, over a statement's hash. */

import { Refusal } from './refusal.js';
import { digest } from './sha256.js';
import { base64url, sameKey, thumbprint, verifySignature } from './signature.js';
import { verifyAssertion } from './webauthn.js';

/**
 * Whether the proof holds. A session or a relayed answer signs nothing and is taken as it is told.
 * @param {any} proof
 * @param {string} statement
 * @param {any} principal who answers for the seat, as enrolled
 * @param {string} at
 * @returns {Promise<boolean>}
 */
export async function checkProof(proof, statement, principal, at) {
  const { evidence, key } = proof;
  if (evidence.kind === 'session' || evidence.kind === 'relayed') return true;
  if (evidence.kind === 'wallet' || proof.statement !== statement || !key) return false;
  if (proof.by.kind === 'holder') {
    const enrolled =
      evidence.kind === 'passkey'
        ? principal.passkey?.credential_id === evidence.credential_id && sameKey(principal.passkey.key, key)
        : principal.key && sameKey(principal.key, key);
    if (!enrolled) return false;
  }
  // A key proves nothing before 1970.
  if (Date.parse(at) < 0) return false;
  const message = /** @type {Uint8Array} */ (digest(statement));
  if (evidence.kind === 'passkey') return checkPasskey(evidence, key, proof.site, message);
  const signature = base64url(evidence.signature);
  if (thumbprint(key) !== evidence.thumbprint || key.algorithm !== 'Ed25519' || signature?.length !== 64) return false;
  return verifySignature(key, message, signature);
}

/**
 * The authenticator must have verified the user.
 * @param {any} evidence
 * @param {import('./signature.js').PublicKey} key
 * @param {{id: string, origins: string[]} | undefined} site
 * @param {Uint8Array} challenge
 */
async function checkPasskey(evidence, key, site, challenge) {
  if (!site) return false;
  try {
    const credential = { id: evidence.credential_id, key, count: 0 };
    await verifyAssertion({ ...site, verification: 'required' }, challenge, credential, evidence);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}
