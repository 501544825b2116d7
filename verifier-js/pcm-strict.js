// @ts-check
/**
 * The strict readings of messages, and the terms of grants, as crate `pcm` has them (spec of PCM 4.6, 4.9). A reader gives the one
 * reading, or throws {@link Ambiguous}.
 */

import { CanonError, Num, parse, write } from './canon.js';
import { IMPLICATION } from './pcm-data.js';

/** What has no one reading; `code` says what kind of text it is. */
export class Ambiguous extends Error {
  /** @param {string} code */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** A term that is none. */
export class Shape extends Error {}

/** @param {any} value */
export function number(value) {
  const good = value instanceof Num && value.isInteger && value.token !== '-0' && Number.isSafeInteger(value.value);
  if (!good) throw new Ambiguous('ambiguous_number');
  return value.value;
}

/** @param {string} text */
export function plainText(text) {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) || text.normalize('NFC') !== text) throw new Ambiguous('ambiguous_text');
  return text;
}

/** @param {string} text */
function lines(text) {
  text.split(/[\n\t]/).forEach(plainText);
}

/** @param {string} path */
export function path(path) {
  const parts = path.split('/');
  const good = (/** @type {string} */ part) => !['', '.', '..'].includes(part) && !part.includes('\\') && isPlain(part);
  if (parts.shift() !== '' || parts.length === 0 || !parts.every(good)) throw new Ambiguous('ambiguous_path');
  return path;
}

/** @param {string} text */
function asciiPath(text) {
  // eslint-disable-next-line no-control-regex
  if (!/^[\x00-\x7f]*$/.test(text)) throw new Ambiguous('ambiguous_path');
  return path(text);
}

/** @param {string} inner @param {string} outer */
export function isUnder(inner, outer) {
  return inner === outer || inner.startsWith(`${outer}/`);
}

/** @param {string} text */
function isPlain(text) {
  try {
    plainText(text);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} text */
export function host(text) {
  if (text.startsWith('[') ? !isIpv6(text) : !isIpv4(text) && !isName(text)) throw new Ambiguous('ambiguous_host');
  return text;
}

/** @param {string} text */
function isName(text) {
  const labels = text.split('.');
  const last = labels[labels.length - 1];
  const label = (/** @type {string} */ one) => /^(?!xn--)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(one);
  return text.length <= 253 && labels.every(label) && !/^\d+$/.test(last) && !last.startsWith('0x');
}

/** @param {string} text */
function isIpv4(text) {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
}

/** Groups of an IPv6 address, spelled as RFC 5952 does; it carries no IPv4 address. @param {string} text */
function isIpv6(text) {
  const inside = /^\[([0-9a-f:]+)\]$/.exec(text)?.[1];
  if (inside === undefined) return false;
  const halves = inside.split('::');
  if (halves.length > 2) return false;
  const groups = (/** @type {string} */ half) => (half === '' ? [] : half.split(':'));
  const [head, tail] = [groups(halves[0]), groups(halves[1] ?? '')];
  const given = head.length + tail.length;
  if (halves.length === 1 ? given !== 8 : given > 7) return false;
  const all = [...head, ...Array(8 - given).fill('0'), ...tail];
  if (!all.every((group) => /^[0-9a-f]{1,4}$/.test(group))) return false;
  const words = all.map((group) => parseInt(group, 16));
  if (spelled(words) !== inside) return false;
  const zeros = (/** @type {number} */ n) => words.slice(0, n).every((word) => word === 0);
  if (zeros(7) && words[7] <= 1) return true;
  const mapped = zeros(6) || (zeros(5) && words[5] === 0xffff) || (zeros(4) && words[4] === 0xffff && words[5] === 0);
  const nat64 = words[0] === 0x64 && words[1] === 0xff9b && (words[2] === 1 || words.slice(2, 6).every((word) => word === 0));
  return !mapped && !nat64 && words[0] !== 0x2002;
}

/** RFC 5952: the first longest run of two zero groups or more is left out. @param {number[]} words */
function spelled(words) {
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (at + length < 8 && words[at + length] === 0) length++;
    if (length > best.length) best = { at, length };
  }
  const text = (/** @type {number[]} */ part) => part.map((word) => word.toString(16)).join(':');
  if (best.at < 0) return text(words);
  return `${text(words.slice(0, best.at))}::${text(words.slice(best.at + best.length))}`;
}

/** The URL in its one spelling. @param {string} text */
export function url(text) {
  const found = /^(https?):\/\/([^/?]*)([^?]*)(\?.*)?$/s.exec(text);
  if (!found) throw new Ambiguous('ambiguous_host');
  const [, scheme, authority, where, query = ''] = found;
  const at = authority.lastIndexOf(':');
  const ported = at >= 0 && !authority.slice(at + 1).endsWith(']');
  const port = ported ? authority.slice(at + 1) : undefined;
  const own = scheme === 'https' ? '443' : '80';
  const badPort = port !== undefined && (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65535 || port === own);
  const dots = where.split('/').some((part) => part === '.' || part === '..');
  if (badPort || dots || !escaped(where, "'") || !escaped(query.slice(1), '?')) throw new Ambiguous('ambiguous_host');
  host(ported ? authority.slice(0, at) : authority);
  return `${scheme}://${authority}${where === '' ? '/' : ''}${where}${query}`;
}

/** @param {string} text @param {string} extra */
function escaped(text, extra) {
  const plain = text.replace(/%([0-9A-F]{2})/g, (whole, digits) =>
    /[A-Za-z0-9._~-]/.test(String.fromCharCode(parseInt(digits, 16))) ? whole : '',
  );
  return [...plain].every((c) => /[A-Za-z0-9._~!$&()*+,;=/:@-]/.test(c) || c === extra);
}

const GRAMMAR =
  'if then else elif fi for while until do done case esac in select function time coproc repeat foreach end'.split(' ');

/** @param {string} line */
export function argv(line) {
  const bad = new Ambiguous('ambiguous_shell');
  const words = [];
  let rest = line;
  for (;;) {
    const found = /^'([^']*)'/.exec(rest) ?? /^((?!=)[A-Za-z0-9_@%+=:,./-]+)/.exec(rest);
    if (!found) throw bad;
    const [whole, word] = found;
    if (rest.startsWith("'") && !isPlain(word)) throw bad;
    if (words.length === 0 && (rest.startsWith("'") || word.includes('=') || word.startsWith('-') || GRAMMAR.includes(word))) throw bad;
    words.push(word);
    rest = rest.slice(whole.length);
    if (rest === '') return words;
    if (!rest.startsWith(' ')) throw bad;
    rest = rest.slice(1);
  }
}

/** Throws unless every number and text inside has one reading. @param {any} value */
export function readable(value) {
  if (value instanceof Num) number(value);
  else if (typeof value === 'string') lines(value);
  else if (Array.isArray(value)) value.forEach(readable);
  else if (value instanceof Map) {
    for (const [name, member] of value) {
      lines(name);
      readable(member);
    }
  }
}

/** RFC 6901. @param {any} value @param {string} pointer @returns {any} */
export function at(value, pointer) {
  if (pointer === '') return value;
  if (!pointer.startsWith('/')) return undefined;
  let found = value;
  for (const step of pointer.slice(1).split('/')) {
    if (found instanceof Map) found = found.get(step.replaceAll('~1', '/').replaceAll('~0', '~'));
    else if (Array.isArray(found) && /^(0|[1-9]\d*)$/.test(step)) found = found[Number(step)];
    else return undefined;
  }
  return found;
}

/** The same; a step into a text goes on inside the strict JSON it holds. @param {any} value @param {string} pointer @returns {any} */
export function pointed(value, pointer) {
  const found = at(value, pointer);
  if (found !== undefined) return found;
  for (let end = pointer.indexOf('/', 1); end > 0; end = pointer.indexOf('/', end + 1)) {
    const text = at(value, pointer.slice(0, end));
    if (typeof text !== 'string') continue;
    try {
      return at(parse(text), pointer.slice(end));
    } catch (error) {
      if (!(error instanceof CanonError)) throw error;
      const far = error.code === 'non_finite' || error.code === 'int_range';
      throw new Ambiguous(far ? 'ambiguous_number' : 'ambiguous_text');
    }
  }
  return undefined;
}

/**
 * @typedef {{field: string, unit: string | undefined, op: string, bound: any}} Term
 */

/** @param {any} value @returns {Term} */
export function readTerm(value) {
  const [op, said] = [value.get('op'), value.get('value')];
  return { field: value.get('field'), unit: value.get('unit'), op, bound: bound(op, said) };
}

/** @param {string} op @param {any} said @returns {any} */
function bound(op, said) {
  const integer = (/** @type {any} */ one) => {
    if (!(one instanceof Num)) throw new Shape();
    return number(one);
  };
  const text = () => {
    if (typeof said !== 'string') throw new Shape();
    return said;
  };
  const set = (/** @type {boolean} */ texts) => {
    const all = scalars(said);
    if (!all || (texts ? all.some((one) => typeof one !== 'string') : all.length === 0)) throw new Shape();
    return all;
  };
  switch (op) {
    case 'eq': {
      const one = scalar(said);
      if (one === undefined) throw new Shape();
      return one;
    }
    case 'in':
      return set(false);
    case 'subset_of':
      return set(true);
    case 'le':
      return [-Infinity, integer(said)];
    case 'ge':
      return [integer(said), Infinity];
    case 'range': {
      if (!Array.isArray(said) || said.length !== 2) throw new Shape();
      const [from, to] = said.map(integer);
      if (from > to) throw new Shape();
      return [from, to];
    }
    case 'host_is':
    case 'host_under':
      return host(text());
    case 'path_is':
    case 'path_under':
      return asciiPath(text());
    default:
      throw new Shape();
  }
}

/** @param {any} value @returns {boolean | number | string | undefined} */
function scalar(value) {
  if (typeof value === 'boolean') return value;
  if (value instanceof Num) return number(value);
  return typeof value === 'string' ? plainText(value) : undefined;
}

/** @param {any} value @returns {any[] | undefined} */
function scalars(value) {
  if (!Array.isArray(value)) return undefined;
  const all = value.map(scalar);
  return all.includes(undefined) || new Set(all.map((one) => typeof one)).size > 1 ? undefined : all;
}

/** @param {Term} parent @param {Term} child */
export function implied(parent, child) {
  if (parent.field !== child.field || parent.unit !== child.unit) return false;
  const row = IMPLICATION.rows.find((/** @type {any} */ one) => one.parent === parent.op && one.child === child.op);
  return row !== undefined && holds(row.when, parent.bound, child);
}

/** @param {string} when @param {any} above @param {Term} child */
function holds(when, above, child) {
  const below = child.bound;
  switch (when) {
    case 'equal':
      return above === below;
    case 'member':
      return above.includes(below);
    case 'subset':
      return below.every((/** @type {any} */ one) => above.includes(one));
    case 'within': {
      const numbers = child.op === 'eq' ? [below] : below;
      if (!numbers.every((/** @type {any} */ one) => typeof one === 'number')) return false;
      return above[0] <= Math.min(...numbers) && Math.max(...numbers) <= above[1];
    }
    case 'host_under': {
      const address = below.startsWith('[') || /^[0-9.]+$/.test(below);
      return below === above || (!address && below.endsWith(`.${above}`));
    }
    default:
      return isUnder(below, above);
  }
}

/** @param {Term} term @param {any} value @param {string | undefined} unit */
export function meets(term, value, unit) {
  const said = (/** @type {string} */ op, /** @type {any} */ bound) =>
    bound !== undefined && implied(term, { field: term.field, unit, op, bound });
  if (term.op === 'subset_of') return said('subset_of', scalars(value));
  if (term.op.startsWith('host')) return typeof value === 'string' && said('host_is', host(value));
  if (term.op.startsWith('path')) return typeof value === 'string' && said('path_is', asciiPath(value));
  return said('eq', scalar(value));
}

/** @param {any} one @param {any} other */
export function equalJson(one, other) {
  return one !== undefined && other !== undefined && write(one) === write(other);
}
