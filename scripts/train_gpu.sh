#!/usr/bin/env bash
# A published baseline on an accelerator, in slices of time: trains, saves, and says how fast it went.
#   scripts/train_gpu.sh [FOLDER] [OPTION=VALUE ...]   # options as scripts/train.py takes them, the folder is the run's
# The same command goes on. BUDGET is the slice in seconds (default 540, compiling and saving included), PYTHON the interpreter.
# Exit status: 0 the slice or the run is done, otherwise that of scripts/train.py.
# Needs a jax with the accelerator's plugin (for NVIDIA: pip install "jax[cuda12]==0.10.1"), or ANY_DEVICE=1 to try it on a CPU.
set -euo pipefail
run=$(realpath -m "${1:-runs/published_mappo_hard_seed0}")
shift || true
python=${PYTHON:-python}
cd "$(dirname "$0")/.."
export PYTHONPATH=$PWD
"$python" - "${ANY_DEVICE:-}" <<'CHECK'
import sys
import jax
if jax.default_backend() == "cpu" and not sys.argv[1]:
    sys.exit('jax sees no accelerator; for NVIDIA: pip install "jax[cuda12]==0.10.1"')
print(jax.devices())
CHECK

status=0
timeout --signal=TERM --kill-after=60 "${BUDGET:-540}" "$python" scripts/train.py \
    experiment=published_mappo env.difficulty=hard "run.dir='$run'" logger.console=lines "$@" || status=$?
# 124: the slice is over, and the run has saved
if ((status == 124)); then status=0; fi

"$python" - "$run/metrics.jsonl" <<'RATE'
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
lines = file.read_text().splitlines() if file.exists() else []
rows = [row for row in map(json.loads, lines) if row["kind"] == "training"]
if rows:
    last = rows[-1]
    print(f"{last['env_steps']:,} steps in {last['seconds']:,.0f} s of training; the newest update at {last['steps_per_second']:,.0f} steps/s")
RATE
exit "$status"
