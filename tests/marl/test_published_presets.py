"""The published set-ups are the published ones."""

import numpy as np
import pytest
from test_runs_config import train_config

from marl.learners.ippo_unshared import UnsharedConfig
from marl.learners.mappo import MAPPOConfig
from marl.learners.ppo_config import TeamPPOConfig
from marl.networks.sizes import CentralisedConfig, HyperConfig, NetworkConfig, QNetworkConfig
from marl.options import ConfigError


def test_published_preset_is_the_published_one():
    config = train_config("experiment=published_ippo", "env.difficulty=medium")
    options = config.learner.options
    assert (config.num_envs, config.num_steps, config.total_steps) == (1024, 64, 10**9)
    assert (options.num_minibatches, options.update_epochs) == (8, 4)
    assert (options.lr, options.anneal_lr, options.gamma, options.gae_lambda) == (
        2e-4, True, 0.99, 0.8,
    )  # fmt: skip
    assert (options.clip_eps, options.ent_coef, options.vf_coef, options.max_grad_norm) == (
        0.2, 0.01, 0.5, 1.0,
    )  # fmt: skip
    assert config.env.num_comm_channels == 4 and config.env.rules_version == "0.1.0"
    assert not config.env.shared_reward and config.network.hidden_size == 512
    assert config.network.activation == "tanh"
    assert config.num_updates == options.total_updates == 15_258


AS_PUBLISHED = dict(mask_dead_agents=False, bootstrap_truncated=False)
PUBLISHED = {
    "ippo_unshared": (UnsharedConfig(clip_jointly=True, **AS_PUBLISHED), NetworkConfig(), 1024),
    "mappo": (MAPPOConfig(**AS_PUBLISHED), CentralisedConfig(critic_input="team"), 512),
    "hypermarl": (TeamPPOConfig(lr=1e-4, **AS_PUBLISHED), HyperConfig(), 1024),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_other_published_presets_are_the_published_ones(name):
    options, network, num_envs = PUBLISHED[name]
    config = train_config(f"experiment=published_{name}", "env.difficulty=medium")
    assert config.learner.name == name and config.learner.options == options
    assert config.network == network
    assert (config.num_envs, config.num_steps, config.total_steps) == (num_envs, 64, 10**9)
    assert options.total_updates == 10**9 // (num_envs * 64) and not config.fit_minibatches
    assert config.env.num_comm_channels == 4 and config.env.rules_version == "0.1.0"
    # unlike IPPO, at the difficulty's own efficiency
    assert config.env.params().non_specialist_efficiency == np.float32(0.4)
    assert not config.env.shared_reward


def test_published_pqn_vdn_is_the_published_one():
    config = train_config("experiment=published_pqn_vdn", "env.difficulty=medium")
    options = config.learner.options
    assert (config.num_envs, config.num_steps, config.total_steps) == (512, 128, 10**9)
    assert (options.num_minibatches, options.update_epochs) == (16, 4)
    assert (options.lr, options.anneal_lr, options.gamma, options.q_lambda) == (
        5e-5, True, 0.99, 0.9,
    )  # fmt: skip
    assert (options.epsilon_start, options.epsilon_final, options.max_grad_norm) == (1.0, 0.01, 0.5)
    assert options.exploring_updates == 0.1 * 15_258 and options.total_updates == 15_258
    shorter = train_config("experiment=published_pqn_vdn", "total_steps=1e8").learner.options
    assert shorter.exploring_updates == 0.1 * 1_525
    assert config.network == QNetworkConfig()
    assert config.env.num_comm_channels == 4 and config.env.rules_version == "0.1.0"
    assert config.env.params().non_specialist_efficiency == np.float32(0.4)


def test_published_presets_refuse_what_does_not_divide():
    with pytest.raises(ConfigError, match="num_minibatches=8 does not divide.*fit_minibatches"):
        train_config("experiment=published_ippo", "num_envs=3")
