#!/usr/bin/env bash
# The standard x402 clients, of npm and of PyPI, against a server on the embedded ledger: they read our 402, pay its entry of
# scheme `exact` by the scheme given them here (D37), and get their answer. `countersign mandate agent` is their wallet.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
cd "$OUT"
mkdir -p data
field() { "$NODE" -e 'console.log(JSON.parse(require("fs").readFileSync(0))[process.argv[1]])' "$1"; }
key() { "$COUNTERSIGN" mandate key "$1" | cut -d' ' -f"$2"; }
# An act that is in no block is sent again for ten minutes: here it is there at once, or something is wrong.
principal() { timeout 120 "$COUNTERSIGN" mandate principal --config countersign.toml "$@"; }
token=eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.745553444d

port=$("$NODE" -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
export URL=http://127.0.0.1:$port
"$COUNTERSIGN" mandate agent new --server "$URL" --allow "127.0.0.1:$port" --chain file:data/chain.db --json > agent.json
# The principal's key is one with an address.
"$COUNTERSIGN" mandate agent new --home principal --json > principal.json
head -c 24 /dev/urandom | base64 | tr '+/' '-_' > data/agent.secret

cat > countersign.toml <<EOF
listen = "127.0.0.1:$port"
data = "data"
[server.limits]
address_per_minute = 0
credential_per_minute = 0
[mandates]
[[mandates.callers]]
name = "agent"
kind = "agent"
key_file = "agent.secret"
EOF
"$NODE" "$here/mandate.mjs" "$(cat agent.json)" \
    "$(key data/engine.jwk 1)" "$(key principal/wallet.jwk 2)" "$(key approver.jwk 2)" > data/M-001.json
principal fund --times 8 > /dev/null
principal fund "$(field address < agent.json)" --lovelace 20000000 --times 80 > /dev/null
ref=$(principal anchor data/M-001.json --asset "$token" --key principal/wallet.jwk | awk '$1 == "mandate_ref" { print $2 }')
principal open "$ref" --vault vault.json --key principal/wallet.jwk > /dev/null
principal fund "$(field address < principal.json)" --asset "$token" --amount 500000000 > /dev/null
principal deposit vault.json --amount 500000000 --key principal/wallet.jwk > /dev/null
{
    echo '[[mandates.anchored]]'
    echo 'file = "M-001.json"'
    echo '[mandates.anchored.vault]'
    "$NODE" -e 'for (const [k, v] of Object.entries(JSON.parse(require("fs").readFileSync("vault.json")))) console.log(`${k} = "${v}"`)'
} >> countersign.toml

"$COUNTERSIGN" serve --config countersign.toml > server.log 2>&1 &
server=$!
# It lets open requests finish for ten seconds, and its worker for as long.
stop() {
    kill "$server" 2>/dev/null || return 0
    for _ in $(seq 300); do kill -0 "$server" 2>/dev/null || return 0; sleep 0.1; done
    echo "the server does not stop"
    kill -9 "$server"
    exit 1
}
trap stop EXIT
for _ in $(seq 100); do
    grep -q 'listens on' server.log && break
    kill -0 $server || { cat server.log; exit 1; }
    sleep 0.1
done
grep -q 'listens on' server.log || { echo "the server does not listen"; cat server.log; exit 1; }

"$NODE" "$here/main.mjs"
"$PYTHON" "$here/client.py"
