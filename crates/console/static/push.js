// @ts-check
/** This browser's push subscription: made, found again in the list, ended together with its entry there. */

const WORKER = '/push-worker.js';

const form = document.querySelector('form[data-push]');
if (form instanceof HTMLFormElement) offer(form);
void recognise();

/** @param {HTMLFormElement} form */
function offer(form) {
  const button = form.querySelector('button');
  if (!button) return;
  if (!supported()) {
    say(form, 'This browser cannot show notifications here. They need a secure address (https, or localhost).');
    return;
  }
  button.disabled = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(form, button);
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button
 */
async function attempt(form, button) {
  say(form, '');
  button.disabled = true;
  form.setAttribute('aria-busy', 'true');
  try {
    if ((await Notification.requestPermission()) !== 'granted') {
      say(form, 'This browser was told not to show notifications of this site. Allow them in its settings first.');
      return;
    }
    const { endpoint, keys } = (await subscribe(form.dataset['push'] ?? '')).toJSON();
    for (const [name, value] of Object.entries({ endpoint, p256dh: keys?.['p256dh'], auth: keys?.['auth'] })) {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLInputElement) field.value = value ?? '';
    }
    form.submit();
  } catch (error) {
    say(form, error instanceof DOMException ? `The browser refused: ${error.message}` : 'The browser refused.');
  } finally {
    button.disabled = false;
    form.removeAttribute('aria-busy');
  }
}

/**
 * A subscription under the server's present key; one under an earlier key is ended first.
 * @param {string} key
 * @returns {Promise<PushSubscription>}
 */
async function subscribe(key) {
  await navigator.serviceWorker.register(WORKER);
  const { pushManager } = await navigator.serviceWorker.ready;
  const known = await pushManager.getSubscription();
  const wanted = bytes(key);
  const present = new Uint8Array(known?.options.applicationServerKey ?? new ArrayBuffer(0));
  if (known && present.length === wanted.length && present.every((byte, at) => byte === wanted[at])) return known;
  await known?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: wanted });
}

/** Marks this browser in the list. Removing it there ends the subscription here too. */
async function recognise() {
  if (!supported()) return;
  const registration = await navigator.serviceWorker.getRegistration(WORKER);
  const known = await registration?.pushManager.getSubscription();
  if (!known) return;
  for (const row of document.querySelectorAll('[data-endpoint]')) {
    if (!(row instanceof HTMLElement) || row.dataset['endpoint'] !== known.endpoint) continue;
    const mark = row.querySelector('.tag');
    if (mark instanceof HTMLElement) mark.hidden = false;
    const remove = row.querySelector('form[data-remove]');
    if (!(remove instanceof HTMLFormElement)) continue;
    remove.addEventListener('submit', (event) => {
      event.preventDefault();
      void known.unsubscribe().finally(() => remove.submit());
    });
  }
}

function supported() {
  return window.isSecureContext && 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;
}

/** @param {string} text */
function bytes(text) {
  const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(plain, (char) => char.charCodeAt(0));
}

/**
 * @param {HTMLFormElement} form
 * @param {string} text
 */
function say(form, text) {
  const place = form.querySelector('[role="alert"]');
  if (!(place instanceof HTMLElement)) return;
  place.textContent = text;
  place.hidden = text === '';
}
