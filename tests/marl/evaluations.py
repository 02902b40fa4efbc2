"""Evaluation files and run folders as the commands leave them, without playing anything."""

import json

import numpy as np
import yaml

from alem_env import Achievement, score
from marl.evaluation.protocol import WorldResults
from marl.evaluation.report import make_report

EFFICIENCY = {"easy": 0.7, "medium": 0.4, "hard": 0.1}
# Weights: wood 1 of Base's 217; the forge 8 of Coord's 159 and of construction's 21.
WOOD, FORGE = "collect_wood", "coord_build_forge"


def results(worlds, first_seed=9999, capped=0):
    """A WorldResults in which one agent of three achieved what is listed for each world."""
    board = np.zeros((len(worlds), 3, len(Achievement)), bool)
    for place, names in enumerate(worlds):
        board[place, 0, [Achievement[name.upper()] for name in names]] = True
    length = np.full(len(worlds), 50)
    return WorldResults(
        seeds=np.arange(first_seed, first_seed + len(worlds)),
        length=length,
        team_return=length * 0.1,
        capped=np.arange(len(worlds)) < capped,
        achievements=board,
        scores={name: np.asarray(value) for name, value in score.team_score(board).items()},
    )


def write_run(
    folder,
    worlds,
    *,
    behaviours=("greedy",),
    random=None,
    label="ippo (cpu)",
    seed=0,
    steps=1_000_000,
    difficulty="hard",
    rules="0.2.1",
    max_steps=10_000,
    first_seed=9999,
    capped=0,
    options=None,
    protocol=None,
    facts=None,
):
    """A run folder with evaluation.json and config.yaml; the path of the former.

    Args:
        worlds: names of achievements for each world, the same for all behaviours.
        random: the same for random play; None: it was not played.
        options: of the learner.
        protocol: more entries of the protocol.
        facts: more of the policy.
    """
    folder.mkdir(parents=True)
    played = {name: results(worlds, first_seed, capped) for name in behaviours}
    if random is not None:
        played["random"] = results(random, first_seed)
    world = dict(
        difficulty=difficulty, rules_version=rules, num_agents=3, num_comm_channels=4,
        shared_reward=False, non_specialist_efficiency=EFFICIENCY[difficulty], own_efficiency=True,
    )  # fmt: skip
    about = {"run_id": f"id of {folder}", "seed": seed, "update": 10, "env_steps": steps}
    report = make_report(
        played, label=label, world=world, max_steps=max_steps, facts=about | (facts or {})
    )
    report["protocol"] |= protocol or {}
    path = folder / "evaluation.json"
    path.write_text(json.dumps(report))
    env = {"difficulty": difficulty, "num_agents": 3, "num_comm_channels": 4,
           "rules_version": rules, "non_specialist_efficiency": None}  # fmt: skip
    config = {
        "name": "cpu", "seed": seed, "num_seeds": 1, "total_steps": steps, "env": env,
        "learner": {"name": "ippo", "lr": 0.001} | (options or {}), "run": {"dir": str(folder)},
    }  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return path
