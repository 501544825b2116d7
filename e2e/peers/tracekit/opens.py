"""Whether the reference's own arithmetic finds in a bundle what the openings say: `opens.py BUNDLE OPENINGS`. Prints the number."""

import json
import sys
import zipfile

from tracekit.format.canon import event_hash
from tracekit.signer.service import _commitment

records = {}
with zipfile.ZipFile(sys.argv[1]) as bundle:
    for name in bundle.namelist():
        if name.startswith("runs/"):
            for line in bundle.read(name).splitlines():
                event = json.loads(line)["event"]
                records[event["seq"]] = event
with open(sys.argv[2]) as file:
    openings = json.load(file)
for one in openings:
    event = records[one["seq"]]
    data = event["data"]
    if "output" in data:
        committed, digest = data["output"]["hash"], event_hash(one["value"])
    else:
        committed = data["binding"]["args_commitment"] if event["type"] == "approval.request" else data["args_commitment"]
        digest = event_hash({"args": one["value"], "tool": one["tool"]})
    if _commitment(bytes.fromhex(one["salt"]), digest) != committed:
        sys.exit(f"seq {one['seq']} does not open")
print(len(openings))
