"""Numbers of a run that the host keeps, saved with each checkpoint."""

import dataclasses
import math
import typing

import numpy as np

from marl.training.loggers import is_evaluation

_SIGNED = ("best_score",)  # returns may be below 0


@dataclasses.dataclass
class Counters:
    """All plain values.

    Attributes:
        run_id: names the run to other programs.
        update: updates done.
        seconds: spent in updates over all calls, without compiling.
        evaluated_update: the last update whose evaluation on development worlds came to its end.
        best_score, best_update: of the best such evaluation under `best_setting`; as shown to
            users (shares in percent).
        best_setting: how many worlds and steps that was; scores of others do not compare.
        candidates: how many evaluations there were under `best_setting`.
        episodes: sums over the episodes since the last record, see `episodes.add_sums`.
    """

    run_id: str
    update: int = 0
    seconds: float = 0.0
    evaluated_update: int = 0
    best_score: float | None = None
    best_update: int | None = None
    best_setting: list | None = None
    candidates: int = 0
    episodes: dict | None = None

    @classmethod
    def from_json(cls, values: dict) -> "Counters":
        """What `as_json` gave. Raises ValueError if names or types are others."""
        kinds = typing.get_type_hints(cls)
        wrong = sorted(set(kinds) ^ set(values)) or [
            name for name, kind in kinds.items() if not isinstance(values[name], kind)
        ]
        wrong = wrong or [
            name
            for name, value in values.items()
            if isinstance(value, int | float)
            and not (math.isfinite(value) and (value >= 0 or name in _SIGNED))
        ]
        if wrong:
            raise ValueError(f"its counters are not this program's: {', '.join(wrong)}")
        return cls(**values)

    def as_json(self) -> dict:
        values = dict(vars(self))
        if self.episodes is not None:
            values["episodes"] = {k: np.asarray(v).tolist() for k, v in self.episodes.items()}
        return values

    @property
    def saved_as(self) -> tuple[int, int]:
        """Changes whenever there is something new to save."""
        return self.update, self.evaluated_update

    def know(self, record: dict) -> bool:
        """Whether a record of metrics was made before these numbers were saved."""
        last = self.evaluated_update if is_evaluation(record) else self.update
        return record["update"] <= last

    def facts(self) -> dict:
        """What a policy's card and a report say of the run."""
        names = ("run_id", "update", "seconds", "best_score", "best_update", "candidates")
        return {name: getattr(self, name) for name in names}
