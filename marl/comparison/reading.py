"""From paths to checked results: evaluation files, run folders, folders of run folders."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from alem_env import Achievement, score
from marl.comparison.rows import KINDS, SCORES, ComparisonError, Conditions
from marl.config import FREE_OPTIONS
from marl.env_config import ALEM
from marl.environments.registry import name_of
from marl.evaluation.protocol import RANDOM
from marl.host.folder import CONFIG_FILE, RunFolderError, flatten, is_free, read_config
from marl.policy_card import PolicyError, read_card
from marl.training.books import CHOSEN, EVALUATION_FILE, POLICY_FOLDER
from marl.training.claiming import seed_folder
from marl.training.loggers import METRICS_FILE

BEST = CHOSEN
# What a run is in a table anyway (seed, difficulty, budget, name), or decides nothing.
_OUTSIDE = FREE_OPTIONS | {"seed", "num_seeds", "name", "env.difficulty", "total_steps"}
# What a protocol says besides conditions.
_NO_CONDITIONS = {
    "first_seed", "episodes", "is_comparable", "is_whole_protocol", "step_keys", "num_actions",
    "shared_reward", "own_efficiency",
}  # fmt: skip
_CONDITIONS = {
    "difficulty": str, "track": str, "rules_version": str, "non_specialist_efficiency": float,
    "num_comm_channels": int, "num_agents": int, "max_steps": int,
}  # fmt: skip
_NUMBER_OF = {a.name.lower(): int(a) for a in Achievement}
_TOLERANCE = 1e-3  # percent; files hold what 32-bit fractions gave


@dataclasses.dataclass(frozen=True)
class Result:
    """How one policy of one run did, in the words of one evaluation file.

    Attributes:
        path: the file.
        label: of the policy.
        behind: what it is, if not the newest policy in the world of its training: ", best on
            development worlds" and the like.
        policy: greedy, sampled or random.
        conditions: under which.
        seeds: (W,) reset seeds.
        values: base, coord, total and kinds -> (W,) percent.
        capped: worlds that met the step limit.
        run_id: of the run that made the policy, or None.
        env_steps: it was trained for, or None.
        options: dotted option -> value that decide what is learnt; None if not known.
        parameters: numbers in its weights, None if not known.
    """

    path: Path
    label: str
    behind: str
    policy: str
    conditions: Conditions
    seeds: tuple[int, ...]
    values: dict[str, np.ndarray]
    capped: int
    run_id: str | None
    env_steps: int | None
    options: Mapping[str, object] | None
    parameters: int | None

    @property
    def name(self) -> str:
        return self.label + self.behind


@dataclasses.dataclass(frozen=True)
class Found:
    """What lies at the paths that were given: evaluation files, and folders with a curve."""

    files: list[Path]
    runs: list[Path]
    remarks: list[str]


def find(paths: Sequence[str]) -> Found:
    """Evaluation files and run folders at these paths.

    Args:
        paths: each an evaluation file, a run folder, or a folder of run folders.

    Raises:
        ComparisonError: nothing is there, or nothing to compare.
    """
    found = Found([], [], [])
    for given in paths:
        path = Path(given).expanduser()
        if path.is_file():
            found.files.append(path)
        elif path.is_dir():
            _look_into(path, found)
        else:
            raise ComparisonError(f"{given}: there is no such file or folder{_hint(given)}")
    return found


def _hint(given: str) -> str:
    option, is_option, value = given.partition("=")
    is_option = is_option and option.lstrip("-") in ("out", "baseline", "submission", "method")
    return f"; did you mean --{option.lstrip('-')} {value}?" if is_option else ""


def _look_into(folder: Path, found: Found) -> None:
    inner = [run for path in sorted(folder.iterdir()) for run in _runs_at(path)]
    runs = inner or _runs_at(folder)
    if not runs:
        raise ComparisonError(
            f"{folder}: holds neither {EVALUATION_FILE} nor {METRICS_FILE}, and no folder in it "
            "does; give a run's folder, a folder of runs, or an evaluation file"
        )
    for run in runs:
        other = (config_of(run) or {}).get("env.name", ALEM)
        if other != ALEM:
            found.remarks.append(f"{run} is of env={other}, and left out: tables are of ALEM")
            continue
        if (run / METRICS_FILE).exists():
            found.runs.append(run)
        if (run / EVALUATION_FILE).exists():
            found.files.append(run / EVALUATION_FILE)
            _add_others(run, found)
        else:
            found.remarks.append(
                f"{run} has no {EVALUATION_FILE} yet, and is in no table; the command that "
                "started the run finishes it"
            )


def _add_others(run: Path, found: Found) -> None:
    """Evaluations of the run's policy that scripts/evaluate.py left there under conditions that
    its own, and those before, do not have: the language-model track, blank messages."""
    stem = Path(EVALUATION_FILE).stem
    seen = {_conditions_in(run / EVALUATION_FILE)}
    for file in sorted(run.glob(f"*{stem}_*.json")):
        conditions = _conditions_in(file)
        if not file.name.startswith(stem):
            why = "it is not of the run's newest policy"
        elif conditions is None:
            why = "it cannot be read"
        elif conditions in seen:
            why = "the run has results under the same conditions"
        else:
            seen.add(conditions)
            found.files.append(file)
            continue
        found.remarks.append(f"{file} is left out: {why}; give it by name to see it")


def _conditions_in(file: Path) -> Conditions | None:
    """What an evaluation file is comparable under; None if it cannot be read."""
    try:
        return _conditions(json.loads(file.read_text())["protocol"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _runs_at(folder: Path) -> list[Path]:
    """The folder, if it is a run's; those of the seeds in it, if they were trained together."""
    return [p for p in (folder, *sorted(folder.glob(seed_folder("*")))) if _is_run(p)]


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (EVALUATION_FILE, METRICS_FILE))


def options_of(run: Path) -> dict[str, object] | None:
    """Dotted options that decide what a run learns, without seed and difficulty; None without a
    readable config.yaml."""
    options = config_of(run)
    return options and {k: v for k, v in options.items() if not is_free(k, _OUTSIDE)}


def config_of(run: Path) -> dict[str, object] | None:
    """All dotted options of a run, or None."""
    try:
        return flatten(read_config(run / CONFIG_FILE))
    except (OSError, RunFolderError):
        return None


def read_evaluation(path: Path) -> list[Result]:
    """All results in an evaluation file.

    Raises:
        ComparisonError: it is none, is damaged, or contradicts itself.
    """
    try:
        report = json.loads(path.read_text())
    except OSError as error:
        raise ComparisonError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ComparisonError(
            f"{path}: is damaged, or no evaluation ({error}); make it again"
        ) from error
    try:
        return [_result(path, report, name, summary) for name, summary in report["results"].items()]
    except ComparisonError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ComparisonError(
            f"{path}: is no whole evaluation ({type(error).__name__}: {error}); make it again "
            "with scripts/evaluate.py"
        ) from error


def _result(path: Path, report: dict, behaviour: str, summary: dict) -> Result:
    if (other := name_of(report["protocol"])) != ALEM:
        raise ComparisonError(f"{path}: is of env={other}, and tables are of ALEM; leave it out")
    conditions = _conditions(report["protocol"])
    worlds, facts = summary["worlds"], report["policy"]
    seeds = tuple(int(world["seed"]) for world in worlds)
    first = report["protocol"]["first_seed"]
    if seeds != tuple(range(first, first + report["protocol"]["episodes"])):
        raise ComparisonError(
            f"{path}: {behaviour} has not the worlds that its protocol names; make it again"
        )
    kind, _, policy = behaviour.rpartition(", ")
    is_random = policy == RANDOM
    behind = [] if is_random else [f", {part}" for part in (kind, _transfer(report)) if part]
    return Result(
        path=path,
        label="random legal play" if is_random else str(report["label"]),
        behind="".join(behind),
        policy=policy,
        conditions=conditions,
        seeds=seeds,
        values=_values(path, behaviour, worlds, conditions.num_agents),
        capped=sum(bool(world["capped"]) for world in worlds),
        run_id=None if is_random else facts.get("run_id"),
        env_steps=None if is_random else _steps(facts, kind),
        options=None if is_random else options_of(path.parent),
        parameters=None if is_random else _parameters(path.parent),
    )


def _steps(facts: dict, kind: str) -> int | None:
    """Steps of training; of the best policy, those until it was saved."""
    steps = facts.get("env_steps")
    if steps is None or kind != BEST:
        return steps
    return steps // facts["update"] * facts["best_update"]


def _conditions(protocol: dict) -> Conditions:
    stated = {name: kind(protocol[name]) for name, kind in _CONDITIONS.items()}
    others = sorted(protocol.keys() - _CONDITIONS.keys() - _NO_CONDITIONS)
    other = tuple((n, str(protocol[n])) for n in others if protocol[n] not in (None, False))
    return Conditions(**stated, other=other)


def _transfer(report: dict) -> str:
    """How the world of training differs from the one that was played, if it is known to."""
    trained = report["policy"].get("trained_in") or {}
    played = report["protocol"]
    words = {"difficulty": "trained on {}", "rules_version": "trained under rules {}"}
    return ", ".join(
        text.format(trained[name])
        for name, text in words.items()
        if name in trained and str(trained[name]) != str(played[name])
    )


def _values(path: Path, behaviour: str, worlds: list, agents: int) -> dict[str, np.ndarray]:
    """Scores as the file has them, and kinds from its achievements, which must agree."""
    has = np.zeros((len(worlds), agents, len(Achievement)), bool)
    for place, world in enumerate(worlds):
        has[place, :, [_NUMBER_OF[name] for name in world["achievements"]]] = True
    made = {name: 100.0 * np.asarray(v, np.float64) for name, v in score.team_score(has).items()}
    values = {name: np.array([world[name] for world in worlds], np.float64) for name in SCORES}
    for name in SCORES:
        wrong = np.flatnonzero(~(np.abs(values[name] - made[name]) <= _TOLERANCE))
        if wrong.size:
            world = worlds[wrong[0]]
            raise ComparisonError(
                f"{path}: is damaged: {behaviour}, world {world['seed']} has {name} {world[name]}, "
                f"and its achievements give {made[name][wrong[0]]:.4f}; make it again"
            )
    return values | {kind: made[f"coord_{kind}"] for kind in KINDS}


def _parameters(run: Path) -> int | None:
    """Numbers in the weights of the run's policy, by its card."""
    try:
        listed = read_card(run / POLICY_FOLDER)["parameters"]
        return sum(int(np.prod(shape)) for shape, _ in listed.values())
    except (PolicyError, OSError, LookupError, TypeError, ValueError, AttributeError):
        return None
