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
  return misfit(schema, value) === undefined;
}

/**
 * The place of the first misfit in reading order, a JSON Pointer; nothing where the value is of the schema.
 * @param {any} schema
 * @param {any} value
 */
export function misfit(schema, value) {
  return fault(schema, value, schema.$defs);
}

/**
 * Whether a schema says nothing but what is checked here, so that no check is lost in silence (pcm-cs 2.5).
 * @param {import('./canon.js').Value} schema as it was read
 */
export function isReadable(schema) {
  if (!(schema instanceof Map)) return false;
  const defs = schema.get('$defs') ?? new Map();
  return defs instanceof Map && [...defs.values(), schema].every((node) => readable(node, defs));
}

/**
 * @param {any} node
 * @param {Map<string, any>} defs
 * @returns {boolean}
 */
function readable(node, defs) {
  if (!(node instanceof Map)) return false;
  const every = (/** @type {any} */ list, /** @type {(one: any) => boolean} */ good) => Array.isArray(list) && list.every(good);
  const inside = (/** @type {any} */ one) => readable(one, defs);
  for (const [keyword, value] of node) {
    if (!understood(keyword, value, every, inside, defs)) return false;
  }
  if (node.has('if') && !(inside(node.get('if')) && inside(node.get('then')))) return false;
  return !node.has('$ref') || [...node.keys()].every((keyword) => keyword === '$ref' || keyword === 'description');
}

const TYPES = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

/**
 * @param {string} keyword
 * @param {any} value
 * @param {(list: any, good: (one: any) => boolean) => boolean} every
 * @param {(one: any) => boolean} inside
 * @param {Map<string, any>} defs
 */
function understood(keyword, value, every, inside, defs) {
  const whole = (/** @type {any} */ one) => one instanceof Num && one.isInteger;
  const isText = (/** @type {any} */ one) => typeof one === 'string';
  const isLiteral = (/** @type {any} */ one) => whole(one) || isText(one) || typeof one === 'boolean';
  switch (keyword) {
    case '$schema': case '$id': case '$defs': case 'title': case 'description': case 'if': case 'then':
      return true;
    case '$ref':
      return isText(value) && value.startsWith('#/$defs/') && defs.has(value.slice('#/$defs/'.length));
    case 'type':
      return isText(value) ? TYPES.includes(value) : every(value, (one) => TYPES.includes(one));
    case 'const':
      return isLiteral(value);
    case 'enum':
      return every(value, isLiteral);
    case 'pattern':
      return isText(value) && isPattern(value);
    case 'minLength': case 'maxLength': case 'minItems': case 'maxItems':
      return whole(value) && value.value >= 0;
    case 'minimum': case 'maximum':
      return whole(value);
    case 'required':
      return every(value, isText);
    case 'properties':
      return value instanceof Map && [...value.values()].every(inside);
    case 'additionalProperties':
      return typeof value === 'boolean' || inside(value);
    case 'items': case 'propertyNames':
      return inside(value);
    case 'oneOf': case 'allOf':
      return every(value, inside);
    default:
      return false;
  }
}

/**
 * Items of one character class and a count between `^` and `$`, none of which could take what the next one needs.
 * @param {string} pattern
 */
function isPattern(pattern) {
  const item = /(?:\\([d.])|\[([^\]\\^]+)\]|([^\x80-\uffff(){}*+?.|^$\][\\]))(?:([+*])|\{(\d+)(?:,(\d+))?\})?/y;
  if (!pattern.startsWith('^') || !pattern.endsWith('$')) return false;
  let before = '';
  for (item.lastIndex = 1; item.lastIndex < pattern.length - 1; ) {
    const found = item.exec(pattern);
    if (!found) return false;
    const [, escape, list, plain, many, least, most] = found;
    const source = escape ? `\\${escape}` : list === undefined ? `[${plain === '-' ? '\\-' : plain}]` : `[${list}]`;
    let one;
    try {
      one = new RegExp(source);
    } catch {
      return false;
    }
    let chars = '';
    for (let code = 0; code < 128; code++) if (one.test(String.fromCharCode(code))) chars += String.fromCharCode(code);
    if (!chars || [...before].some((char) => chars.includes(char))) return false;
    before = many !== undefined || (most !== undefined && most !== least) ? chars : '';
  }
  return item.lastIndex === pattern.length - 1;
}

/**
 * @param {any} schema
 * @param {any} value
 * @param {any} defs
 * @returns {string | undefined}
 */
function fault(schema, value, defs) {
  if (schema.$ref) return fault(defs[schema.$ref.slice('#/$defs/'.length)], value, defs);
  if (schema.type !== undefined) {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (!types.some((/** @type {string} */ type) => isOf(type, value))) return '';
  }
  if ('const' in schema && !same(schema.const, value)) return '';
  if (schema.enum && !schema.enum.some((/** @type {any} */ one) => same(one, value))) return '';
  if (typeof value === 'string' && !text(schema, value)) return '';
  if (value instanceof Num) {
    if (schema.minimum !== undefined && value.value < schema.minimum) return '';
    if (schema.maximum !== undefined && value.value > schema.maximum) return '';
  }
  if (Array.isArray(value)) {
    if (!within(value.length, schema.minItems, schema.maxItems)) return '';
    for (const [index, item] of schema.items ? value.entries() : []) {
      const found = fault(schema.items, item, defs);
      if (found !== undefined) return `/${index}${found}`;
    }
  }
  if (value instanceof Map) {
    const found = object(schema, value, defs);
    if (found !== undefined) return found;
  }
  const fits = (/** @type {any} */ one) => fault(one, value, defs) === undefined;
  if (schema.oneOf && schema.oneOf.filter(fits).length !== 1) return '';
  for (const one of schema.allOf ?? []) {
    const found = fault(one, value, defs);
    if (found !== undefined) return found;
  }
  return schema.if && fits(schema.if) ? fault(schema.then, value, defs) : undefined;
}

/**
 * @param {any} schema
 * @param {Map<string, any>} value
 * @param {any} defs
 * @returns {string | undefined}
 */
function object(schema, value, defs) {
  const inside = (/** @type {string} */ name, /** @type {string | undefined} */ place) =>
    place === undefined ? undefined : `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}${place}`;
  const missing = schema.required?.find((/** @type {string} */ name) => !value.has(name));
  if (missing !== undefined) return inside(missing, '');
  for (const [name, member] of value) {
    const own = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : schema.additionalProperties;
    const found = own === false ? '' : typeof own === 'object' ? fault(own, member, defs) : undefined;
    const named = found === undefined && schema.propertyNames ? fault(schema.propertyNames, name, defs) : found;
    if (named !== undefined) return inside(name, named);
  }
  return undefined;
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
