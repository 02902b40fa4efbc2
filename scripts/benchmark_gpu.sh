#!/usr/bin/env bash
# Environment and training on an accelerator at 1,024, 4,096 and 16,384 worlds: steps/s, memory, compile time.
#   scripts/benchmark_gpu.sh [FOLDER]      # figures as JSON, one file a measurement; under ten minutes in all
# Needs a jax with the accelerator's plugin (for NVIDIA: pip install "jax[cuda12]==0.10.1").
set -euo pipefail
out=${1:-benchmark_gpu}
mkdir -p "$out"
cd "$(dirname "$0")/.."
export XLA_PYTHON_CLIENT_PREALLOCATE=false
python -c "import jax; assert jax.devices()[0].platform != 'cpu', 'no accelerator is visible to jax'; print(jax.devices())"
for worlds in 1024 4096 16384; do
    timeout 90 python scripts/benchmark.py env --num-envs "$worlds" --steps 100 --repeats 3 --json "$out/env_$worlds.json" || echo "env $worlds failed"
    timeout 90 python scripts/benchmark.py train --num-envs "$worlds" --repeats 3 --json "$out/train_$worlds.json" || echo "train $worlds failed"
done
