"""x402 of PyPI. Prints a line for each check; ends with 1 if one failed."""

import asyncio
import base64
import hashlib
import json
import os
import subprocess
import sys

import httpx
from x402 import x402Client
from x402.http.clients.httpx import x402HttpxClient
from x402.http.utils import decode_payment_required_header, decode_payment_response_header
from x402.schemas import PaymentRequired

BASE = os.environ["URL"]
COUNTERSIGN = os.environ["COUNTERSIGN"]
CHECK = f"{BASE}/v1/authority/check"
VENDOR = "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl"
HEADERS = {"authorization": f"Bearer {open('data/agent.secret').read().strip()}"}
failed = 0


def check(what, holds, shown=None):
    global failed
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else f': {shown}'}")
    failed += not holds


def signature(message):
    """By the delegate's key file: Node has Ed25519 at hand, Python's library has not."""
    script = (
        "const c=require('crypto'),f=require('fs');"
        "const k=c.createPrivateKey({key:JSON.parse(f.readFileSync('countersign-agent/delegate.jwk')),format:'jwk'});"
        "console.log(c.sign(null,Buffer.from(process.argv[1],'hex'),k).toString('hex'))"
    )
    return subprocess.check_output([os.environ["NODE"], "-e", script, message.hex()], text=True).strip()


def body(name, usdm):
    action = {
        "schema": "action-ir/v0.1", "id": name, "mandate_id": "M-001", "actor": "agent", "type": "pay_invoice",
        "purpose": "invoice_payment", "counterparty": {"id": "aws", "display": "AWS"},
        "amount": {"value": str(usdm * 1_000_000), "asset": "USDM"},
        "recipient": {"chain": "cardano", "address": VENDOR}, "source": {"vault": "treasury"},
        "reference": {"invoice_id": f"in_{name}", "invoice_number": f"INV-{name}"},
        "rationale": "It is due.", "created_at": "2026-10-07T03:00:00Z",
    }
    canonical = json.dumps(action, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).digest()
    proposal = {"action": action, "agent_signature": signature(b"AGENT_PROPOSAL_V1" + digest)}
    return {"mandate_id": "M-001", "execute": True, "proposal": proposal}


class ExactCardano:
    """The scheme `exact` on Cardano: the signed transaction, for the server to submit."""

    scheme = "exact"
    calls = 0

    def create_payment_payload(self, requirements):
        self.calls += 1
        entry = requirements.model_dump_json(by_alias=True)
        told = subprocess.check_output(
            [COUNTERSIGN, "mandate", "agent", "bond", "lock", "-", "--mandate", "M-001", "--unsubmitted"],
            input=entry, text=True, timeout=60,
        )
        told = json.loads(told)
        return {"transaction": told["transaction"], "nonce": told["nonce"]}


def client(scheme):
    allowed = {"network": "cardano:preprod", "asset": "lovelace", "max_amount_per_payment": "5000000"}
    machine = x402Client()
    machine.register("cardano:preprod", scheme)
    machine.set_spend_controls({"allowed_assets": [allowed]})
    return machine


async def main():
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as plain:
        response = await plain.post(CHECK, json=body("PY-1", 18))
        told = decode_payment_required_header(response.headers["payment-required"])
        entries = [f"{entry.scheme} {entry.network}" for entry in told.accepts]
        check("402, and both entries are read from its header", response.status_code == 402
              and entries == ["cardano-escrow cardano-preprod", "exact cardano:preprod"], entries)
        check("and from its body", PaymentRequired.model_validate(response.json()) == told, response.text)

    scheme = ExactCardano()
    async with x402HttpxClient(client(scheme), headers=HEADERS, timeout=60) as paying:
        response = await paying.post(CHECK, json=body("PY-1", 18))
        await response.aread()
        answer = response.json()
        check("exact is paid and the person is asked", response.status_code == 200
              and answer["bond"]["status"] == "locked" and scheme.calls == 1, answer)
        settled = decode_payment_response_header(response.headers["payment-response"])
        check("PAYMENT-RESPONSE is read", settled.success and settled.network == "cardano:preprod"
              and settled.transaction == answer["bond"]["tx_hash"], settled)
        again = await paying.post(CHECK, json=body("PY-1", 18))
        await again.aread()
        check("asked again it is the same approval, and nothing is paid", again.status_code == 200
              and again.json()["approval_id"] == answer["approval_id"] and scheme.calls == 1, again.text)

    # What the client would send, sent fifty times at once.
    machine = client(ExactCardano())
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as plain:
        asked = body("PY-2", 18)
        required = decode_payment_required_header((await plain.post(CHECK, json=asked)).headers["payment-required"])
        payload = await machine.create_payment_payload(required)
        header = base64.b64encode(payload.model_dump_json(by_alias=True, exclude_none=True).encode()).decode()
        sent = (plain.post(CHECK, json=asked, headers={"payment-signature": header}) for _ in range(50))
        answers = await asyncio.gather(*sent)
        approvals = {answer.json()["approval_id"] for answer in answers if answer.status_code == 200}
        check("fifty retries of one proof are one approval", len(approvals) == 1
              and all(answer.status_code in (200, 402) for answer in answers), approvals)
    return failed


sys.exit(1 if asyncio.run(main()) else 0)
