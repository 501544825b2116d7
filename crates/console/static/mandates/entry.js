// @ts-check
/** Showing a key: the sentence on the page is signed and sent by the page's own form. */

import { utf8 } from './bytes.js';
import { inWords, signers } from './signer.js';

const form = document.querySelector('form[data-prove]');
const message = document.querySelector('[data-message]')?.textContent ?? '';
if (form instanceof HTMLFormElement) void offer(form);

/** @param {HTMLFormElement} form */
async function offer(form) {
  const place = form.querySelector('[data-signers]');
  const alert = form.querySelector('[role="alert"]');
  const details = form.querySelector('[data-cli]');
  const all = await signers(null);
  if (details instanceof HTMLDetailsElement && all.length > 0) details.open = false;
  const none = form.querySelector('[data-none]');
  if (none instanceof HTMLElement) none.hidden = all.length > 0;
  for (const signer of all) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'primary', textContent: `Sign with ${signer.label}` });
    button.addEventListener('click', async () => {
      button.disabled = true;
      try {
        const signature = form.elements.namedItem('signature');
        if (!(signature instanceof HTMLTextAreaElement)) return;
        signature.value = JSON.stringify(await signer.sign(utf8(message)));
        form.submit();
      } catch (error) {
        if (alert instanceof HTMLElement) [alert.textContent, alert.hidden] = [inWords(error), false];
        button.disabled = false;
      }
    });
    place?.append(button);
  }
}
