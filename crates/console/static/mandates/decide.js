// @ts-check
/**
 * Deciding: the statement is made by the server, checked here against the brief on this page, signed, and sent; then the
 * transaction, after it was seen to pay what the brief says.
 */

import { address, canonical, hex, sha256, transaction, utf8 } from './bytes.js';
import { Problem, choices, follow, inWords, send, signers } from './signer.js';

/**
 * @typedef {{ask_id: string, action_hash: string, brief_hash: string, answer_hash?: string, decision: string, nonce: string, v: number}} Statement
 * @typedef {import('./signer.js').Signer} Signer
 */

/** @param {HTMLElement} root */
async function begin(root) {
  const page = new Page(root);
  await page.checkHash();
  page.follow();
  const all = await signers(page.keys);
  for (const section of root.querySelectorAll('[data-decide], [data-waiting]')) {
    if (!(section instanceof HTMLElement)) continue;
    section.hidden = false;
    const place = section.querySelector('[data-signers]');
    const none = section.querySelector('[data-none]');
    if (none instanceof HTMLElement) none.hidden = all.length > 0;
    if (!(place instanceof HTMLElement)) continue;
    place.hidden = all.length === 0;
    const chosen = choices(place, all);
    for (const form of section.querySelectorAll('form[data-form]')) {
      if (form instanceof HTMLFormElement) page.wire(form, chosen, all.length > 0);
    }
    const details = root.querySelector('[data-cli]');
    if (details instanceof HTMLDetailsElement && all.length > 0) details.open = false;
  }
}

class Page {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.id = root.dataset['approval'] ?? '';
    this.mandate = root.dataset['mandate'] ?? '';
    this.keys = (root.dataset['keys'] ?? '').split(' ').filter((key) => key);
    this.hash = root.querySelector('[data-hash]')?.textContent?.replace(/\s/g, '') ?? '';
    const canonical = root.querySelector('[data-canonical]');
    this.canonical = canonical instanceof HTMLInputElement ? canonical.value : '';
    this.brief = JSON.parse(this.canonical || '{}');
    this.sound = false;
  }

  /** The hash on the page is that of the brief it came with. */
  async checkHash() {
    this.sound = hex(await sha256(utf8(this.canonical))) === this.hash;
    const place = this.root.querySelector('[data-hash-checked]');
    if (!(place instanceof HTMLElement)) return;
    place.textContent = this.sound
      ? 'Worked out again in this browser: it is the hash of exactly this brief. Your signature covers it.'
      : 'This is NOT the hash of this brief. Do not sign.';
    place.dataset['hashChecked'] = this.sound ? 'yes' : 'no';
  }

  /**
   * @param {HTMLFormElement} form
   * @param {() => Signer} chosen
   * @param {boolean} possible
   */
  wire(form, chosen, possible) {
    const button = form.querySelector('button');
    if (!button) return;
    button.disabled = !possible;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const alert = form.querySelector('[role="alert"]');
      if (alert instanceof HTMLElement) alert.hidden = true;
      button.disabled = true;
      form.setAttribute('aria-busy', 'true');
      try {
        if (!this.sound) throw new Problem('The hash on this page is not that of the brief. Nothing was signed.');
        if (form.dataset['form'] === 'approve') await this.approve(chosen());
        else if (form.dataset['form'] === 'decline') await this.decline(form, chosen());
        else await this.sendWaiting(form, chosen());
        location.assign(location.pathname);
      } catch (error) {
        if (alert instanceof HTMLElement) [alert.textContent, alert.hidden] = [inWords(error), false];
        button.disabled = false;
      } finally {
        form.removeAttribute('aria-busy');
      }
    });
  }

  /** @param {Signer} signer */
  async approve(signer) {
    const draft = await this.post('approve', {});
    const answer = { authorization_digest: draft.authorization_digest };
    const signed = await this.sign(signer, draft, 'approve', answer);
    const approved = await this.post('approve', { ...answer, signed });
    if (!approved.unsigned_tx_cbor) return;
    try {
      this.say('Approved. Now the release itself.');
      await this.release(signer, approved.unsigned_tx_cbor, draft.authorization_digest, draft.fields);
    } catch (error) {
      // It is approved all the same: the page that follows asks for this signature alone.
      sessionStorage.setItem('countersign-problem', inWords(error));
    }
  }

  /**
   * @param {Signer} signer
   * @param {string} tx
   * @param {string} digest
   * @param {{asset_policy: string, asset_name: string} | null} asset
   */
  async release(signer, tx, digest, asset) {
    const read = transaction(tx);
    if (asset) {
      const { recipient, amount } = this.brief.what;
      const paid = read.pays(address(recipient), asset.asset_policy, asset.asset_name);
      if (paid !== BigInt(amount.value)) throw new Problem('The transaction does not pay what the brief says. It was not signed.');
    }
    const witness = await signer.witness(tx);
    await send('/v1/executions', { approval_id: this.id, authorization_digest: digest, cfo_witness_cbor: witness, mandate_id: this.mandate });
  }

  /**
   * @param {HTMLFormElement} form
   * @param {Signer} signer
   */
  async decline(form, signer) {
    const fields = new FormData(form);
    const comment = String(fields.get('comment') ?? '').replace(/\r\n/g, '\n').trim();
    const answer = { reason: String(fields.get('reason')), ...(comment ? { comment } : {}) };
    const draft = await this.post('statement', answer);
    const signed = await this.sign(signer, draft, 'decline', answer);
    const declined = await this.post('decline', { ...answer, signed });
    if (!declined.bond_tx) return;
    try {
      this.say('Declined. Now what becomes of the bond.');
      await this.bond(signer, declined.bond_tx.unsigned_tx_cbor, declined.bond_tx.tx_hash);
    } catch (error) {
      sessionStorage.setItem('countersign-problem', inWords(error));
    }
  }

  /**
   * @param {Signer} signer
   * @param {string} tx
   * @param {string} hash
   */
  async bond(signer, tx, hash) {
    await this.post('bond-submit', { cfo_witness_cbor: await signer.witness(tx), tx_hash: hash });
  }

  /**
   * @param {HTMLFormElement} form
   * @param {Signer} signer
   */
  async sendWaiting(form, signer) {
    const waiting = form.closest('[data-waiting]');
    if (!(waiting instanceof HTMLElement)) return;
    const { tx = '', txHash = '', digest } = waiting.dataset;
    await (digest ? this.release(signer, tx, digest, null) : this.bond(signer, tx, txHash));
  }

  /**
   * Shows the statement, sees that it is about this brief and this answer, and signs it.
   * @param {Signer} signer
   * @param {{statement: Statement, statement_hash: string}} draft
   * @param {'approve' | 'decline'} decision
   * @param {object} answer
   */
  async sign(signer, { statement, statement_hash }, decision, answer) {
    const text = canonical(statement);
    const hash = await sha256(utf8(text));
    const right = statement.ask_id === this.id && statement.decision === decision && statement.brief_hash === this.hash
      && statement.action_hash === this.brief.action_hash && statement.answer_hash === hex(await sha256(utf8(canonical(answer))));
    if (!right || hex(hash) !== statement_hash) {
      throw new Problem('What the server wants signed is not about this brief. Nothing was signed. Load the page again.');
    }
    const place = this.root.querySelector('[data-statement]');
    if (place instanceof HTMLElement) {
      place.hidden = false;
      const [shown, groups] = [place.querySelector('pre'), place.querySelector('.hash')];
      if (shown) shown.textContent = text;
      groups?.replaceChildren(...(statement_hash.match(/..../g) ?? []).flatMap((four) => [Object.assign(document.createElement('span'), { textContent: four }), ' ']));
    }
    const signed = await signer.sign(hash);
    return { ...signed, nonce: statement.nonce };
  }

  /** @param {string} text */
  say(text) {
    const place = this.root.querySelector('[data-step]');
    if (place) place.textContent = text;
  }

  /**
   * @param {string} step
   * @param {object} body
   */
  post(step, body) {
    return send(`/v1/approvals/${encodeURIComponent(this.id)}/${step}`, { ...body, mandate_id: this.mandate });
  }

  /** Follows what happens by itself, by fetching the page again. */
  follow() {
    const problem = sessionStorage.getItem('countersign-problem');
    sessionStorage.removeItem('countersign-problem');
    const alert = this.root.querySelector('[data-waiting] [role="alert"]');
    if (problem && alert instanceof HTMLElement) [alert.textContent, alert.hidden] = [problem, false];
    follow();
  }
}

// Last: a class is there only from its own line on.
const root = document.querySelector('[data-approval]');
if (root instanceof HTMLElement) void begin(root);
