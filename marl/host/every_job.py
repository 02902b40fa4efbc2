"""A sweeper that hears of every job.

Hydra's own forgets what jobs return, in other processes without a trace, and stops at the first
that raised. This one reports each job that failed by its options, and ends the program with the
worst exit code. `register` makes it known to Hydra, as hydra/sweeper=every_job.
"""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from marl.host import sweep
from marl.host.exits import BAD_OPTION, FAULT, STOP_CODES, STOPPED, SweepOver, fail
from marl.host.stopping import StopRequest, interruptible


class EveryJob(Sweeper):
    """All combinations of the values given, as Hydra's sweeper has them; `main` returns a code.

    Args:
        options: those of Hydra's sweeper.
    """

    def __init__(self, **options: object):
        self._options = options

    def setup(self, *, config: DictConfig, **parts: object) -> None:
        """As Hydra's. Raises SweepOver if the launcher is not installed."""
        # Held, not inherited from, and imported here: Hydra runs that module again when it looks
        # for plugins, and then has another class of that name.
        from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

        self._combinations = BasicSweeper(**self._options)
        try:
            self._combinations.setup(config=config, **parts)
        except (RuntimeError, ImportError) as error:
            name = config.hydra.runtime.choices.get("hydra/launcher")
            text = f"hydra/launcher={name} needs more packages: pip install -e '.[sweep]' ({error})"
            raise SweepOver(fail(text, BAD_OPTION)) from error
        is_remote = "submitit" in config.hydra.launcher._target_
        self._launcher = Watched(self._combinations.launcher, is_remote)
        self._combinations.launcher = self._launcher

    def sweep(self, arguments: list[str]) -> None:
        """Never returns: raises SweepOver with the exit code."""
        self._combinations.sweep(arguments)
        raise SweepOver(self._launcher.code)


def register() -> None:
    """Lets Hydra make an `EveryJob`. To be called ahead of the program's main function.

    Hydra makes plugins of packages that are called `hydra_plugins`, and of no others, even if they
    are registered: it is told that this module is one.
    """
    plugins = Plugins.instance()
    plugins.register(EveryJob)
    plugins.is_in_toplevel_plugins_module = _may_be_made


def _may_be_made(name: str) -> bool:
    return name.startswith(f"{__name__}.") or Plugins.is_in_toplevel_plugins_module(name)


@contextlib.contextmanager
def holding() -> Iterator[StopRequest]:
    """Holds a sweep of this process and its children: a signal is passed on to them as SIGTERM,
    while they leave Ctrl-C to this process. Jobs in this process listen for themselves."""

    def pass_on() -> bool:
        sweep.end(stop.exit_code)
        children = multiprocessing.active_children()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
        return bool(children)

    stop = StopRequest(pass_on)
    with sweep.held(), stop:
        yield stop


class Watched:
    """A launcher whose jobs are reported.

    Args:
        launcher: starts the jobs, and waits for them.
        is_remote: they run on without this process, which has no part in stopping them.

    Attributes:
        code: the worst exit code so far.
    """

    def __init__(self, launcher: object, is_remote: bool):
        self._launcher, self._is_remote = launcher, is_remote
        self.code = 0

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Starts jobs and waits for them. Returns none, so that Hydra finds nothing to raise."""
        with interruptible() if self._is_remote else holding() as stop:
            self._launch(job_overrides, initial_job_idx, stop)
        if stop is not None and stop():
            self.code = stop.exit_code
        if self.code >= STOP_CODES:
            raise SweepOver(self.code)
        return []

    def _launch(
        self, job_overrides: Sequence[Sequence[str]], first: int, stop: StopRequest | None
    ) -> None:
        try:
            self._report(self._launcher.launch(job_overrides, initial_job_idx=first))
        except KeyboardInterrupt:
            self.code = fail(
                "no longer waiting for the jobs; they go on (squeue shows them, scancel ends them)"
                if self._is_remote
                else "stopped at once; the same command goes on from what was saved last",
                STOPPED,
            )
        except (HydraException, OmegaConfBaseException):  # it refuses the options
            raise
        except Exception as error:  # of the launcher: a process was killed, sbatch refused
            if stop is not None and stop():
                fail("the jobs were stopped; the same command goes on", FAULT)
                return
            kind = type(error).__name__
            fail(
                f"hydra/launcher could not see all jobs to their end ({kind}: {error}); "
                "the same command goes on with what is not finished",
                FAULT,
            )
            self.code = max(self.code, FAULT)

    def _report(self, results: Sequence[JobReturn]) -> None:
        codes = [_code(result) for result in results]
        self.code = max([self.code, *codes])
        failed = [(r, c) for r, c in zip(results, codes, strict=True) if 0 < c < STOP_CODES]
        for result, code in failed:
            fail(f"job {' '.join(result.overrides)} failed with exit status {code}", code)
        if failed:
            fail(f"{len(failed)} of {len(results)} jobs failed", self.code)
        stopped = sum(code >= STOP_CODES for code in codes)
        if stopped:
            fail(f"{stopped} of {len(results)} jobs were stopped; the same command goes on", 0)


def _code(result: JobReturn) -> int:
    """What `main` returned, or a fault if Hydra could not even call it."""
    try:
        return result.return_value or 0
    except Exception as error:
        return fail(error, FAULT)
