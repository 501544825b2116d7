// @ts-check
/** Hashes and commitments of cards and their clauses: crate `pxp`, module `card`. */

import { digest, hex, hmac } from './sha256.js';
import { leafHash, root, verifyInclusion } from './merkle.js';
import { clauses } from './pxp-ask.js';
import { canonical, hashOf } from './pxp-state.js';
import { Refusal } from './refusal.js';

/** @param {any} card */
export function cardHash(card) {
  return hashOf({ ...card, limits: orAbsent(card.limits) });
}

/** @param {any[]} list */
export function orAbsent(list) {
  return list.length > 0 ? list : undefined;
}

/**
 * RFC 9162 root over one hiding commitment per clause.
 * @param {any} card
 */
export function clauseRoot(card) {
  const salt = card.salt ?? '0'.repeat(64);
  const leaves = clauses(card).map(({ ref, text }) =>
    clauseLeaf(ref, text, commit(salt, 'pxp.clause.salt.v1', ref)),
  );
  return hex(root(leaves));
}

/**
 * @param {any} clause
 * @param {string | undefined} published
 */
export function isClauseOf({ ref, text: words, salt, index, size, proof }, published) {
  if (published === undefined) return false;
  const path = proof.map(digest);
  try {
    const leaf = clauseLeaf(ref, words, salt);
    verifyInclusion(leaf, BigInt(index), BigInt(size), path, /** @type {Uint8Array} */ (digest(published)));
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/**
 * @param {string} ref
 * @param {string} words
 * @param {string} salt
 */
function clauseLeaf(ref, words, salt) {
  const commitment = commit(salt, 'pxp.clause.v1', canonical({ ref, text: words }));
  return leafHash(/** @type {Uint8Array} */ (digest(commitment)));
}

/**
 * A hiding commitment: HMAC-SHA256(salt, domain ‖ 0x00 ‖ value), in hex.
 * @param {string} salt
 * @param {string} domain
 * @param {string} value
 */
export function commit(salt, domain, value) {
  return hex(hmac(/** @type {Uint8Array} */ (digest(salt)), domain, Uint8Array.of(0), value));
}

/**
 * Whether this is the card that an answer says it makes.
 * @param {any} card
 * @param {any} data
 */
export function isCardOf(card, data) {
  return cardHash(card) === data.card_hash && clauseRoot(card) === data.clause_root;
}
