"""`scripts/export.py`: a policy bundle from what a run has saved."""

import dataclasses
from pathlib import Path

from marl.config import TrainConfig
from marl.export import load_params, lost_if_replaced, save_policy, update_card
from marl.host.exits import BAD_OPTION, FILES_FAILED, guarded
from marl.host.files import absolute
from marl.host.folder import CONFIG_FILE, RunFolderError, locked, read_config
from marl.options import ConfigError
from marl.policy_card import PolicyError, read_card
from marl.read_config import make_train_config
from marl.training.books import BEST_POLICY_FOLDER, CHECKPOINTS_FOLDER, POLICY_FOLDER
from marl.training.checkpoint import CheckpointError, Checkpoints
from marl.training.claiming import seed_folder
from marl.training.command import assemble, earlier_report, newest_scores
from marl.training.counters import Counters

_CODES = {
    ConfigError: BAD_OPTION,
    RunFolderError: FILES_FAILED,
    CheckpointError: FILES_FAILED,
    PolicyError: FILES_FAILED,
    OSError: FILES_FAILED,
}


@dataclasses.dataclass(frozen=True)
class Options:
    """What is asked for.

    Attributes:
        run: folder of a run; of several seeds, that which holds a folder of each.
        update: whose checkpoint; None: the newest whole one.
        best: the policy that did best on development worlds instead.
        out: folder of the bundle; None: the run's own policy/.
        label: of the policy, in tables; None: learner and set-up.
    """

    run: Path
    update: int | None
    best: bool
    out: Path | None
    label: str | None


def run(options: Options) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""
    return guarded(lambda: _run(options), _CODES, memory_advice="the policy is too large for it")


def _run(options: Options) -> int:
    folder = absolute(options.run, "RUN")
    if not folder.is_dir():
        raise RunFolderError(f"RUN={options.run} is no folder; give the folder of a run")
    seeds = [path for path in sorted(folder.glob(seed_folder("*"))) if path.is_dir()]
    if seeds and options.out is not None:
        raise ConfigError(
            f"RUN={options.run} holds {len(seeds)} seeds, and --out is one folder; export each by "
            f"itself: RUN={options.run}/{seeds[0].name} and so on"
        )
    for own in seeds or [folder]:
        with locked(own, "RUN"):
            _export(own, options)
    return 0


def _export(folder: Path, options: Options) -> None:
    out = folder / POLICY_FOLDER if options.out is None else absolute(options.out, "--out")
    lost = lost_if_replaced(out)
    if lost:
        raise PolicyError(
            f"--out={out} is there, and no policy bundle alone: {', '.join(lost[:3])} would be "
            "lost; name another folder"
        )
    if options.best:
        params, card = _best(folder)
    else:
        params, card = _saved(folder, options)
    if options.label is not None:
        card["label"] = options.label
    is_new = not out.exists()
    save_policy(out, params, card)
    report = earlier_report(folder)
    if not options.best and report is not None:
        _note_scores_of(out, report, card)
    training = card["training"]
    print(
        f"{out}: {card['label']}, update {training['update']:,}, "
        f"{training['env_steps']:,} environment steps"
        + ("" if is_new else " (in place of the bundle that was there)"),
        flush=True,
    )


def _best(folder: Path) -> tuple[object, dict]:
    """The bundle that the run kept as its best, with its scores."""
    best = folder / BEST_POLICY_FOLDER
    if not best.exists():
        raise PolicyError(
            f"RUN={folder} has no {BEST_POLICY_FOLDER}: nothing was evaluated on development "
            "worlds; leave --best out"
        )
    return load_params(best), read_card(best)


def _saved(folder: Path, options: Options) -> tuple[object, dict]:
    """Parameters and card from a checkpoint."""
    config = _config_of(folder)
    assembly = assemble(config)
    if not (folder / CHECKPOINTS_FOLDER).is_dir():
        raise CheckpointError(f"RUN={folder} has no {CHECKPOINTS_FOLDER}/: nothing was saved there")
    checkpoints = Checkpoints(
        folder / CHECKPOINTS_FOLDER, keep=config.run.keep_checkpoints, versions=assembly.versions
    )
    try:
        there = checkpoints.updates()
        if options.update is not None and options.update not in there:
            raise CheckpointError(
                f"--update={options.update} is no checkpoint of RUN={folder}; there are "
                f"{', '.join(map(str, there)) or 'none'}"
            )
        among = None if options.update is None else [options.update]
        found = checkpoints.restore_params(Counters.from_json, among)
    finally:
        checkpoints.close()
    if found is None:
        raise CheckpointError(f"RUN={folder} has no checkpoint; nothing was saved there")
    _, params, counters = found
    facts = counters.facts() | {"env_steps": counters.update * config.steps_per_update}
    return params, assembly.exporter.card_of(params, config, facts)


def _config_of(folder: Path) -> TrainConfig:
    try:
        values = read_config(folder / CONFIG_FILE)
    except FileNotFoundError:
        raise RunFolderError(
            f"RUN={folder} holds no {CONFIG_FILE}; give the folder of a run"
        ) from None
    return make_train_config(values)[0]


def _note_scores_of(out: Path, report: dict, card: dict) -> None:
    """Adds the run's scores, if they are of these weights."""
    training = card["training"]
    if all(report["asked"].get(name) == training[name] for name in ("run_id", "update")):
        update_card(out, scores=newest_scores(report))
