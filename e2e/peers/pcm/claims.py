"""Terms (pcm-cs.md, 8.1 to 8.3) and claims (section 9): each judged alone, from the records it cites."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from log import Files, Record, Trust, identity, part, text
from strict import (
    MISSING, Ambiguous, ambiguity, below, digest, into, is_name, is_number, jcs, point, read_command, read_host, read_path,
    read_text, read_url, same, strict_number,
)  # fmt: skip

Term = dict[str, Any]
UNPROVEN = set(
    "no_evidence t1_only not_opened redacted ambiguous_host ambiguous_path ambiguous_shell ambiguous_number ambiguous_text "
    "unknown_predicate unknown_tool gap_in_run coarse_evidence".split()
)

# 8.1 Terms.

def kind(value: Any) -> str | None:
    """Boolean, number or text; None of what is no scalar."""
    if isinstance(value, bool): return "boolean"
    return "number" if is_number(value) else "text" if isinstance(value, str) else None

def of_one_type(value: Any) -> bool:
    return isinstance(value, list) and len({kind(item) for item in value}) <= 1 and None not in {kind(item) for item in value}

def wrong_shape(term: Term) -> bool:
    op, value = term["op"], term["value"]
    if op == "eq": return kind(value) is None
    if op == "in": return not of_one_type(value) or not value
    if op == "subset_of": return not isinstance(value, list) or not all(isinstance(item, str) for item in value)
    if op in ("le", "ge"): return not is_number(value)
    if op == "range":
        return not (isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and value[0] <= value[1])
    return not isinstance(value, str)

def term_ambiguity(term: Term) -> str | None:
    """The code of a term of the right shape whose value has no one reading."""
    op, value = term["op"], term["value"]
    if op.startswith("host"): return None if read_host(value) is not None else "ambiguous_host"
    if op.startswith("path"): return None if read_path(value, ascii_only=True) is not None else "ambiguous_path"
    for item in value if isinstance(value, list) else [value]:
        if is_number(item) and not strict_number(item): return "ambiguous_number"
        if isinstance(item, str) and read_text(item) is None: return "ambiguous_text"
    return None

def numbers(term: Term) -> tuple[int | None, int | None] | None:
    op, value = term["op"], term["value"]
    if op == "eq" and kind(value) == "number": return value, value
    if op == "in" and kind(value[0]) == "number": return min(value), max(value)
    return {"le": (None, value), "ge": (value, None)}.get(op) or (tuple(value) if op == "range" else None)

def scalars(value: Any) -> set[tuple[str | None, Any]]:
    return {(kind(item), item) for item in (value if isinstance(value, list) else [value])}

def implies(parent: Term, child: Term, files: Files) -> bool:
    """8.3"""
    when = files.implication.get((parent["op"], child["op"]))
    if when is None or parent["field"] != child["field"] or parent.get("unit") != child.get("unit"): return False
    one, other = parent["value"], child["value"]
    if when == "equal": return scalars(one) == scalars(other)
    if when in ("member", "subset"): return scalars(other) <= scalars(one)
    if when == "within":
        wide, narrow = numbers(parent), numbers(child)
        if wide is None or narrow is None: return False
        least = wide[0] is None or (narrow[0] is not None and narrow[0] >= wide[0])
        return least and (wide[1] is None or (narrow[1] is not None and narrow[1] <= wide[1]))
    if when == "host_under": return other == one or (other.endswith("." + one) and is_name(other))
    return when == "path_under" and (other == one or below(other, one))

def meets(term: Term, value: Any, unit: str | None, files: Files) -> bool:
    """8.2; raises Ambiguous."""
    op = term["op"]
    if op == "subset_of":
        good, says = of_one_type(value), "subset_of"
    elif op.startswith(("host", "path")):
        good, says = isinstance(value, str), op[:4] + "_is"
    else:
        good, says = kind(value) is not None, "eq"
    if not good: return False
    just: Term = {"field": term["field"], "op": says, "value": value} | ({} if unit is None else {"unit": unit})
    if (code := term_ambiguity(just)) is not None: raise Ambiguous(code)
    return implies(term, just, files)

# 9.1 How a claim is judged.

class Fail(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code

class Stop(Fail):
    pass

def fail(code: str) -> NoReturn:
    raise Fail(code)

@dataclass
class Sender:
    run_id: str
    agent: str

@dataclass
class World:
    """What all claims of one message share."""
    trust: Trust
    files: Files
    sender: Sender
    records: list[Record]  # all that the message shows, in the order of the log
    tools: dict[str, Any]
    runners: dict[str, Any]
    size: int

@dataclass
class Call:
    """9.3; arguments and content are MISSING where they are not opened, the tool None where it is not described."""
    decision: Record
    result: Record | None
    args: Any
    content: Any
    tool: dict[str, Any] | None

    def is_class(self, *names: str) -> bool:
        return self.tool is not None and self.tool["class"] in names

    def at(self, side: str, role: str) -> Any:
        """What is at a role's pointer in the arguments or in the content."""
        pointer = (self.tool or {}).get(side, {}).get(role)
        return MISSING if pointer is None else point(self.args if side == "args" else self.content, pointer)

    def text(self, side: str, role: str, code: str) -> str:
        found = self.at(side, role)
        return found if isinstance(found, str) else fail(code)

def follows(result: Record, decision: Record) -> bool:
    wanted = text(result.data, "decision_id")
    return (
        wanted is not None
        and wanted == text(decision.data, "decision_id")
        and result.call == decision.call
        and result.seq > decision.seq
    )

def body_digest(value: Any) -> str:
    return digest(value.encode() if isinstance(value, str) else jcs(value))

def counts_of(output: str) -> dict[str, int] | None:
    """9.8, counts of an output."""
    lines = [line for line in output.split("\n") if line.strip()]
    line = lines[-1].removesuffix("\r").strip("= ") if lines else ""
    before, found, after = line.partition(" in ")
    if found and not after.endswith("s"): return None
    counts: dict[str, int] = {}
    for item in before.split(", "):
        match = re.fullmatch("([0-9]+) ([a-z]+)", item)
        if not match or match.group(2) in counts or len(match.group(1)) > 4000 or int(match.group(1)) >= 2**64:
            return None
        counts[match.group(2)] = int(match.group(1))
    return counts

class Judge:
    """One claim, or the approval of one root."""
    def __init__(self, world: World, cited: list[Record]) -> None:
        self.world, self.cited, self.doubts = world, cited, list[str]()

    def doubt(self, code: str) -> None:
        self.doubts.append(code)

    def one(self, type_: str) -> Record | None:
        found = [record for record in self.cited if record.type == type_]
        if len(found) > 1: raise Stop("coarse_evidence")
        return found[0] if found else None

    def judge(self, predicate: Callable[[], None]) -> tuple[str | None, bool]:
        """The code, None if proven, and whether the claim failed."""
        try:
            predicate()
        except Stop as stop: return (self.doubts or [stop.code])[0], False
        except Fail as failed: return failed.code, True
        return (self.doubts[0] if self.doubts else None), False

    def of_the_run(self) -> None:
        ours = self.world.sender.run_id
        for record in self.cited:
            if record.run_id != ours and not (record.run_id == "tracekit/signer" and text(record.data, "run_id") == ours):
                fail("wrong_run")

    def gaps(self) -> None:
        if any(record.gap for record in self.cited): self.doubt("gap_in_run")

    def agree(self, claimed: Any, found: Any) -> bool:
        """9.4"""
        code = ambiguity(claimed) or ambiguity(found)
        if code is not None: self.doubt(code)
        return code is not None or same(claimed, found)

    def args_agree(self, claimed: dict[str, Any], opened: Any) -> None:
        for name, value in claimed.items():
            if not isinstance(opened, dict) or name not in opened or not self.agree(value, opened[name]):
                fail("args_differ")

    def paths_agree(self, one: str, other: str) -> None:
        if read_path(one) is None or read_path(other) is None: self.doubt("ambiguous_path")
        elif one != other: fail("args_differ")

    # 9.2, 9.3

    def decision(self) -> Record:
        self.of_the_run()
        decision = self.one("policy.decision")
        if decision is None:
            if any(record.type == "tool.result" and record.data.get("ok") is False for record in self.cited):
                fail("call_failed")
            weak = any(record.type in ("tool.call", "tool.result", "model.message", "ext") for record in self.cited)
            raise Stop("t1_only" if weak else "no_evidence")
        if text(decision.data, "caller") not in (None, self.world.sender.agent): fail("wrong_run")
        return decision

    def call(self, *classes: str, tool: str | None = None, succeeded: bool = True, content: bool = False) -> Call:
        decision = self.decision()
        name, data = text(decision.data, "tool"), decision.data
        result = self.one("tool.result")
        if result is not None and not follows(result, decision): result = None
        if text(data, "decision") == "deny": fail("call_denied")
        if tool is not None and name != tool: fail("args_differ")
        for record in self.cited:
            if record.type == "approval" and record.call == decision.call and text(record.data, "decision") != "approve":
                fail("approval_rejected")
        if succeeded and result is not None and result.data.get("ok") is not True: fail("call_failed")
        described = self.world.tools.get(name) if name is not None else None
        if result is None: self.doubt("no_evidence")
        else:
            if decision.tier != "T2" or result.tier != "T2" or text(data, "via") != text(result.data, "via"):
                self.doubt("t1_only")
            consumed = (record for record in self.cited if record.type == "approval.consumed")
            if text(data, "decision") == "ask" and not any(record.call == decision.call for record in consumed):
                self.doubt("no_evidence")
            if name is None or "args" not in decision.opened: self.doubt("not_opened")
            if classes and (described is None or described["class"] not in classes): self.doubt("unknown_tool")
            if content:
                count = part(result.data, "redaction").get("count", 0)
                if part(result.data, "output").get("redacted") is True or (is_number(count) and count > 0):
                    self.doubt("redacted")
                if "content" not in result.opened: self.doubt("not_opened")
            self.gaps()
        opened = MISSING if result is None else result.opened.get("content", MISSING)
        return Call(decision, result, decision.opened.get("args", MISSING), opened, described)

    # 9.5 to 9.9

    def tool_called(self, args: dict[str, Any]) -> None:
        call = self.call(tool=args["tool"])
        if call.args is not MISSING:
            self.args_agree(args["args"], call.args)

    def result_value(self, args: dict[str, Any]) -> None:
        call = self.call(tool=args["tool"], content=True)
        if call.args is not MISSING:
            self.args_agree(args["args"], call.args)
        if call.content is MISSING: return
        try:
            found = into(call.content, args["pointer"])
        except Ambiguous as ambiguous:
            self.doubt(ambiguous.code)
            return
        if found is MISSING or not self.agree(args["value"], found): fail("result_differs")

    def http_fetched(self, args: dict[str, Any]) -> None:
        call = self.call("http", content="status" in args or "body_sha256" in args)
        if not call.is_class("http"): return
        assert call.tool
        if "method" in call.tool or call.args is not MISSING:
            if call.tool.get("method", call.at("args", "method")) != args["method"]: fail("args_differ")
        if call.args is not MISSING:
            claimed, found = read_url(args["url"]), read_url(call.text("args", "url", "args_differ"))
            if claimed is None or found is None: self.doubt("ambiguous_host")
            elif claimed != found: fail("args_differ")
        if call.content is MISSING: return
        if "status" in args:
            status = call.at("result", "status")
            if status is MISSING or not self.agree(args["status"], status): fail("result_differs")
        if "body_sha256" in args:
            body = call.at("result", "body")
            if body is MISSING or body_digest(body) != args["body_sha256"]: fail("result_differs")

    def command_ran(self, args: dict[str, Any]) -> None:
        self.command(args, self.call("shell", "test", succeeded=False, content=True), args["exit_code"])

    def tests_passed(self, args: dict[str, Any]) -> None:
        call = self.call("shell", "test", content=True)
        if not self.world.tools: return
        starts = self.world.runners.get(args["runner"], [])
        if not any(args["argv"][: len(words)] == words for words in starts): self.doubt("unknown_tool")
        self.command(args, call, 0)
        if "counts" not in args or call.tool is None or call.content is MISSING: return
        counts = counts_of(call.text("result", "output", "result_differs"))
        if counts is None: self.doubt("ambiguous_text")
        elif any(counts.get(word, 0) != count for word, count in args["counts"].items()): fail("result_differs")

    def command(self, args: dict[str, Any], call: Call, exit_code: int) -> None:
        """9.8, steps 3 and 4."""
        if call.tool is not None and call.args is not MISSING:
            self.words(args, call)
        if call.tool is not None and call.content is not MISSING:
            found = call.at("result", "exit_code")
            if not is_number(found): fail("result_differs")
            if not strict_number(found): self.doubt("ambiguous_number")
            elif found != exit_code: fail("result_differs")

    def words(self, args: dict[str, Any], call: Call) -> None:
        if any(read_text(word) is None for word in args["argv"]): return self.doubt("ambiguous_shell")
        words, command = call.at("args", "argv"), call.at("args", "command")
        if words is MISSING and isinstance(command, str):
            words = read_command(command)
            if words is None: return self.doubt("ambiguous_shell")
        if not isinstance(words, list) or words != args["argv"]: fail("args_differ")
        if "cwd" in args:
            self.paths_agree(args["cwd"], call.text("args", "cwd", "args_differ"))

    def file_written(self, args: dict[str, Any]) -> None:
        call = self.call("fs_write")
        if not call.is_class("fs_write") or call.args is MISSING: return
        self.paths_agree(args["path"], call.text("args", "path", "args_differ"))
        content, found = call.at("args", "content"), call.at("args", "sha256")
        if content is not MISSING: found = body_digest(content)
        elif not isinstance(found, str): raise Stop("coarse_evidence")
        if found != args["sha256"]: fail("args_differ")

    # 9.10

    def net_reached(self, args: dict[str, Any]) -> None:
        self.of_the_run()
        if read_host(args["host"]) is None: raise Stop("ambiguous_host")
        seen = [record.data for record in self.cited if record.type == "effect.observed" and record.data.get("kind") == "net"]
        good = False
        for data in seen:
            host, connections = text(data, "host"), data.get("connections", 0)
            if host is None or read_host(host) is None: raise Stop("ambiguous_host")
            if host != args["host"] or not same(data.get("port", MISSING), args["port"]): fail("args_differ")
            first, last = text(data, "first_ts"), text(data, "last_ts")
            within = first is not None and last is not None and args["window"]["from"] <= first and last <= args["window"]["to"]
            good |= within and data.get("attribution") == "token" and is_number(connections) and bool(connections > 0)
        self.gaps()
        if not good: raise Stop("coarse_evidence" if seen else "no_evidence")

    def decided(self, args: dict[str, Any]) -> None:
        decision = self.decision()
        found, tool = text(decision.data, "decision"), text(decision.data, "tool")
        if found != args["decision"]: fail("call_denied" if found == "deny" else "result_differs")
        if tool is None: self.doubt("not_opened")
        elif tool != args["tool"]: fail("args_differ")
        if decision.tier != "T2": self.doubt("t1_only")
        if "args" not in decision.opened: raise Stop("not_opened")
        self.args_agree(args["args"], decision.opened["args"])

    # 9.11

    def approval(self) -> Approval:
        """A1 to A7."""
        trust = self.world.trust
        answer = self.one("approval")
        if answer is not None and text(answer.data, "decision") != "approve": fail("approval_rejected")
        decision, request = self.one("policy.decision"), self.one("approval.request")
        if answer is None or decision is None or request is None: raise Stop("no_evidence")
        approval_id, binding = text(request.data, "approval_id"), part(request.data, "binding")
        decision_id, tool = text(decision.data, "decision_id"), text(decision.data, "tool")
        policy = text(decision.data, "policy_hash")
        linked = (
            decision.call is not None
            and decision.call == request.call == answer.call
            and text(decision.data, "decision") == "ask"
            and decision_id is not None
            and decision_id == text(request.data, "decision_id")
            and policy in (None, text(request.data, "policy_hash"))
            and approval_id is not None
            and approval_id == text(answer.data, "approval_id")
            and decision.seq < request.seq < answer.seq
            and bound(request)
            and tool is not None
            and tool == text(binding, "tool")
        )
        if not linked: fail("approval_other_call")
        if (text(request.data, "expires_at") or "") <= answer.when: fail("approval_rejected")
        if (answer.data.get("break_glass") is True and not trust.get("break_glass", False)) or self.taken_back(request, answer):
            fail("approval_rejected")
        who, via = part(answer.data, "approver_identity"), part(answer.data, "via")
        vouched = who.get("attested") is True or (via.get("attested") is True and identity(via) in trust.get("bridges", []))
        if decision.tier != "T2" or not vouched: self.doubt("t1_only")
        args = MISSING
        if "args" in decision.opened and "args" in request.opened:
            args = decision.opened["args"]
            if not same(args, request.opened["args"]): fail("approval_other_call")
        else:
            self.doubt("not_opened")
        named = (text(answer.data, "person"), text(who, "person"), identity(who), text(answer.data, "approver"))
        person = next((name for name in named if name is not None), None)
        assert tool is not None
        return Approval(decision, request, answer, tool, args, person)

    def taken_back(self, request: Record, answer: Record) -> bool:
        for record in self.world.records:
            if record.seq > answer.seq and record.run_id == request.run_id:
                if text(record.data, "approval_id") == text(request.data, "approval_id"):
                    if record.type in ("approval.revoked", "approval.expired", "approval.abandoned"): return True
                    if record.type == "approval.consumed": return False
        return False

    def approved_by(self, args: dict[str, Any]) -> None:
        self.of_the_run()
        found = self.approval()
        if read_text(args["person"]) is None or (found.person is not None and read_text(found.person) is None):
            self.doubt("ambiguous_text")
        elif found.by_agent or found.by_asker or found.person != args["person"]: fail("approver_differs")
        if "tool" in args and args["tool"] != found.tool: fail("approval_not_covering")
        if args["terms"] or "intent" in args:
            tool = self.world.tools.get(found.tool)
            if tool is None: self.doubt("unknown_tool")
            else:
                if "intent" in args and args["intent"] != tool.get("intent"): fail("approval_not_covering")
                if found.args is not MISSING:
                    self.covers(args["terms"], tool, found.args)
        if "done" in args:
            self.done(found)

    def covers(self, terms: list[Term], tool: dict[str, Any], args: Any) -> None:
        for term in terms:
            if (code := term_ambiguity(term)) is not None:
                self.doubt(code)
                continue
            described = tool.get("fields", {}).get(term["field"])
            if described is None: fail("approval_not_covering")
            unit = point(args, described["unit_at"]) if "unit_at" in described else described.get("unit")
            value = point(args, described["at"])
            if not (unit is None and "unit_at" not in described or isinstance(unit, str)) or value is MISSING:
                fail("approval_not_covering")
            try:
                if not meets(term, value, unit, self.world.files): fail("approval_not_covering")
            except Ambiguous as ambiguous: self.doubt(ambiguous.code)

    def done(self, found: Approval) -> None:
        use, result = self.one("approval.consumed"), self.one("tool.result")
        used = (
            use is not None
            and text(use.data, "approval_id") == text(found.request.data, "approval_id")
            and use.call == found.decision.call
            and use.seq > found.answer.seq
        )
        if result is not None and not follows(result, found.decision): result = None
        if result is not None and result.data.get("ok") is not True: fail("call_failed")
        if result is None or not used: self.doubt("no_evidence")
        elif result.tier != "T2": self.doubt("t1_only")

    # 9.12

    def still_holds(self, args: dict[str, Any], target: list[Record], both: list[Record]) -> None:
        if any(read_path(path) is None for path in args["paths"]): raise Stop("ambiguous_path")
        of_target = [record for record in target if record.type == "policy.decision"]
        if len(of_target) != 1: raise Stop("coarse_evidence" if of_target else "no_evidence")
        own = beginning = of_target[0]
        if "tree" in args: beginning = self.tree_before(own, args)
        shown = [record for record in both if record.run_id == self.world.sender.run_id and record.seq >= beginning.seq]
        for record in shown:
            if record.hash != own.hash:
                self.untouched(record, shown, args["paths"])
        whole = bool(shown) and (shown[-1].type == "run.final" or shown[-1].seq + 1 == self.world.size)
        for before, after in zip(shown, shown[1:]):
            in_order = after.event["run_seq"] == before.event["run_seq"] + 1
            whole &= in_order and text(after.event, "run_prev_hash") == before.hash
        if not whole: self.doubt("gap_in_run")

    def tree_before(self, own: Record, args: dict[str, Any]) -> Record:
        inner = Judge(self.world, [record for record in self.cited if record.seq < own.seq])
        inner.doubts = self.doubts
        call = inner.call("tree", content=True)
        if call.tool is None or call.args is MISSING or call.content is MISSING: raise Stop("not_opened")
        root = call.text("args", "path", "args_differ")
        if read_path(root) is None: raise Stop("ambiguous_path")
        if not all(path == root or below(path, root) for path in args["paths"]): fail("args_differ")
        if call.at("result", "sha256") != args["tree"]: fail("result_differs")
        return call.decision

    def untouched(self, record: Record, shown: list[Record], paths: list[str]) -> None:
        """9.12, S4."""
        if record.gap or (record.type == "effect.observed" and record.data.get("kind") != "net"):
            return self.doubt("gap_in_run")
        if record.type == "tool.result" and not any(follows(record, other) for other in shown):
            return self.doubt("gap_in_run")
        if record.type == "policy.decision" and text(record.data, "decision") != "deny":
            name = text(record.data, "tool")
        elif record.type == "tool.call": name = text(record.data, "name")
        else:
            return
        tool = self.world.tools.get(name) if name is not None else None
        if tool is not None and tool["class"] in ("http", "read", "tree", "act", "grant"): return
        pointer = tool.get("args", {}).get("path") if tool is not None and tool["class"] == "fs_write" else None
        path = MISSING if pointer is None else point(record.opened.get("args", MISSING), pointer)
        if not isinstance(path, str): self.doubt("gap_in_run")
        elif read_path(path) is None: self.doubt("ambiguous_path")
        elif any(path == other or below(path, other) or below(other, path) for other in paths): fail("result_differs")

@dataclass
class Approval:
    decision: Record
    request: Record
    answer: Record
    tool: str
    args: Any
    person: str | None

    @property
    def by_agent(self) -> bool:
        return "approver_kind" in self.answer.data

    @property
    def by_asker(self) -> bool:
        return self.answer.data.get("self_approved") is True or self.answer.data.get("same_user") is True

def bound(request: Record) -> bool:
    data, event = request.data, request.event
    binding = part(data, "binding")
    return (
        text(data, "binding_digest") == digest(jcs(data.get("binding")))
        and all(same(binding.get(n, MISSING), data.get(n, MISSING)) for n in ("approval_id", "policy_hash", "expires_at"))
        and all(same(binding.get(n, MISSING), event.get(n, MISSING)) for n in ("tenant", "run_id", "tool_call_id"))
        and same(binding.get("attempt", MISSING), event.get("attempt", 0))
        and not isinstance(binding.get("attempt"), float)
    )
