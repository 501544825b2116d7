// @ts-check
/** How a text that strangers wrote is shown to a person, and what is odd about it: crate `approvals`, module `text`. */

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const TAG = /[\u{e0000}-\u{e007f}]/u;
const CONTROL = /[\u2028\u2029\p{Cc}]/u;
const HIDDEN =
  /[\u00ad\u034f\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0080}-\u{e0fff}\ue000-\uf8ff\ufdd0-\ufdef\u{f0000}-\u{10ffff}]/u;
const ODD_SPACE = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/u;
const EMOJI = /^[\u203c-\u203d\u2194-\u2bff\u3030\u{1f000}-\u{1faff}]$/u;
const MARK = /[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/u;
const LATIN = /[A-Za-z\u00c0-\u024f\u1e00-\u1eff]/gu;

/** In the order in which they are listed. */
const SENTENCES = {
  control: 'The text contains control characters.',
  bidi: 'The text contains characters that change the reading direction.',
  hidden: 'The text contains characters that cannot be seen.',
  tag: 'The text contains tag characters, which only machines read.',
  mixed: 'A word mixes letters of several alphabets.',
  stacked: 'Marks are stacked on a letter.',
  punycode: 'A host name is written in its xn-- form.',
  space: 'The text contains unusual spaces.',
};

/**
 * The text with everything that cannot be seen, or that moves what can, written out as `⟨U+202E⟩`.
 * @param {string} text
 */
export function show(text) {
  const chars = [...text];
  return chars
    .map((char, at) => {
      const odd = char === '⟨' || (oddity(char) && !fitsEmoji(chars[at - 1], char, chars[at + 1]));
      if (!odd) return char;
      const code = /** @type {number} */ (char.codePointAt(0));
      return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    })
    .join('');
}

/**
 * One sentence for each odd thing about the texts, in order.
 * @param {string[]} texts
 */
export function warnings(texts) {
  return [...new Set(texts.flatMap((text) => suspicious(text)))];
}

/** @param {string} text */
function suspicious(text) {
  /** @type {Set<string>} */
  const found = new Set();
  const chars = [...text];
  let marks = 0;
  chars.forEach((char, at) => {
    const odd = oddity(char);
    if (odd && !fitsEmoji(chars[at - 1], char, chars[at + 1])) found.add(odd);
    marks = MARK.test(char) ? marks + 1 : 0;
    if (marks > 3) found.add('stacked');
  });
  for (const word of text.split(/\p{White_Space}/u)) {
    if (!isOneScript(word)) found.add('mixed');
    const labels = word.split(/[^\p{Alphabetic}\p{N}-]/u);
    if (labels.some((label) => /^xn--/i.test(label))) found.add('punycode');
  }
  return Object.entries(SENTENCES)
    .filter(([name]) => found.has(name))
    .map(([, sentence]) => sentence);
}

/** @param {string} char */
export function oddity(char) {
  if (char === '\n' || char === '\t' || char === ' ') return undefined;
  if (BIDI.test(char)) return 'bidi';
  if (TAG.test(char)) return 'tag';
  if (CONTROL.test(char)) return 'control';
  if (HIDDEN.test(char) || ((char.codePointAt(0) ?? 0) & 0xfffe) === 0xfffe) return 'hidden';
  if (ODD_SPACE.test(char)) return 'space';
  return undefined;
}

/**
 * A variation selector or a joiner where emoji have one.
 * @param {string | undefined} before
 * @param {string} char
 * @param {string | undefined} after
 */
function fitsEmoji(before, char, after) {
  const emoji = (/** @type {string | undefined} */ one) => one !== undefined && EMOJI.test(one);
  if (char === '\ufe0e' || char === '\ufe0f') return emoji(before);
  return char === '\u200d' && (emoji(before) || before === '\ufe0f') && emoji(after);
}

/** Scripts of living and historic use, by their ISO 15924 codes, as regular expressions know them. */
const SCRIPTS =
  'Latn Cyrl Grek Armn Hebr Arab Syrc Thaa Nkoo Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Thai Laoo Tibt Mymr Geor Hang Ethi Cher Cans Ogam Runr Tglg Hano Buhd Tagb Khmr Mong Limb Tale Talu Bugi Lana Bali Sund Batk Lepc Olck Glag Tfng Hira Kana Bopo Hani Yiii Lisu Vaii Bamu Sylo Phag Saur Kali Rjng Java Cham Tavt Mtei Copt Goth'
    .split(' ')
    .map((name) => ({ name, test: new RegExp(`^\\p{scx=${name === 'Nkoo' ? 'Nko' : name}}$`, 'u') }));
const NEUTRAL = /^[\p{sc=Zyyy}\p{sc=Zinh}]$/u;

/** @param {string} text */
export function isOneScript(text) {
  const all = scripts(text);
  if (!all || all.size > 0) return true;
  const rest = scripts(text.replace(LATIN, ''));
  return !rest || ['Hanb', 'Jpan', 'Kore'].some((name) => rest.has(name));
}

/**
 * What all letters have in common (UTS 39 section 5.1); `undefined`: no letter says anything.
 * @param {string} text
 * @returns {Set<string> | undefined}
 */
function scripts(text) {
  /** @type {Set<string> | undefined} */
  let common;
  for (const char of text) {
    if (/^[\x00-\x40\x5b-\x60\x7b-\x7f]$/.test(char)) continue;
    const own = new Set(SCRIPTS.filter(({ test }) => test.test(char)).map(({ name }) => name));
    if (own.size === 0) {
      if (NEUTRAL.test(char)) continue;
      own.add(`other ${char}`);
    }
    if (own.has('Hani')) ['Hanb', 'Jpan', 'Kore'].forEach((name) => own.add(name));
    if (own.has('Hira') || own.has('Kana')) own.add('Jpan');
    if (own.has('Hang')) own.add('Kore');
    if (own.has('Bopo')) own.add('Hanb');
    common = common ? new Set([...common].filter((name) => own.has(name))) : own;
  }
  return common;
}
