// @ts-check
/** Numbers, dates and amounts that no claim covers: crate `pxp`, module `facts`, written again. */

/** Where the digits from 0 to 9 of each alphabet begin, raised, lowered and with a comma among them. */
const ZEROS = [
  0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
  0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0x2070, 0x2080,
  0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x10d40, 0x11066, 0x110f0,
  0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x116d0, 0x116da, 0x11730, 0x118e0, 0x11950,
  0x11bf0, 0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16130, 0x16a60, 0x16ac0, 0x16b50, 0x16d70, 0x1ccf0, 0x1d7ce,
  0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e5f0, 0x1e950, 0x1f101, 0x1fbf0,
];
const ONES = [0x2460, 0x2474, 0x2488, 0x24f5, 0x2776, 0x2780, 0x278a];

/** Every digit that is not plain, and the plain one it stands for. */
const PLAIN = new Map();
for (const [starts, first, count] of /** @type {[number[], number, number][]} */ ([
  [ONES, 1, 9],
  [ZEROS, 0, 10],
])) {
  for (const start of starts) {
    for (let at = 0; at < count; at += 1) PLAIN.set(String.fromCodePoint(start + at), String(first + at));
  }
}
['\u2071', '\u2072', '\u2073'].forEach((char) => PLAIN.delete(char));
for (const [char, digit] of ['\u00b91', '\u00b22', '\u00b33', '\u24ea0', '\u24ff0']) PLAIN.set(char, digit);

const OTHER = /^[\u00bc-\u00be\u2150-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793]$/;
const LISTS = ['must_haves', 'may_agree_to', 'must_never', 'escalate_when', 'known_facts', 'amendment'];

/**
 * @typedef {{text: string, plain: string, class: 'digits' | 'letters' | 'space' | 'sign'}} Token
 * @typedef {{decimals: string[], unit?: string} | {year?: number, month: number, day: number} | {time: string}} Reading
 * @typedef {{written: string, reading: Reading}} Fact
 */

/** The facts that texts have said, to be looked up. */
export class Known {
  constructor() {
    /** @type {Map<string, Set<string | number | undefined>>} */
    this.said = new Map();
  }

  /** @param {string} text */
  learn(text) {
    for (const { reading } of scan(text)) {
      for (const [name, rest] of names(reading)) {
        const all = this.said.get(name) ?? new Set();
        this.said.set(name, all.add(rest));
      }
    }
  }

  /** @param {Reading} reading */
  covers(reading) {
    return names(reading).some(([name, rest]) => {
      const all = this.said.get(name);
      return all !== undefined && (rest === undefined || all.has(undefined) || all.has(rest));
    });
  }
}

/**
 * What must be the same, and what either may leave out.
 * @param {Reading} reading
 * @returns {[string, string | number | undefined][]}
 */
function names(reading) {
  if ('decimals' in reading) return reading.decimals.map((decimal) => [`number ${decimal}`, reading.unit]);
  if ('time' in reading) return [[`time ${reading.time}`, undefined]];
  return [[`day ${reading.month} ${reading.day}`, reading.year]];
}

/**
 * The facts that none of `known` covers, each once and as written.
 * @param {string} text
 * @param {Known[]} known
 */
export function uncovered(text, known) {
  const facts = scan(text).filter(({ reading }) => !known.some((one) => one.covers(reading)));
  return [...new Set(facts.map(({ written }) => written))];
}

/**
 * @param {string} text
 * @returns {Fact[]}
 */
function scan(text) {
  if (![...text].some(isDigit)) return [];
  const tokens = cut(text);
  /** @type {Fact[]} */
  const facts = [];
  const items = { count: 0 };
  for (let at = 0; at < tokens.length; ) {
    const read = is(tokens, at, 'digits')
      ? namesSomething(tokens, at, items)
        ? undefined
        : (isoDate(tokens, at) ?? time(tokens, at) ?? dayFirst(tokens, at) ?? number(tokens, at))
      : monthFirst(tokens, at);
    if (!read) {
      at += 1;
      continue;
    }
    const from = startWithUnit(tokens, at, read.reading);
    const written = tokens.slice(from, read.end).map((token) => token.text);
    facts.push({ written: written.join(''), reading: read.reading });
    at = Math.max(read.end, at + 1);
  }
  return facts;
}

/**
 * @param {string} text
 * @returns {Token[]}
 */
function cut(text) {
  /** @type {Token[]} */
  const tokens = [];
  for (const char of text) {
    const kind = classOf(char);
    const last = tokens.at(-1);
    const plain = PLAIN.get(char) ?? char;
    if (last && last.class === kind && kind !== 'sign') {
      last.text += char;
      last.plain += plain;
    } else {
      tokens.push({ text: char, plain, class: kind });
    }
  }
  return tokens;
}

/** @param {string} char */
function classOf(char) {
  if (isDigit(char)) return 'digits';
  if (char === '_' || /^\p{Alphabetic}$/u.test(char)) return 'letters';
  return /^\p{White_Space}$/u.test(char) ? 'space' : 'sign';
}

/** @param {string} char */
function isDigit(char) {
  return (char >= '0' && char <= '9') || (char > '\u007f' && (PLAIN.has(char) || OTHER.test(char)));
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 * @param {Token['class']} kind
 */
function is(tokens, at, kind) {
  return tokens[at]?.class === kind;
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 */
function word(tokens, at) {
  return tokens[at]?.plain ?? '';
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 * @param {{count: number}} items
 */
function namesSomething(tokens, at, items) {
  const digits = word(tokens, at);
  if (!/^[0-9]{1,4}$/.test(digits)) return false;
  const before = word(tokens, at - 1);
  const after = word(tokens, at + 1);
  if ((at === 0 || before.includes('\n')) && (after === '.' || after === ')') && is(tokens, at + 2, 'space')) {
    const next = Number(digits) === items.count + 1 && !hasUnit(tokens, at, at + 2);
    if (next) items.count += 1;
    return next;
  }
  if (before === '[' && after === ']') {
    return LISTS.includes(word(tokens, at - 2)) && digits.length <= 3 && !hasUnit(tokens, at, at + 2);
  }
  if (before === '.') {
    return isNumberedByASeat(tokens, at - 2) && isOrdinal(digits, 2) && !hasUnit(tokens, at - 1, at + 1);
  }
  const short = before === 'q' || /^[A-Z][A-Za-z]*$/.test(before);
  const named = isNumberedByASeat(tokens, at) || (short && digits.length <= 3);
  const dotted = after === '.' && is(tokens, at + 2, 'digits');
  const whole = !dotted || isOrdinal(word(tokens, at + 2), 2);
  const glued = is(tokens, at - 1, 'letters') && currency(before) === undefined;
  return glued && named && whole && !hasUnit(tokens, at - 1, dotted ? at + 3 : at + 1);
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 */
function isNumberedByASeat(tokens, at) {
  return /^[A-H]$/.test(word(tokens, at - 1)) && isOrdinal(word(tokens, at), 4);
}

/**
 * @param {string} digits
 * @param {number} most
 */
function isOrdinal(digits, most) {
  return digits.length <= most && /^[0-9]*$/.test(digits) && !digits.startsWith('0');
}

/**
 * @param {Token[]} tokens
 * @param {number} from
 * @param {number} end
 */
function hasUnit(tokens, from, end) {
  const between = (/** @type {Token} */ token) =>
    token.class === 'space' || (token.class === 'sign' && token.text !== '%' && currency(token.text) === undefined);
  const near = (/** @type {Token | undefined} */ token) =>
    token !== undefined && (token.text === '%' || isMoney(token.text));
  const left = tokens.slice(0, Math.max(from, 0)).reverse().slice(0, 4);
  const right = tokens.slice(end, end + 4);
  return [left, right].some((side) => near(side.find((token) => !between(token))));
}

/** @param {string} text */
function isMoney(text) {
  const upper = text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
  const lower = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const plain = currency(text) !== undefined || currency(lower) !== undefined;
  return plain || (upper !== 'ADA' && currency(upper) !== undefined);
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 */
function isoDate(tokens, at) {
  const [year, month, day] = [word(tokens, at), word(tokens, at + 2), word(tokens, at + 4)];
  if (year.length !== 4 || month.length !== 2 || day.length !== 2) return undefined;
  if (word(tokens, at + 1) !== '-' || word(tokens, at + 3) !== '-') return undefined;
  if (!/^[0-9]+$/.test(year) || !/^[0-9]+$/.test(month)) return undefined;
  return dated(Number(year), Number(month), day, at + 5);
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 */
function time(tokens, at) {
  const [hour, minute] = [word(tokens, at), word(tokens, at + 2)];
  const clock = word(tokens, at + 1) === ':' && is(tokens, at + 2, 'digits');
  if (!clock || minute.length !== 2 || hour.length > 2) return undefined;
  return { reading: { time: `${hour.padStart(2, '0')}:${minute}` }, end: at + 3 };
}

const ORDINALS = ['st', 'nd', 'rd', 'th'];

/**
 * @param {Token[]} tokens
 * @param {number} at
 */
function dayFirst(tokens, at) {
  let next = at + 1;
  if ([...ORDINALS, '.'].includes(word(tokens, next))) next += 1;
  if (!is(tokens, next, 'space')) return undefined;
  next += 1;
  if (word(tokens, next) === 'of') {
    if (!is(tokens, next + 1, 'space')) return undefined;
    next += 2;
  }
  const month = monthOf(word(tokens, next));
  if (month === undefined) return undefined;
  const { year, end } = yearAt(tokens, next + 1);
  return dated(year, month, word(tokens, at), end);
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 */
function monthFirst(tokens, at) {
  const month = monthOf(word(tokens, at));
  if (month === undefined) return undefined;
  let next = at + 1;
  if (word(tokens, next) === '.') next += 1;
  if (!is(tokens, next, 'space')) return undefined;
  const digits = word(tokens, next + 1);
  let after = next + 2;
  if (ORDINALS.includes(word(tokens, after))) after += 1;
  const { year, end } = yearAt(tokens, after);
  return dated(year, month, digits, end);
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 * @returns {{year?: number, end: number}}
 */
function yearAt(tokens, at) {
  const gap = at + (word(tokens, at) === ',' ? 1 : 0);
  const year = word(tokens, gap + 1);
  const found = is(tokens, gap, 'space') && /^[0-9]{4}$/.test(year);
  return found ? { year: Number(year), end: gap + 2 } : { end: at };
}

/**
 * @param {number | undefined} year
 * @param {number} month
 * @param {string} digits
 * @param {number} end
 */
function dated(year, month, digits, end) {
  const day = /^[0-9]+$/.test(digits) ? Number(digits) : 0;
  if (day < 1 || day > 31 || month < 1 || month > 12) return undefined;
  /** @type {Reading} */
  const reading = { year, month, day };
  return { reading, end };
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ');

/** @param {string} text */
function monthOf(text) {
  const lower = text.toLowerCase();
  const short = (/** @type {string} */ name) => lower.length === 3 && name.startsWith(lower);
  const at = MONTHS.findIndex((name) => name === lower || short(name) || (lower === 'sept' && name === 'september'));
  return at < 0 ? undefined : at + 1;
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 */
function number(tokens, at) {
  const groups = [word(tokens, at)];
  /** @type {string[]} */
  const separators = [];
  let end = at + 1;
  while (is(tokens, end + 1, 'digits')) {
    const [separator, group] = [word(tokens, end), word(tokens, end + 1)];
    const spaced =
      [' ', '\u00a0', '\u202f'].includes(separator) && group.length === 3 && groups.every((one) => one.length <= 3);
    if (!spaced && ![',', '.', "'", '\u2019'].includes(separator)) break;
    separators.push(separator);
    groups.push(group);
    end += 2;
  }
  const thousands = ['k', 'K'].includes(word(tokens, end));
  if (thousands) end += 1;
  const decimals = readings(groups, separators).map((decimal) => (thousands ? shifted(decimal) : decimal));
  const before = word(tokens, at - 1);
  const unit = currency(/^\p{White_Space}*$/u.test(before) ? word(tokens, at - 2) : before);
  if (unit !== undefined) return { reading: { decimals, unit }, end };
  const gap = end + (is(tokens, end, 'space') ? 1 : 0);
  const after = word(tokens, gap) === '%' ? '%' : currency(word(tokens, gap));
  return { reading: { decimals, unit: after }, end: after === undefined ? end : gap + 1 };
}

/**
 * @param {Token[]} tokens
 * @param {number} at
 * @param {Reading} reading
 */
function startWithUnit(tokens, at, reading) {
  if (!('decimals' in reading) || reading.unit === undefined) return at;
  if (currency(word(tokens, at - 1)) !== undefined) return at - 1;
  const spaced = is(tokens, at - 1, 'space') && currency(word(tokens, at - 2)) !== undefined;
  return spaced ? at - 2 : at;
}

/** @type {Record<string, string>} */
const CURRENCIES = {};
for (const line of [
  'EUR € EUR euro euros',
  'USD $ \uff04 USD dollar dollars',
  'GBP £ \uffe1 GBP pounds',
  'JPY ¥ \uffe5 JPY yen',
  'CHF CHF',
  'ADA ADA ₳',
]) {
  const [code = '', ...spellings] = line.split(' ');
  for (const spelling of spellings) CURRENCIES[spelling] = code;
}

/** @param {string} text */
function currency(text) {
  return Object.hasOwn(CURRENCIES, text) ? CURRENCIES[text] : undefined;
}

/**
 * Every plain decimal the groups may mean: the last separator may be the fraction's, or all may group thousands.
 * @param {string[]} groups
 * @param {string[]} separators
 */
function readings(groups, separators) {
  const out = [];
  if (groups.slice(1).every((group) => group.length === 3)) out.push(trimmed(groups.join(''), ''));
  const last = separators.at(-1);
  if (last === '.' || last === ',') {
    const whole = groups.slice(0, -1);
    const grouped = whole.slice(1).every((group) => group.length === 3);
    const other = separators.slice(0, -1).every((separator) => separator !== last);
    if (grouped && other) out.push(trimmed(whole.join(''), groups.at(-1) ?? ''));
  }
  return out.length > 0 ? out : [groups.join('.')];
}

/**
 * @param {string} whole
 * @param {string} fraction
 */
function trimmed(whole, fraction) {
  const left = whole.replace(/^0+/, '') || '0';
  const right = fraction.replace(/0+$/, '');
  return right === '' ? left : `${left}.${right}`;
}

/**
 * A thousand times a decimal.
 * @param {string} decimal
 */
function shifted(decimal) {
  if (!/^[\x00-\x7f]*$/.test(decimal)) return decimal;
  const at = decimal.indexOf('.');
  const [whole, fraction] = at < 0 ? [decimal, ''] : [decimal.slice(0, at), decimal.slice(at + 1)];
  const padded = fraction.padEnd(3, '0');
  return trimmed(whole + padded.slice(0, 3), padded.slice(3));
}
