"""Makes `worlds.py`, the builder of plain worlds, importable here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "rules"))
