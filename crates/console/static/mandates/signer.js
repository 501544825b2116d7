// @ts-check
/** Whoever can sign here: wallets that the browser was given (CIP-30), and keys of this browser. */

import { blake2b } from '../verifier-js/blake2b.js';
import { address, base64url, fromHex, hex, transaction, witnessSet } from './bytes.js';
import { kept, sign, thumbprint } from './keys.js';

/**
 * @typedef {{key: string, evidence: Record<string, string>}} Signature
 * @typedef {{id: string, label: string, hash: string | null, sign: (bytes: Uint8Array) => Promise<Signature>, witness: (tx: string) => Promise<string>}} Signer
 * @typedef {{getUsedAddresses(): Promise<string[]>, getUnusedAddresses(): Promise<string[]>, getChangeAddress(): Promise<string>,
 *   signData(address: string, payload: string): Promise<{signature: string, key: string}>, signTx(tx: string, partial: boolean): Promise<string>}} Wallet
 * @typedef {{name?: string, enable(): Promise<Wallet>}} Injected
 */

/** A refusal in words a person can read. */
export class Problem extends Error {}

/**
 * Everybody who could sign. Only of keys of this browser is it known whose they are before a wallet is opened.
 * @param {string[] | null} wanted the hashes of the keys that may sign; `null`: any
 * @returns {Promise<Signer[]>}
 */
export async function signers(wanted) {
  const own = (await kept()).filter((key) => wanted === null || wanted.includes(key.hash)).map((key) => {
    const bytes = fromHex(key.public);
    return {
      id: `key-${key.hash}`,
      label: `${key.name}, a key of this browser`,
      hash: key.hash,
      sign: async (/** @type {Uint8Array} */ message) => ({
        key: `ed25519:${key.public}`,
        evidence: { kind: 'ed25519', thumbprint: await thumbprint(bytes), signature: base64url(await sign(key, message)) },
      }),
      witness: async (/** @type {string} */ tx) => witnessSet(bytes, await sign(key, blake2b(transaction(tx).body))),
    };
  });
  return [...injected().map(([id, wallet]) => walletSigner(id, wallet, wanted)), ...own];
}

/** @returns {[string, Injected][]} */
function injected() {
  const all = /** @type {{cardano?: Record<string, Injected>}} */ (/** @type {unknown} */ (window)).cardano ?? {};
  return Object.entries(all).filter(([, wallet]) => typeof wallet?.enable === 'function');
}

/**
 * @param {string} id
 * @param {Injected} wallet
 * @param {string[] | null} wanted
 * @returns {Signer}
 */
function walletSigner(id, wallet, wanted) {
  return {
    id: `wallet-${id}`,
    label: `${wallet.name ?? id}, a wallet`,
    hash: null,
    sign: async (bytes) => {
      const opened = await wallet.enable();
      const from = await addressOf(opened, wanted);
      const { signature, key } = await opened.signData(from, hex(bytes));
      const found = /215820([0-9a-f]{64})/.exec(key.toLowerCase());
      if (!found?.[1]) throw new Problem('The wallet gave a key that is not Ed25519.');
      return {
        key: `ed25519:${found[1]}`,
        evidence: { kind: 'wallet', address: from, cose_sign1: signature.toLowerCase(), cose_key: key.toLowerCase() },
      };
    },
    witness: async (tx) => (await (await wallet.enable()).signTx(tx, true)).toLowerCase(),
  };
}

/**
 * The wallet's address whose payment key may sign.
 * @param {Wallet} wallet
 * @param {string[] | null} wanted
 */
async function addressOf(wallet, wanted) {
  const all = [await wallet.getChangeAddress(), ...(await wallet.getUsedAddresses()), ...(await wallet.getUnusedAddresses())];
  const bytes = all.map((text) => (text.startsWith('addr') ? hex(address(text)) : text.toLowerCase()));
  const found = bytes.find((text) => wanted === null || wanted.includes(text.slice(2, 58)));
  if (!found) throw new Problem('This wallet has none of the keys that may decide this. Choose another account of it.');
  return found;
}

/**
 * A fieldset of radio buttons. Gives what is chosen.
 * @param {HTMLElement} place
 * @param {Signer[]} all
 * @returns {() => Signer}
 */
export function choices(place, all) {
  const name = `signer-${Math.random().toString(36).slice(2)}`;
  all.forEach((signer, index) => {
    const label = document.createElement('label');
    label.className = 'choice-line';
    const input = Object.assign(document.createElement('input'), { type: 'radio', name, value: signer.id, checked: index === 0 });
    const text = document.createElement('span');
    const strong = document.createElement('strong');
    strong.textContent = signer.label;
    text.append(strong);
    if (signer.hash) {
      const small = document.createElement('small');
      small.textContent = signer.hash;
      text.append(small);
    }
    label.append(input, text);
    place.append(label);
  });
  return () => {
    const chosen = place.querySelector('input:checked');
    const found = all.find(({ id }) => chosen instanceof HTMLInputElement && chosen.value === id);
    if (!found) throw new Problem('Choose what to sign with.');
    return found;
  };
}

/** @param {unknown} error */
export function inWords(error) {
  if (error instanceof Problem) return error.message;
  if (error instanceof DOMException && error.name === 'NotAllowedError') return 'It was cancelled, or it took too long. Nothing was sent.';
  if (error instanceof TypeError) return 'The server could not be reached.';
  // Wallets throw plain objects: {code, info} (CIP-30).
  const info = error && typeof error === 'object' && 'info' in error ? String(error.info) : error instanceof Error ? error.message : '';
  return info ? `It was not signed: ${info}` : 'It was not signed.';
}

/**
 * Sends what was signed, and gives what is answered.
 * @param {string} path
 * @param {object} body
 */
export async function send(path, body) {
  const response = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (response.ok) return answer;
  throw new Problem(typeof answer.detail === 'string' ? `Refused: ${answer.detail}.` : 'The server refused this.');
}

/** Follows what happens by itself, by fetching the page again. */
export function follow() {
  const again = async () => {
    const old = document.getElementById('part-state');
    if (!old?.hasAttribute('data-moves')) return;
    try {
      const response = await fetch(location.pathname, { headers: { accept: 'text/html' } });
      const fresh = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById('part-state');
      if (response.ok && fresh && fresh.innerHTML !== old.innerHTML) old.replaceWith(document.importNode(fresh, true));
    } catch {
      // Tried again.
    }
    setTimeout(again, 1500);
  };
  setTimeout(again, 1000);
}
