"""Records as a file of TensorBoard's events.

The file is made anew from metrics.jsonl whenever a run goes on. That one holds each record once,
whatever happened before; so does this one then, also if TensorBoard was asked for in the middle of
a run or a process was killed while it wrote. It is the same file with the same beginning, so that a
TensorBoard that is open reads on where it was.
"""

import logging
import math
import struct
import time
from collections.abc import Sequence
from pathlib import Path

FILE = "tensorboard/events.out.tfevents.0.metrics"
SECONDS_BETWEEN_FLUSHES = 10.0

_EVALUATION = "evaluation/"
# Of every record; env_steps is the axis.
_NO_SCALARS = ("kind", "env_steps")

_log = logging.getLogger(__name__)


class TensorBoard:
    """Takes records; a scalar a number, under its name, over environment steps.

    Its wall time is when the file was first made, and on top of that the time spent in updates:
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
        self._flushed = time.monotonic()
        path = folder / FILE
        path.parent.mkdir(exist_ok=True)
        self._began = self._first_time(path) or time.time()
        self._writer = RecordWriter(str(path))
        self._write(self._event(wall_time=self._began, file_version="brain.Event:2"))
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

    def _first_time(self, path: Path) -> float | None:
        """Of the file that is there, if it can be read: its first record is length (8 bytes),
        checksum (4), event, checksum."""
        try:
            data = path.read_bytes()[:1024]
            (length,) = struct.unpack_from("<Q", data)
            return self._event.FromString(data[12 : 12 + length]).wall_time or None
        except Exception:  # missing, cut short, of something else
            return None

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
