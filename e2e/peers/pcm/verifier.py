"""Judges one message of pcm/0.1-cs by docs/pcm-cs.md alone. `python3 verifier.py MESSAGE --trust TRUST [--now T]` ends with
0 (accept), 3 (accept_unproven), 1 (reject) or 2 (nothing could be judged)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from claims import UNPROVEN, Fail, Judge, Sender, World, implies, meets, term_ambiguity, wrong_shape
from log import LOG, Fault, Files, Log, Record, Trust, Unusable, checkpoint_holds, has_form, identity, opens, part, text
from strict import MISSING, Ambiguous, BadJson, base64_of, digest, escape, instant, jcs, parse, same, signed

VERSION = "pcm/0.1-cs"
SECOND = 1_000_000
Judged = tuple[str | None, bool]  # the code, None if proven, and whether the claim failed

@dataclass
class Outcome:
    verdict: str
    code: str | None = None
    place: str = ""
    claims: list[tuple[str, str | None]] = field(default_factory=list)  # id, and the code or None if proven

    def words(self) -> list[str]:
        head = [self.verdict] if self.code is None else [self.verdict, self.code]
        return head + [f"{name}:{code or 'proven'}" for name, code in self.claims]

def depth(value: Any) -> int:
    """Nesting by 4.2: what is below a member named `record` counts as one level."""
    if isinstance(value, list): return 1 + max(map(depth, value), default=0)
    if isinstance(value, dict):
        members = (min(depth(v), 1) if name == "record" else depth(v) for name, v in value.items())
        return 1 + max(members, default=0)
    return 0

def check(good: bool, code: str, place: str = "") -> None:
    if not good: raise Fault(code, place)

@contextmanager
def at(place: str) -> Iterator[None]:
    """Gives the faults inside their place."""
    try:
        yield
    except Fault as fault: raise Fault(fault.code, place) from None

class Verifier:
    """One message, by the steps of section 6, each of which raises the Fault it finds."""
    def __init__(self, trust: Trust, files: Files, now: str, receiver: str | None = None, state: Any = MISSING) -> None:
        when = instant(now)
        if when is None: raise Unusable("now is no instant")
        self.trust, self.files, self.now, self.receiver = trust, files, when, receiver
        self.state = state  # MISSING: replay is not asked
        self.skew = trust.get("skew_s", 60) * SECOND
        self.records: dict[str, Record] = {}
        self.chain: list[str] = []  # hashes of the grants

    def judge(self, data: bytes) -> Outcome:
        try:
            self.read(data)
            for step in (self.log, self.origin, self.replay, self.evidence, self.intent, self.grants):
                step()
        except Fault as fault: return Outcome("reject", fault.code, fault.place or "")
        return self.claims()

    # Steps 1 to 3

    def read(self, data: bytes) -> None:
        check(len(data) <= 262_144, "too_large")
        try:
            message = parse(data)
        except BadJson as error: raise Fault("bad_json", f"byte {error.at}") from None
        check(isinstance(message, dict) and message.get("pcm") == VERSION, "bad_version", "/pcm")
        check(depth(message) <= 32, "bad_json")
        self.counts(message)
        misfit = self.files.message.misfit(message)
        check(misfit is None, "bad_schema", misfit or "")
        for name in ("iat", "exp"): check(instant(message[name]) is not None, "bad_schema", "/" + name)
        self.message = message
        self.references()

    @staticmethod
    def counts(message: dict[str, Any]) -> None:
        evidence, grants = part(message, "evidence"), message.get("grants")
        for value, most, place in (
            (evidence.get("records"), 64, "/evidence/records"),
            (evidence.get("openings"), 32, "/evidence/openings"),
            (message.get("claims"), 16, "/claims"),
            (grants, 8, "/grants"),
        ):
            check(not isinstance(value, (dict, list)) or len(value) <= most, "too_large", place)
        for link in grants if isinstance(grants, list) else []:
            terms = part(link, "grant").get("terms")
            check(not isinstance(terms, list) or len(terms) <= 16, "too_large", "/grants")
        check(len((text(message, "text") or "").encode()) <= 16_384, "too_large", "/text")

    def references(self) -> None:
        message, shown, seen = self.message, self.message["evidence"]["records"], set[str]()
        openings = message["evidence"]["openings"]
        for number, claim in enumerate(message["claims"]):
            good = claim["id"] not in seen and all(rid in shown for rid in claim["evidence"])
            check(good, "bad_schema", f"/claims/{number}")
            seen.add(claim["id"])
            if claim["pred"] == "approved_by":
                check(not any(map(wrong_shape, claim["args"]["terms"])), "bad_schema", f"/claims/{number}/args/terms")
        for number, link in enumerate(message["grants"]):
            check(all(rid in shown for rid in [*link.get("approval", []), link["logged"]]), "bad_schema", f"/grants/{number}")
        check(all(rid in shown for rid in openings), "bad_schema", "/evidence/openings")
        for rid in sorted(openings):
            value = openings[rid]["args" if "args" in openings[rid] else "content"]
            check(len(jcs(value)) <= 65_536, "too_large", "/evidence/openings" + escape(rid))

    # Steps 4 to 6

    def log(self) -> None:
        message, trust = self.message, self.trust
        origin, note = message["from"]["origin"], "/evidence/checkpoint"
        check(any(key.name == origin and key.kind == LOG for key in trust.logs), "unknown_log", "/from/origin")
        with at(note):
            checkpoint = checkpoint_holds(message["evidence"]["checkpoint"], trust.logs, list(trust.witnesses))
        check(checkpoint.origin == origin and checkpoint.size > 0, "bad_checkpoint", note)
        counted = [time for key, time in checkpoint.times.items() if trust.witnesses[key] in trust.classes]
        check(len(counted) >= trust.required, "witness_quorum", note)
        self.checkpoint, self.counted = checkpoint, counted
        self.keys = Log(trust, self.files, message["from"]["log_id"], checkpoint)
        before: int | None = None
        for number, item in enumerate(message["evidence"]["keys"]):
            with at(f"/evidence/keys/{number}"): before = self.keys.take_key_record(item, before)
        check(message["alg"] == "ed25519" and "ed25519" in trust.algs, "alg_not_allowed", "/alg")
        with at("/kid"): key = self.keys.valid(message["kid"], checkpoint.size - 1)
        check(all(pinned.key != key.public for pinned in trust.logs), "unknown_key", "/kid")
        hash_ = digest(jcs({name: value for name, value in message.items() if name not in ("alg", "kid", "sig")}))
        with at("/sig"): self.signature(key.public, message, hash_, "countersign.pcm.message.v1")

    @staticmethod
    def signature(public: bytes, shown: dict[str, Any], hash_: str, what: str) -> None:
        signature = base64_of(shown["sig"], 64)
        if signature is None: raise Fault("bad_encoding")
        message = jcs({"alg": "ed25519", "hash": hash_, "kid": shown["kid"], "t": what})
        check(signed(public, signature, message), "bad_signature")

    # Steps 7 to 10

    def origin(self) -> None:
        message, trust = self.message, self.trust
        sender, to = message["from"], message["to"]
        speaks = any(
            all(speaker[name] == sender[name] for name in ("origin", "log_id", "tenant"))
            and sender["agent"] in speaker.get("agents", [sender["agent"]])
            for speaker in trust.get("speakers")
        )
        check(speaks, "wrong_sender", "/from")
        check(to in trust.get("receivers") and self.receiver in (None, to), "wrong_audience", "/to")
        iat, exp = instant(message["iat"]), instant(message["exp"])
        assert iat is not None and exp is not None
        check(iat <= self.now + self.skew, "not_yet_valid", "/iat")
        lifetime = trust.get("max_lifetime_s", 86_400) * SECOND
        check(iat < exp and exp - iat <= lifetime and self.now < exp + self.skew, "expired", "/exp")
        if (age := trust.get("max_checkpoint_age_s")) is not None:
            recent = any(self.now - time * SECOND <= age * SECOND for time in self.counted)
            check(recent, "stale_checkpoint", "/evidence/checkpoint")

    def replay(self) -> None:
        message, state = self.message, self.state
        if state is MISSING: return
        parts = (("accepted", list), ("uses", dict), ("largest", dict))
        known = isinstance(state, dict) and all(isinstance(state.get(name, kind()), kind) for name, kind in parts)
        check(known and instant(state.get("since")) is not None, "replay_state_unavailable")
        check(message["iat"] >= state["since"], "replay_state_unavailable", "/iat")
        origin, ours = message["from"]["origin"], self.checkpoint
        check([origin, message["id"]] not in state.get("accepted", []), "replayed", "/id")
        size, root = state.get("largest", {}).get(origin, [None, ""])
        check(size != ours.size or root == "sha256:" + ours.root.hex(), "bad_checkpoint", "/evidence/checkpoint")

    # Steps 11 and 12

    def evidence(self) -> None:
        sender, shown = self.message["from"], self.message["evidence"]["records"]
        place = "/evidence/records"
        for rid in sorted(shown): check(has_form(shown[rid]["record"]), "bad_schema", place + escape(rid))
        for rid in sorted(shown):
            with at(place + escape(rid)):
                record = self.keys.check_alone(shown[rid]["record"])
                self.keys.included(record, shown[rid]["proof"])
            check(record.event["tenant"] == sender["tenant"] or record.own, "wrong_tenant", place + escape(rid))
            self.records[rid] = record
        check(any(self.registers(record) for record in self.records.values()), "wrong_sender", "/from/agent")
        openings = self.message["evidence"]["openings"]
        for rid in sorted(openings):
            check(opens(self.records[rid], openings[rid]), "bad_opening", "/evidence/openings" + escape(rid))
            self.records[rid].opened = {name: value for name, value in openings[rid].items() if name != "salt"}
        cited = {rid for claim in self.message["claims"] for rid in claim["evidence"]}
        cited |= {rid for link in self.message["grants"] for rid in [*link.get("approval", []), link["logged"]]}
        for rid in sorted(shown):
            registered = self.records[rid].type == "run.registered" and self.records[rid].run_id == sender["run_id"]
            check(rid in cited or registered, "unused_evidence", place + escape(rid))

    def registers(self, record: Record) -> bool:
        sender, who = self.message["from"], part(record.data, "identity")
        its = record.type == "run.registered" and record.run_id == sender["run_id"]
        return its and who.get("attested") is True and identity(who) == sender["agent"]

    def cited(self, rids: list[str]) -> list[Record]:
        """In the order of the log; a record under several rids once, with what any of them opens."""
        found: dict[str, Record] = {}
        for rid in rids:
            record = self.records[rid]
            if record.hash in found:
                record = Record(record.hash, record.event, found[record.hash].opened | record.opened)
            found[record.hash] = record
        return sorted(found.values(), key=lambda record: record.seq)

    # Step 13

    def intent(self) -> None:
        intent = self.message.get("intent")
        if intent is None: return
        check(intent["type"] in self.trust.intents, "unknown_intent", "/intent/type")
        agreed, schema = self.trust.intents[intent["type"]]
        check(intent["schema"] == digest(jcs(agreed["schema"])), "schema_mismatch", "/intent/schema")
        misfit = schema.misfit(intent["args"])
        check(misfit is None, "intent_invalid", f"/intent/args{misfit}")

    # Step 14

    def grants(self) -> None:
        links = self.message["grants"]
        for number, link in enumerate(links):
            with at(f"/grants/{number}"): self.link(link, links[number - 1]["grant"] if number else None)
        last = f"/grants/{len(links) - 1}"
        if links: check(links[-1]["grant"]["holder"] == self.message["from"]["agent"], "grant_wrong_holder", last)
        for number, link in enumerate(links):
            first, end = instant(link["grant"]["not_before"]), instant(link["grant"]["not_after"])
            now = first is not None and end is not None and first <= self.now < end
            check(now and self.chain[number] not in self.trust.get("revoked", []), "grant_expired", f"/grants/{number}")
        intent = self.message.get("intent")
        if intent is None: return
        agreed = self.trust.intents[intent["type"]][0]
        if not links: return check(not agreed.get("grant", False), "no_grant", "/grants")
        check(self.lets(links[-1]["grant"], intent, agreed.get("units", {})), "grant_exceeded", last)
        for number, link in enumerate(links if self.state is not MISSING else []):
            used, most = self.state.get("uses", {}).get(self.chain[number], 0), link["grant"].get("max_uses")
            check(most is None or used < most, "grant_used", f"/grants/{number}")

    def link(self, link: dict[str, Any], before: dict[str, Any] | None) -> None:
        """8.4"""
        grant, logged = link["grant"], self.records[link["logged"]]
        first, end = instant(grant["not_before"]), instant(grant["not_after"])
        terms_good = not any(wrong_shape(term) or term_ambiguity(term) is not None for term in grant["terms"])
        check(first is not None and end is not None and terms_good and first < end, "bad_schema")
        hash_ = digest(jcs(grant))
        data = logged.data
        is_logged = logged.type == "ext" and logged.event["source"] == "signer"
        is_logged = is_logged and text(data, "name") == "countersign.grant" and text(data, "hash") == hash_
        check(is_logged, "no_grant")
        check(link["alg"] == "ed25519", "alg_not_allowed")
        key = self.keys.valid(link["kid"], logged.seq)
        self.signature(key.public, link, hash_, "countersign.pcm.grant.v1")
        if before is None: self.root(link, logged)
        else: self.below(grant, before)
        self.chain.append(hash_)

    def root(self, link: dict[str, Any], logged: Record) -> None:
        """8.5"""
        grant, unapproved = link["grant"], "grant_root_unapproved"
        check("root" in grant, unapproved)
        judge = Judge(self.world(), self.cited(link.get("approval", [])))
        try:
            found = judge.approval()
        except Fail: raise Fault(unapproved) from None
        check(not found.by_agent, "grant_not_human")
        good = (
            not judge.doubts
            and not found.by_asker
            and self.files.registry["tools"].get(found.tool, {}).get("class") == "grant"
            and grant["root"]["approval_id"] == text(found.request.data, "approval_id")
            and grant["issuer"] == found.person
            and found.answer.seq < logged.seq
        )
        check(good, unapproved)
        check(same(found.args, {n: v for n, v in grant.items() if n != "root"}), "grant_terms_differ")

    def below(self, grant: dict[str, Any], before: dict[str, Any]) -> None:
        """8.6"""
        check(grant.get("parent") == digest(jcs(before)), "grant_root_unapproved")
        check(grant["issuer"] == before["holder"], "grant_wrong_holder")
        check(before["depth"] > 0, "grant_not_delegable")
        check(grant["depth"] < before["depth"], "grant_depth")
        narrow = (
            all(any(implies(parent, child, self.files) for child in grant["terms"]) for parent in before["terms"])
            and set(grant["intents"]) <= set(before["intents"])
            and set(grant["audience"]) <= set(before["audience"])
            and grant["not_before"] >= before["not_before"]
            and grant["not_after"] <= before["not_after"]
            and ("max_uses" not in before or grant.get("max_uses", before["max_uses"] + 1) <= before["max_uses"])
        )
        check(narrow, "grant_widens")

    def lets(self, grant: dict[str, Any], intent: dict[str, Any], units: dict[str, str]) -> bool:
        """8.7, step 4."""
        if intent["type"] not in grant["intents"] or self.message["to"] not in grant["audience"]: return False
        args = intent["args"]
        try:
            return all(
                term["field"] in args and meets(term, args[term["field"]], units.get(term["field"]), self.files)
                for term in grant["terms"]
            )
        except Ambiguous: return False

    # Steps 15 and 16

    def world(self) -> World:
        sender, registry = self.message["from"], self.files.registry
        agreed = self.trust.get("registry") == digest(jcs(registry))
        tools, runners = (registry["tools"], registry["runners"]) if agreed else ({}, {})
        every = self.cited(list(self.records))
        return World(self.trust, self.files, Sender(sender["run_id"], sender["agent"]), every, tools, runners, self.checkpoint.size)

    PREDICATES = "tool_called result_value http_fetched command_ran tests_passed file_written net_reached decided approved_by".split()

    def claims(self) -> Outcome:
        claims, world, upheld = self.message["claims"], self.world(), set[str]()
        found: list[Judged] = [("unknown_predicate", False)] * len(claims)
        for number, claim in enumerate(claims):
            if claim["pred"] in self.PREDICATES:
                judge = Judge(world, self.cited(claim["evidence"]))
                found[number] = judge.judge(partial(getattr(judge, claim["pred"]), claim["args"]))
        for number, claim in enumerate(claims):
            if claim["pred"] == "still_holds":
                found[number] = self.still(claim, claims, found, world)
                if found[number][0] is None: upheld.add(claim["args"]["claim"])
        for number, claim in enumerate(claims):
            held = claim["pred"] != "still_holds" and claim["id"] in upheld
            if found[number][0] is None and claim["pred"] in self.trust.get("still", []) and not held:
                found[number] = ("gap_in_run", False)
        return self.overall(claims, found)

    def still(self, claim: dict[str, Any], claims: list[Any], found: list[Judged], world: World) -> Judged:
        wanted = claim["args"]["claim"]
        target = next((n for n, other in enumerate(claims) if other["id"] == wanted and other["pred"] != "still_holds"), None)
        if target is None: return "no_evidence", False
        if (code := found[target][0]) is not None:
            return code if code in UNPROVEN and not found[target][1] else "no_evidence", False
        judge, cited = Judge(world, self.cited(claim["evidence"])), claims[target]["evidence"]
        both = self.cited(claim["evidence"] + cited)
        return judge.judge(lambda: judge.still_holds(claim["args"], self.cited(cited), both))

    def overall(self, claims: list[Any], found: list[Judged]) -> Outcome:
        """Section 10."""
        each = [(claim["id"], code) for claim, (code, _) in zip(claims, found)]
        for verdict, failed in (("reject", True), ("accept_unproven", False)):
            for number, (code, did) in enumerate(found):
                if code is not None and did == failed: return Outcome(verdict, code, f"/claims/{number}", each)
        if (intent := self.message.get("intent")) is not None:
            proven = {claim["pred"] for claim in claims}
            if not set(self.trust.intents[intent["type"]][0].get("claims", [])) <= proven:
                return Outcome("accept_unproven", "no_evidence", "/claims", each)
        return Outcome("accept", None, "", each)

def read_state(path: Path) -> Any:
    try:
        return parse(path.read_bytes())
    except (OSError, BadJson): return None

def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("message", type=Path)
    parser.add_argument("--trust", type=Path, required=True)
    parser.add_argument("--now", help="the instant; the clock's by default")
    parser.add_argument("--receiver", help="who the message is judged as")
    parser.add_argument("--state", type=Path, help="the replay state, which is read and not written")
    parser.add_argument("--event-schema", default=os.environ.get("PCM_EVENT_SCHEMA"), help="the schema of an event (1.3)")
    given = parser.parse_args()
    now = given.now or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    try:
        files = Files(given.event_schema)
        document = given.trust.read_bytes()
        if len(document) > 2**20: raise Unusable("the trust document is too large")
        trust = Trust.read(parse(document), files)
        state = MISSING if given.state is None else read_state(given.state)
        outcome = Verifier(trust, files, now, given.receiver, state).judge(given.message.read_bytes())
    except (OSError, BadJson, Unusable) as error:
        print(f"unusable: {error}", file=sys.stderr)
        return 2
    print(" ".join(outcome.words()) + (f" at {outcome.place}" if outcome.place else ""))
    return {"accept": 0, "accept_unproven": 3, "reject": 1}[outcome.verdict]

if __name__ == "__main__":
    sys.exit(main())
