"""What the benchmark's trainers wrote down about a run, beside its checkpoint.

Released checkpoints have a `config.json` with the trainer's options somewhere in it, as entries or
as overrides (KEY=VALUE). They are looked up by their names, wherever they stand.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from marl.importing.convert import ImportFailed
from marl.importing.layouts import LAYOUTS

CONFIG_FILE = "config.json"
_OVERRIDE = re.compile(r"(\w+)=(\S+)")


@dataclasses.dataclass(frozen=True)
class Told:
    """What is known about a run; None where nothing says so.

    Attributes:
        learner: as this program calls it.
        difficulty: of the worlds of training; None also if each had its own.
        steps: environment steps of training.
        seed: of training.
        activation: of the network.
        epsilon: exploration at the end of training, of a Q-network.
        shared_reward: whether every agent got what all earned.
        efficiency: of those who are no specialists, in training.
        num_agents, num_comm_channels: of the world.
    """

    learner: str | None = None
    difficulty: str | None = None
    steps: int | None = None
    seed: int | None = None
    activation: str | None = None
    epsilon: float | None = None
    shared_reward: bool | None = None
    efficiency: float | None = None
    num_agents: int | None = None
    num_comm_channels: int | None = None


def _learner(value: object) -> str:
    programs = {layout.program: name for name, layout in LAYOUTS.items()}
    if value not in programs:
        raise ValueError(f"known are {', '.join(programs)}")
    return programs[value]


def _whole(value: object) -> int:
    number = float(value)  # 1e9 is a string in YAML
    if not number.is_integer():
        raise ValueError("a whole number is needed")
    return int(number)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is needed")
    return value


def _one_difficulty(value: object) -> str | None:
    return None if value == "sampled" else str(value)


# Of `Told`: the trainer's name of the option, and how its value is read. The efficiency is what the
# trainer made of its options, since some leave theirs unread.
_ENTRIES: dict[str, tuple[str, Callable]] = {
    "learner": ("ALG_NAME", _learner),
    "difficulty": ("TRAINING_COORDINATION_DIFFICULTY", _one_difficulty),
    "steps": ("TOTAL_TIMESTEPS", _whole),
    "seed": ("SEED", _whole),
    "activation": ("ACTIVATION", lambda value: str(value).lower()),
    "epsilon": ("EPS_FINISH", float),
    "shared_reward": ("SHARED_REWARD", _flag),
    "efficiency": ("coord_non_specialist_efficiency", float),
    "num_agents": ("NUM_AGENTS", _whole),
    "num_comm_channels": ("NUM_COMM_CHANNELS", _whole),
}


def read(file: Path) -> Told:
    """What a file says; nothing if there is none.

    Raises:
        ImportFailed: it cannot be read, contradicts itself, or an option has no such value.
    """
    if not file.exists():
        return Told()
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ImportFailed(f"{file}: cannot be read ({error}); mend it, or move it away") from error
    return Told(**{field: _value(file, content, *entry) for field, entry in _ENTRIES.items()})


def _value(file: Path, content: object, name: str, convert: Callable) -> object:
    found = []
    for value in _all_of(name, content):
        try:
            found.append(convert(value))
        except (TypeError, ValueError, OverflowError) as error:
            raise ImportFailed(
                f"{file}: {name}={value!r} is not understood ({error}); mend the file, or move it "
                "away and give options instead"
            ) from error
    if len(set(found)) > 1:
        raise ImportFailed(
            f"{file}: {name} is both {found[0]!r} and {found[1]!r}; leave one of them there, or "
            "move the file away and give options instead"
        )
    return found[0] if found else None


def _all_of(name: str, content: object) -> Iterator[object]:
    """Every value of that name in nested entries, also as KEY=VALUE within strings."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key == name and value is not None:
                yield value
            else:
                yield from _all_of(name, value)
    elif isinstance(content, list):
        for value in content:
            yield from _all_of(name, value)
    elif isinstance(content, str):
        for key, text in _OVERRIDE.findall(content):
            if key == name:
                yield _plain(text)


def _plain(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
