// @ts-check
/** Making and listing keys of this browser. */

import { forget, kept, make, makeBehindPasskey } from './keys.js';
import { inWords } from './signer.js';

const form = document.querySelector('form[data-make]');
const list = document.querySelector('[data-keys]');
const empty = document.querySelector('[data-empty]');

if (form instanceof HTMLFormElement) {
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const name = form.elements.namedItem('name');
    if (!(name instanceof HTMLInputElement)) return;
    const alert = form.querySelector('[role="alert"]');
    if (alert instanceof HTMLElement) alert.hidden = true;
    const kind = event.submitter instanceof HTMLButtonElement ? event.submitter.value : 'device';
    try {
      await (kind === 'passkey' ? makeBehindPasskey(name.value.trim()) : make(name.value.trim()));
      form.reset();
      await show();
    } catch (error) {
      if (alert instanceof HTMLElement) [alert.textContent, alert.hidden] = [inWords(error), false];
    }
  });
}
void show();

async function show() {
  const all = await kept();
  if (empty instanceof HTMLElement) empty.hidden = all.length > 0;
  list?.replaceChildren(...all.map((key) => {
    const item = document.createElement('li');
    item.className = 'row';
    const main = Object.assign(document.createElement('span'), { className: 'row-main' });
    const name = Object.assign(document.createElement('strong'), { textContent: key.name });
    const hash = Object.assign(document.createElement('code'), { className: 'value', textContent: key.hash });
    hash.dataset['keyHash'] = '';
    const how = Object.assign(document.createElement('small'), { textContent: key.kind === 'passkey' ? 'sealed by a passkey' : 'in this browser alone' });
    main.append(name, hash, how);
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'quiet danger', textContent: 'Destroy' });
    button.setAttribute('aria-label', `Destroy ${key.name}`);
    button.addEventListener('click', async () => {
      if (!confirm('Destroy this key? It cannot be brought back.')) return;
      await forget(key.hash);
      await show();
    });
    item.append(main, button);
    return item;
  }));
}
