"""The layer underneath messages (pcm-cs.md, section 3): notes, proofs, records, keys by position, openings; and the receiver's
trust document (section 5)."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import slh
from strict import SPKI, BadJson, BadSchema, Schema, base64_of, digest, instant, is_integer, jcs, key_holds, parse, sha256, signed

ROOT = Path(__file__).resolve().parents[3]
SIGNERS_OWN = ("tracekit", "tracekit/signer")

class Fault(Exception):
    """What refuses a message: a code of section 18; the place where it is known already."""
    def __init__(self, code: str, place: str | None = None) -> None:
        super().__init__(code)
        self.code, self.place = code, place

class Unusable(Exception):
    """A trust document, a data file or a message that cannot be read: no verdict."""

def text(data: Any, name: str) -> str | None:
    """A member that is wanted as a text; absent if it is none (9.1)."""
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, str) else None

def part(data: Any, name: str) -> dict[str, Any]:
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}

def identity(value: Any) -> str | None:
    scheme, subject = text(value, "scheme"), text(value, "subject")
    return None if scheme is None or subject is None else f"{scheme}:{subject}"

# 1.3 Data files. The schema of an event is not beside the others; without it, what 3.1 names is asked of an event.

def shape(**members: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(members), "properties": members}

def where(kind: str, data: Any) -> dict[str, Any]:
    return {"if": {"properties": {"type": {"const": kind}}}, "then": {"properties": {"data": data}}}

TEXT, COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
EVENT = shape(type=TEXT, seq=COUNT, log_id=TEXT, tenant=TEXT, run_id=TEXT, run_seq=COUNT, ts=TEXT, source=TEXT, data=shape())
EVENT["properties"] |= {"ts_signed": TEXT, "tier": TEXT, "attempt": COUNT, "prev_hash": TEXT, "run_prev_hash": TEXT}
EVENT["allOf"] = [
    where("signer.epoch", shape(keys={"type": "array", "items": shape(spki=TEXT, kid=TEXT, alg=TEXT)})),
    where("key.retire", shape(kid=TEXT, last_seq=COUNT)),
]

def data_file(name: str) -> Any:
    try:
        return parse((ROOT / name).read_bytes())
    except (OSError, BadJson) as error: raise Unusable(f"{name}: {error}") from None

class Files:
    def __init__(self, event_schema: str | None = None) -> None:
        self.message = Schema(data_file("docs/schemas/pcm-message.schema.json"))
        self.trust = Schema(data_file("docs/schemas/pcm-trust.schema.json"))
        self.registry = data_file("registry/tools-1.json")
        table = data_file("registry/implication-1.json")["rows"]
        self.implication = {(row["parent"], row["child"]): row["when"] for row in table}
        self.event = Schema(data_file(event_schema) if event_schema else EVENT)

# 3.4 Tree and proofs.

def proof_holds(leaf_data: bytes, index: int, size: int, root: bytes, proof: Any) -> None:
    siblings = [base64_of(item, 32) for item in proof] if isinstance(proof, list) else [None]
    if any(item is None for item in siblings): raise Fault("bad_encoding")
    node, at, last = sha256(b"\0" + leaf_data), index, size - 1
    if not 0 <= index < size: raise Fault("not_included")
    for sibling in siblings:
        assert sibling is not None
        if last == 0: raise Fault("not_included")
        if at & 1 or at == last:
            node = sha256(b"\1" + sibling + node)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = sha256(b"\1" + node + sibling)
        at, last = at >> 1, last >> 1
    if last or node != root: raise Fault("not_included")

# 3.5 Checkpoints.

LOG, WITNESS, HYBRID = 0x01, 0x04, 0xFF
SLH_NAME = b"tracekit/slh-dsa-sha2-128s"

def good_name(name: str) -> bool:
    return 1 <= len(name.encode()) <= 255 and not any(
        char == "+" or char.isspace() or unicodedata.category(char) == "Cc" for char in name
    )

@dataclass(frozen=True)
class VKey:
    name: str
    id: bytes
    kind: int
    key: bytes

    @staticmethod
    def read(line: Any, kinds: tuple[int, ...]) -> VKey:
        name, _, rest = line.partition("+") if isinstance(line, str) else ("", "", "")
        key_id, _, encoded = rest.partition("+")
        blob = base64_of(encoded) or b"\0"
        kind, key = blob[0], blob[1:]
        if kind == HYBRID:
            good = key.startswith(SLH_NAME) and len(key) == len(SLH_NAME) + 32
            key = key[len(SLH_NAME) :]
        else:
            good = key_holds(key)
        own = sha256(name.encode() + b"\n" + blob)[:4]
        if not good or kind not in kinds or not good_name(name) or key_id != own.hex():
            raise Unusable(f"no key of a log or witness: {line}")
        return VKey(name, own, kind, key)

@dataclass
class Checkpoint:
    origin: str
    size: int
    root: bytes
    times: dict[VKey, int]  # of the pinned witnesses that have a line, seconds since 1970

def checkpoint_holds(note: str, logs: list[VKey], witnesses: list[VKey]) -> Checkpoint:
    bad = Fault("bad_checkpoint")
    if len(note.encode()) > 2**20 or any(char != "\n" and unicodedata.category(char) == "Cc" for char in note):
        raise bad
    body, gap, tail = note.rpartition("\n\n")
    signed_text, lines = (body + "\n"), tail.split("\n")
    head = body.split("\n")
    if not gap or len(head) != 3 or lines.pop() != "" or not 1 <= len(lines) <= 64: raise bad
    origin, number, root_text = head
    root = base64_of(root_text, 32)
    decimal = number.isascii() and number.isdigit() and len(number) <= 20 and str(int(number)) == number
    if not good_name(origin) or not decimal or int(number) >= 2**64 or root is None: raise bad
    blobs: dict[tuple[str, bytes], bytes] = {}
    for line in lines:
        name, _, encoded = line[2:].partition(" ")
        blob = base64_of(encoded)
        if not line.startswith("— ") or not good_name(name) or blob is None or len(blob) <= 4 or (name, blob[:4]) in blobs:
            raise bad
        blobs[name, blob[:4]] = blob[4:]
    message, times, of_origin = signed_text.encode(), {}, False
    for key in logs:
        blob = blobs.get((key.name, key.id))
        if blob is None:
            if key.kind == HYBRID and key.name == origin: raise bad
        elif not (slh.holds if key.kind == HYBRID else signed)(key.key, blob, message): raise bad
        elif key.kind == LOG and key.name == origin: of_origin = True
    for key in witnesses:
        blob = blobs.get((key.name, key.id))
        if blob is not None:
            time = int.from_bytes(blob[:8], "big")
            if len(blob) != 72 or time >= 2**63 or not signed(key.key, blob[8:], b"cosignature/v1\ntime %d\n" % time + message):
                raise bad
            times[key] = time
    if not of_origin: raise bad
    return Checkpoint(origin, int(number), root, times)

# 5 The trust document.

@dataclass
class Trust:
    document: dict[str, Any]
    logs: list[VKey]
    algs: list[str]
    witnesses: dict[VKey, str]  # with their classes
    required: int
    issuers: list[tuple[VKey, VKey]]
    intents: dict[str, tuple[dict[str, Any], Schema]]
    classes: set[str]

    def get(self, name: str, default: Any = None) -> Any:
        return self.document.get(name, default)

    @staticmethod
    def read(document: Any, files: Files) -> Trust:
        if (misfit := files.trust.misfit(document)) is not None:
            raise Unusable(f"the trust document does not fit at {misfit or 'its top'}")
        evidence = document["evidence"]
        known = {"logs", "algs", "witnesses", "witnesses_required", "issuers", "rekor", "monitors", "analyzers"}
        logs, algs, witnesses, issuers = (evidence.get(name, []) for name in ("logs", "algs", "witnesses", "issuers"))
        required = evidence.get("witnesses_required", 0)
        if not evidence.keys() <= known or not all(isinstance(part, list) for part in (logs, algs, witnesses, issuers)):
            raise Unusable("evidence of the trust document")
        if not logs or not algs or not all(isinstance(alg, str) for alg in algs):
            raise Unusable("logs or algs of the trust document")
        keys = [VKey.read(line, (LOG, HYBRID)) for line in logs]
        pinned: dict[VKey, str] = {}
        for item in witnesses:
            if not isinstance(item, dict) or item.keys() != {"vkey", "class"}:
                raise Unusable("witnesses of the trust document")
            if item["class"] not in ("public", "customer", "tracekit", "operator"):
                raise Unusable("class of a witness")
            pinned[VKey.read(item["vkey"], (WITNESS,))] = item["class"]
        if len(set(keys)) != len(keys) or len(pinned) != len(witnesses): raise Unusable("a key is pinned twice")
        if not is_integer(required) or not 0 <= required <= len({key.name for key in pinned}):
            raise Unusable("witnesses_required")
        pairs = []
        for item in issuers:
            if not isinstance(item, dict) or item.keys() != {"vkey", "issuance_log_vkey"}:
                raise Unusable("issuers of the trust document")
            pairs.append((VKey.read(item["vkey"], (LOG,)), VKey.read(item["issuance_log_vkey"], (LOG, HYBRID))))
        intents = {}
        for intent in document.get("intents", []):
            try:
                schema = Schema(intent["schema"])
            except BadSchema as error: raise Unusable(f"the schema of intent {intent['type']}: {error}") from None
            if intent["type"] in intents: raise Unusable(f"intent {intent['type']} twice")
            intents[intent["type"]] = (intent, schema)
        classes = set(document.get("witness_classes", ["public", "customer", "tracekit", "operator"]))
        return Trust(document, keys, algs, pinned, required, pairs, intents, classes)

# 3.2 Records, 3.6 keys by position, 3.7 certificates.

@dataclass
class Record:
    hash: str
    event: dict[str, Any]
    opened: dict[str, Any] = field(default_factory=dict)  # by "args" and "content"

    def __post_init__(self) -> None:
        self.type: str = self.event["type"]
        self.seq: int = self.event["seq"]
        self.run_id: str = self.event["run_id"]
        self.data: dict[str, Any] = self.event["data"]
        call_id = text(self.event, "tool_call_id")
        self.call = None if call_id is None else (self.run_id, call_id, self.event.get("attempt", 0))
        self.when: str = self.event.get("ts_signed", self.event["ts"])

    @property
    def own(self) -> bool:
        return (self.event["tenant"], self.run_id) == SIGNERS_OWN

    @property
    def tier(self) -> str:
        """3.3"""
        if self.type in ("approval", "effect.observed", "capture.gap"): return "signer"
        if self.type.startswith(("approval.", "run.", "signer.", "reconcile.")): return "signer"
        seen = self.type in ("policy.decision", "tool.result", "input.observed", "model.exchange")
        return "T2" if seen and self.event["source"] == "gateway" and self.event.get("tier") == "T2" else "T1"

    @property
    def gap(self) -> bool:
        return self.type in ("capture.gap", "trace.tamper") or self.type.startswith("reconcile.")

@dataclass
class RecordKey:
    public: bytes
    since: int
    last: int | None = None
    certificates: list[dict[str, Any]] = field(default_factory=list)

def has_form(record: Any) -> bool:
    return (
        record.keys() == {"v", "event", "hash", "alg", "kid", "sig"}
        and is_integer(record["v"])
        and record["v"] == 2
        and isinstance(record["event"], dict)
        and all(isinstance(record[name], str) for name in ("hash", "alg", "kid", "sig"))
    )

class Log:
    """What a message's checkpoint and key records establish."""
    def __init__(self, trust: Trust, files: Files, log_id: str, checkpoint: Checkpoint) -> None:
        self.trust, self.files, self.log_id, self.checkpoint = trust, files, log_id, checkpoint
        self.keys: dict[str, RecordKey] = {}

    def valid(self, kid: str, place: int) -> RecordKey:
        key = self.keys.get(kid)
        if key is None or key.since > place: raise Fault("unknown_key")
        if key.last is not None and place > key.last: raise Fault("key_retired")
        return key

    def shape(self, record: dict[str, Any]) -> Record:
        """The schema of the event and the hash (3.2)."""
        if self.files.event.misfit(record["event"]) is not None: raise Fault("bad_schema")
        if record["hash"] != digest(jcs(record["event"])): raise Fault("record_hash")
        return Record(record["hash"], record["event"])

    def included(self, record: Record, proof: Any) -> None:
        root = self.checkpoint.root
        proof_holds(bytes.fromhex(record.hash[7:]), record.seq, self.checkpoint.size, root, proof)

    def check_alone(self, record: dict[str, Any]) -> Record:
        """3.2 from the schema on; the form was asked before."""
        known = self.shape(record)
        event = known.event
        key = self.valid(record["kid"], known.seq)
        if record["alg"] != "ed25519" or "ed25519" not in self.trust.algs: raise Fault("alg_not_allowed")
        signature = base64_of(record["sig"], 64)
        if signature is None: raise Fault("bad_encoding")
        names = ("log_id", "prev_hash", "run_id", "run_prev_hash", "run_seq", "seq", "tenant")
        what = {name: record[name] for name in ("alg", "hash", "kid")} | {name: event.get(name) for name in names}
        if not signed(key.public, signature, jcs(what | {"t": "tracekit.record.v2"})): raise Fault("record_signature")
        if event["log_id"] != self.log_id: raise Fault("wrong_log")
        if key.certificates and not any(covers(certificate, known) for certificate in key.certificates):
            raise Fault("unknown_key")
        return known

    def take_key_record(self, item: dict[str, Any], before: int | None) -> int:
        """One of `evidence.keys` (3.6); gives its place."""
        if not has_form(item["record"]): raise Fault("bad_schema")
        record = self.shape(item["record"])
        self.included(record, item["proof"])
        if record.seq != 0 if before is None else record.seq <= before: raise Fault("unknown_key")
        if record.type not in ("signer.epoch", "key.retire"): raise Fault("unknown_key")
        if record.type == "signer.epoch":
            for declared in record.data["keys"]:
                self.declare(declared, record)
        self.check_alone(item["record"])
        if record.type == "key.retire":
            key = self.keys.get(record.data["kid"])
            if key is None: raise Fault("unknown_key")
            last = record.data["last_seq"]
            key.last = last if key.last is None else min(key.last, last)
        return record.seq

    def declare(self, declared: dict[str, Any], epoch: Record) -> None:
        spki = base64_of(declared["spki"])
        if spki is None: raise Fault("bad_encoding")
        kid, public = digest(spki), spki[len(SPKI) :]
        known = self.keys.get(kid)
        if not spki.startswith(SPKI) or not key_holds(public) or declared["kid"] != kid or declared["alg"] != "ed25519":
            raise Fault("unknown_key")
        if known is not None and known.last is not None: raise Fault("unknown_key")
        key = known or self.keys.setdefault(kid, RecordKey(public, epoch.seq))
        if "cert" in declared:
            key.certificates.append(self.certificate(declared))
        elif self.trust.issuers and "bridge" not in epoch.data: raise Fault("unknown_key")

    def certificate(self, declared: dict[str, Any]) -> dict[str, Any]:
        """What a certificate says, if it holds (3.7)."""
        shown, unknown = declared["cert"], Fault("unknown_key")
        certificate = part(shown, "certificate")
        cert, note = part(certificate, "cert"), text(shown, "checkpoint")
        signature = base64_of(certificate.get("sig"), 64)
        if signature is None: raise Fault("bad_encoding")
        if note is None or not is_integer(index := shown.get("index")): raise unknown
        message = jcs(cert | {"t": "tracekit.cert.v2"})
        issuance = next((log for issuer, log in self.trust.issuers if signed(issuer.key, signature, message)), None)
        if issuance is None: raise unknown
        try:
            checkpoint = checkpoint_holds(note, [issuance], list(self.trust.witnesses))
            proof_holds(sha256(jcs(certificate)), index, checkpoint.size, checkpoint.root, shown.get("inclusion"))
        except Fault: raise unknown from None
        if len(checkpoint.times) < max(1, self.trust.required): raise unknown
        own = {"kid": declared["kid"], "spki": declared["spki"], "log_id": self.log_id}
        if any(cert.get(name) != value for name, value in own.items()): raise unknown
        return cert

def covers(cert: dict[str, Any], record: Record) -> bool:
    ts, first, last = instant(record.event["ts"]), cert.get("not_before", ""), cert.get("not_after", "")
    if ts is None or not is_integer(first) or not is_integer(last): return False
    its = isinstance(cert.get("tenants"), list) and record.event["tenant"] in cert["tenants"]
    return bool(first * 1_000_000 <= ts <= last * 1_000_000) and (its or record.own)

# 3.8 Commitments, 3.9 openings.

def commitment(salt: bytes, what: Any) -> str:
    return "hmac-sha256:" + hmac.new(salt, digest(jcs(what)).encode(), hashlib.sha256).hexdigest()

def opens(record: Record, opening: dict[str, Any]) -> bool:
    salt, data = bytes.fromhex(opening["salt"]), record.data
    if "args" in opening:
        binding = part(data, "binding")
        tool = text(data, "tool")
        if tool is None: tool = text(binding, "tool")
        if record.type == "approval.request": expected = text(binding, "args_commitment")
        else:
            expected = text(data, "args_commitment")
            if expected is None: expected = text(record.event, "args_commitment")
        return tool is not None and expected == commitment(salt, {"args": opening["args"], "tool": tool})
    output = part(data, "output")
    size = output.get("size")
    if not is_integer(size) or size != len(jcs(opening["content"])): return False
    return text(output, "hash") == commitment(salt, opening["content"])
