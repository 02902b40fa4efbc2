"""Calling the commands as a user does."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"


def start(script: str, *options: str, cwd: Path, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(SCRIPTS / script), *options],
        cwd=cwd, env={**os.environ, **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def call(script: str, *options: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    process = start(script, *options, cwd=cwd, **environment)
    out, err = process.communicate(timeout=900)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def lines(text: str) -> list[str]:
    return text.strip().splitlines()
