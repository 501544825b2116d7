// @ts-check
/** CBOR as proofs of mandates meet it: a wallet's signature (CIP-8), and a transaction with its metadata (spec 2.4). */

import { blake2b } from './blake2b.js';
import { concat, equal, hex } from './sha256.js';
import { ed25519Key, verifyEd25519 } from './signature.js';

/**
 * @typedef {{kind: 'int', int: bigint} | {kind: 'bytes', bytes: Uint8Array} | {kind: 'text', text: string}
 *   | {kind: 'array', items: Item[]} | {kind: 'map', members: [Item, Item][]} | {kind: 'tag', tag: bigint, item: Item}
 *   | {kind: 'simple', simple: number}} Item
 */

/**
 * Lower-case hex, or undefined.
 * @param {unknown} text
 * @returns {Uint8Array | undefined}
 */
export function unhex(text) {
  if (typeof text !== 'string' || !/^([0-9a-f]{2})*$/.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

/** Bytes that cannot be read end the reading. */
class Unread extends Error {}

class Reader {
  /**
   * @param {Uint8Array} bytes
   * @param {{strict: boolean, depth: number}} rules strict: definite lengths, at most 16 entries, no floats
   */
  constructor(bytes, rules) {
    this.bytes = bytes;
    this.at = 0;
    this.rules = rules;
  }

  /** @param {number} length */
  take(length) {
    if (this.at + length > this.bytes.length) throw new Unread();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** @returns {[number, bigint | undefined, number]} kind, number (none: indefinite), low bits */
  head() {
    const first = this.take(1)[0];
    const low = first & 31;
    if (low < 24) return [first >> 5, BigInt(low), low];
    if (low < 28) {
      let number = 0n;
      for (const byte of this.take(1 << (low - 24))) number = number * 256n + BigInt(byte);
      return [first >> 5, number, low];
    }
    if (low === 31 && !this.rules.strict) return [first >> 5, undefined, low];
    throw new Unread();
  }

  /**
   * @param {number} depth
   * @returns {Item}
   */
  item(depth) {
    if (depth === 0) throw new Unread();
    const [kind, number, low] = this.head();
    switch (kind) {
      case 0:
      case 1:
        if (number === undefined) throw new Unread();
        return { kind: 'int', int: kind === 0 ? number : -1n - number };
      case 2:
      case 3:
        return this.string(kind, number === undefined ? this.chunks(kind) : this.take(this.length(number)));
      case 4: {
        /** @type {Item[]} */
        const items = [];
        while (this.more(number, items.length)) items.push(this.item(depth - 1));
        return { kind: 'array', items };
      }
      case 5: {
        /** @type {[Item, Item][]} */
        const members = [];
        while (this.more(number, members.length)) members.push([this.item(depth - 1), this.item(depth - 1)]);
        return { kind: 'map', members };
      }
      case 6:
        if (number === undefined) throw new Unread();
        return { kind: 'tag', tag: number, item: this.item(depth - 1) };
      default:
        if (number === undefined || (this.rules.strict && low >= 24)) throw new Unread();
        return { kind: 'simple', simple: low < 24 ? low : -1 };
    }
  }

  /**
   * @param {number} kind
   * @param {Uint8Array} bytes
   * @returns {Item}
   */
  string(kind, bytes) {
    if (kind === 2) return { kind: 'bytes', bytes };
    // A wallet's texts are compared as bytes: what is no UTF-8 equals no name.
    if (this.rules.strict) return { kind: 'text', text: String.fromCharCode(...bytes) };
    try {
      return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
    } catch {
      throw new Unread();
    }
  }

  /** @param {bigint} number */
  length(number) {
    if (number > BigInt(this.bytes.length)) throw new Unread();
    return Number(number);
  }

  /**
   * @param {bigint | undefined} count
   * @param {number} read
   */
  more(count, read) {
    if (count !== undefined) {
      if (this.rules.strict && count > 16n) throw new Unread();
      return BigInt(read) < count;
    }
    if (this.at >= this.bytes.length) throw new Unread();
    if (this.bytes[this.at] !== 0xff) return true;
    this.at += 1;
    return false;
  }

  /** @param {number} kind */
  chunks(kind) {
    const all = [];
    while (this.more(undefined, 0)) {
      const [found, length] = this.head();
      if (found !== kind || length === undefined) throw new Unread();
      all.push(this.take(this.length(length)));
    }
    return concat(new Uint8Array(0), ...all);
  }

  /** The bytes of the next item. */
  span() {
    const start = this.at;
    this.item(this.rules.depth);
    return this.bytes.subarray(start, this.at);
  }
}

/**
 * One item and nothing after it; undefined for anything else.
 * @param {Uint8Array} bytes
 * @param {{strict: boolean, depth: number}} rules
 * @returns {Item | undefined}
 */
function whole(bytes, rules) {
  return attempt(() => {
    const reader = new Reader(bytes, rules);
    const item = reader.item(rules.depth);
    return reader.at === bytes.length ? item : undefined;
  });
}

/**
 * @template T
 * @param {() => T} step
 * @returns {T | undefined}
 */
function attempt(step) {
  try {
    return step();
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}

/**
 * A member that is there exactly once.
 * @param {Item | undefined} map
 * @param {bigint | string} name
 * @returns {Item | undefined}
 */
function member(map, name) {
  if (map?.kind !== 'map') return undefined;
  const found = map.members.filter(([key]) =>
    typeof name === 'string' ? key.kind === 'text' && key.text === name : key.kind === 'int' && key.int === name,
  );
  return found.length === 1 ? found[0][1] : undefined;
}

const WALLET = { strict: true, depth: 6 };

/**
 * The key that signed exactly `message` for its own address, or undefined (crate `mandate`, module `cose`).
 * @param {Uint8Array | undefined} sign1
 * @param {Uint8Array | undefined} coseKey
 * @param {Uint8Array} message
 * @param {number} network
 * @returns {Promise<Uint8Array | undefined>}
 */
export async function walletKey(sign1, coseKey, message, network) {
  if (!sign1 || !coseKey) return undefined;
  const keyMap = whole(coseKey, WALLET);
  const x = member(keyMap, -2n);
  const kty = member(keyMap, 1n);
  const crv = member(keyMap, -1n);
  if (kty?.kind !== 'int' || kty.int !== 1n || crv?.kind !== 'int' || crv.int !== 6n) return undefined;
  if (x?.kind !== 'bytes' || !ed25519Key(x.bytes)) return undefined;
  const read = whole(sign1, WALLET);
  const parts = read?.kind === 'tag' && read.tag === 18n ? read.item : read;
  if (parts?.kind !== 'array' || parts.items.length !== 4) return undefined;
  const [headers, unprotected, payload, signature] = parts.items;
  if (headers.kind !== 'bytes' || unprotected.kind !== 'map' || payload.kind !== 'bytes' || signature.kind !== 'bytes') {
    return undefined;
  }
  const hashed = unprotected.members.some(
    ([name, value]) =>
      name.kind === 'text' && name.text === 'hashed' && !(value.kind === 'simple' && value.simple === 20),
  );
  if (hashed || !equal(payload.bytes, message)) return undefined;
  const inner = whole(headers.bytes, WALLET);
  const algorithm = member(inner, 1n);
  const address = member(inner, 'address');
  if (algorithm?.kind !== 'int' || algorithm.int !== -8n || address?.kind !== 'bytes') return undefined;
  const own = paymentKey(address.bytes, network);
  if (!own || !equal(own, blake2b(x.bytes, 28)) || signature.bytes.length !== 64) return undefined;
  const signed = concat(
    Uint8Array.of(0x84, 0x6a),
    'Signature1',
    headOf(2, headers.bytes.length),
    headers.bytes,
    Uint8Array.of(0x40),
    headOf(2, payload.bytes.length),
    payload.bytes,
  );
  return (await verifyEd25519(x.bytes, signed, signature.bytes)) ? x.bytes : undefined;
}

/**
 * The payment key of a Shelley address, where it has one (types 0, 2 and 6).
 * @param {Uint8Array} address
 * @param {number} network
 */
function paymentKey(address, network) {
  const lengths = /** @type {Record<number, number>} */ ({ 0: 57, 2: 57, 6: 29 });
  if (address.length === 0 || lengths[address[0] >> 4] !== address.length) return undefined;
  return (address[0] & 15) === network ? address.subarray(1, 29) : undefined;
}

/**
 * @param {number} kind
 * @param {number} length
 */
function headOf(kind, length) {
  if (length < 24) return Uint8Array.of((kind << 5) | length);
  if (length < 256) return Uint8Array.of((kind << 5) | 24, length);
  if (length < 65_536) return Uint8Array.of((kind << 5) | 25, length >> 8, length & 255);
  return Uint8Array.of((kind << 5) | 26, (length >>> 24) & 255, (length >> 16) & 255, (length >> 8) & 255, length & 255);
}

const CHAIN = { strict: false, depth: 24 };

/**
 * @typedef {{auth: string, action: string, mandate: string, log_head: {seq: bigint, hash: string}}} Note
 * @typedef {{hash: string, note: Note | undefined}} Transaction
 */

/**
 * A transaction, or its body alone (crate `mandate`, module `transaction`).
 * @param {string} text
 * @returns {Transaction | undefined}
 */
export function readTransaction(text) {
  const bytes = unhex(text);
  return bytes && attempt(() => transaction(bytes));
}

/**
 * @param {Uint8Array} bytes
 * @returns {Transaction | undefined}
 */
function transaction(bytes) {
  if (bytes.length === 0) return undefined;
  const reader = new Reader(bytes, CHAIN);
  let auxiliary;
  let body;
  if (bytes[0] >> 5 === 5) body = reader.span();
  else {
    const [kind, count] = reader.head();
    if (kind !== 4 || (count !== 3n && count !== 4n)) return undefined;
    body = reader.span();
    for (let part = 2n; part < count; part++) reader.span();
    auxiliary = reader.span();
  }
  if (reader.at !== bytes.length || body[0] >> 5 !== 5) return undefined;
  const named = member(new Reader(body, CHAIN).item(CHAIN.depth), 7n);
  const hash = hex(blake2b(body));
  if (!auxiliary) return { hash, note: undefined };
  if (auxiliary.length === 1 && auxiliary[0] === 0xf6) return named ? undefined : { hash, note: undefined };
  if (named?.kind !== 'bytes' || !equal(named.bytes, blake2b(auxiliary))) return undefined;
  return { hash, note: noteOf(new Reader(auxiliary, CHAIN).item(CHAIN.depth)) };
}

/**
 * @param {Item} auxiliary
 * @returns {Note | undefined}
 */
function noteOf(auxiliary) {
  let metadata = /** @type {Item | undefined} */ (auxiliary);
  if (auxiliary.kind === 'array') metadata = auxiliary.items[0];
  else if (auxiliary.kind === 'tag' && auxiliary.tag === 259n) metadata = member(auxiliary.item, 0n);
  const note = member(metadata, 1694n);
  const head = member(note, 'log_head');
  const seq = member(head, 'seq');
  const texts = [member(note, 'auth'), member(note, 'action'), member(head, 'hash')];
  const mandate = member(note, 'mandate');
  if (seq?.kind !== 'int' || seq.int < 0n || seq.int >= 1n << 64n || mandate?.kind !== 'text') return undefined;
  const [auth, action, hash] = texts.map((item) =>
    item?.kind === 'text' && /^[0-9a-f]{64}$/.test(item.text) ? item.text : undefined,
  );
  if (auth === undefined || action === undefined || hash === undefined) return undefined;
  return { auth, action, mandate: mandate.text, log_head: { seq: seq.int, hash } };
}
