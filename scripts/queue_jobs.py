"""The jobs of a queue file, and how far each of them is. See `run_queue.py`."""

import dataclasses
import enum
import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import hydra
import yaml
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from marl.config import TrainConfig
from marl.host.files import absolute
from marl.host.folder import CONFIG_FILE, LOCK_FILE, RunFolderError, differing, read_config
from marl.options import ConfigError
from marl.policy_card import PolicyError, read_card
from marl.read_config import make_train_config
from marl.training.books import EVALUATION_FILE, POLICY_FOLDER
from marl.training.claiming import seed_folders
from marl.training.loggers import METRICS_FILE

CONF = Path(__file__).resolve().parents[1] / "conf"
_KEYS = ("out", "common", "matrix", "name", "jobs")
_NAME = re.compile(r"[\w.=+-]+")
_TAIL_BYTES = 2**16  # longer than any record of metrics.jsonl


class QueueError(ValueError):
    """A queue file, or a job in it, cannot work; the message says where and what to do."""


class State(enum.Enum):
    """How far a job is."""

    FINISHED = "finished"
    RUNNING = "running"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    WAITING = "waiting"


@dataclasses.dataclass(frozen=True)
class Job:
    """A run of `scripts/train.py`.

    Attributes:
        name: of the job, and of its folder.
        overrides: options as `scripts/train.py` takes them, run.dir among them.
        config: the same, checked.
        folder: of the run; of several seeds, that which holds a folder of each.
    """

    name: str
    overrides: tuple[str, ...]
    config: TrainConfig
    folder: Path

    @property
    def parts(self) -> list[tuple[TrainConfig, Path]]:
        """Options and folder of each seed: of a run of one seed, the run's own."""
        return seed_folders(self.config, self.folder)

    @property
    def steps(self) -> int:
        """Environment steps of the whole run, of each seed, in whole updates."""
        return self.config.num_updates * self.config.steps_per_update

    def is_finished(self) -> bool:
        """Whether all seeds are: trained to the end of this run, and evaluated as asked."""
        return all(_is_finished(config, folder) for config, folder in self.parts)

    def is_running(self) -> bool:
        """Whether a process on this machine has the folder, or that of a seed in it.

        The lock itself is not tried: a run that wanted it at the same moment would be refused.
        """
        try:
            locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        except OSError:
            return False
        # number: FLOCK ADVISORY WRITE process device:device:file ...
        held = {lock[5].split(":")[-1] for lock in locks if lock[1] == "FLOCK"}
        files = {folder / LOCK_FILE for folder in (self.folder, *(own for _, own in self.parts))}
        return any(file.exists() and str(file.stat().st_ino) in held for file in files)

    def progress(self) -> tuple[int, float]:
        """Environment steps of each seed, and seconds that they took together, as last recorded;
        zeros if none. Seeds are recorded one after another: the one that is behind counts."""
        return min(_last_recorded(folder) for _, folder in self.parts)


def _is_finished(config: TrainConfig, folder: Path) -> bool:
    options = config.evaluation
    asked = {"worlds": options.worlds, "max_steps": options.max_steps}
    wanted = asked | {"update": config.num_updates}
    try:
        found = read_config(folder / CONFIG_FILE)
        if differing(found, config.as_dict(), config.free_options):
            return False
        if options.worlds == 0:
            return read_card(folder / POLICY_FOLDER)["training"]["update"] == wanted["update"]
        report = json.loads((folder / EVALUATION_FILE).read_text())["asked"]
        return {name: report[name] for name in wanted} == wanted
    except (RunFolderError, PolicyError, OSError, ValueError, LookupError, TypeError):
        return False  # missing, or damaged: the training command makes it again


def _last_recorded(folder: Path) -> tuple[int, float]:
    """(environment steps, seconds) of the newest whole record; zeros if there is none."""
    try:
        with open(folder / METRICS_FILE, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return 0, 0.0
    for line in reversed(lines):
        try:
            record = json.loads(line)
            return int(record["env_steps"]), float(record["seconds"])
        except (ValueError, LookupError, TypeError):  # cut short
            continue
    return 0, 0.0


def read_queue(path: Path, out: str | None, extra: Sequence[str]) -> tuple[Path, list[Job]]:
    """Checks a queue file, and the options of every job in it.

    Args:
        path: the file; `conf/queues/results.yaml` shows all that may stand in it.
        out: folder of the runs; None: the file's.
        extra: options of every job, which win over the file's.

    Returns:
        The absolute folder of the runs, and the jobs in their order.

    Raises:
        QueueError: the file cannot be read, a name is missing or double, an option cannot work.
        OSError: the folder's ~ is nobody's.
    """
    table = _read(path)
    out = out or table.get("out")
    if not isinstance(out, str) or not out.strip():
        raise QueueError(f"{path} names no folder; give out=FOLDER")
    folder = absolute(out, "out")
    common = _overrides(path, "common", table.get("common", []))
    listed = list(_matrix(path, table)) + list(_listed(path, table))
    if not listed:
        raise QueueError(f"{path} has no jobs; give it a matrix or jobs")
    names = [name for name, _ in listed]
    for name in names:
        if not _NAME.fullmatch(name):
            raise QueueError(f"{path}: job {name!r} must be a name for a folder: {_NAME.pattern}")
        if names.count(name) > 1:
            raise QueueError(f"{path}: two jobs are called {name}; give each a name of its own")
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return folder, [
            _job(path, name, [*common, *own, *extra], folder / name) for name, own in listed
        ]


def _read(path: Path) -> dict:
    try:
        table = yaml.safe_load(path.read_text())
    except OSError as error:
        raise QueueError(f"{path} cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise QueueError(f"{path} is not YAML: {error}") from error
    if not isinstance(table, dict):
        raise QueueError(f"{path} holds no queue; it may have {', '.join(_KEYS)}")
    for key in table:
        if key not in _KEYS:
            raise QueueError(f"{path}: unknown {key!r}; it may have {', '.join(_KEYS)}")
    return table


def _overrides(path: Path, where: str, given: object) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(o, str) and "=" in o for o in given):
        raise QueueError(f"{path}: {where} must be a list of OPTION=VALUE, not {given!r}")
    return given


def _listed(path: Path, table: dict) -> Iterator[tuple[str, list[str]]]:
    jobs = table.get("jobs", {})
    if not isinstance(jobs, dict):
        raise QueueError(f"{path}: jobs must be names, each with a list of OPTION=VALUE")
    for name, given in jobs.items():
        yield str(name), _overrides(path, f"job {name}", given)


def _matrix(path: Path, table: dict) -> Iterator[tuple[str, list[str]]]:
    """(name, options) of every combination; the last option changes fastest."""
    matrix = table.get("matrix", {})
    if not isinstance(matrix, dict) or not all(isinstance(v, list) for v in matrix.values()):
        raise QueueError(f"{path}: matrix must be options, each with a list of values")
    if not matrix:
        return
    template = table.get("name")
    if not isinstance(template, str):
        example = "_".join(f"{{{option}}}" for option in matrix)
        raise QueueError(f"{path}: a matrix needs a name, for instance name: {example!r}")
    for values in itertools.product(*matrix.values()):
        name, options = template, dict(zip(matrix, values, strict=True))
        for option, value in options.items():
            name = name.replace(f"{{{option}}}", str(value))
        yield name, [f"{option}={value}" for option, value in options.items()]


def _job(path: Path, name: str, overrides: list[str], folder: Path) -> Job:
    if any(o.lstrip("+~").startswith("run.dir=") for o in overrides):
        raise QueueError(f"{path}: job {name} gives run.dir; the queue does that, below out=")
    # As one value of Hydra's grammar, whatever the folder is called.
    run_dir = f"run.dir={QuotedString(str(folder), Quote.single).with_quotes()}"
    overrides = [*overrides, run_dir]
    try:
        config, _ = make_train_config(hydra.compose("train", overrides))
    except (HydraException, OmegaConfBaseException, ConfigError) as error:
        raise QueueError(f"{path}: job {name} ({' '.join(overrides)}): {error}") from error
    if config.total_steps is None:
        raise QueueError(
            f"{path}: job {name} has no total_steps; give total_steps=N, since runs that end by "
            "the clock do not compare"
        )
    return Job(name, tuple(overrides), config, folder)
