// @ts-check
/** SLH-DSA-SHA2-128s (FIPS 205): verification alone, pure, with an empty context. */

import { concat, equal, sha256 } from './sha256.js';

const N = 16;
const LAYERS = 7;
const HEIGHT = 9;
const TREES = 14;
const LEAVES = 12;
const WORDS = 35;
const SIGNATURE = N * (1 + TREES * (LEAVES + 1) + LAYERS * (WORDS + HEIGHT));

const WOTS_HASH = 0;
const WOTS_PK = 1;
const TREE = 2;
const FORS_TREE = 3;
const FORS_ROOTS = 4;

/**
 * Whether the signature is that of the key (seed and root, 32 bytes) over the message.
 * @param {Uint8Array} key
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 * @returns {boolean}
 */
export function verifySlhDsa(key, message, signature) {
  if (key.length !== 2 * N || signature.length !== SIGNATURE) return false;
  const seed = key.slice(0, N);
  const root = key.slice(N);
  let at = 0;
  const next = () => signature.slice(at, (at += N));
  const random = next();
  // The context is empty: a zero for "pure", a zero for its length (FIPS 205, algorithm 24).
  const digest = hashMessage(random, seed, root, concat(Uint8Array.of(0, 0), message));
  let tree = big(digest.slice(21, 28)) & ((1n << 54n) - 1n);
  let leaf = Number(big(digest.slice(28, 30)) & 511n);
  let node = fors(digest.slice(0, 21), next, seed, tree, leaf);
  for (let layer = 0; layer < LAYERS; layer++) {
    node = wots(node, next, seed, layer, tree, leaf);
    for (let height = 0; height < HEIGHT; height++) {
      const index = leaf >> (height + 1);
      const sibling = next();
      const pair = (leaf >> height) & 1 ? concat(sibling, node) : concat(node, sibling);
      node = hash(seed, address(layer, tree, TREE, 0, height + 1, index), pair);
    }
    leaf = Number(tree & 511n);
    tree >>= 9n;
  }
  return equal(node, root);
}

/**
 * The root of the few-times trees (FIPS 205, algorithm 17).
 * @param {Uint8Array} digest
 * @param {() => Uint8Array} next
 * @param {Uint8Array} seed
 * @param {bigint} tree
 * @param {number} leaf
 */
function fors(digest, next, seed, tree, leaf) {
  const roots = [];
  let bits = big(digest);
  const total = BigInt(digest.length * 8);
  for (let i = 0; i < TREES; i++) {
    const index = Number((bits >> (total - BigInt(LEAVES * (i + 1)))) & 0xfffn);
    let place = i * 2 ** LEAVES + index;
    let node = hash(seed, address(0, tree, FORS_TREE, leaf, 0, place), next());
    for (let height = 0; height < LEAVES; height++) {
      const sibling = next();
      const pair = place & 1 ? concat(sibling, node) : concat(node, sibling);
      place >>= 1;
      node = hash(seed, address(0, tree, FORS_TREE, leaf, height + 1, place), pair);
    }
    roots.push(node);
  }
  return hash(seed, address(0, tree, FORS_ROOTS, leaf, 0, 0), concat(...roots));
}

/**
 * The one-time key a signature leads to (FIPS 205, algorithm 8).
 * @param {Uint8Array} message
 * @param {() => Uint8Array} next
 * @param {Uint8Array} seed
 * @param {number} layer
 * @param {bigint} tree
 * @param {number} leaf
 */
function wots(message, next, seed, layer, tree, leaf) {
  const digits = [...message].flatMap((byte) => [byte >> 4, byte & 15]);
  const sum = digits.reduce((rest, digit) => rest + 15 - digit, 0);
  digits.push((sum >> 8) & 15, (sum >> 4) & 15, sum & 15);
  const ends = digits.map((digit, chain) => {
    let value = next();
    for (let step = digit; step < 15; step++) {
      value = hash(seed, address(layer, tree, WOTS_HASH, leaf, chain, step), value);
    }
    return value;
  });
  return hash(seed, address(layer, tree, WOTS_PK, leaf, 0, 0), concat(...ends));
}

/**
 * A compressed address (FIPS 205, 11.2).
 * @param {number} layer
 * @param {bigint} tree
 * @param {number} kind
 * @param {number} one
 * @param {number} two
 * @param {number} three
 */
function address(layer, tree, kind, one, two, three) {
  const bytes = new Uint8Array(22);
  const view = new DataView(bytes.buffer);
  bytes[0] = layer;
  view.setBigUint64(1, tree);
  bytes[9] = kind;
  view.setUint32(10, one);
  view.setUint32(14, two);
  view.setUint32(18, three);
  return bytes;
}

const PADDING = new Uint8Array(64 - N);

/**
 * F, H and T of the parameter set.
 * @param {Uint8Array} seed
 * @param {Uint8Array} address
 * @param {Uint8Array} message
 */
function hash(seed, address, message) {
  return sha256(seed, PADDING, address, message).slice(0, N);
}

/**
 * 30 bytes of MGF1 (FIPS 205, 11.2.1).
 * @param {Uint8Array} random
 * @param {Uint8Array} seed
 * @param {Uint8Array} root
 * @param {Uint8Array} message
 */
function hashMessage(random, seed, root, message) {
  const inner = sha256(random, seed, root, message);
  return sha256(random, seed, inner, new Uint8Array(4)).slice(0, 30);
}

/** @param {Uint8Array} bytes */
function big(bytes) {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
