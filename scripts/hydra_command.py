"""What the commands with Hydra's options share: a help made of the comments in conf/, refusals in
a line each, and exit codes."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from marl.host import every_job
from marl.host.exits import Jobs
from marl.host.folder import flatten
from marl.option_help import Options, describe

CONF = Path(__file__).parents[1] / "conf"
# Hydra prints the errors it meets with advice of its own, unless this is set: then it raises them.
_RAISE = "HYDRA_FULL_ERROR"
_NOT_FOR_USERS = ("Config search path:", "See https://hydra.cc")  # and what stands below

jobs = Jobs()


def start(main: Callable[[], int], name: str, conf: Path = CONF) -> NoReturn:
    """Calls a function that `hydra.main` made of NAME.yaml in conf/, and exits with its jobs' code.
    What Hydra refuses is told in a line or a few, and exits as what we refuse."""
    options, arguments = Options(conf, name), sys.argv[1:]

    def show_options(*, _root_: DictConfig) -> str:
        values = {n: value for n, value in _root_.items_ex(resolve=False) if n != "hydra"}
        flat = flatten(OmegaConf.to_container(OmegaConf.create(values)))
        return describe(flat, options.comments(HydraConfig.get().runtime.choices))

    def show_groups() -> str:
        return "\n".join(f"  {g}={'|'.join(names)}" for g, names in options.choices().items())

    OmegaConf.register_new_resolver("options", show_options)
    OmegaConf.register_new_resolver("groups", show_groups)
    os.environ[_RAISE] = "1"
    every_job.register()
    jobs.exit_after(
        main,
        refused=(HydraException, OmegaConfBaseException),
        reasons=lambda error: options.corrections(arguments) or [reason(error, options)],
        faults=options.wrong_choices(arguments),
    )


def reason(error: Exception, options: Options) -> str:
    """Why Hydra refuses the options, in our words where they are better."""
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
