"""Plays a policy, or random legal actions, under the benchmark's protocol. See --help."""

import hydra
from hydra_command import jobs, start
from omegaconf import DictConfig


@hydra.main(config_path="../conf", config_name="evaluate", version_base="1.3")
def main(values: DictConfig) -> int:
    # Imported here, so that --help and wrong option names answer at once.
    from marl.evaluation.command import run

    return jobs.run(run, values)


if __name__ == "__main__":
    start(main, "evaluate")
