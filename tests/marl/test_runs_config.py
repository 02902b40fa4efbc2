"""Options: every file composes, and whatever cannot work is refused by name."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from hydra import compose, initialize_config_dir

from marl.config import DERIVED
from marl.evaluation.command import DEFAULT_WORLD
from marl.learners.ppo_config import PPOConfig
from marl.learners.pqn_config import PQNConfig
from marl.learners.registry import LEARNERS
from marl.networks.sizes import CentralisedConfig, HyperConfig, NetworkConfig, QNetworkConfig
from marl.options import ConfigError
from marl.play_config import make_evaluate_config, make_render_config
from marl.read_config import make_train_config
from marl.types import LearnerOptions

CONF = Path(__file__).parents[2] / "conf"


def composed(*overrides, name="train"):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(name, overrides=list(overrides))


def train_config(*overrides):
    return make_train_config(composed(*overrides))[0]


def options_of(group):
    return [f"{group}={p.stem}" for p in sorted((CONF / group).glob("*.yaml"))]


GROUPS = ("env", "learner", "network", "logger", "run", "evaluation", "experiment")


# Files that only some learners take.
NEEDS = {
    f"network={name}_{size}": f"learner={learner}"
    for name, learner in (("q", "pqn_vdn"), ("mappo", "mappo"), ("hypermarl", "hypermarl"))
    for size in ("small", "published")
}


@pytest.mark.parametrize("override", [o for g in GROUPS for o in options_of(g)])
def test_every_file_composes_and_builds(override):
    overrides = [NEEDS[override], override] if override in NEEDS else [override]
    assert train_config(*overrides).steps_per_update > 0


def test_learners_choose_their_kind_of_network():
    assert train_config("learner=pqn_vdn").network == QNetworkConfig(
        embedding_size=64, hidden_size=128
    )
    published = train_config("learner=pqn_vdn", "network=q_published")
    assert published.network == QNetworkConfig()
    for wrong in (
        ("learner=pqn_vdn", "network=small"),
        ("learner=mappo", "network=published"),
        ("learner=hypermarl", "network=mappo_small"),
        ("network=q_small",),
        ("learner=ippo_unshared", "network=hypermarl_small"),
    ):
        with pytest.raises(ConfigError, match="takes another kind of network: leave network"):
            train_config(*wrong)
    with pytest.raises(ConfigError, match="between 1 and 4096$"):
        train_config("learner=pqn_vdn", "network.hidden_size=0")


@pytest.mark.parametrize("name", LEARNERS)
def test_options_of_learners_are_what_runs_ask_of_them(name):
    options = train_config(f"learner={name}").learner.options
    assert isinstance(options, LearnerOptions) and dataclasses.is_dataclass(options)
    assert {f.name for f in dataclasses.fields(options)} >= DERIVED
    assert isinstance(options.splits_agents, bool) or not hasattr(options, "num_minibatches")
    assert not isinstance(dataclasses.make_dataclass("Bare", ["num_envs"])(1), LearnerOptions)


_NEEDS_NO_COMMENT = ("defaults", "hydra", "env", "_target_")  # groups, and classes


def test_every_key_has_a_comment():
    for path in CONF.rglob("*.yaml"):
        if path.parent.name in ("experiment", "help") or path.name == "wandb.yaml":
            continue
        lines = path.read_text().split("hydra:\n  output")[0].splitlines()
        keys = [line for line in lines if ":" in line and not line.lstrip().startswith(("#", "-"))]
        assert keys, path
        bare = [
            line for line in keys
            if "#" not in line and line.strip().split(":")[0] not in _NEEDS_NO_COMMENT
        ]  # fmt: skip
        assert not bare, (path, bare)


def test_defaults_in_code_are_those_of_the_files():
    world = train_config().env
    assert world == DEFAULT_WORLD
    small = dict(
        embedding_size=64, embedding_gain=8.5, hidden_size=128, actor_size=128, critic_size=64,
        activation="relu",
    )  # fmt: skip
    assert train_config("network=published").network == NetworkConfig()
    assert train_config("network=small").network == NetworkConfig(**small)
    published = train_config("experiment=published_ippo").learner.options
    assert published == PPOConfig(mask_dead_agents=False, bootstrap_truncated=False)
    assert train_config("learner=mappo").network == CentralisedConfig(
        **small | {"critic_size": 128}
    )
    assert train_config("learner=hypermarl").network == HyperConfig(
        **small, identity_size=16, generator_size=16
    )
    assert train_config("experiment=published_pqn_vdn").learner.options == PQNConfig(
        mask_dead_agents=False, bootstrap_truncated=False, learn_last_step=False,
        blank_first_observation=True,
    )  # fmt: skip


@pytest.mark.parametrize("level", ["hard", "Hard", "0.9", 0.9])
def test_one_difficulty_has_one_name(level):
    world = dataclasses.replace(DEFAULT_WORLD, difficulty=level)
    assert world == DEFAULT_WORLD and world.label == "hard"
    assert dataclasses.replace(world, difficulty="0.45").label == "0.45"
    assert dataclasses.replace(world, difficulty="None").program == "none"


def test_policies_are_judged_by_the_difficulty_s_own_efficiency():
    trained = train_config("experiment=published_ippo", "env.difficulty=easy").env
    assert trained.params().non_specialist_efficiency == np.float32(0.2)
    for asked in ((), ("transfer=true", "env.difficulty=easy")):
        options = composed("policy=x", *asked, name="evaluate")
        judged = make_evaluate_config(options).env.applied_to(
            dataclasses.replace(trained, shared_reward=True)
        )
        assert judged.params().non_specialist_efficiency == np.float32(0.7)
        assert not judged.shared_reward
    other = composed("policy=x", "env.non_specialist_efficiency=0.5", name="evaluate")
    judged = make_evaluate_config(other).env.applied_to(trained)
    assert judged.params().non_specialist_efficiency == np.float32(0.5)


def test_exploration_by_share_needs_the_run_s_length():
    by_share = ("learner=pqn_vdn", "learner.epsilon_decay_steps=null")
    with pytest.raises(ConfigError, match="epsilon_decay_steps=null needs.*total_steps=N, or"):
        train_config(*by_share)
    assert "total_steps" not in train_config(*by_share, "total_steps=1e6").free_options
    assert "total_steps" in train_config("learner=pqn_vdn", "total_steps=1e6").free_options


def test_teams_stay_together_in_minibatches():
    for name in ("pqn_vdn", "ippo_unshared", "mappo", "hypermarl"):
        config, remarks = make_train_config(composed(f"learner={name}", "num_envs=6"))
        assert config.learner.options.num_minibatches == 6
        assert remarks == ["learner.num_minibatches=8 does not divide num_envs = 6; using 6"]
    with pytest.raises(ConfigError, match="num_minibatches=16 does not divide num_envs = 40"):
        train_config("experiment=published_pqn_vdn", "num_envs=40")


REFUSED = {
    "+learner.lrr=1": ["learner.lrr=1", "did you mean learner.lr?"],
    "+env.agents=3": ["env.agents=3", "env.num_agents"],
    "+lr=1e-3": ["unknown option lr=0.001", "did you mean learner.lr?"],
    "+hiden_size=8": ["unknown option hiden_size=8", "did you mean network.hidden_size?"],
    "+speed=3": ["unknown option speed=3", "num_envs"],
    "num_envs=0": ["num_envs=0", "between 1"],
    "num_envs=-4": ["num_envs=-4"],
    "num_envs=2.5": ["num_envs=2.5", "whole number"],
    "num_envs=many": ["num_envs='many'", "whole number"],
    "num_envs=true": ["num_envs=True", "whole number"],
    "num_steps=0": ["num_steps=0"],
    "num_steps=70000": ["num_steps=70000", "between 1 and 65536"],
    "num_steps=1e12": ["num_steps=1000000000000", "between 1 and 65536"],
    "num_envs=1e12": ["num_envs=1000000000000", "between 1 and 1048576"],
    "total_steps=1e12": ["total_steps=1000000000000", "between 1 and 100000000000"],
    "total_steps=1e400": ["total_steps=inf", "whole number"],
    "network.embedding_size=1e12": ["network.embedding_size=1000000000000", "and 4096"],
    "network.hidden_size=1e12": ["network.hidden_size=1000000000000", "and 4096"],
    "network.actor_size=1e12": ["network.actor_size=1000000000000", "and 4096"],
    "network.critic_size=1e12": ["network.critic_size=1000000000000", "and 4096"],
    "learner.update_epochs=1e12": ["learner.update_epochs=1000000000000"],
    "learner.num_minibatches=1e12": ["learner.num_minibatches=1000000000000"],
    "total_steps=100": ["total_steps=100", "2048", "raise total_steps"],
    "total_steps=-1": ["total_steps=-1"],
    "seed=-1": ["seed=-1"],
    "num_seeds=0": ["num_seeds=0", "between 1 and"],
    "env.difficulty=harder": ["env.difficulty='harder'", "easy, medium, hard"],
    "env.difficulty=null": ["env.difficulty=None", "a string or a number"],
    "env.difficulty=1.5": ["env.difficulty=1.5", "[0, 1]"],
    "env.num_agents=9": ["env.num_agents=9", "between 1 and 8"],
    "env.num_agents=0": ["env.num_agents=0"],
    "env.num_comm_channels=-1": ["env.num_comm_channels=-1"],
    "env.rules_version='9.9.9'": ["rules_version='9.9.9'", "0.2.1", "0.1.0"],
    "env.rules_version=0.1": ["env.rules_version=0.1", "quote it"],
    "env.non_specialist_efficiency=2": ["env.non_specialist_efficiency=2.0", "between 0"],
    "env.shared_reward=3": ["env.shared_reward=3", "true or false"],
    "learner.name=dqn": ["learner.name='dqn'", "ippo"],
    "learner.lr=-1": ["learner.lr=-1", "above 0"],
    "learner.lr=nan": ["learner.lr=nan"],
    "learner.gamma=1.5": ["learner.gamma=1.5", "between 0 and 1"],
    "learner.num_minibatches=0": ["learner.num_minibatches=0"],
    "learner.advantage_norm=agent": ["learner.advantage_norm='agent'", "minibatch, batch"],
    "learner.huber_delta=0": ["learner.huber_delta=0.0", "above 0"],
    "learner.huber_delta=inf": ["learner.huber_delta=inf", "a number that 32 bits hold"],
    "learner.huber_delta=nan": ["learner.huber_delta=nan", "a number that 32 bits hold"],
    "learner.huber_delta=1e-300": ["learner.huber_delta=1e-300", "0, or from 1.2e-38"],
    "learner.huber_delta=1e9": ["learner.huber_delta=1000000000.0", "at most 1e+06", "null"],
    "learner.max_kl=-1": ["learner.max_kl=-1.0", "above 0"],
    "learner.max_kl=1e300": ["learner.max_kl=1e+300", "a number that 32 bits hold"],
    "learner.max_kl=1e6": ["learner.max_kl=1000000.0", "at most 1000", "null"],
    "env.non_specialist_efficiency=inf": ["non_specialist_efficiency=inf", "32 bits"],
    "env.difficulty=inf": ["env.difficulty=inf", "32 bits"],
    f"total_steps={'9' * 400}": ["total_steps=999", "between 1 and"],
    "name=a/b": ["name='a/b'", "letters", "digits", "folder"],
    "name=''": ["name=''", "1 to 64"],
    "name='  '": ["name='  '", "1 to 64"],
    "name=../x": ["name='../x'", "letters"],
    "name='é'": ["name='é'", "a to z"],
    f"name={'x' * 65}": ["name='xxx", "1 to 64"],
    "learner.value_norm=1": ["learner.value_norm=1", "true or false"],
    "+learner.clip_jointly=true": ["unknown option learner.clip_jointly=True"],
    "learner.anneal_lr=true": ["learner.anneal_lr", "total_steps"],
    "network.hidden_size=0": ["network.hidden_size=0"],
    "network.activation=gelu": ["network.activation='gelu'", "tanh, relu"],
    "logger.console=fancy": ["logger.console='fancy'", "lines"],
    "logger.wandb_mode=cloud": ["logger.wandb_mode='cloud'", "offline"],
    "run.minutes=0": ["run.minutes=0"],
    "run.stop_after_updates=0": ["run.stop_after_updates=0"],
    "run.keep_checkpoints=0": ["run.keep_checkpoints=0"],
    "run.dir=''": ["run.dir"],
    "evaluation.worlds=21": ["evaluation.worlds=21"],
    "evaluation.every_updates=-1": ["evaluation.every_updates=-1"],
    "~seed": ["seed is missing"],
    "~learner.gamma": ["learner.gamma is missing"],
}


@pytest.mark.parametrize("override", REFUSED)
def test_refused_by_name(override):
    with pytest.raises(ConfigError) as error:
        train_config(override)
    for part in REFUSED[override]:
        assert part in str(error.value)


def test_more_updates_than_can_be_counted_are_refused():
    with pytest.raises(ConfigError, match="total_steps=100000000000 is 100000000000 updates"):
        train_config("total_steps=1e11", "num_envs=1", "num_steps=1")


@pytest.mark.parametrize("num_envs", range(1, 9))
def test_cpu_preset_takes_any_number_of_worlds(num_envs):
    config, remarks = make_train_config(composed(f"num_envs={num_envs}"))
    wanted = 8
    fitting = max(n for n in range(1, wanted + 1) if (num_envs * 3) % n == 0)
    assert config.learner.options.num_minibatches == fitting
    assert bool(remarks) == (fitting != wanted)
    assert all(f"using {fitting}" in r and "learner.num_minibatches=8" in r for r in remarks)


def test_limits_and_names_that_can_be():
    options = train_config("learner.huber_delta=10", "learner.max_kl=0.02").learner.options
    assert (options.huber_delta, options.max_kl) == (10.0, 0.02)
    assert train_config("env.difficulty=1").env.difficulty == 1.0
    assert "/My-set.up_2_" in train_config("name=My-set.up_2").default_folder


def test_scientific_notation_and_derived_numbers():
    config = train_config("total_steps=1e6")
    assert config.total_steps == 10**6
    assert config.num_updates == 10**6 // (64 * 32) == config.learner.options.total_updates
    assert train_config().num_updates is None


def test_rounded_steps_are_told():
    config, (remark,) = make_train_config(composed("total_steps=10000"))
    assert config.num_updates == 4
    for part in ("total_steps=10,000", "64 * 32 = 2,048", "4 updates", "8,192 steps"):
        assert part in remark
    assert make_train_config(composed("total_steps=8192"))[1] == []


def test_config_round_trips_through_yaml():
    config = train_config("total_steps=1e6", "env.difficulty=0.45", "num_envs=5")
    again, remarks = make_train_config(yaml.safe_load(yaml.safe_dump(config.as_dict())))
    assert again == config and not remarks


def test_config_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        train_config().seed = 3


def test_default_folder_tells_runs_apart_only_by_what_is_learnt():
    base = train_config().default_folder
    assert base.startswith("runs/cpu_ippo_hard_seed0_")
    for same in ("logger=wandb", "run.minutes=9", "total_steps=1e6", "env.difficulty=0.9"):
        assert train_config(same).default_folder == base
    others = {
        train_config(o).default_folder
        for o in ("seed=1", "learner.lr=3e-3", "num_envs=33", "env.difficulty=0.8")
    }
    assert len(others | {base}) == 5
    annealed = (
        ("learner.anneal_lr=true", "total_steps=1e6"),
        ("learner.anneal_lr=true", "total_steps=2e6"),
    )
    assert len({train_config(*o).default_folder for o in annealed}) == 2


def test_evaluate_options():
    config = make_evaluate_config(composed("policy=random", name="evaluate"))
    assert (config.episodes, config.first_seed, config.max_steps) == (20, 9999, 10_000)
    with pytest.raises(ConfigError, match="out is empty; give a file, or null"):
        make_evaluate_config(composed("policy=random", "out=''", name="evaluate"))
    for nothing in ((), ("policy=null",), ("policy=",)):
        with pytest.raises(ConfigError, match=r"policy=\.\.\. is needed: .* or random"):
            make_evaluate_config(composed(*nothing, name="evaluate"))
    with pytest.raises(ConfigError, match="episodes=0"):
        make_evaluate_config(composed("policy=random", "episodes=0", name="evaluate"))
    with pytest.raises(ConfigError, match="unknown option env.players=3"):
        make_evaluate_config(composed("policy=random", "+env.players=3", name="evaluate"))


REFUSED_PICTURES = {
    "max_steps=x": ["max_steps='x'", "whole number"],
    "env.num_agents=x": ["env.num_agents='x'", "whole number"],
    "agent=9": ["agent=9", "between 0 and 7"],
    "rows=0": ["rows=0", "between 1 and 48"],
    "out=world.mp4": ["out='world.mp4'", ".gif"],
    "+speed=2": ["unknown option speed=2"],
}


@pytest.mark.parametrize("override", REFUSED_PICTURES)
def test_pictures_that_cannot_be_drawn(override):
    with pytest.raises(ConfigError) as error:
        make_render_config(composed(override, name="render"))
    for part in REFUSED_PICTURES[override]:
        assert part in str(error.value)
    assert make_render_config(composed(name="render")).agent is None
