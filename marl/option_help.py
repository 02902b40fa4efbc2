"""What options mean, in the words of the comments in conf/: nothing is written twice."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from marl.options import nearest

_LINE = re.compile(r"(?P<indent> *)(?P<key>\w+):(?P<value>[^#]*)(?:# *(?P<comment>.*))?")
_DEFAULT = re.compile(r"  - (?P<group>\w+)(?:@(?P<package>\w+))?: (?P<choice>\w+)")
_NO_OPTIONS = ("defaults", "hydra", "experiment")
_NAMES = re.compile(r"[\w.,-]*")
_WIDTH = 42
# Launchers of Hydra that come with packages of their own.
_LAUNCHERS = {"joblib": "joblib", "submitit_local": "submitit", "submitit_slurm": "submitit"}


class Options:
    """The options of one command.

    Args:
        conf: the folder of configurations.
        name: the command's main file there; its list of defaults names the groups.
    """

    def __init__(self, conf: Path, name: str):
        self._conf, self._main = conf, conf / f"{name}.yaml"
        found = map(_DEFAULT.match, self._main.read_text().splitlines())
        defaults = [match for match in found if match]
        self._packages = {d["group"]: d["package"] or d["group"] for d in defaults}
        # those whose file is chosen by GROUP=NAME
        self._groups = [d["group"] for d in defaults if d["package"] is None]

    def choices(self) -> dict[str, list[str]]:
        """Group -> the names that it can be given."""
        return {group: [path.stem for path in self._files(group)] for group in self._groups}

    def comments(self, chosen: Mapping[str, str] | None = None) -> dict[str, str]:
        """Dotted option -> its comment, empty if it has none.

        Args:
            chosen: group -> the file whose words go before those of the others.
        """
        found = dict(_comments_of(self._main))
        for group, package in self._packages.items():
            first = (chosen or {}).get(group)
            for path in sorted(self._files(group), key=lambda p: (p.stem != first, p.stem)):
                for option, comment in _comments_of(path):
                    found.setdefault(f"{package}.{option}", comment)
        return {o: c for o, c in found.items() if o.split(".")[0] not in _NO_OPTIONS}

    def wrong_choices(self, arguments: Sequence[str]) -> list[str]:
        """For each argument GROUP=NAME that names no file: what to give. Names are looked at, and
        null; what Hydra's grammar has besides is left to it."""
        lines = []
        for argument in arguments:
            group, is_option, value = argument.lstrip("+").partition("=")
            if not is_option or not _NAMES.fullmatch(value):
                continue
            if group not in self._groups:
                is_hydras = group.startswith("hydra/")
                if (self._conf / group).is_dir() and not is_hydras:  # of another command
                    lines.append(f"{group} is no option; --help shows all that there are")
                continue
            names = self.choices()[group]
            wrong = [given for given in value.split(",") if given not in names]
            if wrong:
                # what only sets other groups' options is missed by nobody
                instead = f", or leave it out with ~{group}" if group in _NO_OPTIONS else ""
                lines.append(
                    f"{group}={wrong[0]} is unknown; choose one of {', '.join(names)}{instead}"
                )
        return lines

    def corrections(self, arguments: Sequence[str]) -> list[str]:
        """For each argument NAME=VALUE whose name is not known: what may have been meant; and
        what a launcher needs that is not installed."""
        known, lines = list(self.comments()), []
        for argument in arguments:
            name, is_option, value = argument.lstrip("+~").partition("=")
            if name == "hydra/launcher" and value in _LAUNCHERS and not _is_installed(value):
                lines.append(f"{argument} needs more packages: pip install -e '.[sweep]'")
            is_group = any(o.startswith(f"{name}.") for o in known) or name in _NO_OPTIONS
            if not is_option or name in known or is_group or name.startswith(("-", "hydra")):
                continue
            close = nearest(name, known)
            hint = f"did you mean {close}={value}?" if close else "--help shows all that there are"
            lines.append(f"there is no option {name}; {hint}")
        return lines

    def homes(self, option: str) -> list[str]:
        """GROUP=NAME of the files that have an option."""
        package, _, name = option.partition(".")
        return [
            f"{group}={path.stem}"
            for group in self._groups
            if self._packages[group] == package
            for path in self._files(group)
            if name in dict(_comments_of(path))
        ]

    def _files(self, group: str) -> list[Path]:
        return sorted((self._conf / group).glob("*.yaml"))


def _comments_of(path: Path) -> Iterator[tuple[str, str]]:
    above: list[str] = []
    for line in path.read_text().splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        above = [*above[: len(match["indent"]) // 2], match["key"]]
        if match["value"].strip():
            yield ".".join(above), (match["comment"] or "").strip()


def _is_installed(launcher: str) -> bool:
    try:
        return find_spec(f"hydra_plugins.hydra_{_LAUNCHERS[launcher]}_launcher") is not None
    except ModuleNotFoundError:  # no plugin of Hydra's at all
        return False


def describe(options: Mapping[str, object], known: Mapping[str, str]) -> str:
    """A line for each option: its value as one would give it, and what it means.

    Args:
        options: dotted name -> value; "???" is one that must be given.
        known: dotted name -> comment.
    """
    words = {None: "null", True: "true", False: "false", "???": "..."}
    lines = []
    for name, value in options.items():
        is_word = value is None or isinstance(value, bool | str)
        shown = words.get(value, value) if is_word else value
        lines.append(f"  {name}={shown}".ljust(_WIDTH) + f"  {known.get(name, '')}")
    return "\n".join(line.rstrip() for line in lines)
