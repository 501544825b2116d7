// @ts-check
/** The one zip layout of an evidence bundle, as crate `pcm` reads it: everything else is refused. */

import { inflate } from './inflate.js';
import { Refusal } from './refusal.js';

const MAX_ENTRIES = 10_000;
const MAX_ENTRY = 64 << 20;
const MAX_TOTAL = 512 << 20;
const STORED = 0;
const DEFLATED = 8;

/** @typedef {{name: string, method: number, crc: number, packed: Uint8Array, size: number}} Entry */

/**
 * The entries in their order, still packed.
 * @param {Uint8Array} bytes
 * @returns {Entry[]}
 */
export function openZip(bytes) {
  const end = bytes.length - 22;
  if (end < 0) throw bad('it has no end record');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const u16 = (/** @type {number} */ at) => view.getUint16(at, true);
  const u32 = (/** @type {number} */ at) => view.getUint32(at, true);
  if (u32(end) !== 0x06054b50) throw bad('it does not end in an end record');
  const count = u16(end + 8);
  const start = u32(end + 16);
  if (u16(end + 4) || u16(end + 6) || u16(end + 10) !== count || u16(end + 20) || start + u32(end + 12) !== end) {
    throw bad('the end record');
  }
  if (count > MAX_ENTRIES) throw large('more than 10000 files');
  /** @type {Entry[]} */
  const entries = [];
  const names = new Set();
  let [central, at, total] = [start, 0, 0];
  while (central < end) {
    if (central + 46 > end) throw bad('it is cut short');
    if (u32(central) !== 0x02014b50) throw bad('the directory');
    const method = u16(central + 10);
    const [crc, packed, size] = [u32(central + 16), u32(central + 20), u32(central + 24)];
    const length = u16(central + 28);
    if (central + 46 + length > end) throw bad('it is cut short');
    if (u16(central + 8) || u16(central + 30) || u16(central + 32) || u16(central + 34)) {
      throw bad('an extra field, a comment or a flag');
    }
    if ((method !== STORED && method !== DEFLATED) || (method === STORED && packed !== size)) {
      throw bad('a method that is neither stored nor deflated');
    }
    if (((u32(central + 38) >>> 16) & 0o170000) === 0o120000) throw bad('a link');
    if (u32(central + 42) !== at) throw bad('a file does not follow the one before');
    if (at + 30 + length + packed > bytes.length) throw bad('it is cut short');
    const same =
      u32(at) === 0x04034b50 &&
      u16(at + 6) === 0 &&
      u16(at + 8) === method &&
      u32(at + 14) === crc &&
      u32(at + 18) === packed &&
      u32(at + 22) === size &&
      u16(at + 26) === length &&
      u16(at + 28) === 0;
    const name = String.fromCharCode(...bytes.subarray(central + 46, central + 46 + length));
    if (!same || name !== String.fromCharCode(...bytes.subarray(at + 30, at + 30 + length))) {
      throw bad("a local header that is not its directory's");
    }
    if (!plain(name)) throw bad('a name');
    if (names.has(name)) throw bad('a name twice');
    names.add(name);
    total += size;
    if (size > MAX_ENTRY || total > MAX_TOTAL) throw large('more than 64 MiB in a file, or 512 MiB in all');
    at += 30 + length;
    entries.push({ name, method, crc, size, packed: bytes.subarray(at, at + packed) });
    at += packed;
    central += 46 + length;
  }
  if (entries.length !== count || at !== start) throw bad('the files do not fill the space before the directory');
  return entries;
}

/**
 * The content, of the size and the checksum its entry says.
 * @param {Entry} entry
 * @returns {Uint8Array}
 */
export function unpack(entry) {
  const content = entry.method === STORED ? entry.packed : inflate(entry.packed, entry.size);
  if (!content || content.length !== entry.size || crc32(content) !== entry.crc) {
    throw bad("a size or a checksum that is not the file's");
  }
  return content;
}

/** @param {string} name */
function plain(name) {
  return !name.startsWith('.') && name.split('/').every((part) => /^[A-Za-z0-9._-]+$/.test(part) && /[^.]/.test(part));
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** @param {string} why */
function bad(why) {
  return new Refusal('bad_zip', '', `not a zip of the one layout: ${why}`, 'unusable');
}

/** @param {string} why */
function large(why) {
  return new Refusal('too_large', '', `larger than an evidence bundle may be: ${why}`, 'unusable');
}
