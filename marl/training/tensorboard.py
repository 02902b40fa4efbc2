"""Records as TensorBoard's event files.

The files are made anew from metrics.jsonl whenever a run goes on. That file holds each record once,
whatever happened before; so do these then, also if TensorBoard was asked for in the middle of a run
or a process was killed while it wrote.
"""

import logging
import math
import socket
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = "tensorboard"
SECONDS_BETWEEN_FLUSHES = 10.0

_EVALUATION = "evaluation/"
# Of every record; env_steps is the axis.
_NO_SCALARS = ("kind", "env_steps")

_log = logging.getLogger(__name__)


class TensorBoard:
    """Takes records; a scalar a number, under its name, over environment steps.

    Its wall time is the time spent in updates, counted so that the newest record is of now:
    "relative" shows how long training took, without the pauses between calls.

    Args:
        folder: the run's folder.
        records: what was logged before.

    Raises:
        OSError: files cannot be written.
        ImportError: tensorboardX is not installed.
    """

    def __init__(self, folder: Path, records: Sequence[dict]):
        from tensorboardX import RecordWriter
        from tensorboardX.proto import event_pb2, summary_pb2

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        self._began = time.time() - max((_seconds(r) for r in records), default=0.0)
        self._flushed = time.monotonic()
        (folder / FOLDER).mkdir(exist_ok=True)
        for old in (folder / FOLDER).glob("events.out.tfevents.*"):
            old.unlink()
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}"
        self._writer = RecordWriter(str(folder / FOLDER / name))
        self._write(self._event(wall_time=self._began, file_version="brain.Event:2"))
        # A TensorBoard that shows the files that there were forgets their points.
        start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        self._write(self._event(wall_time=self._began, step=0, session_log=start))
        for record in records:
            self._add(record)
        self._writer.flush()

    def log(self, record: dict[str, float | str]) -> None:
        """Training is worth more than its log: a file that cannot be written is given up."""
        if self._writer is None:
            return
        try:
            self._add(record)
            if time.monotonic() - self._flushed > SECONDS_BETWEEN_FLUSHES:
                self._writer.flush()
                self._flushed = time.monotonic()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        if self._writer is None:
            return
        try:
            self._writer.flush()
            self._writer.close()
        except OSError as error:
            self._give_up(error)

    def _add(self, record: dict) -> None:
        values = [
            self._summary.Value(tag=name, simple_value=value)
            for name, value in record.items()
            if _is_scalar(name, value, record["kind"])
        ]
        self._write(
            self._event(
                wall_time=self._began + _seconds(record),
                step=int(record["env_steps"]),
                summary=self._summary(value=values),
            )
        )

    def _write(self, event: object) -> None:
        self._writer.write(event.SerializeToString())

    def _give_up(self, error: OSError) -> None:
        self._writer = None
        _log.warning(
            "TensorBoard's file could not be written (%s); all is in metrics.jsonl, from which the "
            "next call with logger=tensorboard makes it again",
            error,
        )


def _is_scalar(name: str, value: object, kind: str) -> bool:
    """Numbers, but none twice: an evaluation is stamped as the training record of its update."""
    if name in _NO_SCALARS or (kind == "evaluation" and not name.startswith(_EVALUATION)):
        return False
    return isinstance(value, int | float) and math.isfinite(value)


def _seconds(record: dict) -> float:
    return float(record.get("seconds") or 0.0)
