"""`scripts/import_checkpoint.py`: from a trainer's checkpoint to a policy bundle."""

import dataclasses
import hashlib
from pathlib import Path

import jax
import numpy as np

from marl import export
from marl.env_config import EnvConfig
from marl.environments import alem
from marl.host.exits import BAD_OPTION, FILES_FAILED, guarded
from marl.importing import stored, trainer_config
from marl.importing.convert import Converted, ImportFailed, convert
from marl.importing.trainer_config import CONFIG_FILE, Told
from marl.networks import sizes
from marl.options import ConfigError

_EPSILON = 0.01  # at the end of training, by the trainer's own configuration


@dataclasses.dataclass(frozen=True)
class Options:
    """What `scripts/import_checkpoint.py` was asked for; its --help says what each means."""

    checkpoint: Path
    out: Path
    learner: str | None = None
    difficulty: str | None = None
    steps: int | None = None
    seed: int | None = None
    activation: str | None = None
    rules_version: str = "0.1.0"


def run(options: Options) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""

    def work() -> int:
        _say(import_checkpoint(options), options)
        return 0

    return guarded(
        work,
        {
            ImportFailed: BAD_OPTION, ConfigError: BAD_OPTION, export.PolicyError: FILES_FAILED,
            OSError: FILES_FAILED,
        },
        memory_advice="the checkpoint does not fit into memory",
        stopped="stopped; nothing was written",
    )  # fmt: skip


def import_checkpoint(options: Options) -> dict:
    """Writes the policy bundle of a checkpoint, and returns its card.

    Raises:
        ImportFailed: options and checkpoint do not make a policy.
        ConfigError: they say of a world that there is none of.
        marl.export.PolicyError: the bundle cannot be written.
    """
    folder = stored.checkpoint_folder(options.checkpoint).resolve()
    file = folder.parent / CONFIG_FILE
    told = _settled(options, trainer_config.read(file), file)
    epsilon = _EPSILON if told.epsilon is None else told.epsilon
    try:
        converted = convert(stored.read(folder), told.learner, told.activation, epsilon)
    except ImportFailed as error:
        raise ImportFailed(f"{folder}: {error}") from error
    _require_world(converted, told, file)
    source = {
        "program": "alem-env baselines",
        "checkpoint": str(folder),
        "config": str(file) if file.exists() else None,
    }
    card = make_card(converted, told, options.rules_version, source)
    export.save_policy(options.out, converted.params, card)
    return card


def _settled(options: Options, told: Told, file: Path) -> Told:
    """What is known, with what the options add to it.

    Raises:
        ImportFailed: an option says otherwise than the file, or is needed.
    """
    given = {
        name: getattr(options, name)
        for name in ("learner", "difficulty", "steps", "seed", "activation")
        if getattr(options, name) is not None
    }
    for name, value in given.items():
        known = getattr(told, name)
        if known not in (None, value):
            raise ImportFailed(
                f"--{name} {value}: {file} says {known}; leave the option out, or move the file "
                "away"
            )
    told = dataclasses.replace(told, **given)
    for name in ("learner", "difficulty"):
        if getattr(told, name) is None:
            raise ImportFailed(f"--{name} is missing, and no {file} says it; give it")
    return told


def _require_world(converted: Converted, told: Told, file: Path) -> None:
    for name in ("num_agents", "num_comm_channels"):
        known, found = getattr(told, name), getattr(converted, name)
        if known not in (None, found):
            raise ImportFailed(
                f"{file} says {name}={known}, and the arrays are of {found}; it belongs to another "
                "checkpoint"
            )


def make_card(converted: Converted, told: Told, rules_version: str, source: dict) -> dict:
    """What a policy bundle says of an imported network, in the terms of those trained here.

    What is not known of the training is None. `run_id` is made of the weights.

    Args:
        converted: the network.
        told: about its training; learner and difficulty are there.
        rules_version: of the world that it was trained in.
        source: where it comes from.
    """
    config = EnvConfig(
        difficulty=told.difficulty,
        num_agents=converted.num_agents,
        num_comm_channels=converted.num_comm_channels,
        rules_version=rules_version,
        # the trainer of Q-networks does not read the option
        shared_reward=bool(told.shared_reward)
        and converted.recipe.get("kind") != sizes.RECURRENT_Q,
        non_specialist_efficiency=told.efficiency,
    )
    env = alem.describe(config, alem.make_environment(config))
    if told.efficiency is None:
        env |= {"non_specialist_efficiency": None, "own_efficiency": None}
    parameters = export.describe_parameters(converted.params)
    training = {"run_id": _fingerprint(converted), "seed": told.seed, "env_steps": told.steps}
    return {
        "label": f"{told.learner} (imported)",
        "learner": told.learner,
        "env": env,
        "network": converted.recipe,
        "training": training,
        "parameters": parameters,
        "source": source,
    }


def _fingerprint(converted: Converted) -> str:
    """The same for the same weights, so that one policy does not count for two in a table."""
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(converted.params):
        found.update(np.ascontiguousarray(leaf))
    return found.hexdigest()[:8]


def _say(card: dict, options: Options) -> None:
    env, training, file = card["env"], card["training"], card["source"]["config"]
    count = sum(int(np.prod(shape)) for shape, _ in card["parameters"].values())
    steps, seed = training["env_steps"], training["seed"]
    channels = env["num_comm_channels"]
    known = [
        f"{card['learner']}, {env['difficulty']}, rules {env['rules_version']}",
        "steps not known" if steps is None else f"{steps:,} steps",
        "seed not known" if seed is None else f"seed {seed}",
        f"{env['num_agents']} agents, {channels} channel{'s' * (channels != 1)}",
        f"{count:,} parameters",
    ]
    print("; ".join(known))
    print(f"as {file} says" if file else f"no {CONFIG_FILE} beside it: as the options say")
    if env["non_specialist_efficiency"] is None:
        usual = "; the trainer's own options say 0.2" if card["learner"] == "ippo" else ""
        print(f"note: not known at which non-specialist efficiency it was trained{usual}")
    print(f"policy: {options.out}")
