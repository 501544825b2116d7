// What the two sides of a room say.

export const room = {
    topic: 'Hall hire for 4 May 2027',
    your_principal: 'Ana',
    counterpart: 'Ben',
    agent_name: "Ana's agent",
};

const limit = (op, clause) => ({
    label: 'rent', kind: 'money', op, value: 90000, unit: 'EUR', exponent: 2, clause,
});

export const anasCard = {
    principal: { name: 'Ana', role: 'event planner' },
    goal: 'Hire a hall for the dinner on 4 May 2027',
    must_haves: ['Seats for 80 guests', 'The evening of 4 May 2027'],
    may_agree_to: ['A rent of up to 900 EUR', 'Payment by bank transfer in advance'],
    must_never: ['Pay in cash'],
    escalate_when: ['The date moves'],
    known_facts: ['80 guests are confirmed'],
    limits: [limit('le', 'may_agree_to[0]')],
};

export const bensCard = {
    principal: { name: 'Ben', role: 'hall manager' },
    goal: 'Let the hall on 4 May 2027 at a fair rent',
    must_haves: ['At least 900 EUR', 'Payment before the event'],
    may_agree_to: ['Use until midnight', 'Chairs and tables included'],
    known_facts: ['The hall is free on 4 May 2027'],
    limits: [limit('ge', 'must_haves[0]')],
};

const rent = (cents) => ({ label: 'rent', kind: 'money', value: cents, unit: 'EUR', exponent: 2, term: 1 });

export const opening = {
    message: 'Ana would like your hall for a dinner on 4 May 2027.',
    status: 'continue',
    client_msg_id: 'ana-1',
    claims: [
        { text: '80 guests are confirmed', origin: 'stated', ref: 'known_facts[0]' },
        { text: 'Guests may park in the yard', origin: 'assumed' },
    ],
    proposal: {
        terms: ['The hall on the evening of 4 May 2027', '850 EUR by bank transfer in advance'],
        depends_on: ['new1'],
        values: [rent(85000)],
        authority: [
            { term: 0, clauses: ['must_haves[1]'] },
            { term: 1, clauses: ['may_agree_to[0]', 'may_agree_to[1]'] },
        ],
    },
};

export const question = (offer, claims) => ({
    message: 'I have to ask Ana about the rent.',
    status: 'escalate',
    client_msg_id: 'ana-2',
    reviews: claims.map((claim) => ({ claim_id: claim.id, verdict: 'accept' })),
    escalation: {
        question: 'May I accept 950 EUR? Your card says up to 900 EUR.',
        reason: 'The offer is 50 EUR beyond what you allowed; chairs and tables are included.',
        offer_hash: offer,
    },
});

export const answer = (questionId) => ({
    question_id: questionId,
    ruling: 'allow',
    answer: 'Yes, 950 EUR is all right for this hall, but not more.',
});

export const agreement = (offer) => ({
    message: 'Ana agrees.',
    status: 'agree',
    client_msg_id: 'ana-3',
    accepts: offer,
    authority: [
        { term: 0, clauses: ['must_haves[1]'] },
        { term: 1, clauses: ['may_agree_to[1]', 'amendment[0]'] },
    ],
});
