"""Buys checks of a mandate with Masumi's own client, and prints a line for each thing it found to hold."""

import asyncio
import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import masumi
from masumi.config import Config
from masumi.helper_functions import create_masumi_input_hash, create_masumi_output_hash
from masumi.models import AvailabilityResponse, DemoResponse, InputSchemaResponse, StartJobResponse, StatusResponse
from masumi.payment import Payment
from masumi.purchase import Purchase
from masumi.validation import ValidationError, validate_input_data

for name in list(logging.root.manager.loggerDict):
    if name.startswith("masumi"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

failed = 0


def check(what, holds, seen=""):
    global failed
    if not holds:
        failed += 1
    print(f"{'ok  ' if holds else 'FAIL'}  {what}" + ("" if holds else f": {seen}"), flush=True)


class Desk:
    """A server with one mandate on the embedded ledger, that sells checks."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://localhost:{port}"
        self.child = subprocess.Popen([os.environ["DESK"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.tell({"port": port, "approver": "55" * 28, "masumi": True})

    def tell(self, command):
        self.child.stdin.write(json.dumps(command) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def proposal(self, name, cents, why="It is due."):
        action = {
            "schema": "action-ir/v0.1", "id": name, "mandate_id": "M-001", "actor": "cfo-agent-01",
            "type": "pay_invoice", "purpose": "invoice_payment", "counterparty": {"id": "aws", "display": "AWS"},
            "amount": {"value": str(cents * 10_000), "asset": "USDM"},
            "recipient": {"chain": "cardano", "address": self.ready["recipient"]},
            "source": {"vault": "acme-treasury"},
            "reference": {"invoice_id": f"in_{name}", "invoice_number": f"INV-{name}"},
            "rationale": why, "created_at": "2026-10-07T03:00:00Z",
        }
        return {"action": action, **self.tell({"sign": action})}

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


async def buy(desk, config, buyer, input_data):
    """One job, from the order to its result."""
    status, terms = desk.call("/start_job", {"identifier_from_purchaser": buyer, "input_data": input_data})
    if status != 200:
        raise SystemExit(f"start_job: {status} {terms}")
    started = StartJobResponse(**terms)
    purchase = Purchase(
        config=config, blockchain_identifier=started.blockchainIdentifier, seller_vkey=started.sellerVKey,
        agent_identifier=started.agentIdentifier, pay_by_time=started.payByTime,
        submit_result_time=started.submitResultTime, unlock_time=started.unlockTime,
        external_dispute_unlock_time=started.externalDisputeUnlockTime, identifier_from_purchaser=buyer,
        input_data=input_data,
    )
    paid = await purchase.create_purchase_request()
    until = time.monotonic() + 40
    while True:
        told = desk.call(f"/status?job_id={started.id}")[1]
        if told["status"] not in ("awaiting_payment", "running"):
            return started, purchase, paid, told
        if time.monotonic() > until:
            raise SystemExit(f"never delivered: {told}")
        await asyncio.sleep(0.2)


async def main():
    desk = Desk()
    try:
        payments = desk.ready["payments"]
        config = Config(payment_service_url=payments, payment_api_key="masumi-token")
        available = AvailabilityResponse(**desk.call("/availability")[1])
        check("it is available", (available.status, available.type) == ("available", "masumi-agent"), available)
        schema = desk.call("/input_schema")[1]
        fields = InputSchemaResponse(**schema).input_data
        check("its schema is read", [field.id for field in fields] == ["mandate_id", "proposal", "request_text"], schema)

        # What a person's words and other alphabets do to a hash, they do to both.
        proposal = desk.proposal("A1", 842, 'Fällig: "3 Tage" \\ 漢字 🦀\n\tamen')
        input_data = {"mandate_id": "M-001", "proposal": proposal}
        try:
            validate_input_data({"mandate_id": "M-001", "proposal": json.dumps(proposal)}, schema)
            check("an order passes its schema in the client", True)
        except ValidationError as error:
            check("an order passes its schema in the client", False, error)

        buyer = secrets.token_hex(10)
        started, purchase, paid, told = await buy(desk, config, buyer, input_data)
        check("the client computes our input hash", started.input_hash == create_masumi_input_hash(input_data, buyer), started)
        check("it is what was paid for", purchase.input_hash == started.input_hash == paid["data"]["inputHash"], paid)
        check("the job is delivered", StatusResponse(**told).status == "completed", told)
        result = json.loads(told["result"])
        check("an authorization is sold", result["decision"] == "ALLOW" and result["authorization"], result["summary"])
        ours = create_masumi_output_hash(told["result"], buyer)
        check("the client computes our result hash", ours == told["result_hash"], told["result_hash"])
        payment = Payment(agent_identifier=started.agentIdentifier, config=config, identifier_from_purchaser=buyer,
                          input_data=input_data)
        seen = await payment.check_payment_status_by_identifier(started.blockchainIdentifier)
        check("it is on the payment", (seen["data"]["onChainState"], seen["data"]["resultHash"]) == ("ResultSubmitted", ours), seen)
        try:
            await purchase.create_purchase_request()
            check("nothing is paid twice", False)
        except ValueError as error:
            check("nothing is paid twice", "Purchase exists" in str(error), error)
        again = desk.call("/start_job", {"identifier_from_purchaser": buyer, "input_data": input_data})[1]
        check("the same order is the same job", again["job_id"] == started.id, again)

        file = desk.call(f"/v1/jobs/{started.id}/proof")[1]
        path = os.path.join(os.environ["OUT"], "job.json")

        def verdicts(job):
            with open(path, "w", encoding="utf-8") as out:
                json.dump(job, out, ensure_ascii=False)
            rust = subprocess.run([os.environ["COUNTERSIGN"], "verify", path, "--json"], capture_output=True, text=True)
            node = subprocess.run([os.environ["NODE"], os.environ["VERIFIER"], path], capture_output=True, text=True)
            one, two = json.loads(rust.stdout), json.loads(node.stdout)
            return (rust.returncode, one.get("code")), (node.returncode, two.get("code"))

        check("both verifiers accept the job's file", verdicts(file) == ((0, None), (0, None)), verdicts(file))
        dearer = json.loads(json.dumps(file))
        dearer["input_data"]["proposal"]["action"]["amount"]["value"] = "1"
        other = {**file, "result": file["result"].replace("ALLOW", "DENY", 1)}
        rehashed = {**other, "result_hash": create_masumi_output_hash(other["result"], buyer)}
        for what, bent, code in [("another input", dearer, "bad_input_hash"), ("another result", other, "bad_result_hash"),
                                 ("a result hashed anew", rehashed, "bad_result_hash"),
                                 ("another buyer", {**file, "identifier_from_purchaser": "00" * 10}, "bad_input_hash")]:
            check(f"both verifiers refuse {what}", verdicts(bent) == ((1, code), (1, code)), verdicts(bent))

        _, _, _, told = await buy(desk, config, secrets.token_hex(7), {"mandate_id": "M-001", "proposal": desk.proposal("A2", 1800)})
        result = json.loads(told["result"])
        check("an escalation is told with its price", result["escalation"]["price"]["approval_id"] == "quote", result["summary"])
        _, _, _, told = await buy(desk, config, secrets.token_hex(13), {"mandate_id": "M-001", "proposal": desk.proposal("A3", 6000)})
        result = json.loads(told["result"])
        check("a denial is told with its reason", result["reason"] == "AMOUNT_ABOVE_HARD_CAP", result["summary"])
        status, refused = desk.call("/start_job", {"identifier_from_purchaser": "xyz", "input_data": input_data})
        check("a bad order is refused", status == 400 and refused["error"], refused)
        demo = DemoResponse(**desk.call("/demo")[1])
        check("there is a demo", json.loads(demo.output["result"])["decision"] == "ALLOW", demo)
    finally:
        desk.child.terminate()
        desk.child.wait()


asyncio.run(main())
print(f"masumi {getattr(masumi, '__version__', '?')}: {failed} failed")
sys.exit(1 if failed else 0)
