// @ts-check
/** Stopping what waits: the statement is the server's, seen here to be about this act, signed and sent. */

import { canonical, hex, sha256, utf8 } from './bytes.js';
import { Problem, choices, inWords, send, signers } from './signer.js';

/** @param {HTMLElement} root */
async function begin(root) {
  const section = root.querySelector('[data-sign]');
  const form = section?.querySelector('form');
  const button = form?.querySelector('button');
  const field = section?.querySelector('[data-signers]');
  if (!(section instanceof HTMLElement) || !form || !button || !(field instanceof HTMLElement)) return;
  const all = await signers((root.dataset['keys'] ?? '').split(' ').filter((key) => key));
  section.hidden = false;
  const none = section.querySelector('[data-none]');
  if (none instanceof HTMLElement) none.hidden = all.length > 0;
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
      const action = root.dataset['veto'] ?? '';
      const mandate_id = root.dataset['mandate'] ?? '';
      const { statement, statement_hash } = await send(`/v1/delays/${action}/statement`, { mandate_id });
      const hash = await sha256(utf8(canonical(statement)));
      const right = statement.decision === 'decline' && statement.action_hash === action && statement.ask_id === `veto:${action}`;
      if (!right || hex(hash) !== statement_hash) throw new Problem('What the server wants signed is not about this act. Nothing was signed.');
      const signed = { ...(await chosen().sign(hash)), nonce: statement.nonce };
      await send(`/v1/delays/${action}/veto`, { mandate_id, signed });
      location.assign('/approvals?said=vetoed');
    } catch (error) {
      if (alert instanceof HTMLElement) [alert.textContent, alert.hidden] = [inWords(error), false];
      button.disabled = false;
    }
  });
}

const root = document.querySelector('[data-veto]');
if (root instanceof HTMLElement) void begin(root);
