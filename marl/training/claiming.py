"""Whose a run folder is: each seed has one of its own, and what is there may be gone on with."""

import contextlib
import dataclasses
from pathlib import Path

from marl.config import TrainConfig
from marl.host import folder as folders
from marl.training.books import CHECKPOINTS_FOLDER, EVALUATION_FILE
from marl.training.loggers import read_records


def seed_folders(config: TrainConfig, folder: Path) -> list[tuple[TrainConfig, Path]]:
    """The options and the folder of each seed by itself. A seed among several has a folder like
    that of a run of its own, and such a run can go on with it."""
    if config.num_seeds == 1:
        return [(config, folder)]
    return [
        (dataclasses.replace(config, seed=seed, num_seeds=1), folder / seed_folder(seed))
        for seed in config.seeds
    ]


def seed_folder(seed: int | str) -> str:
    """Name of the folder of one seed among several."""
    return f"seed{seed}"


def claim(config: TrainConfig, folder: Path, ending: contextlib.ExitStack) -> None:
    """Makes sure that the folder is this run's, and that of each seed, which is locked, until
    `ending`, as a run of its own would lock it.

    Raises:
        RunFolderError: it is another run's, has lost its checkpoints, or got further than is asked
            for.
    """
    begun = any(folder.glob(f"{CHECKPOINTS_FOLDER}/[0-9]*")) or any(
        folder.glob(f"{seed_folder('*')}/{CHECKPOINTS_FOLDER}/[0-9]*")
    )
    if begun:
        folders.require_same_run(folder, config.as_dict(), config.free_options)
    for _, own in seed_folders(config, folder):
        (_refuse_to_fall_back if begun else _refuse_to_start_over)(config, own)
    folders.claim(folder, config.as_dict(), config.free_options, begun=begun)
    if config.num_seeds > 1:
        for alone, own in seed_folders(config, folder):
            ending.enter_context(folders.locked(folders.prepare(own)))
            folders.claim(own, alone.as_dict(), config.free_options, begun=begun)


def _refuse_to_start_over(config: TrainConfig, folder: Path) -> None:
    """A run that got further than its first checkpoint, and has none, has lost them."""
    updates = _logged(folder)
    if updates >= 2 * config.run.checkpoint_every_updates or (
        updates and (folder / EVALUATION_FILE).exists()
    ):
        raise folders.RunFolderError(
            f"run.dir={folder} holds a run of {updates} updates, and no checkpoint to go "
            "on from; choose another run.dir, or move the folder away to start afresh"
        )


def _refuse_to_fall_back(config: TrainConfig, folder: Path) -> None:
    """A run that got further than is asked for now is not relabelled as a shorter one."""
    saved = (int(p.name) for p in folder.glob(f"{CHECKPOINTS_FOLDER}/[0-9]*") if p.name.isdecimal())
    update = min(max(saved, default=0), _logged(folder))
    if config.num_updates is not None and update > config.num_updates:
        raise folders.RunFolderError(
            f"run.dir={folder} holds a run of {update * config.steps_per_update:,} steps, more "
            f"than total_steps={config.total_steps:,}: raise it beyond that to train longer, or "
            "give another run.dir (or name) for another run"
        )


def _logged(folder: Path) -> int:
    """The newest update among the records."""
    return max((record["update"] for record in read_records(folder)), default=0)
