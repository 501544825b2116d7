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
 * A transaction: its body, whose hash is signed, and what its outputs pay to an address, asset by asset (policy and name in
 * hex).
 * @param {string} text
 */
export function transaction(text) {
  const bytes = fromHex(text);
  if (bytes[0] !== 0x84) throw new Error('not a transaction');
  const [body, end] = decode(bytes, 1);
  if (body === null || typeof body !== 'object' || !('pairs' in body)) throw new Error('not a transaction');
  const outputs = body.pairs.find(([key]) => key === 1n)?.[1];
  return {
    body: bytes.subarray(1, end),
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
