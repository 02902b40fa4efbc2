"""What options mean, in the words of the comments in conf/: nothing is written twice."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from marl.options import nearest

_LINE = re.compile(r"(?P<indent> *)(?P<key>\w+):(?P<value>[^#]*)(?:# *(?P<comment>.*))?")
_NO_OPTIONS = ("defaults", "hydra", "experiment", "queues")
_WIDTH = 42
# Launchers of Hydra that come with packages of their own.
_LAUNCHERS = {"joblib": "joblib", "submitit_local": "submitit", "submitit_slurm": "submitit"}


def comments(conf: Path, name: str) -> dict[str, str]:
    """Dotted option -> its comment, empty if it has none.

    Args:
        conf: the folder of configurations.
        name: its main file; the groups beside it are read too.
    """
    found = dict(_comments_of(conf / f"{name}.yaml"))
    for path in sorted(conf.glob("*/*.yaml")):
        for option, comment in _comments_of(path):
            found.setdefault(f"{path.parent.name}.{option}", comment)
    return {o: c for o, c in found.items() if o.split(".")[0] not in _NO_OPTIONS}


def _comments_of(path: Path) -> Iterator[tuple[str, str]]:
    above: list[str] = []
    for line in path.read_text().splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        above = [*above[: len(match["indent"]) // 2], match["key"]]
        if match["value"].strip():
            yield ".".join(above), (match["comment"] or "").strip()


def describe(options: Mapping[str, object], known: Mapping[str, str]) -> str:
    """A line for each option: its value as one would give it, and what it means.

    Args:
        options: dotted name -> value.
        known: dotted name -> comment.
    """
    words = {None: "null", True: "true", False: "false"}
    lines = []
    for name, value in options.items():
        shown = words[value] if value is None or isinstance(value, bool) else value
        lines.append(f"  {name}={shown}".ljust(_WIDTH) + f"  {known.get(name, '')}")
    return "\n".join(line.rstrip() for line in lines)


def wrong_choices(arguments: Sequence[str], conf: Path) -> list[str]:
    """For each argument GROUP=VALUE whose value is no name: what to give. Hydra itself answers
    null and numbers with a traceback."""
    lines = []
    for argument in arguments:
        group, _, value = argument.lstrip("+").partition("=")
        is_group = group.isidentifier() and (conf / group).is_dir() and "=" in argument
        if is_group and not any(c.isalpha() for c in value.replace("null", "")):
            names = ", ".join(sorted(path.stem for path in (conf / group).glob("*.yaml")))
            lines.append(
                f"{group}={value} names no group of options; choose one of {names}, "
                f"or leave it out with ~{group}"
            )
    return lines


def corrections(arguments: Sequence[str], known: Sequence[str]) -> list[str]:
    """For each argument NAME=VALUE whose name is not known: what may have been meant."""
    lines = []
    for argument in arguments:
        name, is_option, value = argument.lstrip("+~").partition("=")
        if name == "hydra/launcher" and value in _LAUNCHERS and not _is_installed(value):
            lines.append(f"{argument} needs more packages: pip install -e '.[sweep]'")
        is_group = any(option.startswith(f"{name}.") for option in known) or name in _NO_OPTIONS
        if not is_option or name in known or is_group or name.startswith(("-", "hydra")):
            continue
        close = nearest(name, known)
        if close is not None:
            lines.append(f"there is no option {name}; did you mean {close}={value}?")
    return lines


def _is_installed(launcher: str) -> bool:
    try:
        return find_spec(f"hydra_plugins.hydra_{_LAUNCHERS[launcher]}_launcher") is not None
    except ModuleNotFoundError:  # no plugin of Hydra's at all
        return False
