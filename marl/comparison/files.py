"""Rows and differences as plain values: JSON, and CSV with one line a row."""

import csv
import dataclasses
import io
from collections.abc import Sequence

from marl.comparison.methods import Difference
from marl.comparison.rows import KINDS, SCORES, Row, blocks

_COLUMNS = (
    "table", "name", "origin", "difficulty", "track", "rules_version",
    "non_specialist_efficiency", "num_comm_channels", "num_agents", "max_steps", "other", "policy",
    "budget", "budget_steps_low", "budget_steps_high", "num_runs", "num_worlds", "worlds",
    *(f"{score}{end}" for score in SCORES for end in ("", "_low", "_high")),
    *(f"coord_{kind}{end}" for kind in KINDS for end in ("", "_low", "_high")),
    "interval", "capped", "source", "note",
)  # fmt: skip


def as_values(rows: Sequence[Row], differences: Sequence[Difference]) -> dict:
    """Everything for JSON: tables of rows that may be compared, and differences."""
    return {
        "unit": "percent of the maximum",
        "interval_level": 0.95,
        "tables": [
            {
                "conditions": dataclasses.asdict(conditions) | {"other": dict(conditions.other)},
                "rows": [_row_values(row) for row in members],
            }
            for conditions, members in blocks(rows)
        ],
        "differences": [
            {
                "method": difference.method.name,
                "baseline": difference.baseline.name,
                "policy": difference.method.policy,
                "conditions": difference.method.conditions.heading,
                "num_runs": len(difference.method.results),
                "baseline_num_runs": len(difference.baseline.results),
            }
            | {name: interval.as_dict() for name, interval in difference.scores.items()}
            for difference in differences
        ],
    }


def _row_values(row: Row) -> dict:
    conditions = dataclasses.asdict(row.conditions) | {"other": dict(row.conditions.other)}
    values = dataclasses.asdict(row)
    return {"name": values.pop("name"), **conditions} | {
        name: value for name, value in values.items() if name != "conditions"
    }


def as_csv(rows: Sequence[Row]) -> str:
    """One line a row; empty where nothing is known. `table` says which rows may be compared."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for number, (_, members) in enumerate(blocks(rows), 1):
        writer.writerows({"table": number, **_flat(row)} for row in members)
    return text.getvalue()


def _flat(row: Row) -> dict:
    values = _row_values(row)
    scores = dict(values.pop("scores"))
    scores |= {f"coord_{kind}": score for kind, score in values.pop("kinds").items()}
    for name, score in scores.items():
        ends = {"": "mean", "_low": "low", "_high": "high"} if score else {}
        values |= {name + end: score[key] for end, key in ends.items()}
    low, high = values.pop("budget_steps") or (None, None)
    values |= {"budget_steps_low": low, "budget_steps_high": high}
    values["other"] = "; ".join(f"{name}={value}" for name, value in values["other"].items())
    values["capped"] = values["capped"] and values["capped"][0]
    return values
