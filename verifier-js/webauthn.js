// @ts-check
/** Passkey assertions (WebAuthn Level 2, 7.2): the second, separately written form of `keys::webauthn`, same codes and places. */

import { CanonError, parse } from './canon.js';
import { Refusal } from './refusal.js';
import { concat, equal, sha256 } from './sha256.js';
import { base64url, toBase64url, verifySignature } from './signature.js';

/**
 * Who asks. Origins are compared exactly.
 * @typedef {{id: string, origins: string[], verification: 'required' | 'preferred'}} RelyingParty
 */
/** @typedef {{id: string, key: import('./signature.js').PublicKey, count: number}} Credential `id` in base64url */
/**
 * All base64url.
 * @typedef {{credential_id: string, authenticator_data: string, client_data_json: string, signature: string}} Assertion
 */
/** @typedef {{verified: boolean, count: number, counter: 'unused' | 'advanced' | 'regressed', backed_up: boolean}} Asserted */

/**
 * Checks an assertion against the credential asked for. The counter is reported and never decides.
 * @param {RelyingParty} party
 * @param {Uint8Array} challenge 32 bytes: the hash of what the person was shown
 * @param {Credential} credential
 * @param {Assertion} assertion
 * @returns {Promise<Asserted>}
 * @throws {Refusal}
 */
export async function verifyAssertion(party, challenge, credential, assertion) {
  const id = decode(assertion.credential_id, 'credential_id');
  if (id.length < 1 || id.length > 1023) {
    throw refused(MALFORMED, 'credential_id', 'a credential id has 1 to 1023 bytes');
  }
  const data = decode(assertion.authenticator_data, DATA);
  const client = decode(assertion.client_data_json, CLIENT);
  const signature = decode(assertion.signature, 'signature');
  if (assertion.credential_id !== credential.id) {
    throw refused('wrong_credential', 'credential_id', 'not the credential asked for');
  }
  checkClient(client, challenge, party.origins);
  const { flags, count } = readData(data);
  if (!equal(data.slice(0, 32), sha256(party.id))) {
    throw refused('wrong_relying_party', DATA, 'made for another relying party');
  }
  if (!(flags & USER_PRESENT)) throw refused('user_not_present', DATA, 'the authenticator saw nobody');
  const verified = (flags & USER_VERIFIED) !== 0;
  if (party.verification === 'required' && !verified) {
    throw refused('user_not_verified', DATA, 'the authenticator did not check who it was');
  }
  await checkSignature(credential.key, concat(data, sha256(client)), signature);
  const counter = credential.count === 0 && count === 0 ? 'unused' : count > credential.count ? 'advanced' : 'regressed';
  return { verified, count, counter, backed_up: (flags & BACKED_UP) !== 0 };
}

const MALFORMED = 'bad_authenticator_data';
const DATA = 'authenticator_data';
const CLIENT = 'client_data_json';
const LONGEST_CLIENT = 16 * 1024;
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const BACKUP_ELIGIBLE = 0x08;
const BACKED_UP = 0x10;
const ATTESTED = 0x40;
const EXTENSIONS = 0x80;
/** The orders of the two groups: S, and r and s, must be below. */
const ED25519_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * clientDataJSON (5.8.1): strict JSON, members we do not know passed over.
 * @param {Uint8Array} bytes
 * @param {Uint8Array} challenge
 * @param {string[]} origins
 */
function checkClient(bytes, challenge, origins) {
  const at = (/** @type {string} */ member) => CLIENT + member;
  if (bytes.length > LONGEST_CLIENT) throw refused('bad_json', CLIENT, `longer than ${LONGEST_CLIENT} bytes`);
  let value;
  try {
    value = parse(bytes);
  } catch (error) {
    if (!(error instanceof CanonError)) throw error;
    const space = error.place === '' || error.place.startsWith('/') ? '' : ' ';
    throw refused('bad_json', at(space + error.place), error.message);
  }
  const get = (/** @type {string} */ name) => (value instanceof Map ? value.get(name) : undefined);
  const [kind, signed, origin] = ['type', 'challenge', 'origin'].map(get);
  if (typeof kind !== 'string' || typeof signed !== 'string' || typeof origin !== 'string') {
    throw refused('bad_json', CLIENT, 'type, challenge and origin must be strings');
  }
  if (kind !== 'webauthn.get') throw refused('wrong_ceremony', at('/type'), `type is ${JSON.stringify(kind)}`);
  if (signed !== toBase64url(challenge)) {
    throw refused('wrong_challenge', at('/challenge'), 'another challenge was signed');
  }
  if (!origins.includes(origin)) {
    throw refused('wrong_origin', at('/origin'), `origin ${JSON.stringify(origin)} is not on the list`);
  }
  const cross = get('crossOrigin');
  if (cross === true) throw refused('cross_origin', at('/crossOrigin'), 'signed inside a frame of another site');
  if (cross !== undefined && cross !== false) {
    throw refused('bad_json', at('/crossOrigin'), 'crossOrigin is not a boolean');
  }
  if (get('topOrigin') !== undefined) {
    throw refused('cross_origin', at('/topOrigin'), 'signed inside a frame of another site');
  }
}

/**
 * Authenticator data (6.1) of an assertion: exactly what its flags say.
 * @param {Uint8Array} bytes
 */
function readData(bytes) {
  if (bytes.length < 37) throw malformed('cut off');
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const flags = view.getUint8(32);
  if (flags & BACKED_UP && !(flags & BACKUP_ELIGIBLE)) throw malformed('backed up and not eligible for it');
  if (flags & ATTESTED) throw malformed('an assertion carries no credential');
  let end = 37;
  if (flags & EXTENSIONS) {
    if (bytes[end] >> 5 !== 5) throw malformed('the extensions are not a map');
    end = afterItem(bytes, end, 4);
  }
  if (end !== bytes.length) throw malformed('bytes after the end');
  return { flags, count: view.getUint32(33) };
}

/**
 * Passes over one CBOR value of CTAP2's canonical form but for the order of members: shortest heads, definite lengths,
 * neither tags nor floats, at most `levels` of arrays and maps, no key twice. Equal values have equal bytes in this form.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} levels
 * @returns {number} where the next value begins
 */
function afterItem(bytes, start, levels) {
  const { major, value, end } = head(bytes, start);
  if (major === 0 || major === 1) return end;
  if (major === 2 || major === 3) {
    if (value > bytes.length - end) throw malformed('cut off');
    const stop = end + value;
    if (major === 3) {
      try {
        new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.slice(end, stop));
      } catch {
        throw malformed('text that is not utf-8');
      }
    }
    return stop;
  }
  if (major === 7 && value >= 20 && value <= 22 && end === start + 1) return end;
  if ((major !== 4 && major !== 5) || levels === 0) throw malformed('not canonical cbor');
  let at = end;
  const keys = new Set();
  for (let index = 0; index < value; index += 1) {
    if (major === 5) {
      const key = afterItem(bytes, at, levels - 1);
      const name = toBase64url(bytes.slice(at, key));
      if (keys.has(name)) throw malformed('a map has a key twice');
      keys.add(name);
      at = key;
    }
    at = afterItem(bytes, at, levels - 1);
  }
  return at;
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 */
function head(bytes, start) {
  if (start >= bytes.length) throw malformed('cut off');
  const major = bytes[start] >> 5;
  const short = bytes[start] & 31;
  if (short < 24) return { major, value: short, end: start + 1 };
  const size = [1, 2, 4, 8][short - 24];
  if (size === undefined) throw malformed('not canonical cbor');
  const end = start + 1 + size;
  if (end > bytes.length) throw malformed('cut off');
  const value = bytes.slice(start + 1, end).reduce((number, byte) => number * 256 + byte, 0);
  if (value < [24, 2 ** 8, 2 ** 16, 2 ** 32][short - 24]) throw malformed('not canonical cbor');
  return { major, value, end };
}

/**
 * 6.5.5: ES256 as DER, EdDSA as it is.
 * @param {import('./signature.js').PublicKey} key
 * @param {Uint8Array} signed
 * @param {Uint8Array} signature
 */
async function checkSignature(key, signed, signature) {
  const raw = key.algorithm === 'P-256' ? fromDer(signature) : signature.length === 64 ? signature : undefined;
  if (!raw || (key.algorithm === 'Ed25519' && number(raw.slice(32).reverse()) >= ED25519_ORDER)) {
    throw refused('bad_signature_form', 'signature', 'not a signature of the algorithm');
  }
  if (!(await verifySignature(key, signed, raw))) {
    throw refused('bad_signature', 'signature', "not this key's signature over these bytes");
  }
}

/**
 * r‖s of the strict DER of an ES256 signature; `undefined` for anything else.
 * @param {Uint8Array} der
 * @returns {Uint8Array | undefined}
 */
function fromDer(der) {
  if (der[0] !== 0x30 || der.length > 72 || der[1] !== der.length - 2) return undefined;
  const raw = new Uint8Array(64);
  let at = 2;
  for (const slot of [32, 64]) {
    const length = der[at + 1];
    const digits = der.slice(at + 2, at + 2 + length);
    if (der[at] !== 0x02 || !length || digits.length !== length || digits[0] & 0x80) return undefined;
    if (length > 1 && digits[0] === 0 && !(digits[1] & 0x80)) return undefined;
    const value = number(digits);
    if (value === 0n || value >= P256_ORDER) return undefined;
    const short = digits[0] === 0 ? digits.slice(1) : digits;
    raw.set(short, slot - short.length);
    at += 2 + length;
  }
  return at === der.length ? raw : undefined;
}

/** @param {Uint8Array} bytes big-endian */
function number(bytes) {
  let value = 0n;
  for (const byte of bytes) value = value * 256n + BigInt(byte);
  return value;
}

/**
 * @param {string} text
 * @param {string} place
 */
function decode(text, place) {
  const bytes = base64url(text);
  if (!bytes) throw refused(MALFORMED, place, 'not unpadded base64url');
  return bytes;
}

/** @param {string} detail */
function malformed(detail) {
  return refused(MALFORMED, DATA, detail);
}

/**
 * @param {string} code
 * @param {string} place
 * @param {string} detail
 */
function refused(code, place, detail) {
  return new Refusal(code, place, detail);
}
