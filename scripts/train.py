"""Trains a team on ALEM, evaluates it, and leaves everything in one folder. See --help."""

import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from marl.host import every_job
from marl.host.exits import Jobs
from marl.host.folder import flatten
from marl.option_help import comments, corrections, describe, wrong_choices

CONF = Path(__file__).parents[1] / "conf"
jobs = Jobs()


def known() -> dict[str, str]:
    """Dotted option -> what it means; read when --help or a wrong name asks for it."""
    return comments(CONF, "train")


def options(*, _root_: DictConfig) -> str:
    """All options with their values and meanings; --help asks for it, as ${options:}."""
    values = {name: value for name, value in _root_.items_ex(resolve=False) if name != "hydra"}
    return describe(flatten(OmegaConf.to_container(OmegaConf.create(values))), known())


OmegaConf.register_new_resolver("options", options)


@hydra.main(config_path="../conf", config_name="train", version_base="1.3")
def main(values: DictConfig) -> int:
    # Imported here, so that --help and wrong option names answer at once.
    from marl.training.command import run

    return jobs.run(run, values)


if __name__ == "__main__":
    every_job.register()
    jobs.exit_after(
        main,
        advice=lambda: corrections(sys.argv[1:], list(known())),
        faults=wrong_choices(sys.argv[1:], CONF),
    )
