"""`scripts/train.py`: from options to a trained, evaluated and exported team."""

import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import jax

from marl.config import ConfigError, TrainConfig, make_train_config
from marl.host.folder import RunFolderError, locked, prepare, write_json
from marl.host.progress import make_display
from marl.host.stopping import StopRequest
from marl.training.checkpoint import CheckpointError
from marl.training.loop import (
    BEST_POLICY_FOLDER,
    POLICY_FOLDER,
    Assembly,
    End,
    NonFiniteError,
    Outcome,
    train,
)

EVALUATION_FILE = "evaluation.json"
TABLE_FILE = "evaluation.txt"

BAD_OPTION, NOT_FINITE, FILES_FAILED, STOPPED = 2, 3, 4, 130
_MEMORY_WORDS = ("RESOURCE_EXHAUSTED", "out of memory", "Out of memory")


def run(values: Mapping) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""
    try:
        config, remarks = make_train_config(values)
        for remark in remarks:
            print(f"note: {remark}", flush=True)
        folder = prepare(Path(config.run.dir or config.default_folder))
        with locked(folder), StopRequest() as stop:
            return _run(config, folder, stop)
    except ConfigError as error:
        return _fail(error, BAD_OPTION)
    except NonFiniteError as error:
        return _fail(error, NOT_FINITE)
    except (RunFolderError, CheckpointError, OSError) as error:
        return _fail(error, FILES_FAILED)
    except jax.errors.JaxRuntimeError as error:
        if not any(word in str(error) for word in _MEMORY_WORDS):
            raise
        return _fail(
            f"num_envs={config.num_envs} x num_steps={config.num_steps} does not fit into memory; "
            f"lower num_envs or num_steps, or raise learner.num_minibatches ({error})",
            FILES_FAILED,
        )
    except KeyboardInterrupt:
        return _fail("stopped at once; the newest checkpoint is what was saved last", STOPPED)


def assemble(config: TrainConfig) -> Assembly:
    """Learner, evaluator and exporter of a run on ALEM."""
    import alem_env
    from marl import compile_cache, export
    from marl.evaluation import worlds
    from marl.evaluation.protocol import Evaluator
    from marl.learners import registry

    compile_cache.enable()
    env = worlds.make_environment(config.env)
    params = config.env.params()
    learner = registry.get(config.learner.name)(
        alem_env.VectorEnv(env, config.num_envs),
        config.network,
        config.learner.options,
        params,
    )
    card = {
        "label": f"{config.learner.name} ({config.name})",
        "learner": config.learner.name,
        "env": worlds.describe(config.env, env),
        "network": dataclasses.asdict(config.network),
        "config": config.as_dict(),
    }

    def export_policy(folder: Path, params: object, facts: dict) -> None:
        details = {"training": facts, "parameters": export.describe_parameters(params)}
        export.save_policy(folder, params, card | details)

    evaluator = Evaluator(env, params, learner.policy, worlds.outcome_of(env))
    return Assembly(
        learner=learner,
        export=export_policy,
        evaluator=evaluator,
        versions={"rules": config.env.rules_version},
    )


def _run(config: TrainConfig, folder: Path, stop: StopRequest) -> int:
    print(f"run folder: {_short(folder)}", flush=True)
    assembly = assemble(config)
    outcome = train(config, assembly, folder, stop)
    if outcome.end is not End.FINISHED:
        print(
            f"stopped at update {outcome.facts['update']} and saved; "
            "the same command goes on from there",
            flush=True,
        )
        return outcome.exit_code
    code = _evaluate(config, assembly, outcome, stop)
    _say_what_is_there(folder)
    return code


def _evaluate(config: TrainConfig, assembly: Assembly, outcome: Outcome, stop: StopRequest) -> int:
    """The final evaluation, once a run: newest parameters, best ones, and random play."""
    from marl.evaluation.command import play_all
    from marl.evaluation.protocol import FIRST_SEED, Interrupted
    from marl.evaluation.report import format_report, make_report
    from marl.export import read_card, update_card

    options, folder = config.evaluation, outcome.folder
    if options.worlds == 0:
        return 0
    asked = {"update": outcome.facts["update"], "worlds": options.worlds,
             "max_steps": options.max_steps}  # fmt: skip
    report = _earlier_report(folder, asked)
    if report is None:
        players = {"greedy": ("greedy", outcome.params), "sampled": ("sampled", outcome.params)}
        best = _best_params(folder, outcome)
        if best is not None:
            players["best on development worlds, greedy"] = ("greedy", best)
        players["random"] = ("random", outcome.params)
        display = make_display(config.logger.console, "evaluate")
        seeds = range(FIRST_SEED, FIRST_SEED + options.worlds)
        try:
            results = play_all(assembly.evaluator, players, seeds, options.max_steps, display, stop)
        except Interrupted:
            print("evaluation stopped; the same command makes it again", flush=True)
            return stop.exit_code
        card = read_card(folder / POLICY_FOLDER)
        report = make_report(
            results, label=card["label"], world=card["env"], max_steps=options.max_steps,
            facts={"seed": config.seed, **outcome.facts},
        )  # fmt: skip
        report["asked"] = asked
        write_json(folder / EVALUATION_FILE, report)
        update_card(folder / POLICY_FOLDER, scores=_scores(report))
    table = format_report(report)
    (folder / TABLE_FILE).write_text(table + "\n")
    print("\n" + table + "\n", flush=True)
    return 0


def _earlier_report(folder: Path, asked: dict) -> dict | None:
    """The report of an earlier call, if it was about the same parameters and worlds."""
    try:
        report = json.loads((folder / EVALUATION_FILE).read_text())
    except (OSError, ValueError):
        return None
    return report if report.get("asked") == asked else None


def _best_params(folder: Path, outcome: Outcome) -> object | None:
    """Weights that did best on development worlds, unless they are the newest ones."""
    from marl.export import load_params

    best = outcome.facts["best_update"]
    if best is None or best == outcome.facts["update"]:
        return None
    return load_params(folder / BEST_POLICY_FOLDER)


def _scores(report: dict) -> dict:
    """For the card: headline scores with intervals, and under which protocol."""
    keep = ("base", "coord", "total", "length", "team_return")
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


def _fail(error: Exception | str, code: int) -> int:
    sys.stdout.flush()
    print(f"error: {error}", file=sys.stderr, flush=True)
    return code
