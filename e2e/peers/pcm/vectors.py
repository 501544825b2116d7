"""Runs the verifier over every vector of vectors/pcm/messages; ends with 1 if one disagrees."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import strict
from log import ROOT, Files, Trust
from strict import MISSING, BadJson, parse
from verifier import Verifier

def reading(kind: str, text: str) -> Any:
    if kind == "number":
        try:
            value = parse(text)
        except BadJson: return None
        return value if strict.strict_number(value) else None
    read = {
        "host": strict.read_host,
        "url": strict.read_url,
        "argv": strict.read_command,
        "path": strict.read_path,
        "text": strict.read_text,
    }
    return read[kind](text)

def main() -> int:
    files = Files(os.environ.get("PCM_EVENT_SCHEMA"))
    started, agreed, disagreed = time.monotonic(), 0, 0
    for path in sorted(Path(ROOT / "vectors/pcm/messages").glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            case = parse(line)
            place = None
            if "kind" in case:
                name, expected = f"{case['kind']} {case['input']!r}", case["reading"]
                found: Any = reading(case["kind"], case["input"])
            else:
                name, expected = case["name"], case["expected"]
                data = bytes.fromhex(case["message_hex"]) if "message_hex" in case else case["message"].encode()
                trust = Trust.read(case["trust"], files)
                verifier = Verifier(trust, files, case["now"], case.get("receiver"), case.get("state", MISSING))
                outcome = verifier.judge(data)
                found, place = " ".join(outcome.words()), outcome.place
            if found == expected: agreed += 1
            else:
                disagreed += 1
                print(f"{path.stem} {name}: expected {expected}, found {found}" + (f" at {place}" if place else ""))
    print(f"{agreed} vectors agree, {disagreed} do not, in {time.monotonic() - started:.1f} s")
    return 1 if disagreed else 0

if __name__ == "__main__":
    sys.exit(main())
