"""Trains what a queue file lists, one run after another or several at a time.

    python scripts/run_queue.py conf/queues/results.yaml
    python scripts/run_queue.py conf/queues/results.yaml out=runs/results parallel=2
    python scripts/run_queue.py conf/queues/results.yaml --status
    python scripts/run_queue.py conf/queues/results.yaml out=runs/try total_steps=1e5

Each job is a run of scripts/train.py in a folder of its own below out=, with its output in
train.log there. The same command goes on: finished runs are skipped, those that were interrupted
resume, those that failed are tried again. One that fails is reported, and the others go on. Ctrl-C,
SIGTERM and SIGUSR1 let the runs save and then stop; Ctrl-C again stops at once.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from command_line import note, whole_number
from command_line import run as run_command

EPILOG = """\
Exit status: 0 all finished, 2 the file or an option cannot work, 4 the folder cannot be used;
otherwise the highest of the failed runs (scripts/train.py --help), 130 and the like: stopped by a
signal, saved. docs/sweeps.md says what may stand in a queue file."""


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("queue", type=Path, metavar="QUEUE", help="file that lists the jobs")
    parser.add_argument(
        "options", nargs="*", metavar="OPTION=VALUE",
        help="out=FOLDER: of the runs, instead of the file's; parallel=N: runs at a time, "
        "default 1; any other goes to every job, and wins over the file",
    )  # fmt: skip
    parser.add_argument("--status", action="store_true", help="print how far each job is, and end")
    args = parser.parse_intermixed_args(argv)
    args.out, args.parallel, args.extra = None, 1, []
    for option in args.options:
        name, is_option, value = option.partition("=")
        if not is_option:
            parser.error(f"{option!r} is no OPTION=VALUE")
        if name == "out":
            args.out = value
        elif name == "parallel":
            try:
                args.parallel = whole_number(1, 2)(value)
            except argparse.ArgumentTypeError as error:
                parser.error(f"parallel={error}")
        else:
            args.extra.append(option)
    return args


def main(argv: Sequence[str] | None = None, command: Sequence[str] | None = None) -> int:
    """The exit code. `command` is the training program, if not scripts/train.py."""
    args = parse(argv)
    # after --help and bad options
    from queue_jobs import QueueError, read_queue
    from queue_runner import TRAIN, Queue
    from queue_status import Failures, show_table, survey

    from marl.host.exits import BAD_OPTION, FILES_FAILED, guarded
    from marl.host.folder import RunFolderError, locked, prepare
    from marl.host.stopping import StopRequest

    def work() -> int:
        note("checking the options of all jobs ...")
        out, jobs = read_queue(args.queue, args.out, args.extra)
        if args.status:
            failures = Failures(out).read()
            show_table(survey(jobs, failures), failures)
            return 0
        with locked(prepare(out, "out"), "out"):
            queue = Queue(jobs, out, args.parallel, command or TRAIN)
            with StopRequest(queue.pass_on) as stop:
                return queue.run(stop)

    return guarded(
        work,
        {QueueError: BAD_OPTION, RunFolderError: FILES_FAILED, OSError: FILES_FAILED},
        memory_advice="the queue itself does not fit into memory",
        stopped="stopped at once; the same command goes on from what was saved last",
    )


if __name__ == "__main__":
    run_command(main)
