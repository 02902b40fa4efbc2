"""Trains a team on ALEM, evaluates it, and leaves everything in one folder. See --help."""

from collections.abc import Mapping

from hydra_command import start


def train(values: Mapping) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""
    # Imported here, so that --help, wrong option names and Ctrl-C are answered at once.
    from marl.training.command import run

    return run(values)


if __name__ == "__main__":
    start(train, "train")
