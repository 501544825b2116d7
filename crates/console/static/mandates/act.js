// @ts-check
/** An act of the principal: the hash of the very bytes is worked out here, signed, sent, and what becomes of it is followed. */

import { blake2b } from '../verifier-js/blake2b.js';
import { hex, transaction } from './bytes.js';
import { Problem, choices, follow, inWords, send, signers } from './signer.js';

/** @param {HTMLElement} root */
async function begin(root) {
  follow();
  const section = root.querySelector('[data-sign]');
  const form = section?.querySelector('form');
  if (!(section instanceof HTMLElement) || !form) return;
  const tx = section.dataset['tx'] ?? '';
  const shown = root.querySelector('[data-hash]')?.textContent?.replace(/\s/g, '') ?? '';
  const sound = hex(blake2b(transaction(tx).body)) === shown;
  const place = root.querySelector('[data-hash-checked]');
  if (place instanceof HTMLElement) {
    place.textContent = sound ? 'Worked out again in this browser: it is the hash of exactly this transaction.' : 'This is NOT the hash of this transaction. Do not sign.';
    place.dataset['hashChecked'] = sound ? 'yes' : 'no';
  }
  const all = await signers((root.dataset['keys'] ?? '').split(' ').filter((key) => key));
  section.hidden = false;
  const none = section.querySelector('[data-none]');
  if (none instanceof HTMLElement) none.hidden = all.length > 0;
  const field = section.querySelector('[data-signers]');
  const button = form.querySelector('button');
  if (!(field instanceof HTMLElement) || !button) return;
  field.hidden = all.length === 0;
  button.disabled = all.length === 0;
  const chosen = choices(field, all);
  const details = root.querySelector('[data-cli]');
  if (details instanceof HTMLDetailsElement && all.length > 0) details.open = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const alert = form.querySelector('[role="alert"]');
    if (alert instanceof HTMLElement) alert.hidden = true;
    button.disabled = true;
    try {
      if (!sound) throw new Problem('The hash on this page is not that of the transaction. Nothing was signed.');
      const witness = await chosen().witness(tx);
      const path = `/v1/mandates/${encodeURIComponent(root.dataset['mandate'] ?? '')}/acts/${shown}`;
      await send(path, { witness_cbor: witness });
      location.assign(location.pathname);
    } catch (error) {
      if (alert instanceof HTMLElement) [alert.textContent, alert.hidden] = [inWords(error), false];
      button.disabled = false;
    }
  });
}

const root = document.querySelector('[data-act]');
if (root instanceof HTMLElement) void begin(root);
