#!/bin/bash
# Build binlogkit/mysql:5.7 and :8.0 (or the series named) from a source tree, without installing it.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PYTHONPATH=${top}/toolkit:${top}/fixtures_gen${PYTHONPATH:+:${PYTHONPATH}}
exec "${PYTHON:-python3}" -m binlogkit_fixtures.servers.images "$@"
