// @ts-check
/** Closed shapes of what has been read strictly: members, types and spellings, nothing else let in. */

import { Num, pointer } from './canon.js';
import { Refusal } from './refusal.js';
import { base64url, publicKey } from './signature.js';

/**
 * Reads a value into plain JavaScript, or throws the code `shape` with the place. Read `exact`, a member is also refused
 * where its writer would have left it out, or would have written it where it is missing.
 * @template T
 * @typedef {{read: (value: any, place?: string, exact?: boolean) => any, optional?: boolean, absent?: (exact: boolean) => any}} Shape
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

/** A public JWK, as a key; exact, the members that make the key and no other. */
export const publicKeyOf = {
  read(/** @type {any} */ value, place = '', exact = false) {
    JWK.read(value, place, exact);
    const key = publicKey(value);
    if (!key || (exact && ['kid', 'alg', 'use'].some((name) => value.has(name)))) throw shape(place);
    return key;
  },
};

/**
 * @param {Shape<any>} item
 * @returns {Shape<any[]>}
 */
export function array(item) {
  return {
    read(value, place = '', exact = false) {
      if (!Array.isArray(value)) throw shape(place);
      return value.map((one, index) => item.read(one, `${place}/${index}`, exact));
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
    read(value, place = '', exact = false) {
      if (!(value instanceof Map)) throw shape(place);
      return new Map(
        [...value].map(([name, one]) => {
          const inside = within(place, name);
          if (!names.test(name)) throw shape(inside);
          return [name, item.read(one, inside, exact)];
        }),
      );
    },
  };
}

/**
 * A member that may be absent or null; its writer leaves it out.
 * @param {Shape<any>} item
 * @returns {Shape<any>}
 */
export function optional(item) {
  return {
    optional: true,
    read(value, place = '', exact = false) {
      if (value !== null) return item.read(value, place, exact);
      if (exact) throw shape(place);
      return undefined;
    },
    absent: () => undefined,
  };
}

/**
 * A list that its writer leaves out where it is empty.
 * @param {Shape<any>} item
 * @returns {Shape<any[]>}
 */
export function many(item) {
  const list = array(item);
  return {
    optional: true,
    read(value, place = '', exact = false) {
      const read = list.read(value, place, exact);
      if (exact && read.length === 0) throw shape(place);
      return read;
    },
    absent: () => [],
  };
}

/** A flag that its writer leaves out where it is false. */
export const mark = {
  optional: true,
  read(/** @type {any} */ value, place = '', exact = false) {
    if (typeof value !== 'boolean' || (exact && !value)) throw shape(place);
    return value;
  },
  absent: () => false,
};

/**
 * A member that may be absent, and then has a value; its writer always writes it.
 * @param {Shape<any>} item
 * @param {any} value
 * @returns {Shape<any>}
 */
export function orElse(item, value) {
  return {
    ...item,
    optional: true,
    absent(exact) {
      if (exact) throw shape('');
      return structuredClone(value);
    },
  };
}

/**
 * The first of several shapes that fits.
 * @param {...Shape<any>} shapes
 * @returns {Shape<any>}
 */
export function either(...shapes) {
  return {
    read(value, place = '', exact = false) {
      for (const one of shapes) {
        try {
          return one.read(value, place, exact);
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
        }
      }
      throw shape(place);
    },
  };
}

/**
 * Exactly these members, read in the order of the text; those of the optional kinds may be absent.
 * @param {Record<string, Shape<any>>} members
 * @param {boolean} [open] members of other names are passed over, unless read exactly
 * @returns {Shape<any>}
 */
export function object(members, open = false) {
  return {
    read(value, place = '', exact = false) {
      if (!(value instanceof Map)) throw shape(place);
      /** @type {Record<string, any>} */
      const out = {};
      for (const [name, one] of value) {
        const inside = within(place, name);
        if (Object.hasOwn(members, name)) out[name] = members[name].read(one, inside, exact);
        else if (exact || !open) throw shape(inside);
      }
      for (const [name, member] of Object.entries(members)) {
        if (value.has(name)) continue;
        if (!member.absent) throw shape(place);
        out[name] = member.absent(exact);
      }
      return out;
    },
  };
}

/**
 * An object whose member `kind` says which of the shapes the others have. What is wrong in it is the object's fault.
 * @param {Record<string, Record<string, Shape<any>>>} variants
 * @param {boolean} [open]
 * @returns {Shape<any>}
 */
export function kinds(variants, open = false) {
  return {
    read(value, place = '', exact = false) {
      const name = value instanceof Map ? value.get('kind') : undefined;
      if (typeof name !== 'string' || !Object.hasOwn(variants, name)) throw shape(place);
      const members = variants[name];
      // A kind without further members passes over what it is given.
      const loose = open || Object.keys(members).length === 0;
      return Refusal.at(place, () => object({ kind: text, ...members }, loose).read(value, place, exact));
    },
  };
}

/** The members of a key that publicKey() judges. */
const JWK = object({
  kty: text,
  crv: text,
  x: text,
  y: optional(text),
  kid: optional(text),
  alg: optional(text),
  use: optional(text),
  d: { read: (value) => value, absent: () => undefined },
});

/**
 * The place of a member or an element.
 * @param {string} place
 * @param {string} name
 * @returns {string}
 */
export function within(place, name) {
  return place + pointer([name]);
}
