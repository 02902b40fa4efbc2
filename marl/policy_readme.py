"""The README.md of a policy bundle: its card in words."""

import json
from collections.abc import Iterator, Mapping

_SCORES = {"base": "Base %", "coord": "Coord %", "total": "Total %", "team_return": "team return"}

_HOW_TO_ACT = """\
## To act with it

Needs jax, numpy and safetensors, and the packages `alem_env` and `marl` of alem-marl.

```python
{make_world}
policy = load_policy("{folder}")  # this folder
actions, memory = policy.act(obs, None)  # greedy; None: an episode starts
actions, memory = policy.act(obs, memory, jax.random.key(0))  # drawn
```

`obs` is what the environment observes, of one world, with leading axis (agents,), or of several,
(worlds, agents); or a `marl.types.VectorObservation`{vector}.
"""

_MAKE_ALEM = """\
import alem_env
import jax
from marl.export import load_policy

env = alem_env.make({options})
obs, state = env.reset(jax.random.key(9999), alem_env.difficulty({difficulty}))"""

_MAKE_OTHER = """\
import jax
from marl.export import load_policy

obs = ...  # of {name}"""


def policy_readme(card: Mapping, folder: str) -> str:
    """Markdown.

    Args:
        card: of the bundle, checked.
        folder: its name.
    """
    lines = [f"# {card['label']}", "", *_facts(card), "", *_scores(card), _act(card, folder)]
    return "\n".join(lines)


def _facts(card: Mapping) -> Iterator[str]:
    env, training = card["env"], card["training"]
    yield "| | |"
    yield "|---|---|"
    for name, value in (
        ("learner", card.get("learner")),
        ("trained for", _steps(training.get("env_steps"))),
        ("chosen", training.get("chosen")),
        ("source", training.get("source")),
        ("seed", card.get("config", {}).get("seed", training.get("seed"))),
        ("world", _world(env)),
        ("parameters", f"{_count(card['parameters']):,}"),
        ("made with", _versions(card.get("versions", {}))),
        ("weights", f"`weights.safetensors`, sha256 {card.get('weights_sha256')}"),
    ):
        if value is not None:
            yield f"| {name} | {value} |"
    yield ""
    yield "`card.json` has every option of its training, and names and shapes of its weights."


def _steps(steps: int | None) -> str | None:
    return None if steps is None else f"{steps:,} environment steps"


def _world(env: Mapping) -> str:
    if "name" in env:
        return f"{env['name']}, {env['num_agents']} agents"
    words = [
        f"ALEM {env['difficulty']}", f"rules {env['rules_version']}", f"{env['num_agents']} agents",
        f"{env['num_comm_channels']} message channels",
    ]  # fmt: skip
    if env.get("without"):
        words.append(f"without {env['without']}")
    if env["shared_reward"]:
        words.append("trained on a reward that the team shares")
    if not env.get("own_efficiency", True):
        words.append(f"trained at non-specialist efficiency {env['non_specialist_efficiency']}")
    return ", ".join(words)


def _count(parameters: Mapping) -> int:
    total = 0
    for shape, _ in parameters.values():
        size = 1
        for axis in shape:
            size *= axis
        total += size
    return total


def _versions(versions: Mapping) -> str | None:
    names = [n for n in ("alem-marl", "commit", "jax", "numpy") if versions.get(n)]
    return ", ".join(f"{name} {versions[name]}" for name in names) or None


def _scores(card: Mapping) -> Iterator[str]:
    yield "## Scores"
    yield ""
    scores = card.get("scores")
    if not scores:
        yield "Not evaluated yet: `python scripts/evaluate.py policy=FOLDER`."
        yield ""
        return
    protocol, results = scores["protocol"], scores["results"]
    last = protocol["first_seed"] + protocol["episodes"] - 1
    kind = "" if protocol.get("is_whole_protocol") else " (not the benchmark's whole protocol)"
    yield (
        f"{protocol['episodes']} worlds, seeds {protocol['first_seed']} to {last}, at most "
        f"{protocol['max_steps']:,} steps{kind}, track {protocol.get('track', 'rl')}"
        + (f", rules {protocol['rules_version']}" if "rules_version" in protocol else "")
        + ":"
    )
    yield ""
    columns = [n for n in _SCORES if all(n in result for result in results.values())]
    yield "| actions | " + " | ".join(_SCORES[n] for n in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, result in results.items():
        found = [result[n] for n in columns]
        cells = [f"{r['mean']:.2f} [{r['low']:.2f}, {r['high']:.2f}]" for r in found]
        yield f"| {'random legal play' if name == 'random' else name} | " + " | ".join(cells) + " |"
    some = next(iter(results.values()))[columns[0]]
    given = f", {some['given']}" if some.get("given") else ""
    yield ""
    yield f"[a, b]: {100 * some.get('level', 0.95):.0f} % bootstrap interval over worlds{given}."
    yield ""


def _act(card: Mapping, folder: str) -> str:
    env = card["env"]
    if "name" in env:
        make_world = _MAKE_OTHER.format(name=env["name"])
        vector = f" of {env['feature_size']} numbers"
    else:
        options = {n: env[n] for n in ("num_agents", "num_comm_channels", "rules_version")}
        options = ", ".join(f"{name}={json.dumps(value)}" for name, value in options.items())
        make_world = _MAKE_ALEM.format(options=options, difficulty=json.dumps(env["difficulty"]))
        vector = " with the published vector (`alem_env.dense.expand`)"
    return _HOW_TO_ACT.format(make_world=make_world, folder=folder, vector=vector)
