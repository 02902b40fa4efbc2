"""`scripts/evaluate.py`: any policy, or random play, under the protocol."""

import contextlib
import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from marl import compile_cache, export, policy_card
from marl.env_config import ALEM, EnvConfig, EnvOptions
from marl.environments.muted import Muted
from marl.environments.registry import entry_of, make_env_options, name_of
from marl.evaluation.protocol import RANDOM, Evaluator, Interrupted, WorldResults
from marl.evaluation.report import format_report, make_report, protocol_of
from marl.evaluation.tracks import RL, TRACKS
from marl.host.device import DeviceError, require_device
from marl.host.exits import BAD_OPTION, FILES_FAILED, guarded
from marl.host.files import absolute, require_place, write_json
from marl.host.heartbeat import Heartbeat
from marl.host.progress import Display, duration, make_display
from marl.host.stopping import StopRequest
from marl.options import ConfigError
from marl.play_config import AskedWorld, EvaluateConfig, make_evaluate_config
from marl.types import BatchEnv, PyTree

# The world of random play where nothing else is asked for: as conf/env/alem.yaml.
DEFAULT_WORLD = EnvConfig(
    difficulty="hard",
    num_agents=3,
    num_comm_channels=4,
    rules_version="0.2.1",
    shared_reward=False,
    non_specialist_efficiency=None,
)

_CODES = {
    ConfigError: BAD_OPTION,
    DeviceError: BAD_OPTION,
    policy_card.PolicyError: BAD_OPTION,
    OSError: FILES_FAILED,
}


def run(values: Mapping) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""

    def work() -> int:
        config = make_evaluate_config(values)
        require_device()
        with StopRequest() as stop:
            return _run(config, stop)

    return guarded(
        work,
        _CODES,
        memory_advice="the worlds do not fit into memory; stop other programs on this device, or "
        "evaluate on the CPU with JAX_PLATFORMS=cpu",
    )


def play_all(
    evaluator: Evaluator,
    players: Mapping[str, tuple[str, PyTree]],
    seeds: Sequence[int],
    max_steps: int,
    display: Display,
    stop: StopRequest,
) -> dict[str, WorldResults]:
    """Several players on the same worlds.

    Args:
        evaluator: plays one of them.
        players: name -> (behaviour, parameters).
        seeds: reset seeds.
        max_steps: step limit.
        display: shows how far it is.
        stop: asked at times; raises `Interrupted`.
    """
    results, left = {}, TimeLeft(len(players))
    display.say(
        f"evaluating on {len(seeds)} worlds, {max_steps:,} steps at most: {', '.join(players)}"
    )
    with contextlib.ExitStack() as ending:
        display.start(float(len(players)), 0.0)
        ending.callback(display.stop)
        heartbeat = ending.enter_context(Heartbeat(lambda text: display.update(left.done, text)))
        for index, (name, (behaviour, params)) in enumerate(players.items()):
            # The first player compiles: minutes, if nothing like it was compiled before.
            starting = ending.enter_context(contextlib.ExitStack())
            starting.enter_context(
                heartbeat.during(f"{name}: compiling or at its first steps, {{}}")
            )

            def report(part, text, index=index, starting=starting):
                starting.close()
                display.update(index + part, text + left.after(index + part))

            results[name] = evaluator.play(
                params,
                seeds,
                behaviour=behaviour,
                max_steps=max_steps,
                on_progress=report,
                should_stop=stop,
            )
        display.update(float(len(players)), "done")
    return results


class TimeLeft:
    """Estimates time left, from the pace since the first report: what was compiled before that is
    no part of it.

    Args:
        total: how much is to be done.

    Attributes:
        done: of that, so far.
    """

    def __init__(self, total: float):
        self._total, self._start = total, None
        self.done = 0.0

    def after(self, done: float) -> str:
        """For example ", about 1:15 left"; empty while there is no pace yet."""
        now, self.done = time.monotonic(), done
        if self._start is None:
            self._start = done, now
        first, began = self._start
        if done <= first:
            return ""
        return f", about {duration((self._total - done) * (now - began) / (done - first))} left"


def _run(config: EvaluateConfig, stop: StopRequest) -> int:
    exported, trained, env_config = _player(config)
    compile_cache.enable()
    environment = entry_of(env_config)
    env = environment.make(env_config)
    world = environment.describe(env_config, env)
    if config.mute:
        env = _muted(env, env_config)
    seeds = range(config.first_seed, config.first_seed + config.episodes)
    how = {"track": config.track, "mute": config.mute}
    out = _out_file(config, protocol_of(world, seeds, config.max_steps, **how))
    if out is not None:
        require_place(out, "out")
    policy = exported.policy if exported else None
    evaluator = Evaluator(
        env, env_config.params(), policy, environment.outcome(env), track=config.track
    )
    display = make_display("auto", "evaluate")
    try:
        results = play_all(
            evaluator, _players(config, exported), seeds, config.max_steps, display, stop
        )
    except Interrupted:
        print("stopped; nothing was written", flush=True)
        return stop.exit_code
    card = exported.card if exported else {"label": RANDOM, "training": {}}
    report = make_report(
        results,
        label=card["label"],
        world=world,
        max_steps=config.max_steps,
        facts={"policy": config.policy, **card["training"], "trained_in": trained},
        **how,
    )
    print("\n" + format_report(report) + "\n", flush=True)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_json(out, report)
        print(f"results: {out}", flush=True)
    return 0


def _muted(env: BatchEnv, options: EnvOptions) -> Muted:
    """The environment in which no message is heard. Raises ConfigError if there are none."""
    if options.name != ALEM:
        raise ConfigError(f"mute=true is for ALEM, and this is env={options.name}; leave it out")
    if options.num_comm_channels == 0:
        raise ConfigError("mute=true: this world has no message channels; leave it out")
    return Muted(env)


def _players(config: EvaluateConfig, exported: export.ExportedPolicy | None) -> dict:
    """Name -> (behaviour, parameters), as `play_all` takes them."""
    params = exported.params if exported else None
    wanted = {
        "greedy": exported is not None,
        "sampled": exported is not None and config.sampled,
        RANDOM: exported is None or config.random,
    }
    return {name: (name, params) for name, is_wanted in wanted.items() if is_wanted}


def _player(config: EvaluateConfig):
    """(policy or None, the world it was trained in or None, the world to evaluate in)."""
    if config.policy == RANDOM:
        return None, None, _of_track(config, config.env.applied_to(DEFAULT_WORLD))
    exported = export.load_policy(config.policy)
    card = exported.card
    env_config = _of_track(config, world_for(exported, config.policy, config.env))
    if env_config.name == ALEM and not config.transfer:
        policy_card.require_same_task(
            card, difficulty=env_config.label, rules_version=env_config.rules_version
        )
    return exported, card["env"], env_config


def _of_track(config: EvaluateConfig, world: EnvOptions) -> EnvOptions:
    """The world with the efficiency that its track has, unless another is asked for."""
    efficiency = TRACKS[config.track].efficiency
    if config.track != RL and world.name != ALEM:
        raise ConfigError(
            f"track={config.track} is one of ALEM's, and this is env={world.name}; leave it out"
        )
    if efficiency is None or config.env.non_specialist_efficiency is not None:
        return world
    return dataclasses.replace(world, non_specialist_efficiency=efficiency)


def world_for(exported: export.ExportedPolicy, folder: str, asked: AskedWorld) -> EnvOptions:
    """The world that a policy of that folder is to play in.

    Raises:
        ConfigError: what is asked cannot be.
        PolicyError: its card's world is not known here, or it cannot play in the one asked for.
    """
    if name_of(exported.card["env"]) != ALEM:
        return _other_world(exported.card["env"], folder, asked)
    names = ("difficulty", "num_agents", "num_comm_channels", "rules_version", "shared_reward")
    trained = {name: exported.card["env"][name] for name in names}
    try:
        made_for = EnvConfig(
            **trained,
            non_specialist_efficiency=None,
            without=exported.card["env"].get("without"),  # cards of earlier versions lack it
        )
    except ConfigError as error:
        raise policy_card.PolicyError(
            f"policy={folder}: {policy_card.CARD_FILE} describes a world that is not known here "
            f"({error}); export the policy again with this version"
        ) from error
    world = asked.applied_to(made_for)
    policy_card.require_fit(
        exported.card, num_agents=world.num_agents, num_comm_channels=world.num_comm_channels
    )
    return world


def _other_world(card: Mapping, folder: str, asked: AskedWorld) -> EnvOptions:
    """The environment, not ALEM, of a policy's card."""
    for name, value in vars(asked).items():
        if value is not None:
            raise ConfigError(
                f"env.{name}={value} is an option of ALEM, and policy={folder} plays "
                f"{card['name']}, as it was trained; leave it out"
            )
    sizes = ("num_actions", "feature_size")
    try:
        options = make_env_options({n: value for n, value in card.items() if n not in sizes})
    except ConfigError as error:
        raise policy_card.PolicyError(
            f"policy={folder}: its environment cannot be played here ({error})"
        ) from error
    env = entry_of(options).make(options)
    for name in sizes:
        if getattr(env, name) != card[name]:
            raise policy_card.PolicyError(
                f"policy={folder} was made for {card['name']} with {name}={card[name]}, and here "
                f"that is {getattr(env, name)}; train it again with this version"
            )
    return options


def _out_file(config: EvaluateConfig, protocol: dict) -> Path | None:
    """Where results go. Other protocols have other names, and so do not replace each other."""
    if config.out is not None:
        return absolute(config.out, "out")
    if config.policy == RANDOM:
        return None
    parts = [
        f"evaluation_{protocol.get('difficulty', name_of(protocol))}",
        *([f"rules{protocol['rules_version']}"] if "rules_version" in protocol else []),
        f"{protocol['episodes']}worlds_from{protocol['first_seed']}",
        f"{protocol['max_steps']}steps",
    ]
    parts += [config.track] * (config.track != RL) + ["mute"] * config.mute
    if config.env.non_specialist_efficiency is not None:
        parts.append(f"efficiency{config.env.non_specialist_efficiency:g}")
    missing = [name for name in ("sampled", RANDOM) if not getattr(config, name)]
    parts += [f"no_{name}" for name in missing]
    folder = absolute(config.policy, "policy")
    if folder.name != "policy":
        parts.insert(0, folder.name)
    return folder.parent / ("_".join(parts) + ".json")
