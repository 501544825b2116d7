// @x402/core and @x402/fetch. Prints a line for each check; ends with 1 if one failed.
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { decodePaymentRequiredHeader, decodePaymentResponseHeader, x402HTTPClient } from "@x402/core/http";
import { PaymentPayloadV2Schema, PaymentRequiredV2Schema } from "@x402/core/schemas";
import { execFile } from "node:child_process";
import { createHash, createPrivateKey, sign } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer, connect } from "node:net";

const { URL: base, COUNTERSIGN } = process.env;
const bearer = readFileSync("data/agent.secret", "utf8").trim();
const delegate = createPrivateKey({ key: JSON.parse(readFileSync("countersign-agent/delegate.jwk", "utf8")), format: "jwk" });
const VENDOR = "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl";
const CHECK = "/v1/authority/check";

/** No answer is waited for longer than this, in milliseconds: what hangs is to say where. */
const PATIENCE = 60_000;
const fetch = (url, init) => globalThis.fetch(url, { signal: AbortSignal.timeout(PATIENCE), ...init });

let failed = 0;
function check(what, holds, shown) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}${holds ? "" : `: ${JSON.stringify(shown)}`}`);
  if (!holds) failed += 1;
}

/** Members in order: enough of RFC 8785 for what has only texts. */
const canonical = (value) =>
  value !== null && typeof value === "object"
    ? `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
    : JSON.stringify(value);

function request(id, usdm, url = base) {
  const action = {
    schema: "action-ir/v0.1", id, mandate_id: "M-001", actor: "agent", type: "pay_invoice", purpose: "invoice_payment",
    counterparty: { id: "aws", display: "AWS" }, amount: { value: `${usdm * 1_000_000}`, asset: "USDM" },
    recipient: { chain: "cardano", address: VENDOR }, source: { vault: "treasury" },
    reference: { invoice_id: `in_${id}`, invoice_number: `INV-${id}` },
    rationale: "It is due.", created_at: "2026-10-07T03:00:00Z",
  };
  const hash = createHash("sha256").update(canonical(action)).digest();
  const signature = sign(null, Buffer.concat([Buffer.from("AGENT_PROPOSAL_V1"), hash]), delegate).toString("hex");
  const body = JSON.stringify({ mandate_id: "M-001", execute: true, proposal: { action, agent_signature: signature } });
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  return [`${url}${CHECK}`, { method: "POST", headers, body }];
}

/** The wallet: signs the lock of an entry, and hands it in only if told so. */
function lock(entry, ...more) {
  return new Promise((done, no) => {
    const all = ["mandate", "agent", "bond", "lock", "-", "--mandate", "M-001", ...more];
    const child = execFile(COUNTERSIGN, all, { timeout: PATIENCE }, (error, out, said) =>
      error ? no(new Error(`${all.join(" ")}: ${error.killed ? "no answer in time" : said}`)) : done(JSON.parse(out)));
    child.stdin.on("error", () => {}).end(JSON.stringify(entry));
  });
}

/** The scheme `exact` on Cardano: the signed transaction, for the server to submit. */
class ExactCardano {
  scheme = "exact";
  calls = 0;
  async createPaymentPayload(x402Version, entry) {
    this.calls += 1;
    const { transaction, nonce } = await lock(entry, "--unsubmitted");
    return { x402Version, payload: { transaction, nonce } };
  }
}

/** The scheme `cardano-escrow`: locked by the client, the server is shown where. */
class Escrow {
  scheme = "cardano-escrow";
  async createPaymentPayload(x402Version, entry) {
    const { approval_id, tx_hash, output_index } = await lock(entry);
    return { x402Version, payload: { approval_id, tx_hash, output_index } };
  }
}

const allow = (most) => ({ allowedAssets: [{ network: "cardano:preprod", asset: "lovelace", maxAmountPerPayment: most }] });
function client(scheme = new ExactCardano(), network = "cardano:preprod", controls = allow("5000000")) {
  return new x402Client().register(network, scheme).setSpendControls(controls);
}

async function said(response) {
  return { status: response.status, body: await response.json(), settled: response.headers.get("payment-response") };
}

const BONDS = "countersign-agent/bonds";
const locked = () => (existsSync(BONDS) ? readdirSync(BONDS).filter((name) => name.endsWith(".json")).length : 0);

{
  const response = await fetch(...request("JS-1", 18));
  const header = decodePaymentRequiredHeader(response.headers.get("payment-required"));
  const body = await response.json();
  check("402, and its header is its body", response.status === 402 && canonicalEqual(header, body), { header, body });
  check("both entries are read", header.accepts.map((entry) => `${entry.scheme} ${entry.network}`).join() ===
    "cardano-escrow cardano-preprod,exact cardano:preprod", header.accepts);
  const http = new x402HTTPClient(client());
  const told = http.getPaymentRequiredResponse((name) => response.headers.get(name), body);
  check("the client reads it from the header", told.x402Version === 2 && told.accepts.length === 2, told);
  check("strict readers take the second entry alone",
    PaymentRequiredV2Schema.safeParse({ ...body, accepts: [body.accepts[1]] }).success &&
    !PaymentRequiredV2Schema.safeParse(body).success, body);
}
{
  const stingy = wrapFetchWithPayment(fetch, client(new ExactCardano(), "cardano:preprod", allow("4999999")));
  const told = await stingy(...request("JS-1", 18)).then(() => "paid", (error) => error.message);
  check("a client whose cap is lower pays nothing", told.includes("spendControls") && locked() === 0, told);
}
{
  const scheme = new ExactCardano();
  const paying = wrapFetchWithPayment(fetch, client(scheme));
  const { status, body, settled } = await said(await paying(...request("JS-1", 18)));
  check("exact is paid and the person is asked", status === 200 && body.brief?.schema === "brief/v0.1", body);
  check("the bond is locked", body.bond?.status === "locked" && scheme.calls === 1 && locked() === 1, body.bond);
  const told = decodePaymentResponseHeader(settled);
  check("PAYMENT-RESPONSE is read", told.success && told.network === "cardano:preprod" && told.transaction === body.bond.tx_hash, told);
  const again = await said(await paying(...request("JS-1", 18)));
  check("asked again it is the same approval, and nothing is paid",
    again.status === 200 && again.body.approval_id === body.approval_id && scheme.calls === 1, again);
  const small = await said(await paying(...request("JS-2", 8)));
  check("what is allowed costs nothing", small.status === 200 && small.body.authorization && scheme.calls === 1, small.body);
}
{
  const paying = wrapFetchWithPayment(fetch, client(new Escrow(), "cardano-preprod", false));
  const { status, body, settled } = await said(await paying(...request("JS-3", 18)));
  const told = settled && decodePaymentResponseHeader(settled);
  check("an escrow that the client locks itself is paid with as well",
    status === 200 && body.bond?.status === "locked" && told.network === "cardano-preprod", body);
}
{
  // What the client would send, sent fifty times at once.
  const machine = client();
  const required = await (await fetch(...request("JS-4", 18))).json();
  const payload = await machine.createPaymentPayload(required);
  check("the payload is one to a strict reader", PaymentPayloadV2Schema.safeParse(payload).success, payload);
  const paid = new x402HTTPClient(machine).encodePaymentSignatureHeader(payload);
  const [url, init] = request("JS-4", 18);
  const retries = await Promise.all(Array.from({ length: 50 }, () =>
    fetch(url, { ...init, headers: { ...init.headers, ...paid } }).then(said)));
  const ids = new Set(retries.filter(({ status }) => status === 200).map(({ body }) => body.approval_id));
  const rest = retries.filter(({ status }) => status !== 200).map(({ status }) => status);
  check("fifty retries of one proof are one approval", ids.size === 1 && rest.every((status) => status === 402), { ids: [...ids], rest });
  const metrics = await (await fetch(`${base}/v1/metrics?mandate_id=M-001`)).json();
  check("and one bond", metrics.bonds.locked === 3 && metrics.bonds.required === 3, metrics);
}
{
  // The answer to the paid request is lost: the server has submitted the lock.
  const proxy = await losing(/payment-signature:/i);
  const scheme = new ExactCardano();
  const paying = wrapFetchWithPayment(fetch, client(scheme));
  const lost = await paying(...request("JS-5", 18, proxy.url)).then(() => "answered", (error) => error.message);
  check("an answer is lost", lost !== "answered" && proxy.lost === 1, lost);
  const { status, body } = await said(await paying(...request("JS-5", 18, proxy.url)));
  check("asked again the person is being asked, for one bond",
    status === 200 && body.bond?.status === "locked" && scheme.calls === 1, body);
  const metrics = await (await fetch(`${base}/v1/metrics?mandate_id=M-001`)).json();
  check("nothing was paid twice", metrics.bonds.locked === 4, metrics);
  proxy.server.close();
}
{
  const tampered = client();
  const required = await (await fetch(...request("JS-6", 18))).json();
  const payload = await tampered.createPaymentPayload(required);
  const tx = Buffer.from(payload.payload.transaction, "base64");
  tx[tx.length - 10] ^= 1;
  const [url, init] = request("JS-6", 18);
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64");
  for (const [what, value] of [
    ["a forged signature", { ...payload, payload: { ...payload.payload, transaction: tx.toString("base64") } }],
    ["another price's entry", { ...payload, accepted: { ...payload.accepted, extra: { escalation: { approval_id: "AP-1" } } } }],
    ["version 1", { ...payload, x402Version: 1 }],
  ]) {
    const { status } = await said(await fetch(url, { ...init, headers: { ...init.headers, "payment-signature": encode(value) } }));
    check(`${what} pays nothing`, status === 402, status);
  }
}

function canonicalEqual(one, two) {
  const text = (value) => JSON.stringify(value, (_, inner) =>
    inner && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner);
  return text(one) === text(two);
}

/** A proxy that loses the first answer to a request which fits. */
async function losing(fits) {
  const told = { lost: 0 };
  const server = createServer((near) => {
    const far = connect(Number(new URL(base).port), "127.0.0.1");
    let loses = false;
    near.on("data", (bytes) => {
      if (told.lost === 0 && fits.test(bytes.toString("latin1"))) loses = true;
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (!loses) return near.write(bytes);
      told.lost = 1;
      near.destroy();
      far.destroy();
    });
    for (const [one, other] of [[near, far], [far, near]]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return Object.assign(told, { server, url: `http://127.0.0.1:${server.address().port}` });
}

process.exitCode = failed === 0 ? 0 : 1;
