"""Where a run's records go: JSON lines always, TensorBoard and Weights & Biases on request.

A record is flat, names to numbers, with "kind" ("training" or "evaluation"), "update" and
"env_steps" in each. An update has at most one of each kind; evaluations have names under
"evaluation/". Base, coord and total are percent of the maximum.
"""

import contextlib
import json
import logging
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from marl.config import LoggerConfig
from marl.host.files import write_atomic
from marl.host.folder import METRICS_FILE, Place
from marl.training.tensorboard import TensorBoard

TRAINING, EVALUATION = "training", "evaluation"
SENT_FILE = "wandb_sent"

_log = logging.getLogger(__name__)


class LoggerError(RuntimeError):
    """A logger that was asked for cannot start, or write; the message says what to do."""


class Logger(Protocol):
    """Takes records."""

    def log(self, record: dict[str, float | str]) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    """metrics.jsonl: one record a line, flushed at once. If somebody deletes or replaces the file
    meanwhile, it is made again with all its records; it goes along with a folder that is moved.

    Args:
        folder: the run's folder.
    """

    def __init__(self, folder: Path):
        self._path, self._place = folder / METRICS_FILE, Place(folder)
        self._file = open(self._path, "a+")

    def log(self, record: dict[str, float | str]) -> None:
        try:
            self._put_back()
            self._file.write(_line(record))
            self._file.flush()
        except OSError as error:
            with contextlib.suppress(OSError):  # it flushes once more
                self._file.close()
            raise LoggerError(
                f"{self._path} cannot be written ({error.strerror or error}); free some space "
                "there, then give the same command again"
            ) from error

    def _put_back(self) -> None:
        if self._is_in_place() or not self._place.is_there():
            return
        other = self._path.with_name(f"{METRICS_FILE}.other")
        kept = ""
        if self._path.exists():
            os.replace(self._path, other)
            kept = f"; what stood there instead is now {other.name}"
        self._file.seek(0)
        write_atomic(self._path, self._file.read())
        self._file.close()
        self._file = open(self._path, "a+")
        _log.warning(
            "%s was deleted or replaced while the run wrote to it: it is there again with all "
            "records%s",
            self._path,
            kept,
        )

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def close(self) -> None:
        if not self._file.closed:
            with contextlib.suppress(OSError):  # the last record is in the open file at least
                self._put_back()
        self._file.close()


class Wandb:
    """Weights & Biases; offline runs stay in the run's folder. Needs no network unless online.

    A run that was killed makes some records again, equal ones; wandb cannot forget the first, so
    a file remembers how far records were sent, and those are not sent twice.
    """

    def __init__(self, folder: Path, options: LoggerConfig, config: dict, run_id: str):
        os.environ.setdefault("WANDB_SILENT", "true")
        self._sent_file = folder / SENT_FILE
        self._sent = _read_sent(self._sent_file, run_id)
        self._run_id = run_id
        try:
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
            self._run.define_metric("*", step_metric="env_steps")
        except Exception as error:  # of the network, the account, its own service, ...
            raise LoggerError(
                f"logger.wandb_mode={options.wandb_mode} cannot start ({error}); "
                "give logger.wandb_mode=offline or logger.wandb_mode=disabled"
            ) from error

    def log(self, record: dict[str, float]) -> None:
        place = 2 * int(record["update"]) + is_evaluation(record)
        if self._run is None or place <= self._sent:
            return
        try:
            numbers = {name: value for name, value in record.items() if name != "kind"}
            self._run.log(numbers, step=place, commit=True)
            self._sent = place
            self._sent_file.write_text(f"{self._run_id} {place}\n")
        except Exception as error:
            self._give_up(error)

    def close(self) -> None:
        if self._run is None:
            return
        try:
            self._run.finish()
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Training is worth more than its log; metrics.jsonl has everything."""
        self._run = None
        _log.warning(
            "Weights & Biases failed (%s); nothing more is sent in this call, all is in %s. "
            "logger.wandb_mode=offline needs no network",
            error,
            METRICS_FILE,
        )


class Several:
    """Hands each record to all of its loggers."""

    def __init__(self, loggers: Sequence[Logger]):
        self._loggers = list(loggers)

    def log(self, record: dict[str, float]) -> None:
        for logger in self._loggers:
            logger.log(record)

    def close(self) -> None:
        """Closes all of them, then raises what the first to fail met."""
        errors = []
        for logger in self._loggers:
            try:
                logger.close()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]


def make_logger(
    folder: Path,
    options: LoggerConfig,
    config: dict,
    *,
    records: Sequence[dict],
    run_id: str,
) -> Logger:
    """The loggers that the options ask for, of a run that goes on from these records. Raises
    LoggerError if one cannot start."""
    loggers: list[Logger] = [JsonLines(folder)]
    if options.tensorboard:
        loggers.append(_tensorboard(folder, records))
    if options.wandb_mode != "disabled":
        loggers.append(Wandb(folder, options, config, run_id))
    return Several(loggers)


def _tensorboard(folder: Path, records: Sequence[dict]) -> TensorBoard:
    try:
        return TensorBoard(folder, records)
    except OSError as error:
        raise LoggerError(
            f"logger.tensorboard=true cannot write to {folder} ({error.strerror or error}); free "
            "some space there, or give logger.tensorboard=false"
        ) from error


def is_evaluation(record: dict) -> bool:
    """Whether a record is of an evaluation, not of training."""
    return record["kind"] == EVALUATION


def read_records(folder: Path) -> list[dict]:
    """Whole lines of metrics.jsonl. A last line cut short by a crash is left out, others that
    cannot be read with a warning."""
    path = folder / METRICS_FILE
    if not path.exists():
        return []
    return [record for _, record in _lines(path) if record is not None]


def keep_saved(folder: Path, is_saved: Callable[[dict], bool]) -> list[dict]:
    """Rewrites metrics.jsonl to go on from: damaged lines, and each record that is saved, once.

    Args:
        folder: the run's folder.
        is_saved: record -> whether the checkpoint that the run goes on from knows of it; the
            others are dropped, since they are made again.

    Returns:
        The records that are left.
    """
    path = folder / METRICS_FILE
    if not path.exists():
        return []
    lines, records = [], {}
    for line, record in _lines(path):
        if record is None:
            lines.append(line + "\n")
        elif is_saved(record) and (mark := (record["kind"], record["update"])) not in records:
            records[mark] = record
            lines.append(_line(record))
    write_atomic(path, "".join(lines))
    return list(records.values())


def _lines(path: Path) -> list[tuple[str, dict | None]]:
    """(line, record) each, None for a line that is damaged; without a last line cut short."""
    text = path.read_text(errors="replace")
    pairs = [(line, _parse(line)) for line in text.splitlines()]
    if pairs and pairs[-1][1] is None and not text.endswith("\n"):
        pairs.pop()
    damaged = [number for number, (_, record) in enumerate(pairs, 1) if record is None]
    if damaged:
        _log.warning("%s: lines %s cannot be read and are passed over", path, damaged)
    return pairs


def _parse(line: str) -> dict | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    names = {"kind": str, "update": int}
    is_record = isinstance(record, dict) and all(
        isinstance(record.get(name), kind) for name, kind in names.items()
    )
    return record if is_record and record["update"] >= 0 else None


def _line(record: dict[str, float]) -> str:
    # JSON has no NaN: null instead, which readers skip.
    clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v
             for k, v in record.items()}  # fmt: skip
    return json.dumps(clean) + "\n"


def _read_sent(path: Path, run_id: str) -> int:
    """Place of the last record sent of this run, or -1."""
    try:
        owner, place = path.read_text().split()
        return int(place) if owner == run_id else -1
    except (OSError, ValueError):
        return -1
