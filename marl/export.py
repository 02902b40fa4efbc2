"""Policy bundles: a folder with `weights.safetensors` and `card.json` that acts by itself.

Loading one needs jax, flax, numpy and safetensors and this package's networks; no optimiser, no
checkpoint library, no Hydra.
"""

import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from marl.host.files import rename_durably, write_json
from marl.networks.factory import NetworkConfig, make_policy
from marl.tasks import task_for_static
from marl.types import Policy, PyTree
from marl.versions import package_versions

WEIGHTS_FILE = "weights.safetensors"
CARD_FILE = "card.json"
FORMAT = 1
_SEPARATOR = "/"


class PolicyError(ValueError):
    """A bundle cannot be read, or does not fit the world; the message says what to do."""


@dataclasses.dataclass(frozen=True)
class ExportedPolicy:
    """A trained team, ready to act.

    Attributes:
        card: what is known about it: learner, steps, world, network, versions, scores.
        params: its weights.
        policy: how they act.
    """

    card: dict
    params: PyTree
    policy: Policy

    def act(
        self,
        observation: Any,
        state: PyTree | None = None,
        key: jax.Array | None = None,
        *,
        reset: jax.Array | None = None,
    ) -> tuple[jax.Array, PyTree]:
        """Actions for one world or a batch of them.

        Args:
            observation: with leading axes (A,) or (E, A): what the environment observes, or
                `marl.types.VectorObservation` with the published vector. `legal` masks the actions.
            state: what the last call returned; None at the start of an episode.
            key: draws actions from the policy; without one, the likeliest are taken.
            reset: () or (E,) bool, worlds whose episode starts anew with this observation.

        Returns:
            (actions int32 (A,) or (E, A), state).
        """
        single = observation.legal.ndim == 2
        if single:
            observation = jax.tree.map(lambda x: jnp.asarray(x)[None], observation)
        self._check_shape(observation.legal.shape)
        worlds, agents = observation.legal.shape[:2]
        if state is None:
            state = self.policy.init_carry((worlds, agents))
        starts = jnp.zeros(worlds, bool) if reset is None else jnp.reshape(reset, (-1,))
        greedy = key is None
        key = jax.random.key(0) if greedy else key
        state, actions, *_ = self.policy.act(self.params, state, observation, starts, key, greedy)
        return (actions[0] if single else actions), state

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        env = self.card["env"]
        wanted = (env["num_agents"], env["num_actions"])
        if tuple(shape[1:]) != wanted:
            raise PolicyError(
                f"observation.legal has {shape[1]} agents and {shape[2]} actions; this policy "
                f"was made for {wanted[0]} and {wanted[1]} (env.num_agents={env['num_agents']}, "
                f"env.num_comm_channels={env['num_comm_channels']})"
            )


def save_policy(folder: Path, params: PyTree, card: dict) -> None:
    """Writes a bundle; one that is already there is replaced only when the new one is whole."""
    folder = Path(folder).absolute()
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save_file(_flatten(params), partial / WEIGHTS_FILE)
    whole = {"format": FORMAT, **card, "versions": package_versions()}
    write_json(partial / CARD_FILE, whole)
    replaced = _replaced(folder)
    if folder.exists():
        shutil.rmtree(replaced, ignore_errors=True)
        os.rename(folder, replaced)
    rename_durably(partial, folder)
    shutil.rmtree(replaced, ignore_errors=True)


def update_card(folder: Path, **entries: object) -> None:
    """Adds to the card of a bundle, for example the scores of its evaluation."""
    card = json.loads((Path(folder) / CARD_FILE).read_text())
    if card != card | entries:
        write_json(Path(folder) / CARD_FILE, card | entries)


def _replaced(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.replaced")


def _whole(folder: Path) -> Path:
    """Where the bundle is: a crash between two renames leaves it under its temporary name."""
    folder = Path(folder).expanduser().absolute()
    return folder if folder.exists() or not _replaced(folder).exists() else _replaced(folder)


def read_card(folder: Path) -> dict:
    """The card of a bundle. Raises PolicyError if there is none that can be read."""
    try:
        card = json.loads((_whole(folder) / CARD_FILE).read_text())
    except FileNotFoundError:
        raise PolicyError(
            f"policy={folder} is no policy bundle ({CARD_FILE} is missing); give the folder "
            "`policy` of a run, or random"
        ) from None
    except (OSError, ValueError) as error:
        raise PolicyError(f"policy={folder}: {CARD_FILE} cannot be read ({error})") from error
    if not isinstance(card, dict):
        raise PolicyError(f"policy={folder}: {CARD_FILE} is damaged; export the policy again")
    if card.get("format") != FORMAT:
        raise PolicyError(
            f"policy={folder} has format {card.get('format')}, this program reads {FORMAT}"
        )
    return card


def load_policy(folder: str | Path) -> ExportedPolicy:
    """A bundle, ready to act.

    Raises:
        PolicyError: files are missing or damaged, or weights and card disagree.
    """
    folder = Path(folder).expanduser()
    card = read_card(folder)
    params = load_params(folder)
    policy = make_policy(NetworkConfig(**card["network"]), task_for_static(card["env"]))
    return ExportedPolicy(card, params, policy)


def load_params(folder: Path) -> PyTree:
    """The weights of a bundle, checked against its card."""
    try:
        flat = load_file(_whole(folder) / WEIGHTS_FILE)
    except (OSError, SafetensorError) as error:
        raise PolicyError(f"policy={folder}: {WEIGHTS_FILE} cannot be read ({error})") from error
    _check_params(folder, read_card(folder)["parameters"], flat)
    for name, array in flat.items():
        if not np.isfinite(array).all():
            raise PolicyError(
                f"policy={folder}: parameter {name} holds numbers that are not finite; export it "
                "again, from a checkpoint of before"
            )
    return _unflatten(flat)


def require_fit(card: dict, *, num_agents: int, num_comm_channels: int) -> None:
    """Refuses a world of another shape than the policy's."""
    for name, asked in (("num_agents", num_agents), ("num_comm_channels", num_comm_channels)):
        made = card["env"][name]
        if asked != made:
            raise PolicyError(
                f"env.{name}={asked}, but the policy was made for env.{name}={made}; "
                f"give env.{name}={made} or leave it out"
            )


def require_same_task(card: dict, *, difficulty: str, rules_version: str) -> None:
    """Refuses another difficulty or other rules than the policy was trained under."""
    for name, asked in (("difficulty", difficulty), ("rules_version", rules_version)):
        made = card["env"][name]
        if str(asked) != str(made):
            raise PolicyError(
                f"env.{name}={asked}, but the policy was trained under env.{name}={made}; "
                f"leave it out, or give transfer=true to evaluate it there all the same"
            )


def describe_parameters(params: PyTree) -> dict[str, list]:
    """Name -> [shape, dtype] of every array, for the card."""
    return {name: [list(a.shape), str(a.dtype)] for name, a in _flatten(params).items()}


def _check_params(folder: Path, expected: dict, flat: dict[str, np.ndarray]) -> None:
    found = {name: [list(a.shape), str(a.dtype)] for name, a in flat.items()}
    for name in dict.fromkeys([*expected, *found]):
        if expected.get(name) != found.get(name):
            raise PolicyError(
                f"policy={folder}: parameter {name} is {found.get(name)}, "
                f"its card says {expected.get(name)}; export it again"
            )


def _flatten(params: PyTree) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_flatten_with_path(params)[0]
    return {
        jax.tree_util.keystr(path, simple=True, separator=_SEPARATOR): np.array(leaf, order="C")
        for path, leaf in leaves
    }


def _unflatten(flat: dict[str, np.ndarray]) -> PyTree:
    tree: dict = {}
    for name, array in flat.items():
        *groups, last = name.split(_SEPARATOR)
        node = tree
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = jnp.asarray(array)
    return tree
