"""What the commands with Hydra's options share: a help made of the comments in conf/, refusals in
a line each, exit codes, and an answer to Ctrl-C from the first moment on.

Nothing is imported here, nor in the commands, that takes time: `start` imports it, when Ctrl-C has
its answer.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from marl.option_help import Options

CONF = Path(__file__).parents[1] / "conf"
# Hydra prints the errors it meets with advice of its own, unless this is set: then it raises them.
_RAISE = "HYDRA_FULL_ERROR"
_NOT_FOR_USERS = ("Config search path:", "See https://hydra.cc")  # and what stands below
_STOPPED = b"\nSIGINT: stopping at once; there is nothing to save\n"


def start(work: Callable[[Mapping], int], name: str, conf: Path = CONF) -> NoReturn:
    """Calls `work` with the options that NAME.yaml in conf/ and the command line give, once or for
    each job of a sweep, and exits with the worst exit code. What Hydra refuses is told in a line or
    a few, and exits as what we refuse."""
    signal.signal(signal.SIGINT, _leave)
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from marl.host import every_job
    from marl.host.exits import Jobs
    from marl.option_help import Options

    jobs = Jobs()

    @hydra.main(config_path=str(conf), config_name=name, version_base="1.3")
    def main(values: Mapping) -> int:
        return jobs.run(work, values)

    options, arguments = Options(conf, name), sys.argv[1:]
    _register_help(options)
    os.environ[_RAISE] = "1"
    every_job.register()
    jobs.exit_after(
        main,
        refused=(HydraException, OmegaConfBaseException, OSError),
        reasons=lambda error: options.corrections(arguments) or [reason(error, options)],
        faults=options.wrong_choices(arguments),
    )


def _leave(number: int, frame: object) -> NoReturn:
    """Ends the process where it stands. Raised in the middle of an import, KeyboardInterrupt gets
    lost or comes out as any other error; a `StopRequest` takes over once there is something to end
    in order."""
    try:
        os.write(2, _STOPPED)
    finally:  # whether or not anybody is left to read it
        os._exit(128 + number)


def _register_help(options: "Options") -> None:
    """What stands for ${options:} and ${groups:} in the texts of conf/hydra/help."""
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig, OmegaConf

    from marl.host.folder import flatten
    from marl.option_help import describe

    def show_options(*, _root_: DictConfig) -> str:
        values = {n: value for n, value in _root_.items_ex(resolve=False) if n != "hydra"}
        flat = flatten(OmegaConf.to_container(OmegaConf.create(values)))
        return describe(flat, options.comments(HydraConfig.get().runtime.choices))

    def show_groups() -> str:
        return "\n".join(f"  {g}={'|'.join(names)}" for g, names in options.choices().items())

    OmegaConf.register_new_resolver("options", show_options)
    OmegaConf.register_new_resolver("groups", show_groups)


def reason(error: Exception, options: "Options") -> str:
    """Why Hydra refuses the options, in our words where they are better."""
    from hydra.errors import OverrideParseException

    if isinstance(error, OSError):
        return (
            f"{error.filename or 'a file'} cannot be made or read ({error.strerror or error}); "
            "hydra.run.dir and hydra.sweep.dir are folders of Hydra's own: leave them out"
        )
    option = getattr(error.__cause__, "full_key", None)
    if option and (homes := options.homes(option)):
        return f"there is no option {option} in this set-up; it belongs to {', '.join(homes)}"
    text = str(error)
    for heading in _NOT_FOR_USERS:
        text = text.split(heading)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if isinstance(error, OverrideParseException):
        return (
            f"{error.override} cannot be read as OPTION=VALUE ({lines[-1]}); "
            "quote odd values, as in OPTION='\"VALUE\"'"
        )
    if getattr(error, "full_key", None):
        return f"{error.full_key}: {lines[0]}"
    return "\n".join(lines)
