"""Exit codes of the commands: which error means what to a shell."""

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from marl.host import sweep
from marl.host.output import Lasting
from marl.host.stopping import StoppedAtOnce, ignore_stops_between_jobs

FAULT, BAD_OPTION, NOT_FINITE, FILES_FAILED, STOPPED = 1, 2, 3, 4, 130
STOP_CODES = 128  # and above: stopped by a signal, as shells have it
_MEMORY_WORDS = ("RESOURCE_EXHAUSTED", "out of memory", "Out of memory")


def guarded(
    work: Callable[[], int],
    codes: Mapping[type[Exception], int],
    *,
    memory_advice: str,
    stopped: str = "stopped at once",
) -> int:
    """The exit code of `work`; errors that a user can mend become a message and a code.

    Nothing that is printed meanwhile ends the work because its reader has left.

    Args:
        work: does it all.
        codes: kinds of errors, the first that fits counts; others are faults, and are raised.
        memory_advice: what to change when memory runs out.
        stopped: what to say of work that Ctrl-C ended. A `StopRequest` has told already, when the
            signal came.
    """
    with _lasting_output():
        try:
            return work()
        except StoppedAtOnce as stop:
            return stop.exit_code
        except KeyboardInterrupt:
            return fail(stopped, STOPPED)
        except Exception as error:
            if _is_memory(error):
                return fail(f"{memory_advice} ({error})", FILES_FAILED)
            for kind, code in codes.items():
                if isinstance(error, kind):
                    return fail(error, code)
            raise


@contextlib.contextmanager
def _lasting_output() -> Iterator[None]:
    if sys.stdout is None or sys.stderr is None:  # closed from the start: print does nothing
        yield
        return
    out, err = Lasting(sys.stdout), Lasting(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            yield
        finally:
            out.flush()
            err.flush()


def fail(error: Exception | str, code: int) -> int:
    """Says what went wrong, and gives the code back."""
    if sys.stdout is not None:
        sys.stdout.flush()
    print(f"error: {error}", file=sys.stderr, flush=True)
    return code


class SweepOver(SystemExit):
    """Ends the program after a sweep, with the exit code that its jobs deserve."""


class Jobs:
    """The jobs of one call that run in this process: one, or those of a sweep. The process exits
    with the worst code."""

    def __init__(self):
        self._codes: list[int] = []

    def run(self, work: Callable[[object], int], values: object) -> int:
        """Does one job, unless its sweep was stopped by a signal, and gives back its exit code.

        Errors that nobody foresaw are shown here: in another process they would be forgotten.
        """
        ignore_stops_between_jobs()
        code = max([sweep.ended_with(), *self._codes])
        if code < STOP_CODES:
            code = self._code_of(work, values)
            if code >= STOP_CODES:
                sweep.end(code)
                sweep.ask_for_requeueing(code)
        self._codes.append(code)
        return code

    def _code_of(self, work: Callable[[object], int], values: object) -> int:
        try:
            return work(values)
        except Exception:
            # An import that the sweep's stop interrupts may end with any error.
            if code := sweep.ended_with():
                return code
            traceback.print_exc()
            return FAULT

    def exit_after(
        self,
        main: Callable[[], object],
        *,
        refused: tuple[type[Exception], ...],
        reasons: Callable[[Exception], Sequence[str]],
        faults: Sequence[str] = (),
    ) -> NoReturn:
        """Calls `main` and exits.

        Args:
            main: does all jobs.
            refused: what is raised outside of jobs when options are refused.
            reasons: tells why, in lines.
            faults: known before; any of them ends it at once.
        """
        for line in faults:
            fail(line, BAD_OPTION)
        if faults:
            sys.exit(BAD_OPTION)
        try:
            with _lasting_output():
                main()
            code = max(self._codes, default=0)
        except KeyboardInterrupt:  # before a job listens to signals, or after
            _leave_at_once(fail("stopped", STOPPED))
        except SweepOver as over:
            code = over.code
        except refused as error:
            for line in reasons(error):
                fail(line, BAD_OPTION)
            code = max([BAD_OPTION, *self._codes])
        if max(self._codes, default=0) >= STOP_CODES:
            _leave_at_once(code)
        sys.exit(code)


def _leave_at_once(code: int) -> NoReturn:
    """Ends the process without the interpreter's orderly end, which the compiler's threads, if they
    are still at work, make wait and crash."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):  # its reader has left
                stream.flush()
    os._exit(code)


def _is_memory(error: Exception) -> bool:
    """Whether memory ran out, here or on the device."""
    from jax.errors import JaxRuntimeError  # late: --help needs no jax

    if isinstance(error, JaxRuntimeError):
        return any(word in str(error) for word in _MEMORY_WORDS)
    return isinstance(error, MemoryError)
