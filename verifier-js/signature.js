// @ts-check
/** Public keys and signatures by WebCrypto, under the acceptance rule of crate `keys`. */

import { concat, equal, hex, sha256 } from './sha256.js';

/** @typedef {{algorithm: 'Ed25519', raw: Uint8Array} | {algorithm: 'P-256', raw: Uint8Array, x: string, y: string}} PublicKey */

const P = 2n ** 255n - 19n;
const D = mod(-121665n * power(121666n, P - 2n));
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
/** The y of the points of small order. */
const SMALL = new Set([0n, 1n, P - 1n, ...orderEight()]);

/** @type {Map<string, boolean>} */
const checked = new Map();

/**
 * Whether 32 bytes are a key: canonically encoded, on the curve, not of small order.
 * @param {Uint8Array} bytes
 * @returns {boolean}
 */
export function ed25519Key(bytes) {
  if (bytes.length !== 32) return false;
  const name = hex(bytes);
  const known = checked.get(name);
  if (known !== undefined) return known;
  const good = isKey(bytes);
  checked.set(name, good);
  return good;
}

/**
 * Whether the signature is this key's over the message: S below the group order, the cofactorless equation.
 * @param {Uint8Array} key
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 * @returns {Promise<boolean>}
 */
export async function verifyEd25519(key, message, signature) {
  if (!ed25519Key(key) || signature.length !== 64 || little(signature.slice(32)) >= L) return false;
  const imported = await crypto.subtle.importKey('raw', buffer(key), 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', imported, buffer(signature), buffer(message));
}

/**
 * Whether the signature (64 bytes, r‖s for ES256) is this key's over the message.
 * @param {PublicKey} key
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 * @returns {Promise<boolean>}
 */
export async function verifySignature(key, message, signature) {
  if (key.algorithm === 'Ed25519') return verifyEd25519(key.raw, message, signature);
  if (signature.length !== 64) return false;
  const kind = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', buffer(key.raw), kind, false, ['verify']);
  return crypto.subtle.verify(kind, imported, buffer(signature), buffer(message));
}

/**
 * A public JWK of the closed shape that crate `keys` reads, already parsed; `undefined` for any other value.
 * @param {unknown} jwk
 * @returns {PublicKey | undefined}
 */
export function publicKey(jwk) {
  if (!(jwk instanceof Map)) return undefined;
  const names = ['kty', 'crv', 'x', 'y', 'kid', 'alg', 'use', 'd'];
  if ([...jwk.keys()].some((name) => !names.includes(name))) return undefined;
  const text = (/** @type {string} */ name) => jwk.get(name) ?? undefined;
  if (jwk.has('d')) return undefined;
  for (const name of ['kty', 'crv', 'x']) if (typeof jwk.get(name) !== 'string') return undefined;
  for (const name of ['y', 'kid', 'alg', 'use']) {
    if (text(name) !== undefined && typeof text(name) !== 'string') return undefined;
  }
  if (text('use') !== undefined && text('use') !== 'sig') return undefined;
  const x = base64url(jwk.get('x'));
  const alg = text('alg');
  if (jwk.get('kty') === 'OKP' && jwk.get('crv') === 'Ed25519' && text('y') === undefined) {
    if (!x || !ed25519Key(x) || (alg !== undefined && alg !== 'EdDSA' && alg !== 'Ed25519')) return undefined;
    return { algorithm: 'Ed25519', raw: x };
  }
  if (jwk.get('kty') === 'EC' && jwk.get('crv') === 'P-256' && text('y') !== undefined) {
    const y = base64url(text('y'));
    if (x?.length !== 32 || y?.length !== 32 || !onP256(big(x), big(y))) return undefined;
    if (alg !== undefined && alg !== 'ES256') return undefined;
    return { algorithm: 'P-256', raw: concat(Uint8Array.of(4), x, y), x: jwk.get('x'), y: text('y') };
  }
  return undefined;
}

/**
 * The RFC 7638 thumbprint in base64url.
 * @param {PublicKey} key
 * @returns {string}
 */
export function thumbprint(key) {
  const required =
    key.algorithm === 'Ed25519'
      ? `{"crv":"Ed25519","kty":"OKP","x":"${toBase64url(key.raw)}"}`
      : `{"crv":"P-256","kty":"EC","x":"${key.x}","y":"${key.y}"}`;
  return toBase64url(sha256(required));
}

/**
 * @param {PublicKey} a
 * @param {PublicKey} b
 */
export function sameKey(a, b) {
  return a.algorithm === b.algorithm && equal(a.raw, b.raw);
}

/**
 * Unpadded base64url in its one spelling.
 * @param {unknown} text
 * @returns {Uint8Array | undefined}
 */
export function base64url(text) {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  return toBase64url(bytes) === text ? bytes : undefined;
}

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function toBase64url(bytes) {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** @param {Uint8Array} bytes */
function isKey(bytes) {
  const encoded = little(bytes);
  const sign = encoded >> 255n;
  const y = encoded & (2n ** 255n - 1n);
  if (y >= P || SMALL.has(y)) return false;
  return root(y) !== undefined && (sign === 0n || root(y) !== 0n);
}

/**
 * An x of the curve point with this y, if there is one: x² = (y² - 1) / (d y² + 1).
 * @param {bigint} y
 * @returns {bigint | undefined}
 */
function root(y) {
  const square = mod(mod(y * y - 1n) * power(mod(D * y * y + 1n), P - 2n));
  return squareRoot(square);
}

/** The y of the points of order eight. Their double has y = 0, so x² = -y², and the curve gives d y⁴ + 2y² - 1 = 0. */
function orderEight() {
  const half = squareRoot(mod(1n + D)) ?? 0n;
  return [half, -half].flatMap((sign) => {
    const y = squareRoot(mod((sign - 1n) * power(D, P - 2n)));
    return y === undefined ? [] : [y, mod(-y)];
  });
}

/** @param {bigint} square */
function squareRoot(square) {
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * ROOT_OF_MINUS_ONE);
  return mod(x * x) === square ? x : undefined;
}

/**
 * @param {bigint} x
 * @param {bigint} y
 */
function onP256(x, y) {
  const p = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
  const b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
  return x < p && y < p && (y * y - x * x * x + 3n * x - b) % p === 0n;
}

/** @param {bigint} value */
function mod(value) {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

/**
 * @param {bigint} base
 * @param {bigint} exponent
 */
function power(base, exponent) {
  let result = 1n;
  let square = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}

/** @param {Uint8Array} bytes */
function little(bytes) {
  return big(Uint8Array.from(bytes).reverse());
}

/** @param {Uint8Array} bytes */
function big(bytes) {
  return BigInt('0x' + (hex(bytes) || '0'));
}

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array<ArrayBuffer>}
 */
function buffer(bytes) {
  return Uint8Array.from(bytes);
}
