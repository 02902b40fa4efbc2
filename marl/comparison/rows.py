"""What a table of scores is made of: rows, and the conditions under which rows may be compared."""

import dataclasses
from collections.abc import Iterable, Iterator

from alem_env import DIFFICULTY_ALPHA, score
from marl.evaluation import published

SCORES = score.SHARES
# Kinds of coordination, as scores and as tables call them.
KIND_NAMES = {
    "handover": "handover",
    "soft": "soft",
    "sync_hard": "hard synchronous",
    "construction": "construction",
}
KINDS = tuple(KIND_NAMES)
OURS, PUBLISHED, REFERENCE = "ours", "published", "reference"
# Other conditions in words, and their absence, where name and value say less.
_OTHER = {"mute": ("messages blank", "messages heard")}
_LEVELS = ("none", *DIFFICULTY_ALPHA)


class ComparisonError(ValueError):
    """Something that was given cannot be compared; the message names it and the remedy."""


@dataclasses.dataclass(frozen=True)
class Conditions:
    """What two scores must share to stand side by side.

    Attributes:
        difficulty: easy, medium, hard, none, or a value of alpha.
        track: rl or llm: they reset the same seed to different worlds.
        rules_version: of the world.
        non_specialist_efficiency: of the world that was played, not of training.
        num_comm_channels: of each agent.
        num_agents: of a team.
        max_steps: limit of an episode.
        other: (name, value) of everything else that an evaluation says about its world.
    """

    difficulty: str
    track: str
    rules_version: str
    non_specialist_efficiency: float
    num_comm_channels: int
    num_agents: int
    max_steps: int
    other: tuple[tuple[str, object], ...] = ()

    def parts(self) -> dict[str, str]:
        """What each condition is about -> the condition in words."""
        channels = f"{self.num_comm_channels} channels" if self.num_comm_channels else "no channels"
        return {
            "difficulty": self.difficulty,
            "track": f"track {self.track}",
            "rules version": f"rules {self.rules_version}",
            "efficiency": f"non-specialist efficiency {self.non_specialist_efficiency:g}",
            "channels": channels,
            "agents": f"{self.num_agents} agent{'s' * (self.num_agents != 1)}",
            "length": f"at most {self.max_steps:,} steps",
        } | {name: _OTHER.get(name, (f"{name} {value}",))[0] for name, value in self.other}

    @property
    def heading(self) -> str:
        return ", ".join(self.parts().values())

    def difference(self, to: "Conditions") -> str:
        """Which conditions differ, and how: "rules 0.1.0, not rules 0.2.1; ..."."""
        ours, theirs = self.parts(), to.parts()
        names = dict.fromkeys([*ours, *theirs])

        def absent(name):
            return _OTHER[name][1] if name in _OTHER else f"no {name}"

        return "; ".join(
            f"{ours.get(n, absent(n))}, not {theirs.get(n, absent(n))}"
            for n in names
            if ours.get(n) != theirs.get(n)
        )


@dataclasses.dataclass(frozen=True)
class Score:
    """Percent, with the ends of its 95 % interval where they are known."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclasses.dataclass(frozen=True)
class Row:
    """One method under one set of conditions.

    Attributes:
        name: the method.
        origin: OURS, PUBLISHED, or REFERENCE (measured on the benchmark's program).
        conditions: under which it was measured.
        policy: greedy, sampled or random; None if the source does not say.
        budget: environment steps of training in words, or what there was instead.
        budget_steps: fewest and most steps of its runs, or None.
        scores: base, coord, total -> Score, or None if not known.
        kinds: kind of coordination -> Score; empty if not known.
        num_runs: trained teams, None if not known or there are none.
        num_worlds: worlds of each, None if not known.
        worlds: which reset seeds.
        interval: what the interval covers; "" if there is none.
        capped: (episodes that met the step limit, episodes), None if not known.
        source: files of ours, or paper, table and address.
        note: anything else that a reader must know.
    """

    name: str
    origin: str
    conditions: Conditions
    policy: str | None
    budget: str
    budget_steps: tuple[int, int] | None
    scores: dict[str, Score | None]
    kinds: dict[str, Score]
    num_runs: int | None
    num_worlds: int | None
    worlds: str
    interval: str
    capped: tuple[int, int] | None
    source: str
    note: str


def published_rows(difficulties: Iterable[str] | None = None) -> list[Row]:
    """Published figures.

    Args:
        difficulties: only these; None for all.
    """
    wanted = None if difficulties is None else set(difficulties)
    return [
        _published(values)
        for values in published.read()
        if wanted is None or values["difficulty"] in wanted
    ]


def _published(values: dict) -> Row:
    names = [f.name for f in dataclasses.fields(Conditions) if f.name != "other"]
    steps = values["budget_steps"]
    sources = [values[k] for k in ("paper", "table", "url") if values[k]]
    scores = {
        name: None
        if values[name] is None
        else Score(values[name], values[f"{name}_low"], values[f"{name}_high"])
        for name in SCORES
    }
    return Row(
        name=values["name"],
        origin=PUBLISHED if values["paper"] else REFERENCE,
        conditions=Conditions(**{n: values[n] for n in names}),
        policy=values["policy"],
        budget=steps_text(steps) if steps else values["budget"],
        budget_steps=(steps, steps) if steps else None,
        scores=scores,
        kinds={},
        num_runs=values["num_runs"],
        num_worlds=values["num_worlds"],
        worlds=worlds_text(values["first_seed"], values["num_worlds"]),
        interval=values["interval"] or "",
        capped=None,
        source=", ".join(sources),
        note=values["note"] or "",
    )


def worlds_text(first: int, count: int | None) -> str:
    return f"from {first}" if count is None else f"{first} to {first + count - 1}"


def steps_text(low: int, high: int | None = None) -> str:
    """Environment steps in words; a range if runs differ."""
    for unit, letter in ((10**9, "B"), (10**6, "M")):
        if low % unit == 0 and high in (None, low):
            return f"{low // unit}{letter} steps"
    return f"{low:,} steps" if high in (None, low) else f"{low:,} to {high:,} steps"


def blocks(rows: Iterable[Row]) -> Iterator[tuple[Conditions, list[Row]]]:
    """Rows that may stand side by side, by difficulty; where there are rows of ours, those
    conditions come first."""
    groups: dict[Conditions, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.conditions, []).append(row)
    order = {level: place for place, level in enumerate(_LEVELS)}

    def place(conditions: Conditions):
        level = conditions.difficulty
        is_published = all(row.origin != OURS for row in groups[conditions])
        return (order.get(level, len(order)), level, is_published, conditions.track != "rl")

    for conditions in sorted(groups, key=place):
        yield conditions, groups[conditions]
