"""Trains a team on ALEM, evaluates it, and leaves everything in one folder. See --help."""

import hydra
from omegaconf import DictConfig

from marl.host.exits import Jobs

jobs = Jobs()


@hydra.main(config_path="../conf", config_name="train", version_base="1.3")
def main(values: DictConfig) -> None:
    # Imported here, so that --help and wrong option names answer at once.
    from marl.training.command import run

    jobs.run(run, values)


if __name__ == "__main__":
    jobs.exit_after(main)
