// @ts-check
/**
 * The service worker: shows a pushed message and leads to its page. It fetches nothing, keeps nothing and answers nothing;
 * of a message's link only the path is followed, so it never leads off this site.
 */

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

worker.addEventListener('push', (event) => {
  const { title, body, path } = read(event.data);
  const page = worker.location.origin + path;
  event.waitUntil(
    worker.registration.showNotification(title, { body, icon: '/favicon.ico', tag: page, data: page }),
  );
});

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(lead(event.notification.data));
});

/**
 * Shows the page where it is open already, else in a new window.
 * @param {string} page
 */
async function lead(page) {
  const windows = await worker.clients.matchAll({ type: 'window' });
  const there = windows.find((client) => client.url === page);
  return there ? there.focus() : worker.clients.openWindow(page);
}

/**
 * A browser must show something for every push, so what cannot be read is shown without words of its own.
 * @param {PushMessageData | null} data
 */
function read(data) {
  try {
    const { title, body, link } = data?.json();
    return { title: String(title), body: String(body), path: new URL(link, worker.location.origin).pathname };
  } catch {
    return { title: 'Something waits for you', body: '', path: '/asks' };
  }
}
