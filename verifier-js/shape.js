// @ts-check
/** Closed shapes of what has been read strictly: members, types and spellings, nothing else let in. */

import { Num } from './canon.js';
import { Refusal } from './refusal.js';
import { base64url, publicKey } from './signature.js';

/**
 * Reads a value into plain JavaScript, or throws the code `shape` with the place.
 * @template T
 * @typedef {{read: (value: any, place?: string) => any, optional?: boolean, fallback?: () => any}} Shape
 */

/**
 * @param {(value: any) => boolean} test
 * @returns {Shape<any>}
 */
export function is(test) {
  return {
    read(value, place = '') {
      if (!test(value)) throw shape(place);
      return value;
    },
  };
}

/**
 * @param {string} place
 * @returns {Refusal}
 */
export function shape(place) {
  return new Refusal('shape', place, 'not of the shape expected here');
}

/** Any text. */
export const text = is((value) => typeof value === 'string');
export const flag = is((value) => typeof value === 'boolean');
/** 64 lower-case hex digits. */
export const digestText = is((value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value));
/** 86 characters of base64url: 64 bytes. */
export const signatureText = is((value) => base64url(value)?.length === 64);

/**
 * @param {RegExp} pattern
 */
export function spelled(pattern) {
  return is((value) => typeof value === 'string' && pattern.test(value));
}

/**
 * @param {...string} all
 */
export function words(...all) {
  return is((value) => typeof value === 'string' && all.includes(value));
}

/**
 * An integer token from 0 to `most`, as a number.
 * @param {number} most
 * @returns {Shape<number>}
 */
export function integer(most, least = 0) {
  return {
    read(value, place = '') {
      if (!(value instanceof Num) || !value.isInteger || value.value < least || value.value > most) throw shape(place);
      return value.value + 0;
    },
  };
}

/** An integer token that is not negative. */
export const natural = integer(Number.MAX_SAFE_INTEGER);

/** A public JWK, as a key. */
export const publicKeyOf = {
  read(/** @type {any} */ value, place = '') {
    const key = publicKey(value);
    if (!key) throw shape(place);
    return key;
  },
};

/**
 * @param {Shape<any>} item
 * @returns {Shape<any[]>}
 */
export function array(item) {
  return {
    read(value, place = '') {
      if (!Array.isArray(value)) throw shape(place);
      return value.map((one, index) => item.read(one, `${place}/${index}`));
    },
  };
}

/**
 * An object used as a table: any names that fit.
 * @param {RegExp} names
 * @param {Shape<any>} item
 * @returns {Shape<Map<string, any>>}
 */
export function table(names, item) {
  return {
    read(value, place = '') {
      if (!(value instanceof Map)) throw shape(place);
      return new Map(
        [...value].map(([name, one]) => {
          if (!names.test(name)) throw shape(`${place}/${name}`);
          return [name, item.read(one, `${place}/${name}`)];
        }),
      );
    },
  };
}

/**
 * A member that may be absent or null.
 * @param {Shape<any>} item
 * @returns {Shape<any>}
 */
export function optional(item) {
  return {
    optional: true,
    read: (value, place) => (value === null ? undefined : item.read(value, place)),
    fallback: () => undefined,
  };
}

/**
 * A member that may be absent, and then has a value.
 * @param {Shape<any>} item
 * @param {any} value
 * @returns {Shape<any>}
 */
export function orElse(item, value) {
  return { ...item, optional: true, fallback: () => structuredClone(value) };
}

/**
 * Exactly these members; those that are {@link optional} or have a value {@link orElse} may be absent.
 * @param {Record<string, Shape<any>>} members
 * @returns {Shape<any>}
 */
export function object(members) {
  return {
    read(value, place = '') {
      if (!(value instanceof Map)) throw shape(place);
      for (const name of value.keys()) if (!Object.hasOwn(members, name)) throw shape(`${place}/${name}`);
      /** @type {Record<string, any>} */
      const out = {};
      for (const [name, member] of Object.entries(members)) {
        if (value.has(name)) out[name] = member.read(value.get(name), `${place}/${name}`);
        else if (member.optional) out[name] = member.fallback?.();
        else throw shape(place);
      }
      return out;
    },
  };
}

/**
 * An object whose member `tag` says which of the shapes the others have.
 * @param {string} tag
 * @param {Record<string, Record<string, Shape<any>>>} variants
 * @returns {Shape<any>}
 */
export function tagged(tag, variants) {
  return {
    read(value, place = '') {
      const name = value instanceof Map ? value.get(tag) : undefined;
      if (typeof name !== 'string' || !Object.hasOwn(variants, name)) throw shape(place);
      return object({ [tag]: text, ...variants[name] }).read(value, place);
    },
  };
}
