"""The commit that a result was made with."""

import shutil
import subprocess

import pytest

from marl.versions import commit, package_versions

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")


def git(folder, *words):
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "tag", "-a", "v1", "-m", "a tag names no commit")
    yield tmp_path
    commit.cache_clear()


@needs_git
def test_a_clean_clone_is_its_commit(clone):
    assert commit(clone) == git(clone, "rev-parse", "HEAD")


@needs_git
def test_a_changed_clone_is_dirty(clone):
    (clone / "file").write_text("b")
    assert commit(clone) == git(clone, "rev-parse", "HEAD") + "-dirty"


@needs_git
def test_a_clone_around_an_installed_package_is_not_the_project(clone):
    (clone / "site-packages").mkdir()
    assert commit(clone / "site-packages") is None


def test_no_git_is_no_commit(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(tmp_path) is None
    assert "commit" in package_versions()
