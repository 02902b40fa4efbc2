"""Where a run's records go: JSON lines always, Weights & Biases on request."""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from marl.config import LoggerConfig
from marl.host.folder import write_atomic

METRICS_FILE = "metrics.jsonl"


class Logger(Protocol):
    """Takes flat records: names to numbers, with "update" and "env_steps" in each."""

    def log(self, record: dict[str, float]) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    """metrics.jsonl: one record a line, flushed at once.

    Args:
        folder: the run's folder.
        after_update: on resume, records of later updates are dropped: they are made again.
    """

    def __init__(self, folder: Path, after_update: int):
        self._path = folder / METRICS_FILE
        if self._path.exists():
            kept = [r for r in read_records(folder) if r["update"] <= after_update]
            write_atomic(self._path, "".join(_line(r) for r in kept))
        self._file = open(self._path, "a")

    def log(self, record: dict[str, float]) -> None:
        self._file.write(_line(record))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Wandb:
    """Weights & Biases; offline runs stay in the run's folder. Needs no network unless online."""

    def __init__(self, folder: Path, options: LoggerConfig, config: dict, run_id: str):
        os.environ.setdefault("WANDB_SILENT", "true")
        import wandb

        self._run = wandb.init(
            project=options.wandb_project,
            name=options.wandb_name or folder.name,
            mode=options.wandb_mode,
            dir=str(folder),
            config=config,
            id=run_id,
            resume="allow" if options.wandb_mode == "online" else None,
            reinit="create_new",  # several runs in one process stay apart
        )
        # Steps of our own: wandb's must rise by one a call, or it drops records.
        self._run.define_metric("*", step_metric="env_steps")

    def log(self, record: dict[str, float]) -> None:
        self._run.log(record)

    def close(self) -> None:
        self._run.finish()


class Several:
    """Hands each record to all of its loggers."""

    def __init__(self, loggers: Sequence[Logger]):
        self._loggers = list(loggers)

    def log(self, record: dict[str, float]) -> None:
        for logger in self._loggers:
            logger.log(record)

    def close(self) -> None:
        for logger in self._loggers:
            logger.close()


def make_logger(
    folder: Path, options: LoggerConfig, config: dict, *, after_update: int, run_id: str
) -> Logger:
    """The loggers that the options ask for."""
    loggers: list[Logger] = [JsonLines(folder, after_update)]
    if options.wandb_mode != "disabled":
        loggers.append(Wandb(folder, options, config, run_id))
    return Several(loggers)


def read_records(folder: Path) -> list[dict]:
    """Whole lines of metrics.jsonl; a last line cut short by a crash is left out."""
    records = []
    path = folder / METRICS_FILE
    if not path.exists():
        return records
    for line in path.read_text().splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def _line(record: dict[str, float]) -> str:
    # JSON has no NaN: null instead, which readers skip.
    clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v
             for k, v in record.items()}  # fmt: skip
    return json.dumps(clean) + "\n"
