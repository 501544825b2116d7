// @ts-check
/** Keys of this browser. They are kept in its own store, non-extractable, or sealed by what only a passkey gives (PRF). */

import { blake2b } from '../verifier-js/blake2b.js';
import { base64url, hex } from './bytes.js';

/**
 * @typedef {{hash: string, name: string, public: string, kind: 'device', key: CryptoKey}
 *   | {hash: string, name: string, public: string, kind: 'passkey', credential: Uint8Array<ArrayBuffer>, salt: Uint8Array<ArrayBuffer>, iv: Uint8Array<ArrayBuffer>, sealed: ArrayBuffer}} Kept
 */

const STORE = 'keys';

/** @returns {Promise<IDBDatabase>} */
function open() {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open('countersign', 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: 'hash' });
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} use
 * @returns {Promise<T>}
 */
async function within(mode, use) {
  const database = await open();
  try {
    return await new Promise((resolve, reject) => {
      const asked = use(database.transaction(STORE, mode).objectStore(STORE));
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
  } finally {
    database.close();
  }
}

/** @returns {Promise<Kept[]>} */
export async function kept() {
  try {
    return await within('readonly', (store) => store.getAll());
  } catch {
    return [];
  }
}

/** @param {string} hash */
export async function forget(hash) {
  await within('readwrite', (store) => store.delete(hash));
}

/**
 * A fresh key that no script can read out.
 * @param {string} name
 */
export async function make(name) {
  const pair = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']));
  await keep({ ...(await named(name, pair.publicKey)), kind: 'device', key: pair.privateKey });
}

/**
 * A fresh key, sealed by a passkey made for it.
 * @param {string} name
 */
export async function makeBehindPasskey(name) {
  const salt = crypto.getRandomValues(new Uint8Array(32));
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      rp: { name: 'Countersign' },
      user: { id: crypto.getRandomValues(new Uint8Array(16)), name, displayName: name },
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }, { type: 'public-key', alg: -8 }],
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      extensions: { prf: { eval: { first: salt } } },
    },
  });
  if (!(made instanceof PublicKeyCredential)) throw new Error('No passkey was made.');
  if (!made.getClientExtensionResults().prf?.enabled) throw new Error('This passkey cannot seal a key. Make a plain one.');
  const credential = new Uint8Array(made.rawId);
  const wrapping = await sealer(credential, salt);
  const pair = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']));
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const sealed = await crypto.subtle.wrapKey('pkcs8', pair.privateKey, wrapping, { name: 'AES-GCM', iv });
  await keep({ ...(await named(name, pair.publicKey)), kind: 'passkey', credential, salt, iv, sealed });
}

/**
 * Signs with a kept key; a sealed one asks for its passkey.
 * @param {Kept} of
 * @param {Uint8Array} bytes
 */
export async function sign(of, bytes) {
  const key = of.kind === 'device' ? of.key : await unsealed(of);
  return new Uint8Array(await crypto.subtle.sign('Ed25519', key, new Uint8Array(bytes)));
}

/** @param {Extract<Kept, {kind: 'passkey'}>} of */
async function unsealed(of) {
  const wrapping = await sealer(of.credential, of.salt);
  return crypto.subtle.unwrapKey('pkcs8', of.sealed, wrapping, { name: 'AES-GCM', iv: of.iv }, 'Ed25519', false, ['sign']);
}

/**
 * @param {Uint8Array<ArrayBuffer>} credential
 * @param {Uint8Array<ArrayBuffer>} salt
 */
async function sealer(credential, salt) {
  const used = await navigator.credentials.get({
    publicKey: {
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      allowCredentials: [{ type: 'public-key', id: credential }],
      userVerification: 'required',
      extensions: { prf: { eval: { first: salt } } },
    },
  });
  const secret = used instanceof PublicKeyCredential ? used.getClientExtensionResults().prf?.results?.first : undefined;
  if (!secret) throw new Error('The passkey gave nothing to seal with.');
  const raw = new Uint8Array(secret instanceof ArrayBuffer ? secret : secret.buffer);
  const material = await crypto.subtle.importKey('raw', raw, 'HKDF', false, ['deriveKey']);
  const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(0), info: new TextEncoder().encode('countersign console key v1') };
  return crypto.subtle.deriveKey(how, material, { name: 'AES-GCM', length: 256 }, false, ['wrapKey', 'unwrapKey']);
}

/**
 * @param {string} name
 * @param {CryptoKey} key
 */
async function named(name, key) {
  const bytes = new Uint8Array(await crypto.subtle.exportKey('raw', key));
  return { name, public: hex(bytes), hash: hex(blake2b(bytes, 28)) };
}

/** @param {Kept} made */
async function keep(made) {
  await within('readwrite', (store) => store.add(made));
}

/**
 * RFC 7638, as evidence names a key.
 * @param {Uint8Array} key
 */
export async function thumbprint(key) {
  const jwk = `{"crv":"Ed25519","kty":"OKP","x":"${base64url(key)}"}`;
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(jwk))));
}
