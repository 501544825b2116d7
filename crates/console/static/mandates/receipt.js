// @ts-check
/** Works the receipt's hash out again, here. */

import { hex, sha256, utf8 } from './bytes.js';

const canonical = document.querySelector('[data-canonical]');
const hash = document.querySelector('[data-hash]')?.textContent?.replace(/\s/g, '');
const place = document.querySelector('[data-hash-checked]');
if (canonical instanceof HTMLInputElement && place instanceof HTMLElement) {
  const right = hex(await sha256(utf8(canonical.value))) === hash;
  place.textContent = right ? 'Worked out again in this browser: it is the hash of exactly this receipt.' : 'This is NOT the hash of this receipt.';
  place.dataset['hashChecked'] = right ? 'yes' : 'no';
}
