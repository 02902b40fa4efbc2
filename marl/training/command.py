"""`scripts/train.py`: from options to a trained, evaluated and exported team."""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path

import jax
import numpy as np

from marl.config import TrainConfig
from marl.evaluation.protocol import RANDOM
from marl.export import describe_parameters, load_params, save_policy, update_card
from marl.host.device import DeviceError, require_device
from marl.host.exits import BAD_OPTION, FILES_FAILED, NOT_FINITE, guarded
from marl.host.files import write_atomic, write_json
from marl.host.folder import RunFolderError, locked, prepare
from marl.host.progress import make_display
from marl.host.stopping import StopRequest
from marl.options import ConfigError
from marl.policy_card import PolicyError, read_card
from marl.read_config import make_train_config
from marl.training.assembly import Assembly, End, Outcome
from marl.training.books import (
    BEST_POLICY_FOLDER,
    CHOSEN,
    EVALUATION_FILE,
    POLICY_FOLDER,
    NonFiniteError,
)
from marl.training.checkpoint import CheckpointError
from marl.training.devices import mesh_for
from marl.training.loggers import LoggerError
from marl.training.loop import train

TABLE_FILE = "evaluation.txt"

_CODES = {
    ConfigError: BAD_OPTION,
    DeviceError: BAD_OPTION,
    NonFiniteError: NOT_FINITE,
    RunFolderError: FILES_FAILED,
    CheckpointError: FILES_FAILED,
    LoggerError: FILES_FAILED,
    PolicyError: FILES_FAILED,
    OSError: FILES_FAILED,
}


def run(values: Mapping) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""

    def work() -> int:
        config, remarks = make_train_config(values)
        for remark in remarks:
            print(f"note: {remark}", flush=True)
        require_device()
        mesh_for(config)  # refuses before there is a folder
        folder = prepare(Path(config.run.dir or config.default_folder))
        with locked(folder), StopRequest() as stop:
            return _run(config, folder, stop)

    return guarded(
        work,
        _CODES,
        memory_advice="the run does not fit into memory; lower num_envs or num_steps, or raise "
        "learner.num_minibatches",
    )


def assemble(config: TrainConfig) -> Assembly:
    """Learner, evaluator and exporter of a run."""
    from marl import compile_cache
    from marl.environments.registry import entry_of
    from marl.evaluation.protocol import Evaluator
    from marl.learners import registry

    compile_cache.enable()
    environment = entry_of(config.env)
    env = environment.make(config.env)
    params = config.env.params()
    learner = registry.get(config.learner.name)(
        environment.vector(env, config.num_envs),
        config.network,
        config.learner.options,
        params,
    )
    card = {
        "label": f"{config.learner.name} ({config.name})",
        "learner": config.learner.name,
        "env": environment.describe(config.env, env),
        "network": learner.policy.recipe,
    }

    judged = config.env.for_evaluation().params()
    return Assembly(
        learner=learner,
        exporter=BundleExporter(card),
        evaluator=Evaluator(env, judged, learner.policy, environment.outcome(env)),
        versions=config.env.versions,
        scoring=environment.scoring,
    )


@dataclasses.dataclass(frozen=True)
class BundleExporter:
    """Policy bundles with everything on the card that stays the same during a run."""

    card: dict

    def save(self, folder: Path, params: object, config: TrainConfig, facts: dict) -> None:
        save_policy(folder, params, self.card_of(params, config, facts))

    def card_of(self, params: object, config: TrainConfig, facts: dict) -> dict:
        """The whole card of these weights."""
        parameters = describe_parameters(params)
        return self.card | {
            "config": config.as_dict(), "training": facts, "parameters": parameters,
        }  # fmt: skip

    def update_of(self, folder: Path) -> int | None:
        try:
            load_params(folder)  # weights may be damaged beside a whole card
        except PolicyError:
            return None
        return _card_update(folder)


def _card_update(folder: Path) -> int | None:
    """The update that a bundle was exported at, or None if it cannot be read."""
    try:
        training = read_card(folder).get("training")
    except PolicyError:
        return None
    return training.get("update") if isinstance(training, dict) else None


def _run(config: TrainConfig, folder: Path, stop: StopRequest) -> int:
    print(f"run folder: {_short(folder)}", flush=True)
    assembly = assemble(config)
    outcomes = train(config, assembly, folder, stop)
    first = outcomes[0]
    if first.end is not End.FINISHED:
        print(
            f"stopped at update {first.facts['update']} and saved; "
            "the same command goes on from there",
            flush=True,
        )
        return first.exit_code
    for outcome in outcomes:
        if len(outcomes) > 1:
            print(f"seed {outcome.config.seed}:", flush=True)
        code = _evaluate(assembly, outcome, stop)
        if code:
            return code
        _say_what_is_there(outcome.folder)
    return 0


def _evaluate(assembly: Assembly, outcome: Outcome, stop: StopRequest) -> int:
    """The final evaluation, once a run: newest parameters, best ones, and random play."""
    from marl.evaluation.report import format_report

    options, folder = outcome.config.evaluation, outcome.folder
    if options.worlds == 0:
        return 0
    asked = {name: outcome.facts[name] for name in ("run_id", "update")}
    asked |= {"worlds": options.worlds, "max_steps": options.max_steps}
    report = earlier = earlier_report(folder)
    if earlier is None or earlier["asked"] != asked:
        report = _play(assembly, outcome, stop)
    if report is None:
        print("evaluation stopped; the same command makes it again", flush=True)
        return stop.exit_code
    if earlier is not None and report is not earlier and _is_of(earlier, outcome):
        before = earlier["asked"]
        print(
            f"note: {EVALUATION_FILE} of {before.get('worlds')} worlds, at most "
            f"{before.get('max_steps')} steps, is replaced",
            flush=True,
        )
    write_json(folder / EVALUATION_FILE, report | {"asked": asked})
    _note_scores(folder, report)
    table = format_report(report)
    write_atomic(folder / TABLE_FILE, table + "\n")
    print("\n" + table + "\n", flush=True)
    return 0


def _is_of(report: dict, outcome: Outcome) -> bool:
    """Whether a report is of the parameters that the run has now."""
    return all(report["asked"].get(name) == outcome.facts[name] for name in ("run_id", "update"))


def _play(assembly: Assembly, outcome: Outcome, stop: StopRequest) -> dict | None:
    """The report of the final evaluation, or None if it was stopped."""
    from marl.environments.registry import entry_of
    from marl.evaluation.command import play_all
    from marl.evaluation.protocol import FIRST_SEED, Interrupted
    from marl.evaluation.report import make_report

    config, folder = outcome.config, outcome.folder
    options = config.evaluation
    players = {"greedy": ("greedy", outcome.params), "sampled": ("sampled", outcome.params)}
    best = _best_params(folder, outcome)
    if best is not None:
        players[f"{CHOSEN}, greedy"] = ("greedy", best)
    players[RANDOM] = (RANDOM, outcome.params)
    display = make_display(config.logger.console, "evaluate")
    seeds = range(FIRST_SEED, FIRST_SEED + options.worlds)
    try:
        results = play_all(assembly.evaluator, players, seeds, options.max_steps, display, stop)
    except Interrupted:
        return None
    judged = config.env.for_evaluation()
    environment = entry_of(judged)
    return make_report(
        results,
        label=f"{config.learner.name} ({config.name})",
        world=environment.describe(judged, environment.make(judged)),
        max_steps=options.max_steps,
        facts={"seed": config.seed, **outcome.facts},
    )


def earlier_report(folder: Path) -> dict | None:
    """The report of an earlier call, if it is whole."""
    from marl.evaluation.report import format_report

    try:
        report = json.loads((folder / EVALUATION_FILE).read_text())
        format_report(report), _scores(report), dict(report["asked"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # missing, or damaged
        return None
    return report


def _best_params(folder: Path, outcome: Outcome) -> object | None:
    """Weights that did best on development worlds; None if there was nothing to choose from, they
    are the newest ones, or those in the folder are of an evaluation that the run does not know."""
    best, facts = outcome.facts["best_update"], outcome.facts
    if best in (None, facts["update"]) or facts["candidates"] < 2:
        return None
    if _card_update(folder / BEST_POLICY_FOLDER) != best:
        return None
    try:
        params = load_params(folder / BEST_POLICY_FOLDER)
    except PolicyError as error:
        print(f"note: the best policy so far is left out of the evaluation: {error}", flush=True)
        return None
    same = jax.tree.map(np.array_equal, params, jax.device_get(outcome.params))
    return None if all(jax.tree.leaves(same)) else params


def newest_scores(report: dict) -> dict:
    """For the card of the newest policy: all that was played, but the best one."""
    scores = _scores(report)
    results = {n: r for n, r in scores["results"].items() if not n.startswith(CHOSEN)}
    return scores | {"results": results}


def _note_scores(folder: Path, report: dict) -> None:
    """Adds the scores to the cards of the policies that were played."""
    update_card(folder / POLICY_FOLDER, scores=newest_scores(report))
    scores = _scores(report)
    best = scores["results"].get(f"{CHOSEN}, greedy")
    if best is not None:
        played = {"greedy": best, RANDOM: scores["results"][RANDOM]}
        update_card(folder / BEST_POLICY_FOLDER, scores=scores | {"results": played})


def _scores(report: dict) -> dict:
    """For the card: what is judged, with intervals, and under which protocol."""
    from marl.environments.registry import ENVIRONMENTS, name_of

    shares = ENVIRONMENTS[name_of(report["protocol"])].scoring.shares
    keep = (*shares, "length", "team_return")
    results = {name: {k: summary[k] for k in keep} for name, summary in report["results"].items()}
    return {"protocol": report["protocol"], "results": results}


def _say_what_is_there(folder: Path) -> None:
    names = (
        "config.yaml", "versions.json", "metrics.jsonl", "curve.png", EVALUATION_FILE, TABLE_FILE,
        POLICY_FOLDER, BEST_POLICY_FOLDER, "checkpoints",
    )  # fmt: skip
    print(f"{_short(folder)} holds " + ", ".join(n for n in names if (folder / n).exists()))


def _short(folder: Path) -> str:
    """Relative to where the user is, if that is shorter."""
    relative = os.path.relpath(folder)
    return relative if len(relative) < len(str(folder)) else str(folder)
