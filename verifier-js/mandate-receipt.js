// @ts-check
/** The receipt that a mandate's log gives. Crate `mandate`, modules `receipt` and `replay`. */

/**
 * The receipt from a proposal to this entry, as plain JavaScript.
 * @param {import('./mandate-replay.js').Replay} replay
 * @param {{first_event_hash: string, last_event_hash: string}} evidence
 * @param {number} seq
 * @param {any} event
 */
export function receiptOf({ decided: decisions, proposals, settled, state }, evidence, seq, event) {
  const proposed = proposals.get(evidence.first_event_hash);
  const decided = proposed && decisions.get(proposed.action?.hash);
  if (!decided || decided.seq <= proposed.seq) return undefined;
  const same = event.action_id === (proposed.action?.doc.id ?? null) && event.run_id === proposed.run;
  if (!same || seq < decided.seq) return undefined;
  const { action } = proposed;
  const { evaluation, mandate, vault, verification } = decided;
  const approval = action && evaluation.signed ? state.by_action.get(action.hash) : undefined;
  const held = action && evaluation.signed ? state.reserved.get(`action ${action.hash}`) : undefined;
  // What this very decision gave: a later one of the same action has it no more.
  const gave =
    evaluation.outcome === 'ALLOW' ? held?.approval === undefined : evaluation.outcome === 'ESCALATE' && approval?.authorization === held;
  const record = gave ? held?.record : undefined;
  const named = (/** @type {string} */ hash) => `V-${hash.slice(0, 12)}`;
  const reference = record?.fields.verification_ref;
  return {
    action: {
      agent_signature: proposed.signature ?? null,
      hash: evaluation.action_hash,
      ir: action ? action.doc : null,
    },
    approval: approval
      ? {
          bond: approval.bond
            ? {
                outcome_tx_hash: approval.bond.outcome_tx ?? null,
                status: approval.bond.status,
                tx_hash: approval.bond.tx_hash,
              }
            : null,
          brief_hash: approval.brief?.hash ?? null,
          cfo_key_hash: approval.signers[0] ?? approval.declined?.cfo_key_hash ?? null,
          required: true,
        }
      : null,
    authorization: record
      ? {
          digest: record.digest_hex,
          engine_public_key: record.engine_public_key,
          id: `Z-${record.fields.nonce.padStart(4, '0')}`,
          nonce: record.fields.nonce,
          signature: record.signature_hex,
          valid_until: record.fields.valid_until,
          verification_id: reference ? named(reference) : null,
        }
      : null,
    delegate: mandate.doc.delegate.id,
    evaluation: { checks: evaluation.checks, outcome: evaluation.outcome, reason: evaluation.reason },
    evidence,
    mandate: { anchor: vault.mandate_ref, hash: mandate.hash, id: mandate.doc.id, version: mandate.doc.version },
    masumi: null,
    principal: mandate.doc.principal.name,
    schema: 'receipt/v0.1',
    settlement: (record && settled.find((one) => one.digest === record.digest_hex)?.settlement) ?? null,
    verification: verification
      ? {
          id: named(verification.hash),
          report_hash: verification.hash,
          result: verification.result,
          sepolia_tx: verification.tx,
        }
      : null,
  };
}
