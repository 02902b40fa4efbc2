"""What `scripts/compare.py` leaves: files, plots, curves, the leaderboard's entry."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from evaluations import FORGE, WOOD, write_run
from PIL import Image
from test_comparison import methods_of

from marl.comparison import command
from marl.comparison.curves import bands, read_curve
from marl.comparison.rows import ComparisonError
from marl.comparison.submission import entry

SCRIPT = Path(__file__).parents[2] / "scripts/compare.py"


def call(*options, cwd):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, options)],
        cwd=cwd, capture_output=True, text=True, timeout=300, env=os.environ,
    )  # fmt: skip


def write_metrics(folder, totals, every=1000):
    records = [
        {
            "kind": "training", "update": u, "env_steps": every * u, "episodes/count": 2.0,
            "episodes/base": total, "episodes/coord": 0.0, "episodes/total": total,
        }
        for u, total in enumerate(totals, 1)
    ]  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))


def test_the_command_as_a_user_calls_it(tmp_path):
    help_text = call("--help", cwd=tmp_path).stdout
    for part in ("runs --out results", "--baseline", "--submission", "10 seeds", "Exit status"):
        assert part in help_text
    for name in ("a b", "c=d"):
        write_run(tmp_path / f"runs/{name}", [[WOOD]] * 3, label=name, random=[[]] * 3, capped=1)
        write_metrics(tmp_path / f"runs/{name}", [1.0, 2.0])
    (tmp_path / "runs/unfinished").mkdir()
    (tmp_path / "runs/unfinished/metrics.jsonl").touch()
    done = call("runs", "--baseline", "c=d", "--out", "new/out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for part in (
        "## 1. hard, track rl, rules 0.2.1", "a b ", "c=d ", "Above c=d", "HyperMARL (published)",
        "Gemma-4-31B (published)", "1 of 3 episodes met the step limit", "unfinished has no",
        "Coord by kind of task", "hard synchronous %",
    ):  # fmt: skip
        assert part in done.stdout, part
    out = tmp_path / "new/out"
    names = ["comparison.csv", "comparison.json", "comparison.md", "curves.png", "scores.png"]
    assert sorted(p.name for p in out.iterdir()) == names
    assert (out / "comparison.md").read_text().strip() in done.stdout
    for picture in ("curves.png", "scores.png"):
        with Image.open(out / picture) as image:
            assert min(image.size) > 300 and len(np.unique(np.asarray(image.convert("L")))) > 10


def test_files_hold_every_row_with_everything(tmp_path):
    write_run(tmp_path / "a", [[WOOD], [WOOD, FORGE]], behaviours=("sampled",))
    options = command.Options([str(tmp_path / "a")], [], tmp_path / "out", None, None, True)
    assert command.run(options) == 0
    lines = list(csv.DictReader(io.StringIO((tmp_path / "out/comparison.csv").read_text())))
    assert len(lines) == 1 + 9 + 1 + 16
    ours, gemini = lines[0], next(x for x in lines if x["name"] == "Gemini-3.1-Pro-high")
    expected = dict(
        table="1", origin="ours", track="rl", rules_version="0.2.1", difficulty="hard",
        non_specialist_efficiency="0.1", num_comm_channels="4", num_agents="3", policy="sampled",
        budget="1M steps", budget_steps_low="1000000", num_runs="1", num_worlds="2",
        worlds="9999 to 10000", interval="worlds, given this run",
    )  # fmt: skip
    assert {k: ours[k] for k in expected} == expected
    assert float(ours["coord"]) == pytest.approx(400 / 159)
    assert float(ours["coord_construction"]) == pytest.approx(400 / 21)
    assert (gemini["total"], gemini["total_low"], gemini["base_low"]) == ("15.4", "13.2", "11.2")
    assert (gemini["track"], gemini["policy"], gemini["budget"]) == ("llm", "", "zero-shot")
    tables = json.loads((tmp_path / "out/comparison.json").read_text())["tables"]
    assert sum(len(t["rows"]) for t in tables) == len(lines)
    assert tables[0]["conditions"]["rules_version"] == "0.2.1"
    unknown = [r for t in tables for r in t["rows"] if r["name"] == "Gemma family team"]
    assert unknown[0]["scores"]["base"] is None and unknown[0]["num_worlds"] is None


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["nowhere"], 2, "nowhere: there is no such file or folder"),
        (["out=results"], 2, "did you mean --out results?"),
        (["--method", "mine"], 2, "--method NAME PATH"),
        (["--baseline", "x"], 2, "--baseline 'x'"),
        (["--out", "file"], 2, "file is no folder; name a new one"),
        (["--out", "file/inner"], 2, "--out: 'file/inner'"),
        (["--submission", "no/x.json"], 2, "does not exist"),
        (["--submission", "x.json"], 2, "one method, and there are 0"),
    ],
)
def test_what_cannot_work_is_named(tmp_path, options, code, words):
    (tmp_path / "file").touch()
    done = call(*options, cwd=tmp_path)
    assert done.returncode == code and words in done.stderr, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_curves_of_seeds_are_read_at_the_same_steps(tmp_path):
    for seed, totals in enumerate(([1.0, 2.0, 3.0], [3.0, 4.0, 5.0, 9.0])):
        write_run(tmp_path / f"s{seed}", [[]], seed=seed)
        write_metrics(tmp_path / f"s{seed}", totals)
    curves = [read_curve(tmp_path / f"s{seed}", None) for seed in (0, 1)]
    ((world, (band,)),) = bands(curves).items()
    assert world.startswith("hard, rules 0.2.1, non-specialist efficiency the difficulty's own")
    assert band.name == "ippo (cpu), 2 seeds"
    assert (band.steps[0], band.steps[-1]) == (1000, 3000)  # as far as both went
    assert (band.means["total"][0], band.means["total"][-1]) == (2.0, 4.0)
    assert (band.lows["total"][0], band.highs["total"][0]) == (1.0, 3.0)  # a range of two
    assert (band.means["coord"] == 0).all()


def test_five_seeds_have_an_interval_and_other_options_a_curve_of_their_own(tmp_path):
    for seed in range(6):
        folder = tmp_path / f"s{seed}"
        write_run(folder, [[]], seed=seed, options={"lr": 9.0} if seed == 5 else {})
        write_metrics(folder, [float(seed)] * 2)
    ((_, (five, one)),) = bands([read_curve(tmp_path / f"s{s}", None) for s in range(6)]).items()
    assert (five.name, one.name) == (
        "ippo (cpu), learner.lr=0.001, 5 seeds",
        "ippo (cpu), learner.lr=9.0, 1 seed",
    )
    assert five.means["total"][0] == 2.0
    assert 0 < five.lows["total"][0] < 2.0 < five.highs["total"][0] < 4.0
    np.testing.assert_array_equal(one.lows["total"], one.highs["total"])


def test_a_run_without_episodes_has_no_curve(tmp_path):
    write_run(tmp_path / "a", [[]])
    (tmp_path / "a/metrics.jsonl").write_text('{"kind": "training", "update": 1}\n')
    assert read_curve(tmp_path / "a", None) is None


def write_three(folder, count=10, **more):
    for level in ("easy", "medium", "hard"):
        write_run(folder / level, [[WOOD, FORGE]] * count, difficulty=level, **more)


def test_the_leaderboard_s_entry(tmp_path):
    write_three(tmp_path / "runs", behaviours=("greedy", "sampled"), random=[[]] * 10)
    made = entry(methods_of(tmp_path / "runs"))
    scores = {"base": [0.5] * 3, "coord": [5.0] * 3, "total": [2.4] * 3}
    assert made["scores"] == {level: scores for level in ("easy", "medium", "hard")}
    assert (made["id"], made["name"], made["type"]) == ("ippo-cpu", "ippo (cpu)", "marl")
    assert made["verified"] is False and made["params"] == "—"
    assert made["config"] == (
        "trained on each difficulty · 1M steps · greedy · 4 channels · rules 0.2.1 · 10 seeds · "
        "1 runs each"
    )
    assert set(made) == {
        "id", "name", "config", "type", "family", "params", "harness_version", "verified", "scores",
    }  # fmt: skip


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(count=9), "has 9 seeds, and the leaderboard asks for 10 or more"),
        (dict(max_steps=2000), "evaluate with max_steps=10000"),
        (dict(first_seed=20_000), "evaluate with first_seed=9999"),
        (dict(protocol={"non_specialist_efficiency": 0.2}), "env.non_specialist_efficiency=null"),
        (dict(protocol={"track": "llm"}), "the track rl"),
    ],
)
def test_what_the_leaderboard_does_not_take_is_refused(tmp_path, more, words):
    write_three(tmp_path / "runs", **more)
    with pytest.raises(ComparisonError, match=words):
        entry(methods_of(tmp_path / "runs"))


def test_an_entry_is_one_method_on_three_difficulties(tmp_path):
    write_three(tmp_path / "runs")
    write_run(tmp_path / "other", [[]] * 10, label="other")
    with pytest.raises(ComparisonError, match=r"there are 2 \(ippo \(cpu\), other\)"):
        entry(methods_of(tmp_path / "runs", tmp_path / "other"))
    with pytest.raises(ComparisonError, match="no evaluation on medium"):
        entry(methods_of(tmp_path / "runs/easy", tmp_path / "runs/hard"))
    write_run(tmp_path / "longer", [[]] * 10, steps=7)
    with pytest.raises(ComparisonError, match="2 rows on hard"):
        entry(methods_of(tmp_path / "runs", tmp_path / "longer"))
