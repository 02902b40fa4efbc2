"""Policy bundles: a folder with `weights.safetensors`, `card.json` and its words, `README.md`.

Loading one and acting needs jax, numpy and safetensors alone.
"""

import dataclasses
import os
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from marl.host.files import absolute, digest, remove, rename_durably, write_atomic, write_json
from marl.networks.exported import ExportedTeam, exported_team, require_weights_fit
from marl.policy_card import (
    CARD_FILE,
    FORMAT,
    README_FILE,
    PolicyError,
    read_card,
    replaced,
    whole,
)
from marl.policy_readme import policy_readme
from marl.tasks import task_for_static
from marl.types import PyTree, Task
from marl.versions import package_versions

WEIGHTS_FILE = "weights.safetensors"
DIGEST = "weights_sha256"  # entry of the card; those of earlier versions lack it
_SEPARATOR = "/"


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
    policy: ExportedTeam

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
        state, actions = self.policy.act(self.params, state, observation, starts, key, greedy)
        return (actions[0] if single else actions), state

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        env = self.card["env"]
        wanted = (env["num_agents"], env["num_actions"])
        if tuple(shape[1:]) != wanted:
            raise PolicyError(
                f"observation.legal has {shape[1]} agents and {shape[2]} actions; this policy "
                f"was made for {wanted[0]} and {wanted[1]}: give it the observations of the "
                f"environment on its card ({_world_in_words(env)})"
            )


def _world_in_words(env: dict) -> str:
    shapes = ("name", "num_agents", "num_comm_channels")
    return ", ".join(f"env.{name}={env[name]}" for name in shapes if name in env)


def save_policy(folder: Path, params: PyTree, card: dict) -> None:
    """Writes a bundle; one that is already there is replaced only when the new one is whole.

    Raises:
        PolicyError: it cannot be written; the one before is still there.
    """
    folder = Path(folder).absolute()
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        _write_bundle(folder, partial, params, card)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise PolicyError(
            f"policy={folder} cannot be written ({error}); free some space there, or make it "
            "writable, then give the same command again"
        ) from error


def _write_bundle(folder: Path, partial: Path, params: PyTree, card: dict) -> None:
    remove(partial)
    partial.mkdir(parents=True)
    save_file(_flatten(params), partial / WEIGHTS_FILE)
    said = {"format": FORMAT, **card, "versions": package_versions()}
    said[DIGEST] = digest(partial / WEIGHTS_FILE)
    _write_card(partial, said, folder.name)
    # safetensors makes files that only their owner can read
    shutil.copymode(partial / CARD_FILE, partial / WEIGHTS_FILE)
    before = replaced(folder)
    if folder.exists() or folder.is_symlink():
        remove(before)
        os.rename(folder, before)
    rename_durably(partial, folder)
    remove(before)


def _write_card(place: Path, card: dict, name: str) -> None:
    write_json(place / CARD_FILE, card)
    write_atomic(place / README_FILE, policy_readme(card, name))


def lost_if_replaced(folder: Path) -> list[str]:
    """Names of what a bundle written there would delete, besides a bundle. A folder without a card
    holds none."""
    if not folder.is_dir():
        return [folder.name] if folder.exists() else []
    there = sorted(path.name for path in folder.iterdir())
    own = {CARD_FILE, README_FILE, WEIGHTS_FILE} if CARD_FILE in there else set()
    return [name for name in there if name not in own]


def update_card(folder: Path, **entries: object) -> None:
    """Adds to the card of a bundle, for example the scores of its evaluation.

    Raises:
        PolicyError: there is no card that can be read.
    """
    card = read_card(folder)
    if card != card | entries:
        folder = absolute(folder, "policy")
        _write_card(folder, card | entries, folder.name)


def load_policy(folder: str | Path) -> ExportedPolicy:
    """A bundle, ready to act.

    Raises:
        PolicyError: files are missing or damaged, or weights, card and network disagree.
    """
    card = read_card(folder)
    policy, task = _policy_of(folder, card)
    params = _unflatten(_read_weights(folder, card))
    try:
        require_weights_fit(policy, params, task)
    except ValueError as error:
        raise PolicyError(
            f"policy={folder}: {WEIGHTS_FILE} does not fit the network of {CARD_FILE} ({error}); "
            "export it again"
        ) from error
    return ExportedPolicy(card, params, policy)


def load_params(folder: Path) -> PyTree:
    """The weights of a bundle, checked against its card."""
    return _unflatten(_read_weights(folder, read_card(folder)))


def _policy_of(folder: Path, card: dict) -> tuple[ExportedTeam, Task]:
    """How the card's network acts, and the task of the card's world."""
    try:
        task = task_for_static(card["env"])
        policy = exported_team(card["network"], task)
    except (TypeError, ValueError) as error:
        raise PolicyError(
            f"policy={folder}: {CARD_FILE} describes what cannot be built here ({error}); "
            "export the policy again with this version"
        ) from error
    if card["env"]["num_actions"] != task.num_actions:
        raise PolicyError(
            f"policy={folder}: {CARD_FILE} has env.num_actions={card['env']['num_actions']}, but "
            f"its world has {task.num_actions} here; export the policy again with this version"
        )
    return policy, task


def _read_weights(folder: Path, card: dict) -> dict[str, np.ndarray]:
    """Name -> array, as the card says, finite."""
    file = whole(folder) / WEIGHTS_FILE
    try:
        weights, found = load_file(file), digest(file)
    except (OSError, SafetensorError, LookupError, TypeError, AttributeError) as error:
        # the last three of types that numpy does not have
        raise PolicyError(
            f"policy={folder}: {WEIGHTS_FILE} cannot be read ({error}); export it again"
        ) from error
    _check_parameters(folder, card["parameters"], weights, f"{CARD_FILE} says")
    if card.get(DIGEST, found) != found:
        raise PolicyError(
            f"policy={folder}: {WEIGHTS_FILE} is not the file that {CARD_FILE} was made with "
            f"({DIGEST} differs); export it again"
        )
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise PolicyError(
                f"policy={folder}: parameter {name} holds numbers that are not finite; export it "
                "again, from an earlier checkpoint"
            )
    return weights


def describe_parameters(params: PyTree) -> dict[str, list]:
    """Name -> [shape, dtype] of every array, for the card."""
    return {name: [list(a.shape), str(a.dtype)] for name, a in _named(params).items()}


def _check_parameters(
    folder: Path, needed: dict, weights: dict[str, np.ndarray], who_needs: str
) -> None:
    found = describe_parameters(weights)
    for name in dict.fromkeys([*needed, *found]):
        if needed.get(name) != found.get(name):
            raise PolicyError(
                f"policy={folder}: parameter {name} is {found.get(name)} in {WEIGHTS_FILE}, but "
                f"{who_needs} {needed.get(name)}; export it again"
            )


def _flatten(params: PyTree) -> dict[str, np.ndarray]:
    return {name: np.array(leaf, order="C") for name, leaf in _named(params).items()}


def _named(params: PyTree) -> dict[str, jax.Array]:
    """Name -> leaf, groups joined by a slash."""
    leaves = jax.tree_util.tree_flatten_with_path(params)[0]
    return {
        jax.tree_util.keystr(path, simple=True, separator=_SEPARATOR): leaf for path, leaf in leaves
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
