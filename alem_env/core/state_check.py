"""Whether a state is one of an environment: looked at on every call of it."""

import numpy as np

from alem_env.core.params import StaticParams
from alem_env.core.state import State, mob_slots

# What is counted -> slots in a state, and what an environment has.
_SLOTS = {
    "agents": (lambda s: s.players.alive, lambda p: p.num_agents),
    "slots of mobs": (lambda s: s.floor.mobs.alive, lambda p: sum(mob_slots(p))),
    "slots of mobs' projectiles": (
        lambda s: s.floor.mob_projectiles.active, lambda p: p.max_mob_projectiles,
    ),
    "slots of players' projectiles": (
        lambda s: s.floor.player_projectiles.active, lambda p: p.max_player_projectiles,
    ),
    "slots of plants": (lambda s: s.plants.age, lambda p: p.max_plants),
    "construction sites": (lambda s: s.floor.sites.built, lambda p: p.max_construction_sites),
    "pending handovers": (lambda s: s.handovers.active, lambda p: p.max_pending_handovers),
}  # fmt: skip


def check_state(state: object, static: StaticParams, num_worlds: int | None = None) -> None:
    """Refuses what is no state of one world, or of `num_worlds`, of these shapes.

    Shapes are all that is looked at: a state does not say by which version of the rules, or with
    which switches, it was made.

    Raises:
        ValueError: saying what it is and what is needed.
    """
    if not isinstance(state, State):
        raise ValueError(
            f"state is a {type(state).__name__}, and a State is needed: the second result of reset "
            "and step (the state of a VectorEnv holds one as env_state)"
        )
    for what, (slots, needed) in _SLOTS.items():
        found, wanted = np.shape(slots(state))[-1], needed(static)
        if found != wanted:
            raise ValueError(
                f"state has {found} {what}, and this environment {wanted}; take a state that it "
                "made itself"
            )
    worlds = np.shape(state.timestep)
    if num_worlds is None and worlds != ():
        raise ValueError(
            f"state has leading axes {worlds}, and one world is needed; for many use step_batch, "
            "or jax.vmap"
        )
    if num_worlds is not None and worlds != (num_worlds,):
        raise ValueError(
            f"state has leading axes {worlds}, and {(num_worlds,)} are needed; give as many worlds "
            "as keys and rows of actions (for one world use reset and step)"
        )
