"""Exit codes of the commands: which error means what to a shell."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from marl.host.output import Lasting

BAD_OPTION, NOT_FINITE, FILES_FAILED, STOPPED = 2, 3, 4, 130
_OF_SIGNALS = 128  # codes from here on, as shells have it
_MEMORY_WORDS = ("RESOURCE_EXHAUSTED", "out of memory", "Out of memory")


def guarded(
    work: Callable[[], int],
    codes: Mapping[type[Exception], int],
    *,
    memory_advice: str,
    stopped: str,
) -> int:
    """The exit code of `work`; errors that a user can mend become a message and a code.

    Nothing that is printed meanwhile ends the work because its reader has left.

    Args:
        work: does it all.
        codes: kinds of errors, the first that fits counts; others are faults, and are raised.
        memory_advice: what to change when memory runs out.
        stopped: what to say of work that was stopped at once.
    """
    with _lasting_output():
        try:
            return work()
        except KeyboardInterrupt as stop:
            return fail(stopped, getattr(stop, "exit_code", STOPPED))
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


class Jobs:
    """The jobs of one call: one, or those of a sweep. The process exits with the worst code."""

    def __init__(self):
        self._codes: list[int] = []
        self._started = 0

    def run(self, work: Callable[[object], int], values: object) -> None:
        """Does one job. One that was stopped by a signal ends the sweep."""
        self._started += 1
        self._codes.append(work(values))
        if self._codes[-1] >= _OF_SIGNALS:
            _leave_at_once(self._codes[-1])

    def exit_after(
        self,
        main: Callable[[], None],
        *,
        refused: tuple[type[Exception], ...],
        reasons: Callable[[Exception], Sequence[str]],
        faults: Sequence[str] = (),
    ) -> None:
        """Calls `main` and exits.

        Args:
            main: does all jobs.
            refused: what is raised before the first job when options are refused.
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
        except KeyboardInterrupt:  # before a job listens to signals, or after
            _leave_at_once(fail("stopped", STOPPED))
        except refused as error:
            if self._started:
                raise
            for line in reasons(error):
                fail(line, BAD_OPTION)
            sys.exit(BAD_OPTION)
        sys.exit(max(self._codes, default=0))


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
