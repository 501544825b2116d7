// @ts-check
/** Bytes as these pages need them: hex, hashes, canonical JSON, addresses, and just enough CBOR to read a transaction. */

/** @param {Uint8Array} bytes */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {string} text */
export function fromHex(text) {
  if (text.length % 2 !== 0 || /[^0-9a-f]/i.test(text)) throw new Error('not hex');
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** @param {Uint8Array} bytes */
export function base64url(bytes) {
  let plain = '';
  for (const byte of bytes) plain += String.fromCharCode(byte);
  return btoa(plain).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** @param {string} text */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** @param {Uint8Array} bytes */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)));
}

/**
 * RFC 8785, of what statements are made of: objects, texts, whole numbers.
 * @param {unknown} value
 * @returns {string}
 */
export function canonical(value) {
  if (typeof value === 'string' || value === null || typeof value === 'boolean') return JSON.stringify(value);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object') {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    members.sort(([one], [two]) => (one < two ? -1 : one > two ? 1 : 0));
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
  }
  throw new Error('not canonical');
}

const MASK = (1n << 64n) - 1n;
const IV = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const SIGMA = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const LANES = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];

/**
 * BLAKE2b without a key (RFC 7693): 28 bytes name a key, 32 a transaction.
 * @param {Uint8Array} bytes
 * @param {number} length
 */
export function blake2b(bytes, length) {
  const state = BigUint64Array.from(IV);
  state[0] = at(state, 0) ^ 0x01010000n ^ BigInt(length);
  const blocks = Math.max(1, Math.ceil(bytes.length / 128));
  for (let block = 0; block < blocks; block += 1) {
    const end = Math.min(bytes.length, (block + 1) * 128);
    const padded = new Uint8Array(128);
    padded.set(bytes.subarray(block * 128, end));
    const words = new DataView(padded.buffer);
    const m = Array.from({ length: 16 }, (_, word) => words.getBigUint64(word * 8, true));
    compress(state, m, BigInt(end), block === blocks - 1);
  }
  const out = new DataView(new ArrayBuffer(64));
  state.forEach((word, index) => out.setBigUint64(index * 8, word, true));
  return new Uint8Array(out.buffer).slice(0, length);
}

/**
 * @param {BigUint64Array} state
 * @param {bigint[]} m
 * @param {bigint} count
 * @param {boolean} last
 */
function compress(state, m, count, last) {
  const v = BigUint64Array.from([...state, ...IV]);
  v[12] = at(v, 12) ^ count;
  if (last) v[14] = at(v, 14) ^ MASK;
  for (let round = 0; round < 12; round += 1) {
    const order = SIGMA[round % 10] ?? [];
    LANES.forEach(([a = 0, b = 0, c = 0, d = 0], lane) => {
      for (const [word, one, two] of [[order[lane * 2], 32n, 24n], [order[lane * 2 + 1], 16n, 63n]]) {
        v[a] = at(v, a) + at(v, b) + (m[Number(word)] ?? 0n);
        v[d] = rotate(at(v, d) ^ at(v, a), BigInt(one ?? 0));
        v[c] = at(v, c) + at(v, d);
        v[b] = rotate(at(v, b) ^ at(v, c), BigInt(two ?? 0));
      }
    });
  }
  for (let index = 0; index < 8; index += 1) state[index] = at(state, index) ^ at(v, index) ^ at(v, index + 8);
}

/**
 * @param {BigUint64Array} words
 * @param {number} index
 */
function at(words, index) {
  return words[index] ?? 0n;
}

/**
 * @param {bigint} word
 * @param {bigint} by
 */
function rotate(word, by) {
  return ((word >> by) | (word << (64n - by))) & MASK;
}

/**
 * The bytes of an address in bech32. Its checksum is the engine's to check: here it is compared with other bytes.
 * @param {string} text
 */
export function address(text) {
  const data = text.slice(text.lastIndexOf('1') + 1, -6);
  let [held, bits] = [0, 0];
  const bytes = [];
  for (const char of data) {
    const five = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'.indexOf(char);
    if (five < 0) throw new Error('not an address');
    held = ((held << 5) | five) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 0xff);
    }
  }
  return Uint8Array.from(bytes);
}

/** @typedef {bigint | Uint8Array | string | Cbor[] | Pairs | null} Cbor */
/** @typedef {{pairs: [Cbor, Cbor][]}} Pairs */

/**
 * One item: its value, and where the next begins. Tags are passed over; what transactions do not have is refused.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @returns {[Cbor, number]}
 */
export function decode(bytes, from = 0) {
  const first = bytes[from];
  if (first === undefined) throw new Error('cbor ends early');
  const [major, info] = [first >> 5, first & 31];
  if (major === 7) return [null, from + 1 + (info === 24 ? 1 : info === 25 ? 2 : info === 26 ? 4 : info === 27 ? 8 : 0)];
  if (info === 31) return endless(bytes, from + 1, major);
  if (info > 27) throw new Error('not cbor');
  const size = info < 24 ? 0 : 1 << (info - 24);
  let count = BigInt(info);
  if (size > 0) count = BigInt(`0x${hex(bytes.subarray(from + 1, from + 1 + size))}`);
  let next = from + 1 + size;
  if (major === 0) return [count, next];
  if (major === 1) return [-1n - count, next];
  if (major === 6) return decode(bytes, next);
  const many = Number(count);
  if (major === 2 || major === 3) {
    if (next + many > bytes.length) throw new Error('cbor ends early');
    const piece = bytes.subarray(next, next + many);
    return [major === 2 ? piece : new TextDecoder().decode(piece), next + many];
  }
  /** @type {Cbor[]} */
  const items = [];
  for (let index = 0; index < many * (major - 3); index += 1) {
    const [item, end] = decode(bytes, next);
    items.push(item);
    next = end;
  }
  return [major === 4 ? items : paired(items), next];
}

/**
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} major
 * @returns {[Cbor, number]}
 */
function endless(bytes, from, major) {
  /** @type {Cbor[]} */
  const items = [];
  let next = from;
  while (bytes[next] !== 0xff) {
    const [item, end] = decode(bytes, next);
    items.push(item);
    next = end;
  }
  if (major === 2) {
    const pieces = items.filter((item) => item instanceof Uint8Array);
    return [Uint8Array.from(pieces.flatMap((piece) => [...piece])), next + 1];
  }
  return [major === 4 ? items : paired(items), next + 1];
}

/**
 * @param {Cbor[]} items
 * @returns {Pairs}
 */
function paired(items) {
  /** @type {[Cbor, Cbor][]} */
  const pairs = [];
  for (let index = 0; index < items.length; index += 2) pairs.push([items[index] ?? null, items[index + 1] ?? null]);
  return { pairs };
}

/**
 * A transaction: the hash that is signed, and what its outputs pay to an address, asset by asset (policy and name in hex).
 * @param {string} text
 */
export function transaction(text) {
  const bytes = fromHex(text);
  if (bytes[0] !== 0x84) throw new Error('not a transaction');
  const [body, end] = decode(bytes, 1);
  if (body === null || typeof body !== 'object' || !('pairs' in body)) throw new Error('not a transaction');
  const outputs = body.pairs.find(([key]) => key === 1n)?.[1];
  return {
    hash: hex(blake2b(bytes.subarray(1, end), 32)),
    /** @param {Uint8Array} to @param {string} policy @param {string} name */
    pays: (to, policy, name) => {
      let sum = 0n;
      for (const output of Array.isArray(outputs) ? outputs : []) sum += paid(output, hex(to), policy, name);
      return sum;
    },
  };
}

/**
 * @param {Cbor} output
 * @param {string} to
 * @param {string} policy
 * @param {string} name
 */
function paid(output, to, policy, name) {
  /** @param {Cbor} map @param {bigint} key */
  const member = (map, key) => (map && typeof map === 'object' && 'pairs' in map ? map.pairs.find(([of]) => of === key)?.[1] : undefined);
  const [where, value] = Array.isArray(output) ? output : [member(output, 0n), member(output, 1n)];
  if (!(where instanceof Uint8Array) || hex(where) !== to || !Array.isArray(value)) return 0n;
  const assets = value[1];
  /** @param {Cbor | undefined} map @param {string} key */
  const named = (map, key) => (map && typeof map === 'object' && 'pairs' in map ? map.pairs.find(([of]) => of instanceof Uint8Array && hex(of) === key)?.[1] : undefined);
  const quantity = named(named(assets, policy), name);
  return typeof quantity === 'bigint' ? quantity : 0n;
}

/**
 * A witness set with one key's signature.
 * @param {Uint8Array} key
 * @param {Uint8Array} signature
 */
export function witnessSet(key, signature) {
  return `a100818258 20${hex(key)}5840${hex(signature)}`.replace(' ', '');
}
