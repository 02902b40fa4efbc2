"""Runs of one method together: which they are, their row, and differences between methods."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from marl.comparison.reading import Result
from marl.comparison.rows import (
    KINDS,
    OURS,
    SCORES,
    ComparisonError,
    Conditions,
    Row,
    Score,
    steps_text,
    worlds_text,
)
from marl.evaluation.protocol import RANDOM
from marl.evaluation.statistics import Interval, bootstrap_interval, paired_difference

_SHOWN = 3  # options in a name


@dataclasses.dataclass(frozen=True)
class Method:
    """One or more runs, all evaluated on the same worlds under the same conditions.

    Attributes:
        name: in tables.
        results: one for each run.
    """

    name: str
    results: list[Result]

    @property
    def policy(self) -> str:
        return self.results[0].policy

    @property
    def conditions(self) -> Conditions:
        return self.results[0].conditions

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.results[0].seeds

    @property
    def budget_steps(self) -> tuple[int, int] | None:
        """Fewest and most steps of training, None if a run does not say."""
        steps = [result.env_steps for result in self.results]
        return None if None in steps else (min(steps), max(steps))

    def values(self, score: str) -> np.ndarray:
        """(R, W) percent."""
        return np.stack([result.values[score] for result in self.results])

    def row(self) -> Row:
        intervals = {n: bootstrap_interval(self.values(n)) for n in (*SCORES, *KINDS)}
        scores = {n: Score(i.mean, i.low, i.high) for n, i in intervals.items()}
        steps, is_random = self.budget_steps, self.policy == RANDOM
        budget = "none" if is_random else "not known" if steps is None else steps_text(*steps)
        first, count = self.seeds[0], len(self.seeds)
        return Row(
            name=self.name,
            origin=OURS,
            conditions=self.conditions,
            policy=self.policy,
            budget=budget,
            budget_steps=steps,
            scores={n: scores[n] for n in SCORES},
            kinds={n: scores[n] for n in KINDS},
            num_runs=None if is_random else len(self.results),
            num_worlds=count,
            worlds=worlds_text(first, count),
            interval="worlds" if is_random else covers(intervals["total"]),
            capped=(sum(r.capped for r in self.results), count * len(self.results)),
            source="; ".join(str(r.path) for r in self.results),
            note="",
        )


def covers(interval: Interval) -> str:
    """What an interval is over, for tables."""
    return f"worlds, {interval.given}" if interval.given else "runs and worlds"


def pool(results: Iterable[Result], named: Iterable[tuple[str, list[Result]]]) -> list[Method]:
    """Results by method, in the order in which they come.

    Runs are taken for seeds of one method if they have the same label, options, budget and worlds.
    Those that the user named together are, whatever they are.

    Args:
        results: of which the method is to be found out.
        named: (name, results of the method).

    Raises:
        ComparisonError: a run is there twice, or named ones were evaluated on other worlds.
    """
    results, named = list(results), [(name, list(given)) for name, given in named]
    methods = []
    groups = _grouped(
        (r for r in results if r.policy != RANDOM),
        lambda r: (r.conditions, r.name, r.policy, r.seeds, r.env_steps, frozen(r.options)),
    )
    names = _names(groups)
    methods += [Method(n, group) for n, group in zip(names, groups, strict=True)]
    for name, given in named:
        methods += _as_named(name, [r for r in given if r.policy != RANDOM])
    methods += _random([*results, *(r for _, given in named for r in given)])
    for method in methods:
        _refuse_repeated(method)
    return methods


def _grouped(results: Iterable[Result], key: Callable) -> list[list[Result]]:
    groups: dict[object, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return list(groups.values())


def frozen(options: Mapping[str, object] | None) -> object:
    """Options as a key of a dictionary."""
    return None if options is None else tuple(sorted((k, repr(v)) for k, v in options.items()))


def _random(results: list[Result]) -> list[Method]:
    """Random play is the same in all files of the same worlds: one of them stands for all."""
    played = [r for r in results if r.policy == RANDOM]
    groups = _grouped(played, lambda r: (r.conditions, r.seeds))
    for group in groups:
        for other in group[1:]:
            if not np.array_equal(other.values["total"], group[0].values["total"]):
                raise ComparisonError(
                    f"{group[0].path} and {other.path}: random play of the same worlds differs, so "
                    "the two were not made by the same program or device; evaluate both again"
                )
    return [Method(group[0].name, group[:1]) for group in groups]


def _as_named(name: str, results: list[Result]) -> list[Method]:
    """One method for each kind of policy and conditions. What is no run's newest policy (the best
    one, a transferred one) says so behind the name."""
    groups = _grouped(results, lambda r: (r.conditions, r.behind, r.policy))
    for group in groups:
        odd = [r for r in group if r.seeds != group[0].seeds]
        if odd:
            raise ComparisonError(
                f"--method {name}: {group[0].path} was evaluated on worlds "
                f"{_worlds(group[0])} and {odd[0].path} on {_worlds(odd[0])}; evaluate both on the "
                "same worlds"
            )
    return [Method(name + group[0].behind, group) for group in groups]


def _worlds(result: Result) -> str:
    return worlds_text(result.seeds[0], len(result.seeds))


def _refuse_repeated(method: Method) -> None:
    seen: dict[object, Result] = {}
    for result in method.results:
        identity = result.run_id or result.path.resolve()
        if identity in seen:
            raise ComparisonError(
                f"{seen[identity].path} and {result.path}: are of the same run, which would count "
                f"twice in {method.name}; give one of them"
            )
        seen[identity] = result


def _names(groups: list[list[Result]]) -> list[str]:
    """The label of each; with the options in which it differs from others of that label that stand
    in the same block."""
    names = []
    for group in groups:
        first = group[0]
        alike = [g[0] for g in groups if (g[0].name, g[0].policy, g[0].conditions)
                 == (first.name, first.policy, first.conditions)]  # fmt: skip
        names.append(", ".join([first.name, *distinction(first.options, alike)]))
    return names


def distinction(options: Mapping[str, object] | None, alike: Sequence) -> list[str]:
    """Those of the options in which what goes by the same name differs, each as OPTION=VALUE.

    Args:
        options: of one, None if not known.
        alike: all of that name, this one too; each has `options`.
    """
    if options is None:
        return ["options not known"] if any(r.options is not None for r in alike) else []
    known = [r.options for r in alike if r.options is not None]
    everything = dict.fromkeys(name for o in known for name in o)
    differ = [n for n in everything if len({repr(o.get(n)) for o in known}) > 1 and n in options]
    more = [f"{len(differ) - _SHOWN} more"] if len(differ) > _SHOWN else []
    return [f"{name}={options[name]}" for name in differ[:_SHOWN]] + more


@dataclasses.dataclass(frozen=True)
class Difference:
    """By how much a method is above another on the same worlds, in points of percent."""

    method: Method
    baseline: Method
    scores: dict[str, Interval]


def differences(methods: Sequence[Method], baseline: str) -> list[Difference]:
    """Every other method against the one of this name with the same conditions, worlds and policy;
    random play has no policy, and is a baseline of all.

    Raises:
        ComparisonError: no method has that name, or several that fit have.
    """
    named = [m for m in methods if m.name == baseline]
    if not named:
        known = ", ".join(dict.fromkeys(repr(m.name) for m in methods)) or "none"
        raise ComparisonError(
            f"--baseline {baseline!r}: no method of yours is called so (published ones have no "
            f"results by world to pair with); there are {known}"
        )
    found = []
    for method in methods:
        if method.name == baseline:
            continue
        fitting = [
            b for b in named
            if (b.conditions, b.seeds) == (method.conditions, method.seeds)
            and (b.policy == method.policy or RANDOM in (b.policy, method.policy))
        ]  # fmt: skip
        if method.policy == RANDOM:
            fitting = [b for b in fitting if b.policy == "greedy"] or fitting
        if len(fitting) > 1:
            raise ComparisonError(
                f"--baseline {baseline!r}: {len(fitting)} methods of that name fit {method.name} "
                "(their budgets or options differ); name one with --method NAME PATH"
            )
        for base in fitting:
            found.append(Difference(method, base, {n: _paired(method, base, n) for n in SCORES}))
    return found


def _paired(method: Method, base: Method, score: str) -> Interval:
    """Random play has no runs that could have come out otherwise: as many equal ones as the other
    side has leave the spread between runs to that side."""
    sides = [method.values(score), base.values(score)]
    for place, (side, other) in enumerate(((method, base), (base, method))):
        if side.policy == RANDOM:
            sides[place] = np.repeat(sides[place], len(other.results), 0)
    return paired_difference(*sides)
