// @ts-check
/** Where a person is told: the page, its service worker, and a pushed message as Chromium delivers it. */

import { check, serve, sound, window } from './support.mjs';

/** A subscription as a browser makes one; Chromium's own needs a push service on the internet. */
const SUBSCRIPTION = {
  endpoint: 'https://push.example.com/send/abc',
  keys: {
    p256dh: 'BLn9b-VR0ca83knDNZ32dCHGyjJp-1riX9ZTN40MqV8K_LpQmLqxC_DoHvqvFXO_nGdAB4W9dogZb_sM-uV4JbY',
    auth: '_ordMnz7uTCmrpBTeUV4Bw',
  },
};

/**
 * @param {import('playwright-core').Browser} browser
 * @param {number} width
 */
export async function pushing(browser, width) {
  const server = await serve(['[notify]', 'web_push_contact = "mailto:ops@example.com"']);
  const { url } = server;
  const at = (/** @type {string} */ name) => `${name} at ${width}`;
  const { context, page } = await window(browser, width);
  try {
    await context.grantPermissions(['notifications'], { origin: url });
    await page.goto(server.link);
    await page.getByRole('button', { name: 'Make a passkey' }).click();
    await page.getByText('Your passkey is enrolled and you are signed in.').waitFor();
    await page.addInitScript((subscription) => {
      PushManager.prototype.subscribe = async (options) => {
        const key = /** @type {Uint8Array} */ (options?.applicationServerKey);
        if (!options?.userVisibleOnly || key.length !== 65) throw new DOMException('no such key', 'AbortError');
        return /** @type {PushSubscription} */ (/** @type {unknown} */ ({ toJSON: () => subscription }));
      };
    }, SUBSCRIPTION);
    await page.goto(`${url}/notifications`);
    await sound(page, 'notifications, empty');
    await check(at('a browser subscribes and is listed'), async () => {
      await page.getByRole('button', { name: 'Tell me in this browser' }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByText('push.example.com', { exact: true }).waitFor();
      await sound(page, 'notifications');
    });
    await check(at('what is pushed is shown, and leads nowhere else'), async () => {
      const cdp = await context.newCDPSession(page);
      /** @type {Promise<string>} */
      const registered = new Promise((resolve) => {
        cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
          if (registrations[0]) resolve(registrations[0].registrationId);
        });
      });
      await cdp.send('ServiceWorker.enable');
      const registrationId = await registered;
      const cases = [
        [{ title: 'May I?', body: 'Something waits for you.', link: `${url}/asks/r1/q1` }, 'May I?', `${url}/asks/r1/q1`],
        [{ title: 'Elsewhere', body: '', link: 'https://evil.example//evil.example/x' }, 'Elsewhere', `${url}//evil.example/x`],
        ['no message', 'Something waits for you', `${url}/asks`],
      ];
      for (const [message, title, link] of cases) {
        const data = JSON.stringify(message);
        await cdp.send('ServiceWorker.deliverPushMessage', { origin: url, registrationId, data });
        await page.waitForFunction(
          async ([title, link]) => {
            const { ready } = navigator.serviceWorker;
            const shown = await (await ready).getNotifications();
            return shown.some((one) => one.title === title && one.data === link);
          },
          [title, link],
        );
      }
    });
    await check(at('a place is removed'), async () => {
      await page.getByRole('button', { name: 'Remove' }).click();
      await page.getByText('Nowhere yet').waitFor();
    });
  } finally {
    await context.close();
    server.stop();
  }
}
