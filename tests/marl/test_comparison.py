"""Rows of runs and of published figures: what they say, and which may stand side by side."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from evaluations import FORGE, WOOD, write_run
from recorded import read as read_recording

from alem_env import Achievement
from marl.comparison.methods import differences, pool
from marl.comparison.reading import find, read_evaluation
from marl.comparison.rows import ComparisonError, blocks, published_rows
from marl.comparison.tables import as_markdown

REAL = Path(__file__).parent / "fixtures/evaluation.json"  # of a run of the default command


def methods_of(*paths, named=()):
    def results(given):
        return [r for file in find([str(p) for p in given]).files for r in read_evaluation(file)]

    return pool(results(paths), [(name, results(given)) for name, given in named])


def row_of(methods, name, policy="greedy"):
    (row,) = (m.row() for m in methods if (m.name, m.policy) == (name, policy))
    return row


def means(row):
    return [round(row.scores[name].mean, 4) for name in ("base", "coord", "total")]


def test_a_real_evaluation_has_the_numbers_that_its_own_table_had():
    methods = methods_of(REAL)
    assert [(m.name, m.policy) for m in methods] == [
        ("ippo (cpu)", "greedy"),
        ("ippo (cpu)", "sampled"),
        ("ippo (cpu), best on development worlds", "greedy"),
        ("random legal play", "random"),
    ]
    table = as_markdown([m.row() for m in methods])
    assert "| 3.76 [3.34, 4.15] | 0.63 [0.00, 1.57] | 2.43 [2.01, 2.95] | 20     | 1 " in table
    best = row_of(methods, "ippo (cpu), best on development worlds")
    assert best.budget == "819,200 steps"  # 400 of 473 updates
    greedy = row_of(methods, "ippo (cpu)")
    assert greedy.budget_steps == (968_704, 968_704) and greedy.interval == "worlds, given this run"
    # Two of twenty worlds have both handovers, weights 5 and 5 of 10.
    assert round(greedy.kinds["handover"].mean, 4) == 10.0
    assert [greedy.kinds[k].mean for k in ("soft", "sync_hard", "construction")] == [0, 0, 0]


def test_kinds_of_coordination_are_those_of_recorded_episodes(tmp_path):
    episode = read_recording("fuzz_medium_0")
    has = np.asarray(episode.final.achievements).any(0)
    names = [Achievement(i).name.lower() for i in np.flatnonzero(has)]
    row = row_of(methods_of(write_run(tmp_path / "run", [names])), "ippo (cpu)")
    recorded = {kind: 100 * episode.score[f"Team/{kind}_coord_reward_pct_of_max"].flat[0]
                for kind in row.kinds}  # fmt: skip
    assert sum(recorded.values()) > 0
    assert {k: s.mean for k, s in row.kinds.items()} == pytest.approx(recorded, abs=1e-4)
    assert means(row)[1] == pytest.approx(
        100 * episode.score["Team/coord_reward_pct_of_max"].flat[0], abs=1e-3
    )


def test_five_runs_are_seeds_of_one_method_and_the_spread_between_them_counts(tmp_path):
    for seed in range(5):
        has = [WOOD, FORGE] if seed == 0 else [WOOD]
        write_run(tmp_path / f"runs/s{seed}", [has] * 4, seed=seed)
    five = row_of(methods_of(tmp_path / "runs"), "ippo (cpu)")
    assert means(five) == [0.4608, 1.0063, 0.6915]  # 1/217; 8/159/5; (1 + 8/5)/376
    assert five.num_runs == 5 and five.num_worlds == 4 and five.interval == "runs and worlds"
    assert (five.scores["coord"].low, five.scores["base"].low) == (0, pytest.approx(100 / 217))
    assert 2 < five.scores["coord"].high < 5.1
    shutil.rmtree(tmp_path / "runs/s4")
    four = row_of(methods_of(tmp_path / "runs"), "ippo (cpu)")
    assert four.interval == "worlds, given these runs"
    # All worlds of a run are alike, and runs are not drawn.
    assert four.scores["coord"].low == four.scores["coord"].high == pytest.approx(200 / 159)


def test_differences_are_paired_by_world(tmp_path):
    worlds = [[], [WOOD], [WOOD, "place_table"], [WOOD, "place_table", "eat_cow"]]
    write_run(tmp_path / "a", [[FORGE, *w] for w in worlds], label="a", random=worlds)
    write_run(tmp_path / "b", worlds, label="b", random=worlds)
    methods = methods_of(tmp_path)
    (a, random) = differences(methods, "b")
    assert (a.method.name, random.method.name) == ("a", "random legal play")
    coord, base = a.scores["coord"], a.scores["base"]
    assert (coord.low, coord.mean, coord.high) == pytest.approx((800 / 159,) * 3)
    assert (base.low, base.mean, base.high) == pytest.approx((0, 0, 0), abs=1e-9)
    assert row_of(methods, "a").scores["base"].low < row_of(methods, "a").scores["base"].high
    text = as_markdown([m.row() for m in methods], [a])
    assert "Above b, paired by world" in text and "+5.03 [+5.03, +5.03]" in text


def test_random_play_is_a_baseline_of_every_policy_and_leaves_runs_their_spread(tmp_path):
    for seed in range(5):
        has = [[FORGE] if seed == 0 else []] * 3
        write_run(tmp_path / f"s{seed}", has, behaviours=("greedy", "sampled"), random=[[WOOD]] * 3)
    methods = methods_of(tmp_path)
    assert [m.policy for m in methods] == ["greedy", "sampled", "random"]
    found = differences(methods, "random legal play")
    assert [d.method.policy for d in found] == ["greedy", "sampled"]
    for difference in found:
        assert difference.scores["coord"].given == ""
        assert difference.scores["coord"].low == 0 < difference.scores["coord"].high
        assert difference.scores["base"].mean == pytest.approx(-100 / 217)


def test_what_differs_keeps_runs_apart_and_is_said(tmp_path):
    write_run(tmp_path / "runs/a", [[WOOD]], seed=1)
    write_run(tmp_path / "runs/b", [[WOOD]], seed=2, options={"lr": 0.003})
    write_run(tmp_path / "runs/c", [[WOOD]], seed=3, steps=2_000_000)
    write_run(tmp_path / "runs/d", [[WOOD]] * 2, seed=4)
    rows = [m.row() for m in methods_of(tmp_path / "runs")]
    assert [(r.name, r.budget, r.num_worlds) for r in rows] == [
        ("ippo (cpu), learner.lr=0.001", "1M steps", 1),
        ("ippo (cpu), learner.lr=0.003", "1M steps", 1),
        ("ippo (cpu), learner.lr=0.001", "2M steps", 1),
        ("ippo (cpu), learner.lr=0.001", "1M steps", 2),
    ]
    assert "learner.lr=0.001, greedy: worlds 9999 to 10000" in as_markdown(rows)
    ours = [tmp_path / f"runs/{name}" for name in "abc"]
    (method,) = methods_of(named=[("mine", ours)])
    row = method.row()
    assert (row.name, row.num_runs, row.budget) == ("mine", 3, "1,000,000 to 2,000,000 steps")


OTHER = [
    (dict(rules="0.1.0"), "here rules 0.1.0, not rules 0.2.1."),
    (dict(max_steps=2000), "here at most 2,000 steps, not at most 10,000 steps."),
    (dict(protocol={"track": "llm"}), "here track llm, not track rl."),
    (dict(protocol={"num_comm_channels": 0}), "here no channels, not 4 channels."),
    (
        dict(protocol={"non_specialist_efficiency": 0.2}),
        "here non-specialist efficiency 0.2, not non-specialist efficiency 0.1.",
    ),
    (dict(protocol={"mute": True}), "here messages blank, not messages heard."),
    (dict(difficulty="medium"), "Another difficulty"),
]


@pytest.mark.parametrize("other, words", OTHER)
def test_scores_that_may_not_be_compared_stand_in_tables_of_their_own(tmp_path, other, words):
    write_run(tmp_path / "a", [[WOOD]])
    write_run(tmp_path / "b", [[WOOD]], **other)
    rows = [m.row() for m in methods_of(tmp_path)]
    if other == dict(difficulty="medium"):  # which comes before hard
        rows.reverse()
    assert len(list(blocks(rows))) == 2
    assert words in as_markdown(rows)


def test_ours_stand_beside_published_ones_only_under_their_conditions(tmp_path):
    write_run(tmp_path / "a", [[WOOD]] * 20, rules="0.1.0")
    rows = [m.row() for m in methods_of(tmp_path)] + published_rows(["hard"])
    tables = [[r.name for r in members] for _, members in blocks(rows)]
    assert tables[0] == ["ippo (cpu)", *["IPPO", "HyperMARL", "MAPPO", "PQN-VDN"] * 2, "HyperMARL"]
    assert "Gemini-3.1-Pro-high" in tables[-1] and len(tables) == 3


def damaged(path, change):
    report = json.loads(path.read_text())
    change(report)
    path.write_text(json.dumps(report))


DAMAGE = [
    (lambda r: r["results"]["greedy"]["worlds"][1].update(total=9.0), "world 10000 has total 9.0"),
    (lambda r: r["results"]["greedy"]["worlds"].pop(), "not the worlds that its protocol names"),
    (lambda r: r["results"]["greedy"]["worlds"][0].pop("coord"), "KeyError: 'coord'"),
    (lambda r: r["results"]["greedy"]["worlds"][0]["achievements"].append("win"), "'win'"),
    (lambda r: r.pop("protocol"), "protocol"),
    (lambda r: r["protocol"].update(num_agents="many"), "many"),
    (lambda r: r["results"]["greedy"]["worlds"][0].update(base=float("nan")), "world 9999"),
]


@pytest.mark.parametrize("change, words", DAMAGE)
def test_damaged_evaluations_are_refused_by_name(tmp_path, change, words):
    path = write_run(tmp_path / "run", [[WOOD], [FORGE]])
    damaged(path, change)
    with pytest.raises(ComparisonError) as refusal:
        methods_of(path)
    assert str(path) in str(refusal.value) and words in str(refusal.value)


@pytest.mark.parametrize("content", ["", "[1, 2]", "3", '{"results": {"greedy": {}}}', '{"a": '])
def test_other_files_are_refused_by_name(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ComparisonError, match="x.json: is"):
        methods_of(tmp_path / "x.json")


def test_what_would_mislead_is_refused(tmp_path):
    first = write_run(tmp_path / "a", [[WOOD]] * 2, random=[[WOOD]] * 2)
    with pytest.raises(ComparisonError, match=r"a.evaluation.json: are of the same run"):
        methods_of(first, tmp_path / "a")
    fewer = write_run(tmp_path / "b", [[WOOD]])
    with pytest.raises(ComparisonError, match=r"worlds 9999 to 10000 .*b.* on 9999 to 9999"):
        methods_of(named=[("mine", [first, fewer])])
    other = write_run(tmp_path / "c", [[WOOD]] * 2, random=[[FORGE]] * 2)
    with pytest.raises(ComparisonError, match=r"c.evaluation.json: random play .* differs"):
        methods_of(first, other)
    with pytest.raises(ComparisonError, match="no such file"):
        find([str(tmp_path / "nowhere")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ComparisonError, match="empty: holds neither"):
        find([str(tmp_path / "empty")])


def test_baselines_must_be_there_and_be_one(tmp_path):
    write_run(tmp_path / "a", [[WOOD]])
    write_run(tmp_path / "b", [[WOOD]], steps=5)
    write_run(tmp_path / "c", [[WOOD]], label="c")
    methods = methods_of(tmp_path)
    with pytest.raises(ComparisonError, match="'x'.*there are 'ippo .cpu.', 'c'"):
        differences(methods, "x")
    with pytest.raises(ComparisonError, match="2 methods of that name fit c"):
        differences(methods, "ippo (cpu)")


def test_no_difference_between_worlds_of_other_conditions_or_seeds(tmp_path):
    write_run(tmp_path / "b", [[WOOD]] * 2, label="b")
    write_run(tmp_path / "rules", [[WOOD]] * 2, rules="0.1.0", label="rules")
    write_run(tmp_path / "seeds", [[WOOD]] * 2, first_seed=20_000, label="seeds")
    write_run(tmp_path / "same", [[WOOD]] * 2, label="same")
    found = differences(methods_of(tmp_path), "b")
    assert [d.method.name for d in found] == ["same"]


def test_another_world_than_that_of_training_is_said(tmp_path):
    trained = {"trained_in": {"difficulty": "easy", "rules_version": "0.2.1"}}
    (method,) = methods_of(write_run(tmp_path / "a", [[WOOD]], facts=trained))
    assert method.name == "ippo (cpu), trained on easy"


def test_folders_of_seeds_and_unfinished_runs(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / f"run/seed{seed}", [[WOOD]], seed=seed)
    (tmp_path / "run/seed2").mkdir()
    (tmp_path / "run/seed2/metrics.jsonl").write_text("")
    (tmp_path / "run/config.yaml").touch()  # of all seeds together
    found = find([str(tmp_path / "run")])
    assert found == find([str(tmp_path)])
    assert [p.parent.name for p in found.files] == ["seed0", "seed1"]
    assert [p.name for p in found.runs] == ["seed2"]
    assert len(found.remarks) == 1 and "seed2 has no evaluation.json yet" in found.remarks[0]


def published(name, difficulty, steps=None):
    (row,) = (
        r for r in published_rows([difficulty])
        if r.name == name and r.budget_steps == (steps and (steps, steps))
    )  # fmt: skip
    return row


def test_runs_of_other_environments_are_left_out(tmp_path):
    ours = write_run(tmp_path / "a", [[WOOD]] * 2)
    other = write_run(tmp_path / "b", [[WOOD]] * 2, protocol={"name": "spread"})
    config = other.with_name("config.yaml")
    config.write_text(config.read_text().replace("env:", "env:\n  name: spread"))
    found = find([str(tmp_path)])
    assert found.files == [ours] and "b is of env=spread" in found.remarks[0]
    with pytest.raises(ComparisonError, match="b/evaluation.json: is of env=spread"):
        read_evaluation(other)


def test_published_figures_are_the_source_s():
    rows = published_rows()
    assert [sum(r.conditions.track == t for r in rows) for t in ("rl", "llm")] == [28, 44]
    hyper = published("HyperMARL", "hard", 10**9)
    assert means(hyper) == [13.6, 17.6, 15.3] and hyper.num_runs == 5 and hyper.num_worlds == 20
    assert (hyper.scores["total"].low, hyper.scores["total"].high) == (14.9, 15.7)
    assert means(published("IPPO", "medium", 10**8)) == [13.9, 7.0, 11.0]
    assert means(published("MAPPO", "easy", 10**9)) == [13.2, 29.0, 19.8]
    gemini = published("Gemini-3.1-Pro-high", "hard")
    assert means(gemini) == [13.8, 17.5, 15.4] and gemini.num_worlds == 10
    assert gemini.conditions.non_specialist_efficiency == 0.2
    assert gemini.conditions.num_comm_channels == 0 and gemini.policy is None
    assert (gemini.scores["base"].low, gemini.scores["coord"].high) == (11.2, 21.5)
    assert means(published("Gemma-4-31B", "easy")) == [9.6, 8.6, 9.2]
    assert published("HyperMARL", "hard", 10**10).num_runs is None
    assert published("Gemma family team", "hard").scores["coord"] is None
    for row in rows:
        assert row.source and row.conditions.rules_version in ("0.1.0", "0.2.1")
        if row.scores["base"] is not None and "mean" not in row.name:
            base, coord, total = means(row)
            assert total == pytest.approx((217 * base + 159 * coord) / 376, abs=0.1), row.name


def test_a_run_stands_in_the_language_models_track_too(tmp_path):
    """With the file that scripts/evaluate.py left beside it; what adds nothing is told."""
    run = write_run(tmp_path / "a", [[WOOD]] * 20).parent
    llm = {"track": "llm", "non_specialist_efficiency": 0.2}
    other = write_run(tmp_path / "b", [[FORGE]] * 20, protocol=llm)
    shutil.copy(other, run / "evaluation_hard_llm.json")
    shutil.copy(run / "evaluation.json", run / "evaluation_hard_again.json")
    shutil.copy(other, run / "policy_best_evaluation_hard_llm.json")
    shutil.rmtree(tmp_path / "b")
    found = find([str(run)])
    assert [file.name for file in found.files] == ["evaluation.json", "evaluation_hard_llm.json"]
    again, best = sorted(found.remarks)
    assert "again.json is left out: the run has results under the same conditions" in again
    assert "policy_best" in best and "not of the run's newest policy" in best
    rows = [m.row() for m in methods_of(run)] + published_rows(["hard"])
    tracks = {c.track: [r.name for r in of] for c, of in blocks(rows) if "ippo (cpu)" in
              [r.name for r in of]}  # fmt: skip
    assert set(tracks) == {"rl", "llm"}
    assert "here track llm, not track rl" in as_markdown(rows)
