// @ts-check
/** The entries of a room and their private parts, as crate `pxp` reads them. Members keep their names. */

import {
  array,
  digestText,
  either,
  flag,
  integer,
  is,
  kinds,
  many,
  mark,
  natural,
  object,
  optional,
  orElse,
  publicKeyOf,
  spelled,
  text,
  words,
} from './shape.js';

const u8 = integer(255);
const u16 = integer(65_535);
const u32 = integer(4_294_967_295);
const i64 = integer(Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER);

/** UTC with three decimals, years 0001 to 9999, in its one spelling. */
export const timestamp = is((value) => {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return false;
  const at = Date.parse(value);
  if (Number.isNaN(at) || at < -62_135_596_800_000 || at > 253_402_214_400_000) return false;
  return new Date(at).toISOString() === value;
});

export const roomId = spelled(/^[A-Za-z0-9._-]{1,64}$/);
export const seatId = spelled(/^[A-H]$/);
const claimId = spelled(/^[A-H][0-9.q]{1,19}$/);
const questionId = spelled(/^q[1-9][0-9]{0,6}$/);
const shareId = spelled(/^s[1-9][0-9]{0,6}$/);
const CLAUSE = /^(must_haves|may_agree_to|must_never|escalate_when|known_facts|amendment)\[(0|[1-9][0-9]*)\]$/;
const clauseRef = is((value) => typeof value === 'string' && Number(value.match(CLAUSE)?.[2] ?? NaN) <= 65_535);

const evidenceKind = words('passkey', 'ed25519', 'wallet', 'session', 'relayed');
const ruling = words('allow', 'deny', 'amend');
const status = words('continue', 'agree', 'escalate');
const verdict = words('accept', 'challenge', 'conflict');
const origin = words('stated', 'sourced', 'assumed');
const via = words('web', 'mcp');
const standing = words('direct', 'relayed', 'confirmed');
const driver = words('external', 'built_in');

const by = kinds({ member: { org: text, member: text, acting_for: optional(text) }, holder: {} });
const audience = kinds(
  {
    member: { org: text, member: text },
    approvers: { org: text },
    holder: { stream: text, role: text },
  },
  true,
);
const policy = object({
  max_turns: u32,
  turn_seconds: optional(u32),
  answer_seconds: optional(u32),
  offer_seconds: optional(u32),
  relayed: words('accept', 'hold'),
  evidence: array(evidenceKind),
});
const passkey = object(
  { credential_id: text, key: publicKeyOf, since: timestamp, until: optional(timestamp) },
  true,
);
const source = object({ uri: text, sha256: digestText });
const party = object({ name: text, role: orElse(text, ''), org: optional(text) });
const kind = words('money', 'number', 'date', 'duration', 'enum', 'count');
const scalar = either(i64, text);
const limit = object({
  label: optional(text),
  kind,
  op: words('le', 'ge', 'lt', 'gt', 'eq', 'in', 'not_in'),
  value: either(scalar, array(scalar)),
  unit: optional(text),
  exponent: optional(u8),
  clause: clauseRef,
});
const termValue = object({
  label: text,
  kind,
  value: scalar,
  unit: optional(text),
  exponent: optional(u8),
  term: u16,
});
const cited = object({ term: u16, clauses: array(text) });
const texts = array(text);

export const card = object({
  pxp: text,
  principal: party,
  goal: text,
  must_haves: texts,
  may_agree_to: texts,
  must_never: texts,
  escalate_when: texts,
  known_facts: texts,
  amendments: array(object({ question: text, answer: text, at: timestamp })),
  limits: many(limit),
  salt: optional(digestText),
});

const envelope = object({
  pxp: text,
  room: roomId,
  seq: natural,
  from: object({ seat: seatId, principal: text, speaker: words('proxy', 'principal'), agent: optional(text) }),
  intent_hash: digestText,
  message: text,
  claims: array(
    object({
      id: claimId,
      text,
      origin,
      ref: optional(text),
      quote: optional(text),
      source: optional(source),
      touches: many(text),
      restates: optional(claimId),
    }),
  ),
  reviews: array(object({ claim_id: claimId, verdict, reason: text, touches: many(text) })),
  status,
  proposal: optional(
    object({
      terms: texts,
      depends_on: array(claimId),
      values: many(termValue),
      authority: many(cited),
      expires_at: optional(timestamp),
    }),
  ),
  proposal_hash: optional(digestText),
  offer_hash: optional(digestText),
  accepts: optional(object({ seq: natural, proposal_hash: digestText, offer_hash: optional(digestText) })),
  authority: many(cited),
  escalation: optional(
    object({
      id: questionId,
      commitment: digestText,
      claims: many(claimId),
      offer_hash: optional(digestText),
      forced: mark,
    }),
  ),
  protocol_flags: many(object({ code: text, message: text })),
});

const committedInput = object({
  message: text,
  status,
  claims: many(
    object({
      text,
      origin,
      ref: optional(text),
      quote: optional(text),
      source: optional(source),
      touches: many(text),
    }),
  ),
  reviews: many(object({ claim_id: text, verdict, reason: orElse(text, ''), touches: many(text) })),
  proposal: optional(
    object({
      terms: texts,
      depends_on: orElse(texts, []),
      values: many(termValue),
      authority: many(cited),
      expires_in_seconds: optional(u32),
    }),
  ),
  accepts: optional(digestText),
  authority: many(cited),
  escalation: optional(object({ commitment: digestText, claims: many(text), offer_hash: optional(digestText) })),
});

const evidence = kinds({
  passkey: { credential_id: text, authenticator_data: text, client_data_json: text, signature: text },
  ed25519: { thumbprint: text, signature: text },
  wallet: { address: text, cose_sign1: text, cose_key: text },
  session: { session: text },
  relayed: { agent: text },
});
const proof = object({
  by,
  nonce: text,
  evidence,
  statement: optional(digestText),
  key: optional(publicKeyOf),
  site: optional(object({ id: text, origins: texts })),
});

/** A principal's answer, inside `answer.body`. */
export const answerInput = object({
  question_id: questionId,
  ruling,
  clears: many(claimId),
  text,
  public_summary: optional(text),
  limits: many(limit),
});

const claimLine = object({
  id: claimId,
  seat: seatId,
  text,
  origin,
  ref: optional(text),
  verified: flag,
  denied: mark,
});

/** The decision brief. */
export const brief = object({
  type: text,
  room: roomId,
  topic: text,
  outcome: text,
  reason: optional(text),
  seat: optional(seatId),
  agreement: optional(
    object({
      terms: texts,
      values: many(termValue),
      offer_hash: digestText,
      proposal_hash: digestText,
      proposed_by: seatId,
      proposed_seq: natural,
      accepted_by: array(object({ seat: seatId, seq: natural })),
    }),
  ),
  authority: array(
    object({
      term: text,
      seats: array(object({ seat: seatId, basis: text, clauses: texts, answers: array(questionId) })),
    }),
  ),
  depends_on: array(claimLine),
  unverified_dependencies: array(claimLine),
  unverified_in_record: array(claimLine),
  disputed: array(object({ claim: claimId, text, by: seatId, verdict, reason: text, cleared: flag })),
  escalations: array(
    object({
      question_id: questionId,
      seat: seatId,
      principal: text,
      forced: flag,
      claims: array(claimId),
      ruling: optional(ruling),
      clears: array(claimId),
      public_summary: optional(text),
      standing: optional(text),
      evidence: optional(text),
      answered_by: optional(text),
    }),
  ),
  protocol_flags: array(object({ seq: natural, seat: seatId, code: text, message: text })),
  parties: array(
    object({
      seat: seatId,
      name: text,
      card_hash: optional(digestText),
      agent: optional(text),
      signed_by: optional(text),
      principal: text,
    }),
  ),
  notes: texts,
  turns: u32,
  ledger_head: object({ n: natural, hash: digestText }),
  generated_at: timestamp,
});

/** The private parts, by name. */
export const bodies = {
  card,
  envelope: object({
    envelope,
    input: committedInput,
    msg_id: optional(text),
    signature: optional(text),
  }),
  question: object({
    question: text,
    reason: text,
    reasons: array(object({ code: text, subject: text, detail: text })),
    salt: digestText,
  }),
  answer: object({ body: text, salt: digestText, proof, confirmation: optional(proof) }),
  proof,
  disclosure: object({
    card: optional(card),
    clause: optional(
      object({
        ref: clauseRef,
        text,
        salt: digestText,
        index: natural,
        size: natural,
        proof: array(digestText),
      }),
    ),
  }),
  brief,
};

/**
 * An entry type's data, and the name of its private part.
 * @param {Record<string, any>} members
 * @param {keyof typeof bodies} [body]
 */
function fact(members, body) {
  return { data: object({ ...members, payload: optional(digestText) }), body };
}

/** Every entry type. */
export const facts = {
  room_opened: fact({
    topic: text,
    protocol: text,
    profile: text,
    room: roomId,
    seats: array(
      object({
        seat: seatId,
        name: text,
        driver,
        audience: optional(audience),
        invite_hash: optional(digestText),
      }),
    ),
    policy,
    opener: optional(by),
  }),
  agent_joined: fact({
    seat: seatId,
    agent: text,
    secret_hash: optional(digestText),
    link_hash: optional(digestText),
    key: optional(publicKeyOf),
  }),
  principal_enrolled: fact({
    seat: seatId,
    audience,
    secret_hash: optional(digestText),
    passkey: optional(passkey),
    key: optional(publicKeyOf),
  }),
  card_sealed: fact(
    { seat: seatId, principal: text, card_hash: digestText, clause_root: digestText, via },
    'card',
  ),
  card_superseded: fact({ seat: seatId, card_hash: digestText }),
  envelope: fact({ seq: natural, seat: seatId, status, envelope_hash: digestText, signed: mark }, 'envelope'),
  review: fact({ seq: natural, seat: seatId, claim_id: claimId, verdict }),
  escalation: fact(
    {
      seat: seatId,
      seq: natural,
      question_id: questionId,
      question_commitment: digestText,
      claims: many(claimId),
      offer_hash: optional(digestText),
      matter: optional(digestText),
      forced: mark,
    },
    'question',
  ),
  answer_relayed: fact(
    { seat: seatId, question_id: questionId, answer_commitment: digestText, agent: text },
    'answer',
  ),
  answer_disowned: fact({ seat: seatId, question_id: questionId, by }, 'proof'),
  principal_answer: fact(
    {
      seat: seatId,
      speaker: text,
      via,
      question_id: questionId,
      ruling,
      clears: many(claimId),
      public_summary: optional(text),
      answer_commitment: digestText,
      standing,
      evidence: evidenceKind,
      by,
      card_hash: digestText,
      clause_root: digestText,
    },
    'answer',
  ),
  claim_confirmed: fact(
    { seat: seatId, claim_id: claimId, accept: flag, by, evidence: evidenceKind },
    'proof',
  ),
  source_attached: fact({ seat: seatId, claim_id: claimId, source }),
  offer_withdrawn: fact({ seat: seatId, offer_hash: digestText, by_principal: flag, reason: text }),
  offer_expired: fact({ seat: seatId, offer_hash: digestText }),
  agreement: fact({
    proposal_hash: digestText,
    proposed_by: seatId,
    accepted_by: either(seatId, array(seatId)),
    offer_hash: digestText,
    proposed_seq: natural,
  }),
  turn_limit: fact({ turns: u32 }),
  stalled: fact({ reason: words('turn_deadline', 'escalation_deadline'), seat: seatId }),
  withdrawn: fact({ seat: seatId, by_principal: flag, reason: text }),
  brief: fact({ brief_hash: digestText, outcome: text }, 'brief'),
  disclosed: fact({ seat: seatId, to: seatId, ref: optional(clauseRef), card_hash: digestText }, 'disclosure'),
  share_created: fact({
    seat: seatId,
    id: shareId,
    scope: words('transcript', 'ledger', 'brief'),
    secret_hash: digestText,
    expires_at: optional(timestamp),
  }),
  share_revoked: fact({ seat: seatId, id: shareId }),
  seat_rotated: fact({ seat: seatId, secret_hash: digestText }),
  room_paused: fact({ reason: text }),
  room_resumed: fact({}),
};
