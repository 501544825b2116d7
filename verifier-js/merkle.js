// @ts-check
/** Merkle trees of RFC 9162 section 2.1 over SHA-256. Sizes and indices are BigInts below 2^64. */

import { Refusal } from './refusal.js';
import { equal, sha256 } from './sha256.js';

const LEAF = new Uint8Array([0]);
const NODE = new Uint8Array([1]);

/**
 * @param {Uint8Array} data
 * @returns {Uint8Array}
 */
export function leafHash(data) {
  return sha256(LEAF, data);
}

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 * @returns {Uint8Array}
 */
export function nodeHash(left, right) {
  return sha256(NODE, left, right);
}

/**
 * Whether these leaves are in the tree, by the hashes beside them from left to right. Throws unless their indices ascend.
 * @param {[bigint, Uint8Array][]} leaves
 * @param {bigint} size
 * @param {Uint8Array[]} proof
 * @param {Uint8Array} root
 */
export function verifyInclusions(leaves, size, proof, root) {
  const failed = new Refusal('inclusion_failed', '', 'these leaves are not in the tree');
  if (leaves.some(([index], at) => index >= size || (at > 0 && index <= leaves[at - 1][0]))) throw failed;
  let used = 0;
  /** @param {[bigint, Uint8Array][]} known @param {bigint} from @param {bigint} to @returns {Uint8Array} */
  const joined = (known, from, to) => {
    if (known.length === 0) {
      if (used === proof.length) throw failed;
      used += 1;
      return proof[used - 1];
    }
    if (to - from === 1n) return known[0][1];
    let half = 1n;
    while (half * 2n < to - from) half *= 2n;
    const middle = from + half;
    const left = joined(known.filter(([index]) => index < middle), from, middle);
    return nodeHash(left, joined(known.filter(([index]) => index >= middle), middle, to));
  };
  const found = joined(leaves, 0n, size);
  if (used !== proof.length || !equal(found, root)) throw failed;
}

/**
 * The root over the hashes of all leaves.
 * @param {Uint8Array[]} leaves
 * @returns {Uint8Array}
 */
export function root(leaves) {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0];
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return nodeHash(root(leaves.slice(0, split)), root(leaves.slice(split)));
}

/**
 * RFC 9162 2.1.3.2. Refuses an index beyond the tree and a path of any other length than the tree demands.
 * @param {Uint8Array} leaf
 * @param {bigint} index
 * @param {bigint} size
 * @param {Uint8Array[]} path
 * @param {Uint8Array} expected
 */
export function verifyInclusion(leaf, index, size, path, expected) {
  if (index >= size) throw new Refusal('index_beyond_tree', '', `leaf ${index} is beyond a tree of ${size}`);
  let at = index;
  let last = size - 1n;
  let hash = leaf;
  for (const sibling of path) {
    if (last === 0n) throw wrongLength(path);
    if ((at & 1n) === 1n || at === last) {
      hash = nodeHash(sibling, hash);
      while ((at & 1n) === 0n && at !== 0n) {
        at >>= 1n;
        last >>= 1n;
      }
    } else {
      hash = nodeHash(hash, sibling);
    }
    at >>= 1n;
    last >>= 1n;
  }
  if (last !== 0n) throw wrongLength(path);
  if (!equal(hash, expected)) {
    throw new Refusal('inclusion_failed', '', 'the path does not lead from the leaf to the root');
  }
}

/**
 * RFC 9162 2.1.4.2. Equal sizes need the empty path and equal roots; size 0 proves nothing; a smaller tree shrunk.
 * @param {bigint} old
 * @param {Uint8Array} oldRoot
 * @param {bigint} now
 * @param {Uint8Array} nowRoot
 * @param {Uint8Array[]} path
 */
export function verifyConsistency(old, oldRoot, now, nowRoot, path) {
  if (old > now) throw new Refusal('shrunk', '', `the tree shrunk from ${old} to ${now}`);
  if (old === 0n) {
    throw new Refusal('consistency_from_empty', '', 'an empty tree proves nothing about a later one');
  }
  const failed = new Refusal('consistency_failed', '', 'the later tree does not begin with the earlier one');
  if (old === now) {
    if (path.length > 0) throw wrongLength(path);
    if (!equal(oldRoot, nowRoot)) throw failed;
    return;
  }
  if (path.length === 0) throw wrongLength(path);
  const isPower = (old & (old - 1n)) === 0n;
  const first = isPower ? oldRoot : path[0];
  const rest = isPower ? path : path.slice(1);
  let at = old - 1n;
  let last = now - 1n;
  while ((at & 1n) === 1n) {
    at >>= 1n;
    last >>= 1n;
  }
  let before = first;
  let after = first;
  for (const hash of rest) {
    if (last === 0n) throw wrongLength(path);
    if ((at & 1n) === 1n || at === last) {
      before = nodeHash(hash, before);
      after = nodeHash(hash, after);
      while ((at & 1n) === 0n && at !== 0n) {
        at >>= 1n;
        last >>= 1n;
      }
    } else {
      after = nodeHash(after, hash);
    }
    at >>= 1n;
    last >>= 1n;
  }
  if (last !== 0n) throw wrongLength(path);
  if (!equal(before, oldRoot) || !equal(after, nowRoot)) throw failed;
}

/** @param {Uint8Array[]} path */
function wrongLength(path) {
  return new Refusal('path_length', '', `a proof of ${path.length} hashes has the wrong length`);
}
