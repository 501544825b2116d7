// The mandate of the agent that `agent new --json` printed: alone 10 USDM, with the CFO 50, without limits that matter here.
const [made, engine, principal, approver] = process.argv.slice(2);
console.log(JSON.stringify({
  schema: "mandate/v0.1", id: "M-001", version: 1, status: "active",
  principal: { type: "organization", id: "acme", name: "Acme", cardano_key_hash: principal },
  delegate: JSON.parse(made).delegate,
  approvers: [{ role: "CFO", cardano_key_hash: approver }],
  authority_engine: { public_key: engine },
  asset: { symbol: "USDM", decimals: 6 },
  validity: { starts_at: "2020-01-01T00:00:00Z", expires_at: "2100-01-01T00:00:00Z" },
  delegation: { allowed: false },
  interrupt_budget: { per_day: 50 },
  constraints: [
    { id: "purpose", kind: "purpose_in", values: ["invoice_payment"], on_violation: "DENY" },
    { id: "autonomous", kind: "amount_lte", value: "10000000", on_violation: "ESCALATE", approver: "CFO" },
    { id: "hard_cap", kind: "amount_lte", value: "50000000", on_violation: "DENY" },
    { id: "daily", kind: "daily_spend_lte", value: "400000000", on_violation: "DENY" },
    { id: "floor", kind: "balance_after_gte", value: "100000000", on_violation: "DENY" },
  ],
}));
