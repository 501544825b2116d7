// @ts-check
/** A room as its entries make it: the fold of crate `pxp`, written again. */

import { parse, write } from './canon.js';
import { Known } from './pxp-facts.js';
import { spell } from './pxp-ask.js';
import { answerInput } from './pxp-shapes.js';
import { hex, sha256 } from './sha256.js';

/**
 * @typedef {{at: string, type: string, data: any, body: any}} Event a body is `undefined` where it is withheld
 * @typedef {ReturnType<typeof emptyRoom>} Room
 */

export function emptyRoom() {
  return {
    /** @type {any} */
    room: undefined,
    /** `drafting`, `negotiating`, `awaiting` or `ended` */
    phase: 'drafting',
    /** @type {string | undefined} the question awaited, or how the room ended */
    about: undefined,
    /** @type {any[]} */
    seats: [],
    /** @type {any[]} */
    envelopes: [],
    /** @type {any[]} */
    claims: [],
    /** @type {any[]} */
    offers: [],
    /** @type {any[]} */
    questions: [],
    /** @type {string | undefined} */
    turn: undefined,
    /** @type {string | undefined} since when the turn or the question waits */
    since: undefined,
    turns: 0,
    /** @type {string | undefined} the recorded brief's hash */
    brief: undefined,
    /** @type {any} */
    agreement: undefined,
    /** @type {any} */
    left: undefined,
    paused: false,
    /** @type {string | undefined} the instant of the last entry */
    at: undefined,
    /** @type {any[]} */
    shares: [],
    disclosures: 0,
    /** @type {Set<string>} the seats' message ids */
    messages: new Set(),
    /** What was said, as enforcement looks it up. */
    said: {
      /** @type {Map<string, any>} the first claim with these words */
      words: new Map(),
      facts: new Known(),
      /** @type {Set<number>} the places of claims that somebody has not accepted */
      disputed: new Set(),
    },
    head: { n: 0, hash: '0'.repeat(64) },
  };
}

/**
 * The canonical form of plain JavaScript; members that are `undefined` are left out.
 * @param {any} value
 * @returns {string}
 */
export function canonical(value) {
  return write(present(value));
}

/**
 * SHA-256 of the canonical form, in hex.
 * @param {any} value
 */
export function hashOf(value) {
  return hex(sha256(canonical(value)));
}

/** @param {string} letter */
export function seatIndex(letter) {
  return letter.charCodeAt(0) - 65;
}

/**
 * @param {Room} state
 * @param {string} letter
 */
export function seatOf(state, letter) {
  return state.seats[seatIndex(letter)];
}

/**
 * What a principal rules about: the content of an offer, wherever it is made again.
 * @param {string} seat
 * @param {any} proposal
 */
export function matterOf(seat, { terms, depends_on, values }) {
  return hashOf({ seat, terms, depends_on, values });
}

/**
 * Verified by itself, or by the earlier claim it restates.
 * @param {Room} state
 * @param {any} claim
 * @returns {boolean}
 */
export function isVerified(state, claim) {
  let limit = state.claims.length;
  for (let one = claim; ; ) {
    if (one.settled || one.source || one.restates === undefined) return one.verified;
    const at = state.claims.findIndex((other) => other.id === one.restates);
    if (at < 0 || at >= limit) return false;
    limit = at;
    one = state.claims[at];
  }
}

/**
 * The card after an answer.
 * @param {any} card
 * @param {any} amendment
 * @param {any[]} limits
 */
export function amended(card, amendment, limits) {
  const isTrigger = (/** @type {any} */ limit) => limit.clause.startsWith('escalate_when[');
  const out = { ...card, amendments: [...card.amendments, amendment], limits: [...card.limits] };
  for (const limit of limits) {
    out.limits = out.limits.filter(
      (/** @type {any} */ old) =>
        old.label !== limit.label || old.kind !== limit.kind || isTrigger(old) !== isTrigger(limit),
    );
    out.limits.push(limit);
  }
  return out;
}

/**
 * Folds one entry into the room.
 * @param {Room} state
 * @param {Event} event
 * @param {{n: number, hash: string}} head
 */
export function evolve(state, event, head) {
  state.head = head;
  state.at = event.at;
  FOLD[event.type]?.(state, event.data, event.body, event.at);
}

/** @type {Record<string, (state: Room, data: any, body: any, at: string) => void>} */
const FOLD = {
  room_opened(state, data, _, at) {
    state.room = { id: data.room, topic: data.topic, policy: data.policy, at };
    state.seats = data.seats.map((/** @type {any} */ seat) => ({
      id: seat.seat,
      name: seat.name,
      driver: seat.driver,
      changes: 0,
      reviewed: 0,
      principal: { audience: seat.audience, link: false, used: false },
    }));
  },
  agent_joined(state, data) {
    const seat = seatOf(state, data.seat);
    if (!seat) return;
    if (seat.agent === undefined) {
      seat.key = data.key;
      seat.secret = data.secret_hash !== undefined;
      if (data.link_hash !== undefined) seat.principal.link = true;
    } else {
      seat.changes += 1;
    }
    seat.agent = data.agent;
  },
  principal_enrolled(state, data) {
    const seat = seatOf(state, data.seat);
    if (!seat) return;
    const { audience, passkey, key } = data;
    seat.principal = { ...seat.principal, audience, passkey, key, used: true };
  },
  card_sealed(state, data, body, at) {
    const seat = seatOf(state, data.seat);
    if (seat) {
      seat.name = data.principal;
      seat.card_hash = data.card_hash;
      seat.clause_root = data.clause_root;
      seat.card = body;
    }
    if (state.seats.length > 0 && state.seats.every((one) => one.card_hash !== undefined)) {
      state.phase = 'negotiating';
      state.turn = 'A';
      state.since = at;
    }
  },
  card_superseded(state, data) {
    const seat = seatOf(state, data.seat);
    if (seat) seat.card_hash = seat.clause_root = seat.card = undefined;
  },
  envelope(state, data, body, at) {
    state.since = at;
    if (body) {
      sent(state, body.envelope);
      if (body.msg_id !== undefined) state.messages.add(`${data.seat} ${body.msg_id}`);
    } else movedOn(state, data.seat, data.status);
  },
  escalation(state, data, body, at) {
    state.since = at;
    state.phase = 'awaiting';
    state.about = data.question_id;
    state.questions.push({ ...data, body, state: 'open', intent_hash: seatOf(state, data.seat)?.card_hash });
  },
  answer_relayed(state, data, body) {
    const question = questionOf(state, data.question_id);
    if (question) {
      question.state = 'held';
      question.held = { commitment: data.answer_commitment, agent: data.agent, body };
    }
  },
  answer_disowned(state, data) {
    const question = questionOf(state, data.question_id);
    if (question) question.state = 'open';
  },
  principal_answer: answered,
  claim_confirmed(state, data) {
    const claim = claimToChange(state, data.claim_id);
    if (claim) {
      claim.verified = data.accept;
      claim.settled = { seat: data.seat, accept: data.accept };
    }
  },
  source_attached(state, data) {
    const claim = claimToChange(state, data.claim_id);
    if (claim) {
      claim.source = data.source;
      if (!claim.settled || claim.settled.accept) claim.verified = true;
    }
  },
  offer_withdrawn: (state, data) => stand(state, data.offer_hash, 'withdrawn'),
  offer_expired: (state, data) => stand(state, data.offer_hash, 'expired'),
  agreement(state, data) {
    stand(state, data.offer_hash, 'agreed');
    state.agreement = data;
    end(state, 'agreed');
  },
  turn_limit: (state) => end(state, 'turns'),
  stalled: (state, data) => end(state, data.reason),
  withdrawn(state, data) {
    state.left = data;
    end(state, 'withdrawn');
  },
  brief(state, data) {
    state.brief = data.brief_hash;
  },
  disclosed(state) {
    state.disclosures += 1;
  },
  share_created(state, { id, seat, expires_at }) {
    state.shares.push({ id, seat, expires_at, revoked: false });
  },
  share_revoked(state, { id }) {
    const share = state.shares.find((one) => one.id === id);
    if (share) share.revoked = true;
  },
  seat_rotated(state, data) {
    const seat = seatOf(state, data.seat);
    if (seat) seat.secret = true;
  },
  room_paused(state) {
    state.paused = true;
  },
  room_resumed(state, _data, _body, at) {
    state.paused = false;
    if (state.since !== undefined) state.since = at;
  },
};

/**
 * @param {Room} state
 * @param {any} envelope
 */
function sent(state, envelope) {
  const { seat } = envelope.from;
  for (const claim of envelope.claims) {
    claimed(state, {
      ...claim,
      seat,
      seq: envelope.seq,
      speaker: 'proxy',
      verified: claim.origin === 'stated' || claim.source !== undefined,
      reviews: [],
    });
  }
  for (const review of envelope.reviews) {
    const at = state.claims.findLastIndex((claim) => claim.id === review.claim_id);
    if (at >= 0 && review.verdict !== 'accept') state.said.disputed.add(at);
    state.claims[at]?.reviews.push({ ...review, by: seat, seq: envelope.seq, cleared: false });
  }
  offered(state, envelope);
  if (envelope.status === 'agree' && envelope.accepts) {
    for (const offer of state.offers) {
      offer.accepted = offer.accepted.filter((/** @type {any} */ one) => one.seat !== seat);
      if (offer.hash === envelope.accepts.offer_hash) {
        offer.accepted.push({ seat, seq: envelope.seq, authority: envelope.authority });
      }
    }
  }
  state.envelopes.push(envelope);
  if (envelope.status !== 'escalate') seatOf(state, seat).reviewed = state.claims.length;
  movedOn(state, seat, envelope.status);
}

/**
 * @param {Room} state
 * @param {any} envelope
 */
function offered(state, envelope) {
  const { seat } = envelope.from;
  const { proposal, offer_hash: hash, proposal_hash } = envelope;
  if (!proposal || hash === undefined || proposal_hash === undefined) return;
  const draft = envelope.status === 'escalate';
  if (!draft) {
    for (const offer of state.offers) {
      offer.accepted = offer.accepted.filter((/** @type {any} */ one) => one.seat !== seat);
      if (offer.seat === seat && offer.standing === 'open') offer.standing = 'superseded';
    }
  }
  for (const value of proposal.values) state.said.facts.learn(spell(value, value.value));
  state.offers.push({
    ...proposal,
    hash,
    proposal_hash,
    matter: matterOf(seat, proposal),
    seq: envelope.seq,
    seat,
    standing: draft ? 'draft' : 'open',
    accepted: [],
  });
}

/**
 * @param {Room} state
 * @param {string} seat
 * @param {string} status
 */
function movedOn(state, seat, status) {
  if (status === 'escalate') return;
  state.turns += 1;
  const next = seatIndex(seat) + 1;
  state.turn = String.fromCharCode(65 + (next < state.seats.length ? next : 0));
}

/** @type {(state: Room, data: any, body: any, at: string) => void} */
function answered(state, data, body, at) {
  const input = body && readAnswer(body.body);
  const amendment = state.questions.filter((one) => one.seat === data.seat && one.state === 'answered').length;
  const question = questionOf(state, data.question_id);
  if (!question) return;
  question.state = 'answered';
  question.answer = { ...data, amendment };
  if (data.ruling === 'allow') {
    for (const id of data.clears) {
      for (const review of claimToChange(state, id)?.reviews ?? []) {
        if (review.by === data.seat) review.cleared = true;
      }
    }
  }
  const seat = seatOf(state, data.seat);
  if (seat) {
    seat.card_hash = data.card_hash;
    seat.clause_root = data.clause_root;
    const words = question.body?.question;
    seat.card =
      seat.card && words !== undefined && input
        ? amended(seat.card, { question: words, answer: input.text, at }, input.limits)
        : undefined;
  }
  const rulings = {
    allow: 'allowed what was asked',
    deny: 'denied what was asked',
    amend: 'gave new instructions',
  };
  const said = rulings[/** @type {'allow' | 'deny' | 'amend'} */ (data.ruling)];
  claimed(state, {
    id: `${data.seat}${data.question_id}`,
    seat: data.seat,
    seq: question.seq,
    speaker: 'principal',
    text: data.public_summary ?? `The principal of seat ${data.seat} ${said} in ${data.question_id}.`,
    origin: 'stated',
    ref: `amendment[${amendment}]`,
    touches: [],
    verified: data.standing !== 'relayed',
    reviews: [],
  });
  state.phase = 'negotiating';
  state.about = undefined;
  state.since = at;
}

/**
 * @param {string} body
 * @returns {any} `undefined` where it is no answer
 */
export function readAnswer(body) {
  try {
    const value = parse(body);
    return write(value) === body ? answerInput.read(value, '', true) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {Room} state
 * @param {string} outcome
 */
function end(state, outcome) {
  state.phase = 'ended';
  state.about = outcome;
  state.since = undefined;
  if (!outcome.endsWith('_deadline')) state.turn = undefined;
}

/**
 * @param {Room} state
 * @param {string} hash
 * @param {string} standing
 */
function stand(state, hash, standing) {
  const offer = state.offers.find((one) => one.hash === hash);
  if (offer) offer.standing = standing;
}

/**
 * @param {Room} state
 * @param {string} id
 */
export function claimOf(state, id) {
  return state.claims.findLast((claim) => claim.id === id);
}

/**
 * @param {Room} state
 * @param {any} claim
 */
function claimed(state, claim) {
  const words = normal(claim.text);
  if (!state.said.words.has(words)) state.said.words.set(words, claim);
  state.said.facts.learn(claim.text);
  state.claims.push(claim);
}

/**
 * Words as compared: case, spacing and closing punctuation aside.
 * @param {string} text
 */
export function normal(text) {
  const words = text.split(/\p{White_Space}+/u).filter((word) => word !== '');
  return words
    .map((word) => word.toLowerCase())
    .join(' ')
    .replace(/[.!?,;:]+$/, '');
}

/**
 * Claims of the other seats that this one has yet to review.
 * @param {Room} state
 * @param {string} seat
 */
export function toReview(state, seat) {
  return state.claims
    .slice(seatOf(state, seat).reviewed)
    .filter((claim) => claim.seat !== seat && claim.speaker === 'proxy')
    .filter((claim) => !claim.reviews.some((/** @type {any} */ review) => review.by === seat));
}

/**
 * When waiting ends the room, in milliseconds, and why.
 * @param {Room} state
 * @returns {[number, string] | undefined}
 */
export function deadline(state) {
  const { turn_seconds, answer_seconds } = state.room.policy;
  const [seconds, reason] =
    state.phase === 'negotiating'
      ? [turn_seconds, 'turn_deadline']
      : [state.phase === 'awaiting' ? answer_seconds : undefined, 'escalation_deadline'];
  if (seconds === undefined || state.since === undefined) return undefined;
  return [Math.min(Date.parse(state.since) + seconds * 1000, 253_402_214_400_000), reason];
}

/**
 * The last claim of that name: names are used once, and what is reviewed was said just before.
 * @param {Room} state
 * @param {string} id
 */
function claimToChange(state, id) {
  return state.claims.findLast((claim) => claim.id === id);
}

/**
 * @param {Room} state
 * @param {string} id
 */
export function questionOf(state, id) {
  return state.questions.find((question) => question.question_id === id);
}

/**
 * Drops members that are absent.
 * @param {any} value
 * @returns {any}
 */
function present(value) {
  if (Array.isArray(value)) return value.map(present);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, present(member)]),
  );
}
