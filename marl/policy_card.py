"""The card of a policy bundle, `card.json`: where it is, what it must say, and what it fits."""

import json
from pathlib import Path

from marl.host.files import absolute

CARD_FILE = "card.json"
README_FILE = "README.md"
FORMAT = 1

# What every card says, and as what; the entries of "env" are those that others read.
_ENTRIES = {
    ("label",): str,
    ("env",): dict,
    ("env", "num_agents"): int,
    ("env", "num_actions"): int,
    ("network",): dict,
    ("parameters",): dict,
    ("training",): dict,
}
# And besides, of a policy for ALEM, whose cards name no environment, or for another.
_OF_ALEM = {
    ("env", "difficulty"): (str, int, float),
    ("env", "rules_version"): str,
    ("env", "num_comm_channels"): int,
    ("env", "shared_reward"): bool,
}
_OF_OTHERS = {
    ("env", "name"): str,
    ("env", "feature_size"): int,
}


class PolicyError(ValueError):
    """A bundle cannot be read, or does not fit the world; the message says what to do."""


def replaced(folder: Path) -> Path:
    """Where the bundle before is while one is written in its place."""
    return folder.with_name(f".{folder.name}.replaced")


def whole(folder: Path) -> Path:
    """Where the bundle is: a crash between two renames leaves it under its temporary name."""
    folder = absolute(folder, "policy")
    return folder if folder.exists() or not replaced(folder).exists() else replaced(folder)


def read_card(folder: Path) -> dict:
    """The card of a bundle, with everything that a card must say.

    Raises:
        PolicyError: there is none, or it cannot be read, or an entry is missing or of another kind.
    """
    try:
        card = json.loads((whole(folder) / CARD_FILE).read_text())
    except FileNotFoundError:
        raise PolicyError(
            f"policy={folder} is no policy bundle ({CARD_FILE} is missing); give the folder "
            "`policy` of a run, or random"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise PolicyError(f"policy={folder}: {CARD_FILE} cannot be read ({error})") from error
    if not isinstance(card, dict):
        raise PolicyError(f"policy={folder}: {CARD_FILE} is damaged; export the policy again")
    if card.get("format") != FORMAT:
        raise PolicyError(
            f"policy={folder} has format {card.get('format')}, this program reads {FORMAT}; "
            "export it again with this version"
        )
    _check_entries(folder, card, _ENTRIES)
    _check_entries(folder, card, _OF_OTHERS if "name" in card["env"] else _OF_ALEM)
    return card


def _check_entries(folder: Path, card: dict, entries: dict) -> None:
    for path, kind in entries.items():
        *groups, name = path
        holder = card
        for group in groups:
            holder = holder[group]
        value = holder.get(name)
        is_right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not is_right:
            entry = ".".join(path)
            found = f"has {entry}={value!r}" if name in holder else f"lacks {entry}"
            kinds = kind if isinstance(kind, tuple) else (kind,)
            wanted = " or ".join(k.__name__ for k in kinds)
            raise PolicyError(
                f"policy={folder}: {CARD_FILE} {found}, and {wanted} is needed; "
                "export the policy again"
            )


def require_fit(card: dict, *, num_agents: int, num_comm_channels: int) -> None:
    """Refuses a world of another shape than the policy's."""
    for name, asked in (("num_agents", num_agents), ("num_comm_channels", num_comm_channels)):
        made = card["env"][name]
        if asked != made:
            raise PolicyError(
                f"env.{name}={asked}, but the policy was made for env.{name}={made}; "
                f"give env.{name}={made} or leave it out"
            )


def require_same_task(card: dict, *, difficulty: str, rules_version: str) -> None:
    """Refuses another difficulty or other rules than the policy was trained under."""
    for name, asked in (("difficulty", difficulty), ("rules_version", rules_version)):
        made = card["env"][name]
        if str(asked) != str(made):
            raise PolicyError(
                f"env.{name}={asked}, but the policy was trained under env.{name}={made}; "
                f"leave it out, or give transfer=true to evaluate it there all the same"
            )
