// @ts-check
/**
 * Canonical bytes: a strict JSON reader and the RFC 8785 writer. The second, separately written form of crate `canon`:
 * same codes, same places. No dependency; runs in browsers and in Node 20 or later.
 */

/** The deepest nesting of arrays and objects that is read or written: `[[1]]` is 2. */
export const MAX_DEPTH = 128;

/**
 * @typedef {'invalid_utf8' | 'syntax' | 'duplicate_key' | 'non_finite' | 'int_range' | 'lone_surrogate' | 'depth'
 *   | 'shape'} Code
 */

/**
 * A value as it was read. Objects are Maps in the order written: a plain object would move digit keys to the front and
 * give `__proto__` a meaning.
 * @typedef {null | boolean | Num | string | Value[] | Map<string, Value>} Value
 */

/**
 * What {@link write} takes: a value that was read, or plain JavaScript of the same kind. A number must be finite and, if
 * it is whole, no larger than 2^53 - 1.
 * @typedef {null | boolean | number | Num | string | Writable[] | Map<string, any> | {[key: string]: any}} Writable
 */

/** A refusal, and where it was found. */
export class CanonError extends Error {
  /**
   * @param {Code} code
   * @param {string} place JSON Pointer (RFC 6901), empty for the whole text, or `byte N`
   * @param {string} detail
   */
  constructor(code, place, detail) {
    super(`${code} at ${place || 'the top'}: ${detail}`);
    this.name = 'CanonError';
    this.code = code;
    this.place = place;
  }
}

/** A number token as it was written, finite and in range. `1` and `1.0` are different tokens of one number. */
export class Num {
  /** @param {string} token */
  constructor(token) {
    this.token = token;
  }
  /** Whether it was written without fraction and exponent. */
  get isInteger() {
    return !/[.eE]/.test(this.token);
  }
  /** The nearest double. */
  get value() {
    return Number(this.token);
  }
}

/**
 * Reads exactly one strict JSON text. Refuses first bytes that are not UTF-8, then the first fault in reading order,
 * where a duplicate name is found at its object's closing bracket.
 * @param {Uint8Array | string} input
 * @returns {Value}
 */
export function parse(input) {
  const reader = new Reader(typeof input === 'string' ? input : decode(input));
  const value = reader.value();
  reader.end();
  return value;
}

/**
 * Strict JSON to its RFC 8785 form.
 * @param {Uint8Array | string} input
 * @returns {Uint8Array}
 */
export function canonicalize(input) {
  return toBytes(parse(input));
}

/**
 * The RFC 8785 form of a value, in UTF-8.
 * @param {Writable} value
 * @returns {Uint8Array}
 */
export function toBytes(value) {
  return new TextEncoder().encode(write(value));
}

/**
 * The RFC 8785 form of a value. Refuses what the reader would refuse, and with `shape` what JSON does not have.
 * @param {Writable} value
 * @returns {string}
 */
export function write(value) {
  return writeAt(value, []);
}

/**
 * Adds a step to a JSON Pointer.
 * @param {(string | number)[]} steps
 * @returns {string}
 */
export function pointer(steps) {
  return steps.map((step) => '/' + String(step).replaceAll('~', '~0').replaceAll('/', '~1')).join('');
}

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
    /** @type {(string | number)[]} */
    this.path = [];
    this.depth = 0;
  }

  /** @returns {Value} */
  value() {
    this.blanks();
    const text = this.text;
    switch (text[this.at]) {
      case '"':
        return this.string();
      case '{':
        return this.object();
      case '[':
        return this.array();
      case 'n':
        return this.literal('null', null);
      case 't':
        return this.literal('true', true);
      case 'f':
        return this.literal('false', false);
    }
    if (['NaN', 'Infinity', '-Infinity'].some((word) => text.startsWith(word, this.at))) {
      throw this.refuse('non_finite', 'a number is not finite');
    }
    if (text[this.at] === '-' || isDigit(text[this.at])) return this.number();
    throw this.syntax('a value was expected');
  }

  end() {
    this.blanks();
    if (this.at < this.text.length) throw this.syntax('the text goes on after its value');
  }

  /** @returns {Value[]} */
  array() {
    this.enter();
    /** @type {Value[]} */
    const values = [];
    this.blanks();
    let more = this.text[this.at] !== ']';
    if (!more) this.leave();
    while (more) {
      this.path.push(values.length);
      const value = this.value();
      this.path.pop();
      values.push(value);
      more = this.more(']');
    }
    return values;
  }

  /** @returns {Map<string, Value>} */
  object() {
    this.enter();
    /** @type {Map<string, Value>} */
    const members = new Map();
    /** @type {string | undefined} */
    let repeated;
    this.blanks();
    let more = this.text[this.at] !== '}';
    if (!more) this.leave();
    while (more) {
      const key = this.key();
      this.path.push(key);
      const value = this.value();
      this.path.pop();
      if (members.has(key)) repeated ??= key;
      members.set(key, value);
      more = this.more('}');
    }
    if (repeated !== undefined) {
      this.path.push(repeated);
      throw this.refuse('duplicate_key', 'an object has two members of one name');
    }
    return members;
  }

  /** A member's name and the colon after it. */
  key() {
    this.blanks();
    if (this.text[this.at] !== '"') throw this.syntax('a name in quotes was expected');
    const key = this.string();
    this.blanks();
    if (this.text[this.at] !== ':') throw this.syntax('a colon was expected');
    this.at += 1;
    return key;
  }

  string() {
    const text = this.text;
    this.at += 1;
    let decoded = '';
    let start = this.at;
    for (;;) {
      const unit = text.charCodeAt(this.at);
      if (Number.isNaN(unit)) throw this.syntax('the string does not end');
      if (unit === 0x22) {
        decoded += text.slice(start, this.at);
        this.at += 1;
        return decoded;
      }
      if (unit === 0x5c) {
        decoded += text.slice(start, this.at);
        this.at += 1;
        decoded += this.escape();
        start = this.at;
      } else if (unit < 0x20) {
        throw this.syntax('a control character must be escaped');
      } else {
        this.at += 1;
      }
    }
  }

  /** What a backslash stands for; the backslash is consumed. */
  escape() {
    const letter = this.text[this.at];
    if (letter === 'u') return this.unicode();
    const plain = letter === undefined ? undefined : ESCAPES.get(letter);
    if (plain === undefined) throw this.syntax('no such escape');
    this.at += 1;
    return plain;
  }

  /** `uXXXX`, and the low half that must follow a high one. */
  unicode() {
    const first = this.unit();
    if (first < 0xd800 || first > 0xdfff) return String.fromCharCode(first);
    if (first < 0xdc00 && this.text.startsWith('\\u', this.at)) {
      this.at += 1;
      const second = this.unit();
      if (second >= 0xdc00 && second <= 0xdfff) return String.fromCharCode(first, second);
    }
    throw this.refuse('lone_surrogate', 'half of a surrogate pair stands alone');
  }

  /** `uXXXX` as one UTF-16 code unit. */
  unit() {
    this.at += 1;
    const start = this.at;
    for (; this.at < start + 4; this.at += 1) {
      if (!/^[0-9A-Fa-f]$/.test(this.text[this.at] ?? '')) throw this.syntax('four hex digits were expected');
    }
    return parseInt(this.text.slice(start, this.at), 16);
  }

  number() {
    const start = this.at;
    if (this.text[this.at] === '-') this.at += 1;
    const integer = this.at;
    const digits = this.digits();
    if (digits > 1 && this.text[integer] === '0') {
      this.at = integer;
      throw this.syntax('a number must not begin with zeros');
    }
    if (this.text[this.at] === '.') {
      this.at += 1;
      this.digits();
    }
    if (this.text[this.at] === 'e' || this.text[this.at] === 'E') {
      this.at += 1;
      if (this.text[this.at] === '+' || this.text[this.at] === '-') this.at += 1;
      this.digits();
    }
    const number = new Num(this.text.slice(start, this.at));
    if (number.isInteger) {
      if (digits > 16 || !Number.isSafeInteger(number.value)) throw this.refuse('int_range', BEYOND);
    } else if (!Number.isFinite(number.value)) {
      throw this.refuse('non_finite', 'a number is not finite');
    }
    return number;
  }

  digits() {
    const start = this.at;
    while (isDigit(this.text[this.at])) this.at += 1;
    if (this.at === start) throw this.syntax('a digit was expected');
    return this.at - start;
  }

  /**
   * @template {null | boolean} T
   * @param {string} word
   * @param {T} value
   * @returns {T}
   */
  literal(word, value) {
    if (!this.text.startsWith(word, this.at)) throw this.syntax('a value was expected');
    this.at += word.length;
    return value;
  }

  /**
   * After an element: whether a comma announces another, else the bracket is consumed.
   * @param {string} close
   */
  more(close) {
    this.blanks();
    if (this.text[this.at] === ',') {
      this.at += 1;
      return true;
    }
    if (this.text[this.at] !== close) throw this.syntax('a comma or a closing bracket was expected');
    this.leave();
    return false;
  }

  enter() {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw this.refuse('depth', DEEP);
    this.at += 1;
  }

  leave() {
    this.depth -= 1;
    this.at += 1;
  }

  blanks() {
    while (this.at < this.text.length && ' \n\r\t'.includes(this.text.charAt(this.at))) this.at += 1;
  }

  /** @param {string} detail */
  syntax(detail) {
    const byte = new TextEncoder().encode(this.text.slice(0, this.at)).length;
    return new CanonError('syntax', `byte ${byte}`, detail);
  }

  /**
   * @param {Code} code
   * @param {string} detail
   */
  refuse(code, detail) {
    return new CanonError(code, pointer(this.path), detail);
  }
}

const BEYOND = 'an integer is beyond 2^53 - 1';
const DEEP = `arrays and objects are nested more than ${MAX_DEPTH} deep`;
const ESCAPES = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** @param {string | undefined} symbol */
function isDigit(symbol) {
  return symbol !== undefined && symbol >= '0' && symbol <= '9';
}

/**
 * @param {Writable} value
 * @param {(string | number)[]} path
 * @returns {string}
 */
function writeAt(value, path) {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return quote(value, path);
  // Number::toString of ECMAScript is the form of numbers (RFC 8785, 3.2.2.3).
  if (value instanceof Num) return String(value.value);
  if (typeof value === 'number') return String(plainNumber(value, path));
  if (typeof value !== 'object') throw new CanonError('shape', pointer(path), `JSON has no ${typeof value}`);
  if (path.length >= MAX_DEPTH) throw new CanonError('depth', pointer(path), DEEP);
  if (Array.isArray(value)) {
    return '[' + value.map((element, index) => writeAt(element, [...path, index])).join(',') + ']';
  }
  const members = value instanceof Map ? [...value] : Object.entries(value);
  // Strings compare by UTF-16 code units (RFC 8785, 3.2.3).
  members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return '{' + members.map(([key, member]) => `${quote(key, path)}:${writeAt(member, [...path, key])}`).join(',') + '}';
}

/**
 * @param {number} value
 * @param {(string | number)[]} path
 */
function plainNumber(value, path) {
  if (!Number.isFinite(value)) throw new CanonError('non_finite', pointer(path), 'a number is not finite');
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new CanonError('int_range', pointer(path), BEYOND);
  }
  return value;
}

/**
 * JSON.stringify escapes exactly what RFC 8785, 3.2.2.2 says, but for lone surrogates, which have no form.
 * @param {string} text
 * @param {(string | number)[]} path
 */
function quote(text, path) {
  if (/\p{Surrogate}/u.test(text)) {
    throw new CanonError('lone_surrogate', pointer(path), 'half of a surrogate pair stands alone');
  }
  return JSON.stringify(text);
}

/** @param {Uint8Array} bytes */
function decode(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CanonError('invalid_utf8', `byte ${validUpTo(bytes)}`, 'the text is not UTF-8');
  }
}

/**
 * How many leading bytes are whole UTF-8 characters (Unicode, table 3-7).
 * @param {Uint8Array} bytes
 */
function validUpTo(bytes) {
  let at = 0;
  for (;;) {
    const length = characterAt(bytes, at);
    if (length === 0) return at;
    at += length;
  }
}

/**
 * The length of the character at `at`, 0 if there is none.
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function characterAt(bytes, at) {
  const lead = bytes[at];
  if (lead === undefined) return 0;
  if (lead < 0x80) return 1;
  const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  for (let offset = 1; offset < length; offset += 1) {
    const byte = bytes[at + offset];
    const [least, most] = offset === 1 ? [low, high] : [0x80, 0xbf];
    if (byte === undefined || byte < least || byte > most) return 0;
  }
  return length;
}
