// @ts-check
/** Checks a file with the second verifier, here in the browser. Nothing is sent anywhere. */

import { parseTrust, verify } from './verifier-js/index.js';
import { join } from './verifier-js/mandate-join.js';

/** @typedef {import('./verifier-js/index.js').Report} Report */

/** @type {Record<string, string>} */
const FACTS = {
  room: 'Room',
  stream: 'What it records',
  entries: 'Entries',
  head: 'Hash of the last entry',
  withheld: 'Private parts left out of this file',
  outcome: 'How it ended',
  log: 'Its place in the server’s log',
  log_origin: 'Name of that log',
  log_size: 'Entries in that log at the time',
  witnesses: 'Witnesses of that log',
  mandate: 'Mandate and version',
  authorizations: 'Payments authorized in this log',
  receipt: 'Hash of the receipt, made again from the log',
  settlement: 'Transaction that settled it',
  transaction: 'The transaction in this file',
  run: 'Run',
  brief: 'Hash of the brief',
  origin: 'Name of the log',
  size: 'Records in the log at the time',
  root: 'Root of the log',
  payment: 'The payment it names',
  input_hash: 'Hash of what was asked (MIP-004)',
  result_hash: 'Hash of what was delivered (MIP-004)',
};

const place = document.querySelector('[data-verdict]');
const file = document.querySelector('input[data-file]');
const trust = document.querySelector('input[data-trust]');
const drop = document.querySelector('[data-drop]');

if (file instanceof HTMLInputElement) {
  file.addEventListener('change', () => void check(file.files));
  if (trust instanceof HTMLInputElement) trust.addEventListener('change', () => void check(file.files));
}

if (drop instanceof HTMLElement) {
  drop.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    void check(event.dataTransfer?.files);
  });
}

for (const button of document.querySelectorAll('button[data-verify]')) {
  if (!(button instanceof HTMLButtonElement)) continue;
  button.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      const response = await fetch(button.dataset['verify'] ?? '');
      if (!response.ok) throw new Error();
      show(await verify(new Uint8Array(await response.arrayBuffer())), 'This room');
    } catch {
      problem('The file could not be fetched.');
    } finally {
      button.disabled = false;
    }
  });
}

/** @param {FileList | null | undefined} chosen one file, or the parts of a proof */
async function check(chosen) {
  const files = [...(chosen ?? [])];
  if (files.length === 0) return;
  try {
    const parts = await Promise.all(files.map(async (one) => new Uint8Array(await one.arrayBuffer())));
    const bytes = join(parts);
    const own = trust instanceof HTMLInputElement ? trust.files?.[0] : undefined;
    const keys = own ? parseTrust(new Uint8Array(await own.arrayBuffer())) : undefined;
    if (keys) keys.now = Date.now() * 1000;
    show(await verify(bytes, keys), files.map(({ name }) => name).join(', '));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    problem(`The trust file cannot be used${code}.`);
  }
}

/**
 * @param {Report} report
 * @param {string} name
 */
function show(report, name) {
  const box = element('section', '');
  box.className = `verdict ${report.verdict}`;
  box.dataset['result'] = report.verdict;
  const title = { valid: 'It holds', unproven: 'It may be accepted, and not all of it is proven', refused: 'It does not hold', unusable: 'This cannot be read' };
  box.append(element('h2', title[report.verdict]));
  const about = document.createElement('p');
  about.append(element('bdi', name), `: ${meaning(report)}`);
  box.append(about);
  const facts = document.createElement('dl');
  facts.className = 'items';
  /** @type {[string, string | null | undefined][]} */
  const lines = [['What it is', kind(report.kind)], ['Why', report.code], ['Where', report.place || undefined], ['In detail', report.detail], ['Integrity', report.integrity], ['The check that failed first', report.first_failure]];
  for (const [label, value] of lines) if (value) facts.append(line(label, value));
  if (report.unchecked) facts.append(line('Not checked, as it is left out or rests on what is', report.unchecked.join(', ')));
  for (const claim of report.claims ?? []) {
    facts.append(line(`Claim ${claim.id}`, claim.code ? `${claim.verdict}: ${claim.code}` : claim.verdict));
  }
  for (const [name, value] of Object.entries(report.facts)) facts.append(line(FACTS[name] ?? name.replace(/_/g, ' '), value));
  box.append(facts);
  place?.replaceChildren(box);
}

/** @param {Report} report */
function meaning(report) {
  if (report.verdict === 'unusable') return 'it is not a file this page knows how to check.';
  if (report.verdict === 'unproven') return 'nothing contradicts it, but what is marked unproven rests on the word of its sender alone.';
  if (report.kind === 'message' && report.verdict === 'valid') return 'everything it claims is proven by records of the log you trust.';
  if (report.verdict === 'refused') return 'something in it was changed, is missing, or was never signed. Do not rely on it.';
  return report.pinned
    ? 'nothing was changed, and it was signed by a key you trust.'
    : 'nothing was changed since it was signed. Whose key signed it, it says itself: compare the key with one you got another way.';
}

/** @param {string | null} name */
function kind(name) {
  if (!name) return undefined;
  if (name === 'mandate_log') return 'Everything done under a mandate';
  if (name === 'run_log') return 'A run of an agent under a mandate';
  if (name === 'receipt') return 'A receipt of a mandate, with the log it comes from';
  if (name === 'evidence') return 'Evidence of what an agent did';
  if (name === 'masumi_job') return 'A job sold through Masumi: compare both hashes with those of its payment on chain';
  if (name === 'message') return 'A message, with its proofs';
  if (name === 'mandate_brief') return 'A brief that an approver was shown';
  if (name.includes('bundle')) return 'A room, from its first entry to its last';
  if (name.includes('brief')) return 'A brief';
  if (name.includes('export')) return 'A record';
  return name.includes('checkpoint') ? 'A checkpoint of a server’s log' : name;
}

/**
 * @param {string} label
 * @param {string} value
 */
function line(label, value) {
  const row = document.createElement('div');
  const data = document.createElement('dd');
  data.append(element('bdi', visible(value)));
  row.append(element('dt', label), data);
  return row;
}

/**
 * @param {string} tag
 * @param {string} text
 */
function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = visible(text);
  return made;
}

/**
 * Characters that cannot be seen, or that reorder what is read, are written out.
 * @param {string} text
 */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (char) => `⟨U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/** @param {string} text */
function problem(text) {
  const box = element('p', text);
  box.className = 'problem';
  place?.replaceChildren(box);
}
