// @ts-check
/** Passkeys: enrolling one, signing in, becoming a seat's person, signing an answer. */

/**
 * @typedef {{ticket: string, challenge: string, rp_id: string, rp_name: string, user?: {id: string, name: string},
 *   credentials: string[]}} Ceremony
 * @typedef {{challenge: string, rp_id: string, nonce: string, credentials: string[], statement: {brief_hash: string}}} Prepared
 */

/** A refusal in words a person can read. */
class Problem extends Error {}

for (const form of document.querySelectorAll('form[data-passkey]')) {
  if (form instanceof HTMLFormElement) ceremony(form);
}
for (const form of document.querySelectorAll('form[data-answer]')) {
  if (form instanceof HTMLFormElement) answer(form);
}

/** @param {HTMLFormElement} form */
function ceremony(form) {
  const button = form.querySelector('button');
  if (!button) return;
  if (!supported()) {
    say(form, 'This browser cannot use passkeys here. They need a secure address (https, or localhost).');
    return;
  }
  const code = form.querySelector('input[name="code"]');
  if (code instanceof HTMLInputElement && location.hash) {
    code.value = secretOf(location.hash);
    history.replaceState(null, '', location.pathname);
  }
  button.disabled = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(form, button, () => run(form));
  });
}

/** @param {HTMLFormElement} form */
async function run(form) {
  switch (form.dataset['passkey']) {
    case 'sign-in': {
      /** @type {Ceremony} */
      const begun = await send('/api/session/begin', {});
      const assertion = await use(begun.challenge, begun.rp_id, begun.credentials);
      await send('/api/session', { ticket: begun.ticket, assertion });
      location.assign('/');
      return;
    }
    case 'enrol': {
      const org = form.dataset['org'] ?? '';
      const code = form.querySelector('input[name="code"]');
      const invite = code instanceof HTMLInputElement && code.value ? { invite: secretOf(code.value) } : {};
      /** @type {Ceremony} */
      const begun = await send('/api/enrolment/begin', { org, ...invite });
      const registration = await make(begun);
      await send('/api/enrolment/finish', { org, ...invite, ticket: begun.ticket, registration });
      location.assign(code ? '/?said=enrolled' : '/me?said=saved');
      return;
    }
    case 'person': {
      const room = `/api/rooms/${encodeURIComponent(form.dataset['room'] ?? '')}`;
      /** @type {Ceremony} */
      const begun = await send(`${room}/principal/begin`, {});
      const registration = await make(begun);
      await send(`${room}/principal`, { as: 'passkey', ticket: begun.ticket, registration });
      location.assign(`/room/${form.dataset['room']}?said=person`);
      return;
    }
  }
}

/**
 * An answer is signed when its button says so: the statement is prepared by the server for what the form says, checked to
 * speak of the hash on this page, signed, and put into the form, which is then sent like any other.
 * @param {HTMLFormElement} form
 */
function answer(form) {
  const button = form.querySelector('button[data-sign]');
  if (!(button instanceof HTMLButtonElement) || !supported()) return;
  button.hidden = false;
  form.addEventListener('submit', (event) => {
    if (!(event instanceof SubmitEvent) || event.submitter !== button) return;
    event.preventDefault();
    void attempt(form, button, async () => {
      const prepared = await prepare(form);
      const shown = document.querySelector('[data-hash]')?.textContent?.replace(/\s/g, '');
      if (prepared.statement.brief_hash !== shown) {
        throw new Problem('The question has changed since you opened it. Load the page again.');
      }
      const assertion = await use(prepared.challenge, prepared.rp_id, prepared.credentials);
      for (const [name, value] of Object.entries({ nonce: prepared.nonce, ...assertion })) {
        const field = form.elements.namedItem(name);
        if (field instanceof HTMLInputElement) field.value = value;
      }
      form.submit();
      return 'sent';
    });
  });
}

/**
 * @param {HTMLFormElement} form
 * @returns {Promise<Prepared>}
 */
async function prepare(form) {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string') fields.append(name, value);
  }
  return read(await fetch(`${new URL(form.action).pathname}/prepare`, { method: 'POST', body: fields }));
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button
 * @param {() => Promise<unknown>} action
 */
async function attempt(form, button, action) {
  say(form, '');
  button.disabled = true;
  form.setAttribute('aria-busy', 'true');
  try {
    await action();
  } catch (error) {
    say(form, inWords(error));
    button.disabled = false;
  } finally {
    form.removeAttribute('aria-busy');
  }
}

/**
 * A new credential.
 * @param {Ceremony} begun
 */
async function make(begun) {
  const user = begun.user ?? { id: begun.challenge, name: 'Countersign' };
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: bytes(begun.challenge),
      rp: { id: begun.rp_id, name: begun.rp_name },
      user: { id: bytes(user.id), name: user.name, displayName: user.name },
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }, { type: 'public-key', alg: -8 }],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      excludeCredentials: begun.credentials.map((id) => ({ type: 'public-key', id: bytes(id) })),
      attestation: 'none',
    },
  });
  if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAttestationResponse)) {
    throw new Problem('No passkey was made.');
  }
  return {
    client_data_json: base64url(made.response.clientDataJSON),
    attestation_object: base64url(made.response.attestationObject),
  };
}

/**
 * A signature over the challenge.
 * @param {string} challenge
 * @param {string} rpId
 * @param {string[]} credentials
 */
async function use(challenge, rpId, credentials) {
  const used = await navigator.credentials.get({
    publicKey: {
      challenge: bytes(challenge),
      rpId,
      allowCredentials: credentials.map((id) => ({ type: 'public-key', id: bytes(id) })),
      userVerification: 'required',
    },
  });
  if (!(used instanceof PublicKeyCredential) || !(used.response instanceof AuthenticatorAssertionResponse)) {
    throw new Problem('No passkey was used.');
  }
  return {
    credential_id: base64url(used.rawId),
    authenticator_data: base64url(used.response.authenticatorData),
    client_data_json: base64url(used.response.clientDataJSON),
    signature: base64url(used.response.signature),
  };
}

/**
 * @param {string} path
 * @param {object} body
 */
async function send(path, body) {
  const headers = { 'content-type': 'application/json' };
  return read(await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }));
}

/** @param {Response} response */
async function read(response) {
  const json = response.headers.get('content-type')?.includes('json');
  const body = json ? await response.json() : {};
  if (response.ok) return body;
  throw new Problem(typeof body.detail === 'string' ? `Refused: ${body.detail}.` : 'The server refused this.');
}

/** @param {unknown} error */
function inWords(error) {
  if (error instanceof Problem) return error.message;
  if (error instanceof DOMException) {
    if (error.name === 'NotAllowedError') return 'It was cancelled, or it took too long. Nothing was sent.';
    if (error.name === 'InvalidStateError') return 'This device already has a passkey here. Sign in with it.';
    return `The browser refused: ${error.message}`;
  }
  return 'The server could not be reached. Nothing was sent.';
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

/**
 * The secret of a link, of its fragment, or a bare code.
 * @param {string} text
 */
function secretOf(text) {
  const fragment = text.includes('#') ? text.slice(text.indexOf('#') + 1) : text;
  return new URLSearchParams(fragment).get('i') || fragment.trim();
}

function supported() {
  return window.isSecureContext && 'credentials' in navigator && 'PublicKeyCredential' in window;
}

/** @param {string} text */
function bytes(text) {
  const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(plain, (char) => char.charCodeAt(0));
}

/** @param {ArrayBuffer} buffer */
function base64url(buffer) {
  let plain = '';
  for (const byte of new Uint8Array(buffer)) plain += String.fromCharCode(byte);
  return btoa(plain).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}
