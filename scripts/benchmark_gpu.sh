#!/usr/bin/env bash
# Environment and training on an accelerator at 1,024, 4,096 and 16,384 worlds: steps/s, memory, compile time.
#   scripts/benchmark_gpu.sh [FOLDER]      # figures as JSON, one file a measurement; LIMIT seconds each (default 400)
# Exits with the number of measurements that failed; each leaves its output in FOLDER.
# Needs a jax with the accelerator's plugin (for NVIDIA: pip install "jax[cuda12]==0.10.1").
set -euo pipefail
mkdir -p "${1:-benchmark_gpu}"
out=$(cd "${1:-benchmark_gpu}" && pwd)
limit=${LIMIT:-400}
cd "$(dirname "$0")/.."
export XLA_PYTHON_CLIENT_PREALLOCATE=false
python -c "import jax; assert jax.devices()[0].platform != 'cpu', 'no accelerator is visible to jax'; print(jax.devices())"

failed=0
measure() { # NAME OPTION...
    local name=$1
    shift
    if timeout "$limit" python scripts/benchmark.py "$@" --json "$out/$name.json" >"$out/$name.txt" 2>&1; then
        cat "$out/$name.txt"
    else
        echo "$name failed or took more than $limit s; see $out/$name.txt" >&2
        failed=$((failed + 1))
    fi
}

for worlds in 1024 4096 16384; do
    measure "env_$worlds" env --num-envs "$worlds" --steps 100 --repeats 3
    measure "train_$worlds" train --num-envs "$worlds" --repeats 3
done
exit "$failed"
