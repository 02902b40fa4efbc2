"""Trains a team on ALEM, evaluates it, and leaves everything in one folder. See --help."""

import sys

import hydra
from omegaconf import DictConfig

exit_codes: list[int] = []


@hydra.main(config_path="../conf", config_name="train", version_base="1.3")
def main(values: DictConfig) -> None:
    # Imported here, so that --help and wrong option names answer at once.
    from marl.training.command import run

    exit_codes.append(run(values))
    if exit_codes[-1] >= 128:  # stopped by a signal: the rest of a sweep must not start
        sys.exit(exit_codes[-1])


if __name__ == "__main__":
    main()
    sys.exit(max(exit_codes, default=0))
