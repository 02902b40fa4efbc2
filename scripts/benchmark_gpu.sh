#!/usr/bin/env bash
# Environment and training on an accelerator at 1,024, 4,096 and 16,384 worlds: steps/s, memory, compile time.
#   scripts/benchmark_gpu.sh [FOLDER]      # figures as JSON, one file a measurement, and what was printed
# Takes BUDGET seconds at most (default 590): what does not fit is ended or left out, and counts as failed.
# PYTHON is the interpreter (default python), WORLDS the sizes in rising order.
# Exits with the number of measurements that failed; each leaves its output in FOLDER.
# Needs a jax with the accelerator's plugin (for NVIDIA: pip install "jax[cuda12]==0.10.1").
set -euo pipefail
mkdir -p "${1:-benchmark_gpu}"
out=$(cd "${1:-benchmark_gpu}" && pwd)
python=${PYTHON:-python}
budget=${BUDGET:-590}
cd "$(dirname "$0")/.."
export XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONPATH=$PWD
"$python" - <<'CHECK'
import sys
import jax
if jax.default_backend() == "cpu":
    sys.exit('jax sees no accelerator; for NVIDIA: pip install "jax[cuda12]==0.10.1"')
print(jax.devices())
CHECK

failed=0
measure() { # NAME OPTION...
    local name=$1 left=$((budget - SECONDS)) # SECONDS: since this shell began
    shift
    rm -f "$out/$name.json"
    if ((left < 1)); then
        echo "$name left out: the $budget s are over" >&2
    elif timeout --kill-after=10 "$left" "$python" scripts/benchmark.py "$@" --json "$out/$name.json" >"$out/$name.txt" 2>&1; then
        echo "== $name, done after $SECONDS s"
        cat "$out/$name.txt"
        return
    else
        echo "$name failed, or the $budget s were over ($SECONDS s); see $out/$name.txt" >&2
    fi
    failed=$((failed + 1))
}

for worlds in ${WORLDS:-1024 4096 16384}; do
    measure "train_$worlds" train --num-envs "$worlds" --repeats 3
    measure "env_$worlds" env --num-envs "$worlds" --steps 100 --repeats 3
done
exit "$failed"
