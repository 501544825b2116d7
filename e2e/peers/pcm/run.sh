#!/usr/bin/env bash
# A verifier of messages that was written from docs/pcm-cs.md alone, over every vector of vectors/pcm/messages: a line for each
# on which it disagrees, and the sum. By itself it needs Python 3.11 and pip, nothing built. The schema of an event is the file
# that the text names (section 1.3), at PCM_EVENT_SCHEMA, a path below the repository.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${PYTHON:-}" ]; then
    venv=$here/../../out/pcm-venv
    PYTHON=$venv/bin/python
    [ -x "$PYTHON" ] || python3 -m venv "$venv"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check "$(grep '^cryptography==' "$here/../requirements.txt")"
fi
export PCM_EVENT_SCHEMA=${PCM_EVENT_SCHEMA:-crates/pcm/schema/tracekit.event.v2.json}
exec "$PYTHON" "$here/vectors.py"
