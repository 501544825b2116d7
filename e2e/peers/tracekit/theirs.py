"""A bundle of the reference signer with calls by its agent, calls by an executor and a person's approval, its trust file, and
what opens its records, in the folder given."""

import json
import os
import sys
import time

from tracekit.bundle_v2 import export
from tracekit.format.canon import event_hash
from tracekit.identity.base import CallerIdentity
from tracekit.signer.service import SignerService, load_policy, reader, reveal

out = sys.argv[1]
home = os.path.join(out, "signer")
policy = os.path.join(out, "policy.json")
with open(policy, "w") as file:
    json.dump({"version": 2, "unknown_tools": "allow", "ask": [
        {"id": "R-REFUND", "tool": "refund", "class": "unknown", "field": "target", "pattern": ".*",
         "reason": "a refund needs a person", "approval": {"executor": "t2"}}]}, file)

AGENT, EXECUTOR, ANA = (CallerIdentity("mtls", f"spiffe://acme/{name}", True) for name in ("agent", "executor", "ana"))
name = lambda identity: f"{identity.scheme}:{identity.subject}"
signer = SignerService(
    home, load_policy(policy), tenant="acme", gateways=[name(EXECUTOR)], fsck_every_s=0, grace_s=0,
    tenants={name(who): "acme" for who in (AGENT, EXECUTOR, ANA)},
    authorize={
        name(AGENT): ["register_run", "decide", "complete", "approval_request", "approval_consume", "close_run"],
        name(EXECUTOR): ["decide", "complete", "approval_request", "approval_consume"],
        name(ANA): ["approval_decide"],
    },
    approvals={"approvers": [name(ANA)], "persons": {name(ANA): "ana"}})
asked = 0


def ask(identity, method, **fields):
    global asked
    asked += 1
    return signer.call(identity, method, {"request_id": f"request-{asked}", **fields})


run = ask(AGENT, "register_run", agent={"name": "agent", "version": "1.0"})
own = {"run_id": run["run_id"], "run_token": run["run_token"]}
values = {}


def call(identity, stream, at, call_id, tool, arguments, result):
    whose = {} if identity is AGENT else {"caller": name(AGENT)}
    decided = ask(identity, "decide", **own, **whose, stream=stream, client_seq=at, tool_call_id=call_id, tool=tool,
                  args_source="parsed", args=arguments)
    if decided["decision"] == "ask":
        wanted = ask(identity, "approval_request", **own, **whose, tool_call_id=call_id)
        ask(ANA, "approval_decide", approval_id=wanted["approval_id"], decision="approve", reason="checked the order")
        used = ask(identity, "approval_consume", **own, **whose, tool_call_id=call_id, tool=tool, args_source="parsed",
                   args=arguments)
        assert used["ok"], used
    ask(identity, "complete", **own, **whose, stream=stream, client_seq=at + 1, tool_call_id=call_id,
        decision_id=decided["decision_id"], args_digest=event_hash({"args": arguments, "tool": tool}), status="ok",
        result=result)
    values[call_id] = (tool, arguments, {"result": result})


call(AGENT, "agent", 0, "call-1", "Bash", {"command": "pytest -q"}, {"exit_code": 0, "stdout": "3 passed"})
call(EXECUTOR, "executor", 0, "call-2", "http_get", {"url": "https://api.example.com/orders/81"}, {"status": 200})
call(EXECUTOR, "executor", 2, "call-3", "refund", {"order": 81, "cents": 12000}, {"status": 201, "refund": "re_1"})
ask(AGENT, "close_run", **own)
# The run's last record comes by itself; a reader sees what was written before it was opened.
for _ in range(600):
    store = reader({"data_dir": home, "storage": None})
    latest, ended = store.checkpoint_latest(), list(store.iter_run("acme", run["run_id"]))[-1]["event"]
    if ended["type"] == "run.final" and latest is not None and latest[0] > ended["seq"]:
        break
    store.close()
    time.sleep(0.1)
signer.close()

note = latest[1]
export(store, "acme", run["run_id"], note, os.path.join(out, "bundle.tkb"))
records = [record["event"] for record in store.iter_run("acme", run["run_id"])]
store.close()
with open(os.path.join(home, "log.vkey")) as file:
    vkey = file.read().strip()
with open(os.path.join(out, "trust.json"), "w") as file:
    json.dump({"logs": [vkey], "algs": ["ed25519"]}, file)
openings = []
for event in records:
    if event["type"] not in ("policy.decision", "approval.request", "tool.result"):
        continue
    tool, arguments, content = values[event["tool_call_id"]]
    salt = reveal(home, event["seq"])["salt"]
    value = content if event["type"] == "tool.result" else arguments
    openings.append({"seq": event["seq"], "salt": salt, "tool": tool, "value": value})
with open(os.path.join(out, "openings.json"), "w") as file:
    json.dump(openings, file)
