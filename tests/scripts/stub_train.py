"""In place of scripts/train.py, for tests of the queue: counts updates, saves them when stopped.

Arguments: a folder with NAME.json for each job (what to do) and NAME.yaml (its config.yaml), then
the job's options.
"""

import json
import shutil
import signal
import sys
import time
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser

from marl.host.folder import locked


def main() -> int:
    override = OverridesParser.create().parse_override(sys.argv[-1])
    plans, folder = Path(sys.argv[1]), Path(override.value())
    plan = json.loads((plans / f"{folder.name}.json").read_text())
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    if plan["code"]:
        print(f"error: {folder.name} cannot work")
        return plan["code"]
    with locked(folder):
        shutil.copy(plans / f"{folder.name}.yaml", folder / "config.yaml")
        saved = folder / "saved"
        update = int(saved.read_text()) if saved.exists() else 0
        print(f"from {update}", flush=True)
        while update < plan["updates"]:
            if stopped:
                saved.write_text(str(update))
                return 128 + signal.SIGTERM
            time.sleep(plan["seconds"])
            update += 1
            record = {"env_steps": update * plan["size"], "seconds": update * 1.0}
            with open(folder / "metrics.jsonl", "a") as file:
                file.write(json.dumps(record) + "\n")
        report = {"asked": plan["asked"] | {"run_id": "x", "update": update}}
        (folder / "evaluation.json").write_text(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
