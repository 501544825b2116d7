// @ts-check
/** A wallet for tests: CIP-30 as a browser is given it, its key in this process, made for the test. */

import { generateKeyPairSync, sign } from 'node:crypto';
import { fromHex, hex, transaction, witnessSet } from '../../crates/console/static/mandates/bytes.js';
import { blake2b } from '../../verifier-js/blake2b.js';

export class TestWallet {
  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.private = privateKey;
    this.key = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
    this.hash = hex(blake2b(this.key, 28));
    /** An enterprise address of the test network. */
    this.address = `60${this.hash}`;
    this.asked = 0;
  }

  /** The key as the command line keeps one. */
  jwk() {
    return JSON.stringify(this.private.export({ format: 'jwk' }));
  }

  /** @param {Uint8Array} bytes */
  sign(bytes) {
    this.asked += 1;
    return new Uint8Array(sign(null, bytes, this.private));
  }

  /**
   * COSE_Sign1 and COSE_Key (CIP-8).
   * @param {string} address
   * @param {string} payload
   */
  signData(address, payload) {
    if (address !== this.address) throw new Error('another address');
    const headers = `a2012767616464726573735 81d${address}`.replace(' ', '');
    const [protectedBytes, message] = [fromHex(headers), fromHex(payload)];
    const structure = `846a${hex(new TextEncoder().encode('Signature1'))}${bytes(protectedBytes)}40${bytes(message)}`;
    const signature = this.sign(fromHex(structure));
    return {
      signature: `84${bytes(protectedBytes)}a166686173686564f4${bytes(message)}${bytes(signature)}`,
      key: `a4010103272006215820${hex(this.key)}`,
    };
  }

  /** @param {string} tx */
  signTx(tx) {
    return witnessSet(this.key, this.sign(blake2b(transaction(tx).body)));
  }

  /**
   * Gives the wallet to every page of a window.
   * @param {import('playwright-core').BrowserContext} context
   */
  async inject(context) {
    await context.exposeFunction('walletSignData', (/** @type {string} */ address, /** @type {string} */ payload) => this.signData(address, payload));
    await context.exposeFunction('walletSignTx', (/** @type {string} */ tx) => this.signTx(tx));
    await context.addInitScript((address) => {
      const api = {
        getUsedAddresses: async () => [],
        getUnusedAddresses: async () => [address],
        getChangeAddress: async () => address,
        // @ts-expect-error given by the test
        signData: (from, payload) => window.walletSignData(from, payload),
        // @ts-expect-error given by the test
        signTx: (tx) => window.walletSignTx(tx),
      };
      Object.defineProperty(window, 'cardano', { value: { test: { name: 'Test wallet', enable: async () => api } } });
    }, this.address);
  }
}

/** @param {Uint8Array} of */
function bytes(of) {
  const length = of.length;
  const head = length < 24 ? (0x40 + length).toString(16) : length < 256 ? `58${length.toString(16).padStart(2, '0')}` : `59${length.toString(16).padStart(4, '0')}`;
  return head + hex(of);
}

