"""Published and reference figures, for tables: one line a row in the CSV files beside this module.

`rl.csv`: the benchmark's learners, trained for 100 million and for a billion steps. `llm.csv`: its
teams of language models. `reference.csv`: what was measured on the benchmark's program and is
published nowhere. A field that is empty is not known. Each row names its source.
"""

import csv
import functools
from pathlib import Path

from alem_env import score

_FOLDER = Path(__file__).parent
_FILES = ("rl.csv", "llm.csv", "reference.csv")
_WHOLE = (
    "num_comm_channels", "num_agents", "max_steps", "budget_steps", "first_seed", "num_worlds",
    "num_runs",
)  # fmt: skip
_KINDS = dict.fromkeys(_WHOLE, int) | {"non_specialist_efficiency": float}
_KINDS |= {f"{share}{end}": float for share in score.SHARES for end in ("", "_low", "_high")}


@functools.cache
def read() -> tuple[dict, ...]:
    """All rows, in the order of the files.

    Returns:
        Column -> text or number, None where the source gives none. Scores are percent, with
        `<score>_low` and `<score>_high` where the source has a 95 % interval.
    """
    rows = []
    for name in _FILES:
        with open(_FOLDER / name, newline="") as file:
            rows += [{k: _value(k, v) for k, v in row.items()} for row in csv.DictReader(file)]
    return tuple(rows)


def _value(column: str, text: str) -> object:
    return _KINDS.get(column, str)(text) if text else None


def _scores_of(name: str, steps: int | None) -> dict[str, tuple[float, ...]]:
    """Difficulty -> (Base, Coord, Total) of one method of the reinforcement-learning track."""
    return {
        row["difficulty"]: tuple(row[share] for share in score.SHARES)
        for row in read()
        if (row["track"], row["name"], row["budget_steps"]) == ("rl", name, steps)
    }


# What stands under the table of one evaluation, with everything that differs said in the label.
ROWS = (
    (
        "random legal, reference program, 20 worlds",
        _scores_of("random legal play, reference program", None),
    ),
    ("IPPO 100M steps, published (rules 0.1.0, 5 runs)", _scores_of("IPPO", 100_000_000)),
    ("IPPO 1B steps, published (rules 0.1.0, 5 runs)", _scores_of("IPPO", 1_000_000_000)),
)
