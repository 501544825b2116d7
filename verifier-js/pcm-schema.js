// @ts-check
/**
 * The schema of an event, as crate `pcm` reads it (spec of PCM 3.3). Token kinds matter: `integer` means written without
 * fraction and exponent. Lengths count code points.
 */

import { Num } from './canon.js';
import { SCHEMA } from './pcm-event.js';

/** @type {Map<string, RegExp>} */
const patterns = new Map();

/**
 * Whether the value is an event of version 2.
 * @param {import('./canon.js').Value} value
 * @returns {boolean}
 */
export function isEvent(value) {
  return conforms(SCHEMA, value);
}

/**
 * Whether the value is of a schema of the kind the house publishes.
 * @param {any} schema
 * @param {any} value
 */
export function conforms(schema, value) {
  return fits(schema, value, schema.$defs);
}

/**
 * @param {any} schema
 * @param {any} value
 * @param {any} defs
 * @returns {boolean}
 */
function fits(schema, value, defs) {
  if (schema.$ref) return fits(defs[schema.$ref.slice('#/$defs/'.length)], value, defs);
  if (schema.type !== undefined) {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (!types.some((/** @type {string} */ type) => isOf(type, value))) return false;
  }
  if ('const' in schema && !same(schema.const, value)) return false;
  if (schema.enum && !schema.enum.some((/** @type {any} */ one) => same(one, value))) return false;
  if (typeof value === 'string' && !text(schema, value)) return false;
  if (value instanceof Num) {
    if (schema.minimum !== undefined && value.value < schema.minimum) return false;
    if (schema.maximum !== undefined && value.value > schema.maximum) return false;
  }
  if (Array.isArray(value)) {
    if (!within(value.length, schema.minItems, schema.maxItems)) return false;
    if (schema.items && !value.every((item) => fits(schema.items, item, defs))) return false;
  }
  if (value instanceof Map && !object(schema, value, defs)) return false;
  if (schema.oneOf && schema.oneOf.filter((/** @type {any} */ one) => fits(one, value, defs)).length !== 1) return false;
  if (schema.allOf && !schema.allOf.every((/** @type {any} */ one) => fits(one, value, defs))) return false;
  return !schema.if || !fits(schema.if, value, defs) || fits(schema.then, value, defs);
}

/**
 * @param {any} schema
 * @param {Map<string, any>} value
 * @param {any} defs
 */
function object(schema, value, defs) {
  if (schema.required?.some((/** @type {string} */ name) => !value.has(name))) return false;
  for (const [name, member] of value) {
    if (schema.properties && Object.hasOwn(schema.properties, name)) {
      if (!fits(schema.properties[name], member, defs)) return false;
    } else if (schema.additionalProperties === false) {
      return false;
    } else if (typeof schema.additionalProperties === 'object' && !fits(schema.additionalProperties, member, defs)) {
      return false;
    }
    if (schema.propertyNames && !fits(schema.propertyNames, name, defs)) return false;
  }
  return true;
}

/**
 * @param {any} schema
 * @param {string} value
 */
function text(schema, value) {
  if (schema.pattern) {
    let pattern = patterns.get(schema.pattern);
    if (!pattern) patterns.set(schema.pattern, (pattern = new RegExp(schema.pattern)));
    if (!pattern.test(value)) return false;
  }
  if (schema.minLength === undefined && schema.maxLength === undefined) return true;
  return within([...value].length, schema.minLength, schema.maxLength);
}

/**
 * @param {number} count
 * @param {number | undefined} least
 * @param {number | undefined} most
 */
function within(count, least, most) {
  return (least === undefined || count >= least) && (most === undefined || count <= most);
}

/**
 * @param {any} one
 * @param {any} value
 */
function same(one, value) {
  return typeof one === 'number' ? value instanceof Num && value.value === one : value === one;
}

/**
 * @param {string} type
 * @param {any} value
 */
function isOf(type, value) {
  switch (type) {
    case 'null':
      return value === null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return value instanceof Num && value.isInteger;
    case 'number':
      return value instanceof Num;
    case 'string':
      return typeof value === 'string';
    case 'array':
      return Array.isArray(value);
    default:
      return value instanceof Map;
  }
}
