"""An agent's gateway, in plain Python over the signer's socket: argument 1 is the socket. Prints the run it played."""

import hashlib
import json
import socket
import sys


class Line:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        assert self.ask({"method": "hello", "proto": 19})["proto"] == [15, 19]

    def ask(self, frame):
        self.socket.sendall(json.dumps(frame).encode() + b"\n")
        answer = json.loads(self.file.readline())
        assert "error" not in answer, (frame, answer)
        return answer


def digest(tool, args):
    return "sha256:" + hashlib.sha256(
        json.dumps({"args": args, "tool": tool}, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


line = Line(sys.argv[1])
told = line.ask(
    {"method": "register_run", "request_id": "r", "caller": "harness:story", "agent": {"name": "story", "version": "1.0"}}
)
run = {"run_id": told["run_id"], "run_token": told["run_token"], "caller": "harness:story"}
seq = 0
for call in range(20):
    tool, args, name = "http_get", {"url": f"https://api.example.com/orders/{call}"}, f"call-{call}"
    decided = line.ask(
        {"method": "decide", "request_id": f"d{call}", "stream": "s", "client_seq": seq, "tool_call_id": name,
         "tool": tool, "args_source": "parsed", "args": args, **run})
    assert decided["decision"] == "allow", decided
    line.ask(
        {"method": "complete", "request_id": f"c{call}", "stream": "s", "client_seq": seq + 1, "tool_call_id": name,
         "decision_id": decided["decision_id"], "args_digest": digest(tool, args), "status": "ok",
         "result": {"status": 200, "order": call}, **run})
    seq += 2
line.ask({"method": "observe", "request_id": "o", "stream": "s", "client_seq": seq, "source": "resource", "trust": "untrusted",
          "value": {"text": "hello"}, **run})
line.ask({"method": "close_run", "request_id": "close", **run})
print(told["run_id"])
