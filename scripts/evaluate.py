"""Plays a policy, or random legal actions, under the benchmark's protocol. See --help."""

import sys

import hydra
from omegaconf import DictConfig

exit_codes: list[int] = []


@hydra.main(config_path="../conf", config_name="evaluate", version_base="1.3")
def main(values: DictConfig) -> None:
    # Imported here, so that --help and wrong option names answer at once.
    from marl.evaluation.command import run

    exit_codes.append(run(values))
    if exit_codes[-1] >= 128:
        sys.exit(exit_codes[-1])


if __name__ == "__main__":
    main()
    sys.exit(max(exit_codes, default=0))
