"""Worker of benchmark.py: measures alem-env in that package's own interpreter.

Not called by hand. Reads one JSON request a line on standard input, answers one JSON line each:
    {"do": "prepare", "num_envs": 64, "difficulty": "hard", "channels": 4, "steps": 20,
     "resets": false}                       -> {"compile_s": ..., "state_bytes": ..., ...}
    {"do": "measure", "resets": false}      -> {"seconds": ..., "world_steps": ...}
    {"do": "prepare_training", "baselines": FOLDER, "num_envs": 64, "num_steps": 64,
     "difficulty": "hard", "channels": 4}   -> {"compile_s": ...}
    {"do": "train"}                         -> {"seconds": ..., "world_steps": ...}, one update
"""

import argparse
import json
import os
import sys

from command_line import run
from reference import need_reference


def serve(answers):
    """Answers the requests on standard input until it ends."""
    benches = {}

    def prepare(**request):
        from reference.bench import Bench

        bench = benches[request["resets"]] = Bench(**request)
        return dict(
            compile_s=bench.compile_s, state_bytes=bench.state_bytes, obs_bytes=bench.obs_bytes
        )

    def measure(resets):
        bench = benches[resets]
        return dict(seconds=bench.measure(), world_steps=bench.steps * bench.num_envs)

    def prepare_training(**request):
        from reference.train import Trainer

        trainer = benches["training"] = Trainer(**request)
        return dict(compile_s=trainer.compile_s)

    def train():
        trainer = benches["training"]
        return dict(seconds=trainer.measure(), world_steps=trainer.world_steps)

    known = {f.__name__: f for f in (prepare, measure, prepare_training, train)}
    for line in sys.stdin:
        request = json.loads(line)
        answer = known[request.pop("do")](**request)
        print(json.dumps(answer), file=answers, flush=True)


def main():
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    need_reference(__file__)
    # alem-env prints while it is imported; keep standard output for answers.
    with os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)
        serve(answers)
    return 0


if __name__ == "__main__":
    run(main)
