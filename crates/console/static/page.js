// @ts-check
/** What every page does with scripts on. Each part looks for its own elements and does nothing without them. */

import './copy.js';

const SECRETS = ['i', 'p', 't', 's'];

enter();
settle();
print();
digest();

/** A room's link carries its secret after the #: it is handed to the server once, by a form, and leaves the address bar. */
function enter() {
  const room = /^\/room\/[A-Za-z0-9._-]+$/.exec(location.pathname.replace(/\/$/, ''));
  const fragment = new URLSearchParams(location.hash.slice(1));
  const secret = SECRETS.map((name) => fragment.get(name)).find((value) => value);
  if (!room || !secret) return;
  history.replaceState(null, '', location.pathname);
  const form = document.createElement('form');
  form.method = 'post';
  form.action = `${room[0]}/enter`;
  const csrf = document.querySelector('meta[name="csrf"]')?.getAttribute('content') ?? '';
  for (const [name, value] of [['csrf', csrf], ['secret', secret]]) {
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = name ?? '';
    field.value = value ?? '';
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}

/** What was just done is said once: a page that is loaded again no longer says it. */
function settle() {
  if (location.search.startsWith('?said=')) history.replaceState(null, '', location.pathname + location.hash);
}

function print() {
  for (const button of document.querySelectorAll('button[data-print]')) {
    if (!(button instanceof HTMLButtonElement)) continue;
    button.hidden = false;
    button.addEventListener('click', () => window.print());
  }
}

/** Works out the SHA-256 of a chosen file into the field that `data-digest` names. */
function digest() {
  for (const box of document.querySelectorAll('[data-digest]')) {
    const file = box.querySelector('input[type="file"]');
    const field = document.getElementById(box.getAttribute('data-digest') ?? '');
    if (!(box instanceof HTMLElement) || !(file instanceof HTMLInputElement)) continue;
    if (!(field instanceof HTMLInputElement) || !crypto.subtle) continue;
    box.hidden = false;
    file.addEventListener('change', async () => {
      const chosen = file.files?.[0];
      if (!chosen) return;
      const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', await chosen.arrayBuffer()));
      field.value = Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
    });
  }
}
