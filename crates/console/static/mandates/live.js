// @ts-check
/** A recorded run, told again: each entry is shown when its event comes. Without this script the whole list is there. */

const replayed = document.querySelector('[data-replay]');
if (replayed instanceof HTMLElement) replay(replayed, replayed.dataset['replay'] ?? '');

/**
 * @param {HTMLElement} root
 * @param {string} url
 */
function replay(root, url) {
  const entries = /** @type {HTMLElement[]} */ ([...root.querySelectorAll('li[data-seq]')]);
  const controls = root.querySelector('[data-controls]');
  const play = root.querySelector('[data-play]');
  const speed = root.querySelector('[data-speed]');
  const place = root.querySelector('[data-announce]');
  if (!(controls instanceof HTMLElement) || !(play instanceof HTMLButtonElement) || !(speed instanceof HTMLSelectElement)) return;
  const seqs = entries.map((entry) => Number(entry.dataset['seq']));
  const end = seqs.at(-1) ?? 0;
  /** The number of the entry that was shown last. */
  let last = 0;
  /** @type {EventSource | undefined} */
  let events;

  controls.hidden = false;
  play.addEventListener('click', () => (events ? stop() : start()));
  speed.addEventListener('change', () => {
    if (events) start();
  });
  root.querySelector('[data-step]')?.addEventListener('click', () => {
    stop();
    show(seqs.find((seq) => seq > last) ?? last);
  });
  root.querySelector('[data-again]')?.addEventListener('click', () => {
    last = 0;
    start();
  });
  start();

  /** Follows the recording from the entry after the last one. */
  function start() {
    stop();
    if (last >= end) last = 0;
    show(last);
    events = new EventSource(`${url}?speed=${speed instanceof HTMLSelectElement ? speed.value : 1}&after=${last}`);
    events.addEventListener('message', (event) => show(Number(event.lastEventId)));
    label();
  }

  function stop() {
    events?.close();
    events = undefined;
    label();
  }

  function label() {
    if (play instanceof HTMLButtonElement) play.textContent = events ? 'Pause' : last >= end ? 'Play again' : 'Play';
  }

  /** @param {number} seq */
  function show(seq) {
    last = seq;
    entries.forEach((entry, index) => {
      entry.hidden = (seqs[index] ?? 0) > seq;
      entry.toggleAttribute('data-now', seqs[index] === seq);
    });
    const shown = entries.filter((entry) => !entry.hidden);
    const title = shown.at(-1)?.querySelector('strong')?.textContent;
    if (place && title) place.textContent = `${title}. ${shown.length} of ${entries.length}.`;
    if (seq >= end) stop();
    root.dataset['shown'] = String(shown.length);
  }
}
