#!/usr/bin/env bash
# The reference implementation of the evidence format: it reads what we write, we read what it writes, openings and the
# approval of a call by an executor included.
set -uo pipefail
cd "$(dirname "$0")"
tracekit=$(dirname "$PYTHON")/tracekit
failed=0

check() { # what was checked, what was expected, what was found
    if [ "$2" = "$3" ]; then echo "ok   $1"; else echo "FAIL $1: expected $2, found $3"; failed=1; fi
}

integrity() { sed -n 's/^ *Integrity: //p'; }

for story in plain rotated; do
    mkdir -p "$OUT/$story"
    [ "$story" = plain ] && more=() || more=(--rotate)
    "$COUNTERSIGN" evidence sample "$OUT/$story" --calls 40 "${more[@]}" >/dev/null
    bundle=$OUT/$story/bundle.tkb
    found=$("$tracekit" verify "$bundle" --trust "$OUT/$story/trust.json" 2>&1 | integrity)
    check "$story: the reference verifies our bundle" "VERIFIED." "$found"
    check "$story: the reference finds what our openings say" 83 "$("$PYTHON" opens.py "$bundle" "$OUT/$story/openings.json" 2>&1)"
    "$COUNTERSIGN" evidence open "$bundle" "$OUT/$story/openings.json" --trust "$OUT/$story/trust.json" >/dev/null
    check "$story: so do we" 0 $?
done
"$tracekit" verify "$OUT/plain/bundle.tkb" --trust "$OUT/rotated/trust.json" >/dev/null 2>&1
check "the reference refuses it under the key of another log" 1 $?

# A signer that runs: a gateway over its socket, the run as a bundle, what opens it.
mkdir -p "$OUT/signer"
cat >"$OUT/signer/countersign.toml" <<TOML
listen = "127.0.0.1:0"
data = "$OUT/signer/data"
[evidence]
socket = "$OUT/signer/s"
[[evidence.policy.rule]]
id = "R-GET"
tools = ["http_get"]
url = { at = "/url", hosts = ["api.example.com"] }
then = "allow"
TOML
export COUNTERSIGN_CONFIG=$OUT/signer/countersign.toml
"$COUNTERSIGN" signer >"$OUT/signer/said" 2>&1 &
signer=$!
trap 'kill $signer 2>/dev/null' EXIT
for _ in $(seq 200); do [ -S "$OUT/signer/s" ] && break; sleep 0.05; done
run=$("$PYTHON" agent.py "$OUT/signer/s")
bundle=$OUT/signer/bundle.tkb
"$COUNTERSIGN" evidence export "$run" -o "$bundle"
"$COUNTERSIGN" evidence trust >"$OUT/signer/trust.json"
"$COUNTERSIGN" evidence reveal "$run" >"$OUT/signer/openings.json"
found=$("$COUNTERSIGN" verify "$bundle" --trust "$OUT/signer/trust.json" 2>&1 | integrity)
check "signer: we verify the run" "VERIFIED." "$found"
found=$("$tracekit" verify "$bundle" --trust "$OUT/signer/trust.json" 2>&1 | integrity)
check "signer: the reference verifies the run" "VERIFIED." "$found"
check "signer: the reference finds what its openings say" 41 "$("$PYTHON" opens.py "$bundle" "$OUT/signer/openings.json" 2>&1)"
kill -9 $signer
wait $signer 2>/dev/null
unset COUNTERSIGN_CONFIG

mkdir -p "$OUT/theirs"
"$PYTHON" theirs.py "$OUT/theirs" || failed=1
bundle=$OUT/theirs/bundle.tkb
found=$("$COUNTERSIGN" verify "$bundle" --trust "$OUT/theirs/trust.json" 2>&1 | integrity)
check "we verify the reference's bundle" "VERIFIED." "$found"
opened=$("$COUNTERSIGN" evidence open "$bundle" "$OUT/theirs/openings.json" --trust "$OUT/theirs/trust.json" | grep -c " opens$")
check "we find what its openings say" 7 "$opened"
"$COUNTERSIGN" verify "$bundle" --trust "$OUT/plain/trust.json" >/dev/null
check "we refuse it under the key of another log" 1 $?
exit $failed
