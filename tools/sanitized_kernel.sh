#!/usr/bin/env bash
# The compiled kernel with AddressSanitizer and UndefinedBehaviorSanitizer, in a copy of the project:
#   tools/sanitized_kernel.sh FOLDER COMMAND…
# builds it there at first, then runs COMMAND (python's arguments) on it, for example
#   tools/sanitized_kernel.sh /tmp/asan tests/_kernel/native/fuzz.py --inputs 1000000
# PYTHON names the interpreter, which has Cython and the project's dependencies.
set -euo pipefail
folder=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-${root}/.venv/bin/python}

mkdir -p "${folder}"
tar -C "${root}" --exclude='*.so' -c toolkit fixtures_gen tests tools setup.py pyproject.toml README.md |
    tar -C "${folder}" -x
cd "${folder}"
BINLOGKIT_SANITIZE=1 "${python}" setup.py --quiet build_ext --inplace
# Python leaks at exit by design; its own allocator hides where objects end.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONMALLOC=malloc PYTHONPATH="${folder}/toolkit:${folder}/fixtures_gen"
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    exec "${python}" "$@"
