"""Policy bundles: what is loaded acts as what was saved, and does not fit elsewhere."""

import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import CARD

import alem_env
from alem_env import recording
from alem_env.core.batch import over_worlds
from alem_env.observe.compact import observe
from alem_env.reference import from_reference
from marl.evaluation.command import _player
from marl.export import (
    describe_parameters,
    load_params,
    load_policy,
    lost_if_replaced,
    save_policy,
    update_card,
)
from marl.networks.factory import make_policy
from marl.networks.sizes import NetworkConfig
from marl.play_config import AskedWorld, EvaluateConfig
from marl.policy_card import PolicyError, read_card, require_fit, require_same_task
from marl.tasks import make_task
from marl.types import VectorObservation

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
NETWORK = NetworkConfig(**CARD["network"])


def observe_recordings(*names):
    """What the teams of recordings see first, leaves (E, A, ...): no world is generated."""
    starts = [recording.load(GOLDEN / f"{name}.npz") for name in names]
    states = [from_reference(start.init, start.static) for start in starts]
    states = jax.tree.map(lambda *x: jnp.stack([jnp.asarray(leaf) for leaf in x]), *states)
    seen = over_worlds(lambda s: observe(s, starts[0].params, starts[0].static))
    return jax.jit(seen)(states)


@pytest.fixture(scope="module")
def trained():
    """(observation (2, A, ...), policy, params, card) as at the end of a run."""
    env = alem_env.make(num_agents=3, num_comm_channels=4)
    observation = observe_recordings("play_hard_10000", "fuzz_hard_gates_40")
    task = make_task(alem_env.VectorEnv(env, 2))
    policy = make_policy(NETWORK, task)
    params = policy.init_params(jax.random.key(1))
    params = jax.tree.map(lambda x: x + 0.3 * jax.random.normal(jax.random.key(2), x.shape), params)
    card = {**CARD, "parameters": describe_parameters(params)}
    return env, observation, policy, params, card


@pytest.fixture
def bundle(trained, tmp_path):
    save_policy(tmp_path / "policy", trained[3], trained[4])
    return tmp_path / "policy"


def test_acts_as_the_trained_one(trained, bundle):
    env, observation, policy, params, _ = trained
    loaded = load_policy(bundle)
    jax.tree.map(np.testing.assert_array_equal, loaded.params, params)
    carry = policy.init_carry((2, 3))
    start = jnp.zeros(2, bool)
    state = None
    for _ in range(3):
        carry, wanted, *_ = policy.act(params, carry, observation, start, jax.random.key(0), True)
        actions, state = loaded.act(observation, state)
        np.testing.assert_array_equal(actions, wanted)
        np.testing.assert_array_equal(state, carry)
    assert bool(jnp.take_along_axis(observation.legal, actions[..., None], -1).all())


def test_one_world_acts_as_in_a_batch(trained, bundle):
    loaded, observation = load_policy(bundle), trained[1]
    actions, _ = loaded.act(observation)
    alone, state = loaded.act(jax.tree.map(lambda x: x[1], observation))
    np.testing.assert_array_equal(alone, actions[1])
    assert alone.shape == (3,)


def test_acts_on_the_published_vector(trained, bundle):
    from alem_env.observe import dense

    env, observation = trained[0], trained[1]
    vector = VectorObservation(dense.expand(observation, env.static), observation.legal)
    loaded = load_policy(bundle)
    np.testing.assert_array_equal(loaded.act(vector)[0], loaded.act(observation)[0])


def test_sampled_actions_are_legal(trained, bundle):
    loaded, observation = load_policy(bundle), trained[1]
    for seed in range(5):
        actions, _ = loaded.act(observation, key=jax.random.key(seed))
        assert bool(jnp.take_along_axis(observation.legal, actions[..., None], -1).all())


def test_other_worlds_are_refused_by_option(trained, bundle):
    card = read_card(bundle)
    with pytest.raises(PolicyError, match=r"env.num_agents=2.*made for env.num_agents=3"):
        require_fit(card, num_agents=2, num_comm_channels=4)
    with pytest.raises(PolicyError, match=r"env.num_comm_channels=0.*env.num_comm_channels=4"):
        require_fit(card, num_agents=3, num_comm_channels=0)
    with pytest.raises(PolicyError, match=r"env.difficulty=easy.*hard.*transfer=true"):
        require_same_task(card, difficulty="easy", rules_version="0.2.1")
    with pytest.raises(PolicyError, match=r"env.rules_version=0.1.0.*transfer=true"):
        require_same_task(card, difficulty="hard", rules_version="0.1.0")
    short = jax.tree.map(lambda x: x[:, :2], trained[1])
    with pytest.raises(PolicyError, match="2 agents.*made for 3"):
        load_policy(bundle).act(short)


def test_damaged_bundles_are_refused(trained, bundle, tmp_path):
    with pytest.raises(PolicyError, match="card.json is missing"):
        load_policy(tmp_path)
    weights = bundle / "weights.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PolicyError, match="weights.safetensors cannot be read"):
        load_policy(bundle)
    weights.write_bytes(whole)
    card = json.loads((bundle / "card.json").read_text())
    name = next(iter(card["parameters"]))
    update_card(bundle, parameters={**card["parameters"], name: [[1], "float32"]})
    with pytest.raises(PolicyError, match=name):
        load_policy(bundle)
    update_card(bundle, format=99)
    with pytest.raises(PolicyError, match="format 99"):
        load_policy(bundle)


def asked_of(bundle):
    """The options of `scripts/evaluate.py policy=bundle`."""
    as_made = AskedWorld(**{field.name: None for field in dataclasses.fields(AskedWorld)})
    return EvaluateConfig(
        policy=str(bundle), episodes=1, first_seed=0, max_steps=1, sampled=False, random=False,
        transfer=False, track="rl", mute=False, out=None, env=as_made,
    )  # fmt: skip


@pytest.mark.parametrize(
    "path, value, named",
    [
        (["env"], ..., "lacks env"),
        (["env"], [1], r"env=\[1\]"),
        (["env", "difficulty"], ..., "lacks env.difficulty"),
        (["env", "difficulty"], "brutal", "difficulty='brutal'"),
        (["env", "num_agents"], "3", "env.num_agents='3'"),
        (["env", "num_agents"], True, "env.num_agents=True"),
        (["env", "num_agents"], 99, "num_agents=99"),
        (["env", "num_actions"], 61, "env.num_actions=61"),
        (["env", "rules_version"], "9.9", "rules_version='9.9'"),
        (["env", "shared_reward"], 1, "env.shared_reward=1"),
        (["network"], ..., "lacks network"),
        (["network"], 7, "network=7"),
        (["network", "hidden_size"], "wide", "hidden_size='wide'"),
        (["network", "embedding_gain"], "much", "'>' not supported"),
        (["network", "depth"], 3, "depth"),
        (["parameters"], ..., "lacks parameters"),
        (["parameters"], None, "parameters=None"),
        (["training"], ..., "lacks training"),
        (["training"], "long", "training='long'"),
        (["label"], ..., "lacks label"),
    ],
)
def test_wrong_cards_are_refused_by_entry(bundle, path, value, named):
    *groups, name = path
    card = json.loads((bundle / "card.json").read_text())
    holder = card
    for group in groups:
        holder = holder[group]
    if value is ...:
        del holder[name]
    else:
        holder[name] = value
    (bundle / "card.json").write_text(json.dumps(card))
    with pytest.raises(PolicyError, match=f"{bundle}: card.json.*{named}.*export the policy again"):
        _player(asked_of(bundle))


def test_weights_of_another_network_are_refused_before_compiling(trained, bundle):
    """Card and weights agree with each other, but not with the card's network."""
    network = CARD["network"] | {"hidden_size": 16}
    update_card(bundle, network=network)
    with pytest.raises(
        PolicyError, match="does not fit the network of card.json .*do not fit together"
    ):
        load_policy(bundle)
    fewer = {n: p for n, p in load_params(bundle).items() if n != next(iter(trained[3]))}
    save_policy(bundle, fewer, trained[4] | {"parameters": describe_parameters(fewer)})
    with pytest.raises(PolicyError, match="parameter actor is missing"):
        load_policy(bundle)


def test_a_card_that_is_no_json_is_not_added_to(bundle):
    (bundle / "card.json").write_text("{")
    with pytest.raises(PolicyError, match="card.json cannot be read"):
        update_card(bundle, scores={})
    assert (bundle / "card.json").read_text() == "{"


def test_replaced_whole(trained, bundle):
    doubled = jax.tree.map(lambda x: 2 * x, trained[3])
    save_policy(bundle, doubled, trained[4])
    jax.tree.map(np.testing.assert_array_equal, load_policy(bundle).params, doubled)
    assert [p.name for p in bundle.parent.iterdir()] == ["policy"]


def test_what_a_bundle_in_its_place_would_delete_is_known(bundle, tmp_path):
    assert lost_if_replaced(bundle) == lost_if_replaced(tmp_path / "nowhere") == []
    (bundle / "notes.txt").write_text("mine")
    assert lost_if_replaced(bundle) == ["notes.txt"]
    (tmp_path / "project").mkdir()
    assert lost_if_replaced(tmp_path / "project") == []
    (tmp_path / "project" / "README.md").write_text("of something else")
    assert lost_if_replaced(tmp_path / "project") == ["README.md"]
    assert lost_if_replaced(bundle / "notes.txt") == ["notes.txt"]


def test_found_after_a_crash_between_two_renames(trained, bundle):
    bundle.rename(bundle.with_name(".policy.replaced"))
    jax.tree.map(np.testing.assert_array_equal, load_params(bundle), trained[3])
    assert read_card(bundle)["label"] == "toy"
    save_policy(bundle, trained[3], trained[4])
    assert [p.name for p in bundle.parent.iterdir()] == ["policy"]


def test_weights_that_were_changed_are_refused(trained, bundle):
    """As by a copy that went wrong: they still are what the card's network needs."""
    weights = bundle / "weights.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    with pytest.raises(PolicyError, match="not the file that card.json was made with.*again"):
        load_policy(bundle)
    card = read_card(bundle)
    del card["weights_sha256"]  # as earlier versions made cards
    (bundle / "card.json").write_text(json.dumps(card))
    assert load_policy(bundle).card == card


def test_weights_that_are_not_finite_are_refused(trained, bundle):
    save_policy(bundle, jax.tree.map(lambda x: x * jnp.nan, trained[3]), trained[4])
    with pytest.raises(PolicyError, match="not finite"):
        load_params(bundle)


def test_bundles_need_jax_numpy_and_safetensors_alone(bundle):
    """Acting included: whatever else the project needs cannot be imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=~!\[ ]", d)[0] for d in project["dependencies"]}
    modules = {
        "hydra-core": "hydra",
        "orbax-checkpoint": "orbax",
        "pyyaml": "yaml",
        "pillow": "PIL",
    }
    forbidden = {modules.get(n, n) for n in needed} - {"jax", "jaxlib", "numpy", "safetensors"}
    assert {"flax", "optax", "orbax", "hydra", "wandb", "chex"} <= forbidden
    program = f"""
import sys

class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {forbidden}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Forbidden())
import jax.numpy as jnp
from marl.export import load_policy
from marl.types import VectorObservation
policy = load_policy({str(bundle)!r})
observation = VectorObservation(jnp.ones((3, 9730)), jnp.ones((3, 60), bool))
actions, state = policy.act(observation)
print(policy.card["label"], actions.shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "toy (3,)\n", done.stderr
