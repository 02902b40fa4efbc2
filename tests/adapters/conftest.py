"""Programs of docs/adapters.md, run once for all tests here."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


def run_block_about(name: str) -> dict:
    """What the page's program that imports `name` leaves behind."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if f"import {name}" in block]
    left = {}
    exec(compile(block, f"{PAGE.name}: {name}", "exec"), left)
    return left


@pytest.fixture(scope="session")
def jaxmarl_page():
    return run_block_about("AlemJaxMARL")


@pytest.fixture(scope="session")
def pettingzoo_page():
    return run_block_about("AlemParallel")
