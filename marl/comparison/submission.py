"""An entry for the benchmark's leaderboard, as its SUBMISSION.md asks for it.

The leaderboard shows teams per difficulty under the standard protocol: worlds from seed 9999, at
most 10,000 steps, three agents, ten worlds or more.
"""

import importlib.metadata
import re
from collections.abc import Sequence

from alem_env import difficulty
from marl.comparison.methods import Method
from marl.comparison.rows import SCORES, ComparisonError, steps_text
from marl.evaluation.protocol import FIRST_SEED, MAX_STEPS

DIFFICULTIES = ("easy", "medium", "hard")
MIN_SEEDS = 10
NUM_AGENTS = 3


def entry(methods: Sequence[Method]) -> dict:
    """The entry of the one method that was given.

    Args:
        methods: the greedy ones are looked at, and of those the newest policies.

    Raises:
        ComparisonError: it is not one method, or a difficulty is missing or not the protocol's.
    """
    greedy = [m for m in methods if m.policy == "greedy" and not m.results[0].behind]
    names = list(dict.fromkeys(m.name for m in greedy))
    if len(names) != 1:
        raise ComparisonError(
            f"--submission takes one method, and there are {len(names)}"
            + (f" ({', '.join(names)})" if names else "")
            + "; give the paths of one, for instance --method NAME PATH [PATH ...]"
        )
    chosen = {level: _one(names[0], level, greedy) for level in DIFFICULTIES}
    sample = chosen["hard"]
    seeds = min(len(method.seeds) for method in chosen.values())
    version = importlib.metadata.version("alem-marl")
    return {
        "id": re.sub(r"[^a-z0-9.]+", "-", names[0].lower()).strip("-"),
        "name": names[0],
        "config": _config(chosen, seeds),
        "type": "marl",
        "family": "MARL",
        "params": _parameters(sample),
        "harness_version": f"alem-marl {version}",
        "verified": False,
        "scores": {level: _scores(method) for level, method in chosen.items()},
    }


def _one(name: str, level: str, greedy: Sequence[Method]) -> Method:
    there = [m for m in greedy if m.conditions.difficulty == level]
    if not there:
        raise ComparisonError(
            f"--submission: {name} has no evaluation on {level}, and an entry has easy, medium and "
            f"hard: train with env.difficulty={level}, evaluate the policy with "
            "scripts/evaluate.py, and give that file, too"
        )
    faults = {method.results[0].path: _fault(method) for method in there}
    fit = [m for m in there if not faults[m.results[0].path]]
    if not fit:
        path, fault = next(iter(faults.items()))
        raise ComparisonError(f"--submission: {path}: {fault}")
    if len(fit) > 1:
        raise ComparisonError(
            f"--submission: {name} has {len(fit)} rows on {level} (their budgets, worlds or "
            "channels differ); give the paths of one"
        )
    return fit[0]


def _fault(method: Method) -> str:
    """Why a method's evaluation is not the protocol's; "" if it is."""
    conditions, seeds = method.conditions, len(method.seeds)
    wanted = {
        f"max_steps={MAX_STEPS}": conditions.max_steps == MAX_STEPS,
        f"first_seed={FIRST_SEED}": method.seeds[0] == FIRST_SEED,
        f"env.num_agents={NUM_AGENTS}": conditions.num_agents == NUM_AGENTS,
        "env.non_specialist_efficiency=null": conditions.non_specialist_efficiency
        == _own_efficiency(conditions.difficulty),
        "the track rl": conditions.track == "rl",
        "the whole game": not conditions.other,
    }
    wrong = [name for name, is_so in wanted.items() if not is_so]
    if wrong:
        return f"was not made under the protocol; evaluate with {', '.join(wrong)}"
    if seeds < MIN_SEEDS:
        return (
            f"has {seeds} seeds, and the leaderboard asks for {MIN_SEEDS} or more for each "
            f"difficulty; evaluate with episodes=20"
        )
    return ""


def _own_efficiency(level: str) -> float:
    return round(float(difficulty(level).non_specialist_efficiency), 4)  # as evaluations do


def _config(chosen: dict[str, Method], seeds: int) -> str:
    """What the leaderboard shows under the name: everything that a reader must know."""
    steps = [method.budget_steps for method in chosen.values()]
    runs = sorted({len(method.results) for method in chosen.values()})
    conditions = [method.conditions for method in chosen.values()]
    parts = [
        "trained on each difficulty",
        "steps not known"
        if None in steps
        else steps_text(min(low for low, _ in steps), max(high for _, high in steps)),
        "greedy",
        " or ".join(sorted({c.parts()["channels"] for c in conditions})),
        " or ".join(sorted({c.parts()["rules version"] for c in conditions})),
        f"{seeds} seeds",
        f"{' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs each",
    ]
    return " · ".join(parts)


def _parameters(method: Method) -> str:
    counts = {result.parameters for result in method.results}
    count = counts.pop() if len(counts) == 1 else None
    if count is None:
        return "—"
    return f"{count / 1e6:.1f}M params"


def _scores(method: Method) -> dict[str, list[float]]:
    scores = method.row().scores
    return {
        name: [round(end, 1) for end in (scores[name].mean, scores[name].low, scores[name].high)]
        for name in SCORES
    }
