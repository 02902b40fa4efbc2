"""Results of an evaluation as JSON and as a table to read."""

from collections.abc import Mapping, Sequence

import numpy as np

from marl.env_config import ALEM
from marl.environments.registry import ENVIRONMENTS, name_of
from marl.evaluation.protocol import (
    FIRST_SEED,
    MAX_STEPS,
    NUM_WORLDS,
    RANDOM,
    WorldResults,
)
from marl.evaluation.published import ROWS
from marl.evaluation.statistics import bootstrap_interval, paired_difference
from marl.evaluation.tracks import LLM, RL, TRACKS
from marl.types import Scoring
from marl.versions import package_versions

# Resampling fewer than these covers far less than its level.
FEW_WORLDS = 10
# Worlds that published figures were measured in.
_COMPARABLE = {
    "num_agents": 3, "num_comm_channels": 4, "own_efficiency": True, "without": None,
}  # fmt: skip


def make_report(
    results: Mapping[str, WorldResults],
    *,
    label: str,
    world: Mapping[str, object],
    max_steps: int,
    facts: Mapping[str, object],
    track: str = RL,
    mute: bool = False,
) -> dict:
    """Everything about an evaluation, as plain values.

    Args:
        results: behaviour ("greedy", "sampled", "random") -> results on the same worlds.
        label: what the policy is.
        world: options of the world: difficulty, rules_version, num_agents and so on.
        max_steps: the step limit that was used.
        facts: about the policy: learner, steps, seed.
        track: which keys the worlds had.
        mute: whether messages were blank.
    """
    seeds = next(iter(results.values())).seeds
    scoring = ENVIRONMENTS[name_of(world)].scoring
    return {
        "label": label,
        "protocol": protocol_of(world, seeds, max_steps, track, mute),
        "policy": dict(facts),
        "results": {name: _summary(r, scoring) for name, r in results.items()},
        "above_random": _above_random(results, scoring),
        "versions": package_versions(),
    }


def protocol_of(
    world: Mapping[str, object],
    seeds: Sequence[int],
    max_steps: int,
    track: str = RL,
    mute: bool = False,
) -> dict:
    """What an evaluation was, and on ALEM, whether it was the benchmark's whole protocol.

    Args:
        world: options of the world, as its environment describes them.
        seeds: reset seeds, one after another.
        max_steps: the step limit.
        track, mute: as for `make_report`.
    """
    is_alem = name_of(world) == ALEM
    is_as_published = all(world.get(n) == value for n, value in _COMPARABLE.items())
    is_comparable = is_alem and is_as_published and track == RL and not mute
    is_whole = len(seeds) == NUM_WORLDS and int(seeds[0]) == FIRST_SEED and max_steps == MAX_STEPS
    return dict(world) | {
        "track": track,
        "mute": mute,
        "first_seed": int(seeds[0]),
        "episodes": len(seeds),
        "max_steps": max_steps,
        "is_comparable": is_comparable,
        "is_whole_protocol": is_comparable and is_whole,
        "step_keys": TRACKS[track].step_keys,
    }


def _above_random(results: Mapping[str, WorldResults], scoring: Scoring) -> dict:
    """What each behaviour has beyond random play of the same worlds, in what is judged by."""
    if RANDOM not in results:
        return {}
    judged = {name: _judged(r, scoring.best) for name, r in results.items()}
    shown = {name: scoring.shown(scoring.best, values) for name, values in judged.items()}
    random = shown.pop(RANDOM)
    return {name: paired_difference(values, random).as_dict() for name, values in shown.items()}


def _judged(results: WorldResults, name: str) -> np.ndarray:
    """(W,) what that statistic is in each world."""
    values = results.scores[name] if name in results.scores else results.team_return
    return np.asarray(values, np.float64)


def _summary(results: WorldResults, scoring: Scoring) -> dict:
    scores = {name: np.asarray(v, np.float64) for name, v in results.scores.items()}
    shares = scoring.shares
    summary = {n: bootstrap_interval(100 * scores[n]).as_dict() for n in shares}
    summary["team_return"] = bootstrap_interval(results.team_return).as_dict()
    summary["length"] = bootstrap_interval(results.length).as_dict()
    summary["capped_worlds"] = int(results.capped.sum())
    summary["metrics"] = {
        n: float(v.mean()) for n, v in scores.items() if n not in shares and v.ndim == 1
    }
    team = results.achievements.any(1)  # (W, n)
    rates = team.mean(0)
    names = scoring.achievements
    summary["achievements"] = {names[i]: float(rates[i]) for i in np.flatnonzero(rates)}
    summary["worlds"] = [
        {
            "seed": int(results.seeds[w]),
            "length": int(results.length[w]),
            "capped": bool(results.capped[w]),
            "team_return": float(results.team_return[w]),
            **{n: float(100 * scores[n][w]) for n in shares},
            "achievements": [names[i] for i in np.flatnonzero(team[w])],
        }
        for w in range(len(results.seeds))
    ]
    return summary


def format_report(report: dict) -> str:
    """A table: our rows with intervals, then reference rows for the same difficulty."""
    protocol = report["protocol"]
    columns = _columns(protocol)
    rows = [("", *columns.values(), "length", "worlds")]
    for behaviour, summary in report["results"].items():
        name = "random legal" if behaviour == RANDOM else f"{report['label']}, {behaviour}"
        cells = [interval_text(summary[n]) for n in columns]
        length = f"{summary['length']['mean']:,.0f}"
        rows.append((name, *cells, length, str(summary["length"]["num_worlds"])))
    references = _references(protocol)
    notes = _notes(report, has_references=bool(references))
    return "\n".join([_headline(protocol), *_align(rows, references), *notes])


def _columns(protocol: dict) -> dict[str, str]:
    """Statistics of the table, by their headings."""
    shares = ENVIRONMENTS[name_of(protocol)].scoring.shares
    return {n: f"{title} %" for n, title in shares.items()} or {"team_return": "team return"}


def _references(protocol: dict) -> list[tuple[str, ...]]:
    return [
        (label, *(_as_published(v) for v in figures[key]), "", "")
        for label, figures in ROWS
        if protocol["is_comparable"] and (key := protocol["difficulty"]) in figures
    ]


def _headline(protocol: dict) -> str:
    last = protocol["first_seed"] + protocol["episodes"] - 1
    worlds = f"worlds {protocol['first_seed']} to {last}, at most {protocol['max_steps']:,} steps"
    if (name := name_of(protocol)) != ALEM:
        return f"{name}, {protocol['num_agents']} agents; {worlds}"
    without = protocol.get("without")
    left_out = f", without {without}" if without else ""
    left_out += ", messages blank" if protocol.get("mute") else ""
    kind = "protocol" if protocol["is_whole_protocol"] else "REDUCED protocol"
    if not protocol["is_comparable"]:
        kind = "OTHER world than the protocol's"
    if protocol["track"] == LLM:
        kind = "language-model track"
    return (
        f"ALEM {protocol['difficulty']}, rules {protocol['rules_version']}, "
        f"{protocol['num_agents']} agents, {protocol['num_comm_channels']} channels{left_out}; "
        f"{kind}: {worlds}"
    )


def _notes(report: dict, *, has_references: bool) -> list[str]:
    protocol = report["protocol"]
    judged_by = ENVIRONMENTS[name_of(protocol)].scoring.best
    some = next(iter(report["results"].values()))[judged_by]
    notes = []
    if (steps := report["policy"].get("env_steps")) is not None:
        notes.append(f"{report['label']}: trained for {steps:,} environment steps")
    notes += [
        f"[a, b]: {100 * some['level']:.0f} % bootstrap interval over worlds"
        + (f", {some['given']}" if some["given"] else " and runs")
    ]
    if some["num_worlds"] < FEW_WORLDS:
        notes.append(
            f"of {some['num_worlds']} worlds an interval says little: a bootstrap of so few is too "
            "narrow"
        )
    above = {n: interval_text(i, "+") for n, i in report.get("above_random", {}).items()}
    if above:
        heading = _columns(protocol).get(judged_by, "team return").removesuffix(" %")
        notes.append(
            f"{heading} above random legal play of the same worlds: "
            + ", ".join(f"{name} {interval}" for name, interval in above.items())
        )
    capped = {n: s["capped_worlds"] for n, s in report["results"].items() if s["capped_worlds"]}
    if capped:
        notes.append(
            "worlds that met the step limit and count as they stood: "
            + ", ".join(f"{name} {count}" for name, count in capped.items())
        )
    if name_of(protocol) != ALEM:
        return notes
    if protocol["track"] == LLM:
        notes.append(
            "the published language models played these worlds without message channels, under "
            "rules 0.1.0: scripts/compare.py says for each table what differs"
        )
    elif not protocol["is_comparable"]:
        efficiency = protocol["non_specialist_efficiency"]
        notes.append(
            "published figures are for the whole game with 3 agents and 4 channels at the "
            f"difficulty's own non_specialist_efficiency, and left out (here it is {efficiency})"
        )
    elif not protocol["is_whole_protocol"]:
        notes.append(
            f"the whole protocol is {NUM_WORLDS} worlds from seed {FIRST_SEED}, at most "
            f"{MAX_STEPS:,} steps"
            + ("; rows below the line were measured under it" if has_references else "")
        )
    return notes


def interval_text(interval: dict, sign: str = "") -> str:
    """Mean and ends of an interval in words; sign="+" for differences."""
    mean, low, high = (format(interval[end], sign + ".2f") for end in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def _as_published(value: float) -> str:
    """With as many decimals as the source has, but at least one."""
    return f"{value:.1f}" if round(value, 1) == value else f"{value:.2f}"


def _align(rows: list[tuple], references: list[tuple]) -> list[str]:
    """Columns lined up, the first to the left; a rule above our rows and one below."""
    widths = [max(len(r[i]) for r in rows + references) for i in range(len(rows[0]))]

    def line(row: tuple) -> str:
        first, *others = (cell.rjust(w) for cell, w in zip(row, widths, strict=True))
        return "  ".join([first.strip().ljust(widths[0]), *others])

    lines = [line(row) for row in rows + references]
    rule = "-" * len(lines[0])
    lines = [line.rstrip() for line in lines]
    ours = len(rows)
    return [lines[0], rule, *lines[1:ours], rule, *lines[ours:]]
