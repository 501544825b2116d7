// @ts-check
/** A run that is followed as it goes on: each entry that comes has the page fetched again, and what changed swapped. */

const root = document.querySelector('[data-run]');
if (root instanceof HTMLElement) follow(root);

/** @param {HTMLElement} root */
function follow(root) {
  const id = encodeURIComponent(root.dataset['run'] ?? '');
  const query = root.dataset['query'] ?? '';
  let last = Number(root.dataset['last']);
  let due = false;
  const events = new EventSource(`/v1/runs/${id}/events${query}`);
  events.addEventListener('message', (event) => {
    const seq = Number(event.lastEventId);
    if (seq <= last) return;
    last = seq;
    if (due) return;
    due = true;
    setTimeout(refresh, 150);
  });

  async function refresh() {
    due = false;
    try {
      const response = await fetch(location.pathname + location.search, { headers: { accept: 'text/html' } });
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const [old, fresh] = [document.getElementById('part-run'), page.getElementById('part-run')];
      if (!old || !fresh) return;
      const opened = [...old.querySelectorAll('details')].map((one) => one.open);
      const made = document.importNode(fresh, true);
      made.querySelectorAll('details').forEach((one, index) => { one.open = opened[index] ?? false; });
      old.replaceWith(made);
      const place = root.querySelector('[data-announce]');
      if (place) place.textContent = `${made.querySelectorAll('details').length} entries.`;
      if (!page.querySelector('[data-run]')) events.close();
    } catch {
      // The stream comes back by itself and tells the rest.
    }
  }
}
