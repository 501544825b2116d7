// @ts-check
/** Deflate (RFC 1951), unpacked with a known size: platform streams do not say whether bytes were left over. */

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193,
  12289, 16385, 24577,
];
const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** @typedef {{counts: Uint16Array, symbols: Uint16Array}} Code */

/**
 * The content, if the packed bytes are exactly one stream of that many bytes.
 * @param {Uint8Array} packed
 * @param {number} size
 * @returns {Uint8Array | undefined}
 */
export function inflate(packed, size) {
  const stream = new Stream(packed, size);
  try {
    while (!stream.block());
  } catch (error) {
    if (error === FAULT) return undefined;
    throw error;
  }
  return stream.at === packed.length && stream.made === size ? stream.out : undefined;
}

const FAULT = Symbol('not deflate');

class Stream {
  /**
   * @param {Uint8Array} packed
   * @param {number} size
   */
  constructor(packed, size) {
    this.packed = packed;
    this.at = 0;
    this.bits = 0;
    this.held = 0;
    this.out = new Uint8Array(size);
    this.made = 0;
  }

  /** One block; whether it was the last. */
  block() {
    const last = this.take(1) === 1;
    const kind = this.take(2);
    if (kind === 0) this.stored();
    else if (kind === 1) this.codes(FIXED_LENGTHS, FIXED_DISTANCES);
    else if (kind === 2) this.dynamic();
    else throw FAULT;
    return last;
  }

  /** @param {number} count */
  take(count) {
    while (this.held < count) {
      if (this.at >= this.packed.length) throw FAULT;
      this.bits |= this.packed[this.at++] << this.held;
      this.held += 8;
    }
    const value = this.bits & ((1 << count) - 1);
    this.bits >>>= count;
    this.held -= count;
    return value;
  }

  stored() {
    this.bits = 0;
    this.held = 0;
    const length = this.take(16);
    if ((this.take(16) ^ 0xffff) !== length || this.at + length > this.packed.length) throw FAULT;
    if (this.made + length > this.out.length) throw FAULT;
    this.out.set(this.packed.subarray(this.at, this.at + length), this.made);
    this.at += length;
    this.made += length;
  }

  dynamic() {
    const lengths = this.take(5) + 257;
    const distances = this.take(5) + 1;
    const count = this.take(4) + 4;
    const first = new Uint8Array(19);
    for (let i = 0; i < count; i++) first[ORDER[i]] = this.take(3);
    const code = build(first);
    const all = new Uint8Array(lengths + distances);
    for (let at = 0; at < all.length; ) {
      const symbol = this.symbol(code);
      if (symbol < 16) {
        all[at++] = symbol;
        continue;
      }
      if (symbol === 16 && at === 0) throw FAULT;
      const value = symbol === 16 ? all[at - 1] : 0;
      const times = symbol === 16 ? 3 + this.take(2) : symbol === 17 ? 3 + this.take(3) : 11 + this.take(7);
      if (at + times > all.length) throw FAULT;
      all.fill(value, at, (at += times));
    }
    this.codes(build(all.subarray(0, lengths)), build(all.subarray(lengths)));
  }

  /**
   * @param {Code} lengths
   * @param {Code} distances
   */
  codes(lengths, distances) {
    for (;;) {
      const symbol = this.symbol(lengths);
      if (symbol === 256) return;
      if (symbol < 256) {
        if (this.made >= this.out.length) throw FAULT;
        this.out[this.made++] = symbol;
        continue;
      }
      if (symbol > 285) throw FAULT;
      const length = LENGTH_BASE[symbol - 257] + this.take(LENGTH_BITS[symbol - 257]);
      const far = this.symbol(distances);
      if (far > 29) throw FAULT;
      const distance = DISTANCE_BASE[far] + this.take(DISTANCE_BITS[far]);
      if (distance > this.made || this.made + length > this.out.length) throw FAULT;
      for (let i = 0; i < length; i++, this.made++) this.out[this.made] = this.out[this.made - distance];
    }
  }

  /** @param {Code} code */
  symbol(code) {
    let [value, first, index] = [0, 0, 0];
    for (let length = 1; length < 16; length++) {
      value |= this.take(1);
      const count = code.counts[length];
      if (value - count < first) return code.symbols[index + (value - first)];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw FAULT;
  }
}

/**
 * A canonical code from the lengths of its words.
 * @param {Uint8Array} lengths
 * @returns {Code}
 */
function build(lengths) {
  const counts = new Uint16Array(16);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  let left = 1;
  for (let length = 1; length < 16; length++) {
    left = left * 2 - counts[length];
    if (left < 0) throw FAULT;
  }
  // A code that leaves words unused has one word at the most.
  if (left > 0 && counts.reduce((sum, count) => sum + count) > 1) throw FAULT;
  const offsets = new Uint16Array(16);
  for (let length = 1; length < 15; length++) offsets[length + 1] = offsets[length] + counts[length];
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length) symbols[offsets[length]++] = symbol;
  });
  return { counts, symbols };
}

const FIXED_LENGTHS = build(Uint8Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)));
const FIXED_DISTANCES = build(new Uint8Array(32).fill(5));
