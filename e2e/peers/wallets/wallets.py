"""An approver with pycardano: signs in, approves, releases and declines with it against a server; and reads every transaction."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from hashlib import blake2b

from cbor2 import dumps, loads
from pycardano import (
    Network,
    PaymentSigningKey,
    PaymentVerificationKey,
    Transaction,
    TransactionWitnessSet,
    VerificationKeyWitness,
)
from pycardano.cip.cip8 import sign, verify

COUNTERSIGN, DESK, OUT = (os.environ[name] for name in ("COUNTERSIGN", "DESK", "OUT"))
failed = 0


def check(name, play):
    global failed
    try:
        play()
        print(f"ok {name}", flush=True)
    except Exception as error:  # noqa: BLE001
        failed += 1
        print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)


def same(got, expected, what):
    if got != expected:
        raise AssertionError(f"{what}: {got}, not {expected}")


class Raw(str):
    """A message that is bytes: pycardano takes texts, wallets are given bytes (CIP-30)."""

    def __new__(cls, raw):
        made = super().__new__(cls)
        made.raw = raw
        return made

    def encode(self, *_):
        return self.raw


def load(tx):
    """pycardano forgets which outputs were written as maps, as all are since Babbage, unless they carry a datum: it is told."""
    read = Transaction.from_cbor(tx)
    body = loads(bytes.fromhex(tx))[0]
    written = [*zip(read.transaction_body.outputs, body[1]), (read.transaction_body.collateral_return, body.get(16))]
    for output, raw in written:
        if output is not None:
            output.post_alonzo = isinstance(raw, dict)
    return read


class Approver:
    def __init__(self):
        self.key = PaymentSigningKey.generate()
        self.public = PaymentVerificationKey.from_signing_key(self.key)
        self.name = f"ed25519:{self.public.payload.hex()}"
        self.hash = self.public.hash().payload.hex()

    def sign_data(self, message):
        return sign(message, self.key, attach_cose_key=True, network=Network.TESTNET)

    def evidence(self, message, nonce=None):
        answer = self.sign_data(message)
        evidence = {"kind": "wallet", "address": f"60{self.hash}", "cose_sign1": answer["signature"], "cose_key": answer["key"]}
        return {"evidence": evidence, "key": self.name, **({"nonce": nonce} if nonce else {})}

    def sign_tx(self, tx, key=None):
        """CIP-30 signTx: the witness set alone."""
        key = key or self.key
        body_hash = load(tx).transaction_body.hash()
        witness = VerificationKeyWitness(PaymentVerificationKey.from_signing_key(key), key.sign(body_hash))
        return TransactionWitnessSet(vkey_witnesses=[witness]).to_cbor_hex()


class Desk:
    """A server with one mandate on the embedded ledger, and its agent."""

    def __init__(self, approver):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://localhost:{self.port}"
        self.child = subprocess.Popen([DESK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.tell({"port": self.port, "approver": approver, "per_day": 9})
        self.cookie = None

    def tell(self, command):
        self.child.stdin.write(json.dumps(command) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def send(self, method, path, body=None, headers=None, form=False):
        data = None
        headers = dict(headers or {})
        if body is not None:
            data = (urllib.parse.urlencode(body) if form else json.dumps(body)).encode()
            headers["content-type"] = "application/x-www-form-urlencoded" if form else "application/json"
        if self.cookie:
            headers["cookie"] = self.cookie
        headers["origin"] = self.url
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            answer = urllib.request.build_opener(Stay).open(request)
        except urllib.error.HTTPError as error:
            answer = error
        return answer.status, answer.headers, answer.read().decode()

    def json(self, method, path, body=None, status=200, headers=None):
        got, _, text = self.send(method, path, body, headers)
        if got != status:
            raise AssertionError(f"{path}: {got} {text[:300]}")
        return json.loads(text)

    def ask(self, name, cents):
        """A proposal beyond the limit, priced, its bond locked. Gives the approval and the lock."""
        action = {
            "schema": "action-ir/v0.1", "id": name, "mandate_id": "M-001", "actor": "cfo-agent-01", "type": "pay_invoice",
            "purpose": "invoice_payment", "counterparty": {"id": "aws", "display": "AWS"},
            "amount": {"value": str(cents * 10_000), "asset": "USDM"},
            "recipient": {"chain": "cardano", "address": self.ready["recipient"]}, "source": {"vault": "acme-treasury"},
            "reference": {"invoice_id": f"in_{name}", "invoice_number": f"INV-{name}"}, "rationale": "It is due.",
            "created_at": "2026-10-07T03:00:00Z",
        }
        body = {"mandate_id": "M-001", "execute": True,
                "proposal": {"action": action, **self.tell({"sign": action})}}
        bearer = {"authorization": f"Bearer {self.ready['agent']}"}
        accepted = self.json("POST", "/v1/authority/check", body, 402, bearer)["accepts"][0]
        lock = self.tell({"lock": accepted["extra"]})
        payload = {"approval_id": accepted["extra"]["approval_id"], "tx_hash": lock["tx_hash"], "output_index": 0}
        payment = json.dumps({"x402Version": 2, "accepted": accepted, "payload": payload}).encode()
        from base64 import b64encode

        paid = self.json("POST", "/v1/authority/check", body, 200, {**bearer, "payment-signature": b64encode(payment).decode()})
        return paid["approval_id"], lock

    def wait_for(self, tx_hash):
        for _ in range(150):
            if self.tell({"confirmed": tx_hash})["height"] is not None:
                return
            time.sleep(0.1)
        raise AssertionError(f"{tx_hash} is in no block")


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def signer(what, answer):
    done = subprocess.run([COUNTERSIGN, "mandate", "signer", what, "--signature", json.dumps(answer)], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else done.returncode


def read_as_it_is(tx, tx_hash, what):
    """pycardano reads it, gives it the same id, and writes the body's very bytes."""
    read = load(tx)
    body = bytes.fromhex(tx)[1:]
    same(read.transaction_body.hash().hex(), tx_hash, f"{what}: the id")
    written = read.transaction_body.to_cbor()
    same(body.startswith(written), True, f"{what}: the body as it was written")
    same(blake2b(written, digest_size=32).hexdigest(), tx_hash, f"{what}: the hash of the body")
    return read


me = Approver()
stranger = Approver()
desk = Desk(me.hash)
state = {}


def signs_in():
    _, _, page = desk.send("GET", "/approver")
    unescape = __import__("html").unescape
    message = unescape(re.search(r"data-message>(.*?)</pre>", page, re.S).group(1))
    fields = {name: unescape(value) for name, value in re.findall(r'name="(csrf|ticket)" value="([^"]*)"', page)}
    answer = me.sign_data(message)
    same(verify(answer)["verified"], True, "by pycardano")
    same(signer(message, answer), f"{me.name} {me.hash}", "by the command line")
    for bent in ({**answer, "signature": answer["signature"][:-2] + "ff"}, me.sign_data(message + ".")):
        same(signer(message, bent), 1, "bent")
    refused, _, _ = desk.send("POST", "/approver", {**fields, "signature": json.dumps(stranger.evidence(message))}, form=True)
    same(refused in (401, 403), True, f"a stranger gets {refused}")
    status, headers, text = desk.send("POST", "/approver", {**fields, "signature": json.dumps(me.evidence(message))}, form=True)
    same(status, 303, text[:300])
    desk.cookie = headers["set-cookie"].split(";")[0]


def ours_is_accepted():
    file = os.path.join(OUT, "ben.jwk")
    line = subprocess.run([COUNTERSIGN, "mandate", "key", file], capture_output=True, text=True, check=True).stdout.split()
    sentence = "Countersign sign-in. Nonce: 2."
    for network, expected in (("preprod", Network.TESTNET), ("mainnet", Network.MAINNET)):
        done = subprocess.run([COUNTERSIGN, "mandate", "sign", sentence, "--key", file, "--wallet", network], capture_output=True, text=True, check=True)
        evidence = json.loads(done.stdout)["evidence"]
        told = verify({"signature": evidence["cose_sign1"], "key": evidence["cose_key"]})
        same((told["verified"], told["message"]), (True, sentence), network)
        address = told["signing_address"]
        same((address.payment_part.payload.hex(), address.network), (line[1], expected), "the address")
        parts = loads(bytes.fromhex(evidence["cose_sign1"]))
        bent = dumps([parts[0], parts[1], b"Another sentence.", parts[3]]).hex()
        same(verify({"signature": bent, "key": evidence["cose_key"]})["verified"], False, "bent")


def transactions_are_the_same():
    read_as_it_is(desk.ready["anchor"]["tx"], desk.ready["anchor"]["tx_hash"], "the anchor")
    approval, lock = desk.ask("P1", 1800)
    tx = read_as_it_is(lock["tx"], lock["tx_hash"], "the bond's lock")
    same(tx.transaction_body.outputs[0].amount.coin, 5_000_000, "the bond")
    state["approval"] = approval


def approves_and_releases():
    approval = state["approval"]
    path = f"/v1/approvals/{approval}/approve"
    draft = desk.json("POST", path, {})
    digest, message = draft["authorization_digest"], Raw(bytes.fromhex(draft["statement_hash"]))
    nonce = draft["statement"]["nonce"]
    same(signer(json.dumps(draft["statement"]), me.evidence(message, nonce)), f"{me.name} {me.hash}", "by the command line")
    for what, evidence in (
        ("a stranger's", stranger.evidence(message, nonce)),
        ("of something else", me.evidence(Raw(b"\x01" * 32), nonce)),
    ):
        status, _, text = desk.send("POST", path, {"authorization_digest": digest, "signed": evidence})
        same(status in (401, 403), True, f"{what}: {status} {text[:200]}")
    signed = me.evidence(message, nonce)
    approved = desk.json("POST", path, {"authorization_digest": digest, "signed": signed})
    tx, tx_hash = approved["unsigned_tx_cbor"], approved["tx_hash"]
    read = read_as_it_is(tx, tx_hash, "the release")
    same([one.payload.hex() for one in read.transaction_body.required_signers], [me.hash], "who must sign")
    execution = {"approval_id": approval, "authorization_digest": digest}
    body_hash = read.transaction_body.hash()
    forged = VerificationKeyWitness(me.public, stranger.key.sign(body_hash))
    other = VerificationKeyWitness(me.public, me.key.sign(b"\x02" * 32))
    sets = [TransactionWitnessSet(vkey_witnesses=[one]).to_cbor_hex() for one in (forged, other)]
    for bent in [*sets, me.sign_tx(tx, stranger.key)]:
        status, _, text = desk.send("POST", "/v1/executions", {**execution, "cfo_witness_cbor": bent})
        same((status, json.loads(text).get("code")), (401, "bad_witness"), "a bad witness")
    desk.json("POST", "/v1/executions", {**execution, "cfo_witness_cbor": me.sign_tx(tx)})
    desk.wait_for(tx_hash)


def the_command_line_signs_the_same():
    """Our witness is one of pycardano's, over the same id."""
    file = os.path.join(OUT, "ben.jwk")
    name = subprocess.run([COUNTERSIGN, "mandate", "key", file], capture_output=True, text=True, check=True).stdout.split()[1]
    tx, tx_hash = desk.ready["anchor"]["tx"], desk.ready["anchor"]["tx_hash"]
    done = subprocess.run([COUNTERSIGN, "mandate", "witness", tx, "--key", file], capture_output=True, text=True, check=True)
    [witness] = list(TransactionWitnessSet.from_cbor(done.stdout.strip()).vkey_witnesses)
    same(witness.vkey.hash().payload.hex(), name, "whose")
    from nacl.signing import VerifyKey

    VerifyKey(witness.vkey.payload).verify(bytes.fromhex(tx_hash), witness.signature)


def declines(reason):
    def play():
        approval, _ = desk.ask(f"D-{reason}", 1900)
        path = f"/v1/approvals/{approval}"
        shown = desk.json("POST", f"{path}/statement", {"reason": reason})
        message, nonce = Raw(bytes.fromhex(shown["statement_hash"])), shown["statement"]["nonce"]
        signed = me.evidence(message, nonce)
        other = "frivolous" if reason == "legitimate" else "legitimate"
        status, _, text = desk.send("POST", f"{path}/decline", {"reason": other, "signed": signed})
        same(status, 401, f"another reason: {text[:200]}")
        told = desk.json("POST", f"{path}/decline", {"reason": reason, "signed": signed})
        tx, tx_hash = told["bond_tx"]["unsigned_tx_cbor"], told["bond_tx"]["tx_hash"]
        read_as_it_is(tx, tx_hash, "the bond's end")
        spent = desk.json("POST", f"{path}/bond-submit", {"tx_hash": tx_hash, "cfo_witness_cbor": me.sign_tx(tx)})
        same(spent["bond"]["status"], "refunded" if reason == "legitimate" else "captured", "the bond")

    return play


def older_decline():
    """The older message, as the first wallets signed it: canonical JSON, signed as a text."""
    approval, _ = desk.ask("D-older", 2000)
    message = json.dumps({"approval_id": approval, "decision": "decline", "reason": "legitimate"}, separators=(",", ":"))
    answer = me.sign_data(message)
    bent = me.sign_data(message.replace("legitimate", "frivolous"))
    path = f"/v1/approvals/{approval}/decline"
    status, _, _ = desk.send("POST", path, {"reason": "legitimate", **bent})
    same(status, 401, "another reason")
    same(desk.json("POST", path, {"reason": "legitimate", **answer})["ok"], True, "declined")


try:
    check("pycardano signs in, a stranger does not", signs_in)
    check("what the command line signs as a wallet, pycardano accepts", ours_is_accepted)
    check("pycardano reads the anchor and the bond's lock, with the same ids", transactions_are_the_same)
    check("pycardano approves, and its witness releases the money", approves_and_releases)
    check("the command line's witness is one of pycardano's", the_command_line_signs_the_same)
    check("pycardano declines as legitimate, and the bond goes back", declines("legitimate"))
    check("pycardano declines as frivolous, and the bond is captured", declines("frivolous"))
    check("the older decline is accepted from pycardano", older_decline)
finally:
    desk.child.terminate()
sys.exit(1 if failed else 0)
