"""Plays a policy, or random legal actions, under the benchmark's protocol. See --help."""

from collections.abc import Mapping

from hydra_command import start


def evaluate(values: Mapping) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""
    # Imported here, so that --help, wrong option names and Ctrl-C are answered at once.
    from marl.evaluation.command import run

    return run(values)


if __name__ == "__main__":
    start(evaluate, "evaluate")
