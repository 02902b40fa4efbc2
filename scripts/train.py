"""Trains a team on ALEM, evaluates it, and leaves everything in one folder. See --help."""

import hydra
from hydra_command import jobs, start
from omegaconf import DictConfig


@hydra.main(config_path="../conf", config_name="train", version_base="1.3")
def main(values: DictConfig) -> int:
    # Imported here, so that --help and wrong option names answer at once.
    from marl.training.command import run

    return jobs.run(run, values)


if __name__ == "__main__":
    start(main, "train")
