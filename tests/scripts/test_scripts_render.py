"""`scripts/render.py`: where pictures go. What they show is tested in tests/observe."""

import pytest
import render
from commands import call, lines

from marl.host.files import require_place


@pytest.mark.parametrize("out", ["file/x.gif", "folder.gif", "file/new/x.png"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(out, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.gif").mkdir()
    done = call("render.py", f"out={out}", cwd=tmp_path)
    assert done.returncode == 4 and done.stdout == ""
    (message,) = lines(done.stderr)
    assert f"out={tmp_path / out}" in message and "out=FILE" in message
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.gif"]


def test_a_folder_that_is_made_is_told(tmp_path, capsys):
    out = tmp_path / "new" / "deep" / "x.png"
    require_place(out, "out")
    assert not (tmp_path / "new").exists()
    render.save(out, b"picture")
    assert out.read_bytes() == b"picture" and list(out.parent.iterdir()) == [out]
    assert f"making the folder {out.parent}" in capsys.readouterr().err
    render.save(out, b"another")
    assert out.read_bytes() == b"another" and capsys.readouterr().err == ""


def test_progress_is_told_and_states_stay_the_same(capsys, monkeypatch):
    monkeypatch.setattr("command_line.ELSEWHERE", 0.0)
    assert list(render.shown(iter("abcd"), 3)) == list("abcd")
    captured = capsys.readouterr()
    said = lines(captured.err)
    assert captured.out == "" and "compiling" in said[0]
    assert [line.split(",")[0] for line in said[1:]] == ["step 2 of 3", "step 3 of 3"]
