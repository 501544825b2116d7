// @ts-check
/** A room that follows what happens in it. The server renders; this only fetches the page again and swaps what changed. */

const room = document.querySelector('[data-live]');
if (room instanceof HTMLElement && room.dataset['live']) follow(room, room.dataset['live']);

/**
 * @param {HTMLElement} root
 * @param {string} id
 */
function follow(root, id) {
  let known = Number(root.dataset['since']);
  let again = false;
  let busy = false;
  const events = new EventSource(`/api/rooms/${encodeURIComponent(id)}/events?after=${known}`);
  events.addEventListener('state', (event) => {
    /** @type {{since: number, next_action: string}} */
    const state = JSON.parse(event.data);
    if (state.since <= known) return;
    known = state.since;
    again = true;
    void refresh();
  });

  async function refresh() {
    if (busy) return;
    busy = true;
    try {
      while (again) {
        again = false;
        const response = await fetch(location.pathname, { headers: { accept: 'text/html' } });
        if (!response.ok) return;
        swap(root, new DOMParser().parseFromString(await response.text(), 'text/html'));
      }
    } catch {
      // The stream comes back by itself and tells the state again.
    } finally {
      busy = false;
    }
  }
}

/**
 * @param {HTMLElement} root
 * @param {Document} page
 */
function swap(root, page) {
  const before = root.querySelectorAll('.message').length;
  document.querySelector('.said')?.remove();
  for (const part of page.querySelectorAll('[data-part]')) {
    const old = document.getElementById(part.id);
    if (!old || old.innerHTML === part.innerHTML) continue;
    const focused = old.contains(document.activeElement) ? hrefOf(document.activeElement) : null;
    old.replaceWith(document.importNode(part, true));
    if (focused) refocus(part.id, focused);
  }
  for (const name of ['.top nav', 'title']) {
    const [old, fresh] = [document.querySelector(name), page.querySelector(name)];
    if (old && fresh && old.innerHTML !== fresh.innerHTML) old.innerHTML = fresh.innerHTML;
  }
  const place = root.querySelector('[data-announce]');
  if (!place) return;
  const messages = root.querySelectorAll('.message').length - before;
  const status = root.querySelector('.status .tag')?.textContent ?? '';
  const call = root.querySelector('.call .question')?.textContent;
  const arrived = messages === 1 ? 'A new message. ' : messages > 1 ? `${messages} new messages. ` : '';
  place.textContent = call ? `Your agent asks: ${call}` : `${arrived}${status}.`;
}

/** @param {Element | null} element */
function hrefOf(element) {
  return element instanceof HTMLAnchorElement ? element.getAttribute('href') : null;
}

/**
 * @param {string} part
 * @param {string} href
 */
function refocus(part, href) {
  for (const link of document.getElementById(part)?.querySelectorAll('a') ?? []) {
    if (link.getAttribute('href') === href) {
      link.focus({ preventScroll: true });
      return;
    }
  }
}
