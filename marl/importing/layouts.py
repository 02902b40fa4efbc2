"""Where each parameter of ours lies in a checkpoint of the benchmark's trainers, by learner.

Names are flax's numbering of the layers in the order in which those programs make them. Gates that
they keep apart lie side by side here, in the order of `marl.ops.recurrence`.
"""

import dataclasses
from collections.abc import Mapping

from marl.networks import sizes

# Of the scanned cell: making its first state inside the scan took the number 0.
_GRU = "ScannedRNN_0/GRUCell_1"
_LSTM = "ScannedRNN_0/OptimizedLSTMCell_0"
_PARAMS = "params/params/"  # of a train state, what flax's init returned

# Our name -> theirs, which are joined along the last axis.
Names = dict[str, tuple[str, ...]]


def _dense(ours: str, theirs: str) -> Names:
    return {f"{ours}/{leaf}": (f"{theirs}/{leaf}",) for leaf in ("kernel", "bias")}


def _perceiving(ours: str, theirs: str) -> Names:
    """First layer and GRU, whose gates are: reset, update, candidate."""
    return {
        **_dense(f"{ours}embedding", f"{theirs}Dense_0"),
        f"{ours}core/input_kernel": tuple(f"{theirs}{_GRU}/i{gate}/kernel" for gate in "rzn"),
        f"{ours}core/input_bias": tuple(f"{theirs}{_GRU}/i{gate}/bias" for gate in "rzn"),
        f"{ours}core/hidden_kernel": tuple(f"{theirs}{_GRU}/h{gate}/kernel" for gate in "rzn"),
        f"{ours}core/hidden_bias": (f"{theirs}{_GRU}/hn/bias",),
    }


def _generated(ours: str, theirs: str, first: int) -> Names:
    """The generators of one layer: of its kernel, then of its bias."""
    parts = ("kernel_hidden", "kernel", "bias_hidden", "bias")
    return {
        name: there
        for place, part in enumerate(parts, first)
        for name, there in _dense(f"{ours}/{part}", f"{theirs}/Dense_{place}").items()
    }


@dataclasses.dataclass(frozen=True)
class Layout:
    """What a checkpoint of one learner holds.

    Attributes:
        program: the learner's name in the benchmark's configuration (ALG_NAME).
        kind: of the network's recipe.
        roots: all of a checkpoint's leaves below these belong to the network.
        names: our names -> theirs.
        sizes: option of the recipe -> (our name, axis) of an array that has this size.
        first_layer, last_bias: our names of what shows the sizes of observations and actions.
        activation: that of the trainer's own configuration; None where there is no choice.
        fixed: further options of the recipe.
        unused: leaves that the network has and does not use, as long as they hold this number.
        has_identity: whether each agent's observation ends with a 1 in a column of its own.
        is_stacked: whether each array is one for each agent, along a first axis.
    """

    program: str
    kind: str
    names: Names
    sizes: Mapping[str, tuple[str, int]]
    first_layer: str
    last_bias: str
    activation: str | None
    roots: tuple[str, ...] = (_PARAMS,)
    fixed: Mapping[str, object] = dataclasses.field(default_factory=dict)
    unused: Mapping[str, float] = dataclasses.field(default_factory=dict)
    has_identity: bool = False
    is_stacked: bool = False

    @property
    def leaves(self) -> set[str]:
        """All of their names."""
        return {name for there in self.names.values() for name in there} | set(self.unused)


def _sizes(perceiving: str, **others: str) -> dict[str, tuple[str, int]]:
    first = {
        "embedding_size": (f"{perceiving}embedding/bias", -1),
        "hidden_size": (f"{perceiving}core/hidden_kernel", -2),
    }
    return first | {option: (name, -1) for option, name in others.items()}


_ACTOR_CRITIC = dict(
    names={
        **_perceiving("", _PARAMS),
        **_dense("actor/hidden", f"{_PARAMS}Dense_1"),
        **_dense("actor/logits", f"{_PARAMS}Dense_2"),
        **_dense("critic/hidden", f"{_PARAMS}Dense_3"),
        **_dense("critic/value", f"{_PARAMS}Dense_4"),
    },
    sizes=_sizes("", actor_size="actor/hidden/bias", critic_size="critic/hidden/bias"),
    first_layer="embedding/kernel",
    last_bias="actor/logits/bias",
    activation="tanh",
)
_ACTOR, _CRITIC = f"actor/{_PARAMS}", f"critic/{_PARAMS}"

LAYOUTS = {
    "ippo": Layout("ippo-rnn", sizes.ACTOR_CRITIC, **_ACTOR_CRITIC),
    "ippo_unshared": Layout("ippo-rnn-nops", sizes.UNSHARED, **_ACTOR_CRITIC, is_stacked=True),
    "hypermarl": Layout(
        "hypermarl-rnn",
        sizes.HYPER,
        names={
            **_perceiving("", _PARAMS),
            "identities": (f"{_PARAMS}agent_embeddings",),
            **_generated("actor_hidden", f"{_PARAMS}actor_hypernet", 0),
            **_generated("actor_logits", f"{_PARAMS}actor_hypernet", 4),
            **_generated("critic_hidden", f"{_PARAMS}critic_hypernet", 0),
            **_generated("critic_value", f"{_PARAMS}critic_hypernet", 4),
        },
        sizes=_sizes(
            "",
            actor_size="actor_hidden/bias/bias",
            critic_size="critic_hidden/bias/bias",
            identity_size="identities",
            generator_size="actor_hidden/kernel_hidden/bias",
        ),
        first_layer="embedding/kernel",
        last_bias="actor_logits/bias/bias",
        activation="relu",
    ),
    "mappo": Layout(
        "mappo-rnn",
        sizes.CENTRALISED,
        names={
            **_perceiving("actor/", _ACTOR),
            **_dense("actor/actor/hidden", f"{_ACTOR}Dense_1"),
            **_dense("actor/actor/logits", f"{_ACTOR}Dense_2"),
            **_perceiving("critic/", _CRITIC),
            **_dense("critic/critic/hidden", f"{_CRITIC}Dense_1"),
            **_dense("critic/critic/value", f"{_CRITIC}Dense_2"),
        },
        sizes=_sizes(
            "actor/", actor_size="actor/actor/hidden/bias", critic_size="critic/critic/hidden/bias"
        ),
        first_layer="actor/embedding/kernel",
        last_bias="actor/actor/logits/bias",
        activation="tanh",
        roots=(_ACTOR, _CRITIC),
        fixed={"critic_input": "team"},
    ),
    "pqn_vdn": Layout(
        "pqn-vdn-rnn",
        sizes.RECURRENT_Q,
        names={
            **_dense("embedding", "params/Dense_0"),
            "norm/scale": ("params/LayerNorm_0/scale",),
            "norm/bias": ("params/LayerNorm_0/bias",),
            # gates: input, forget, candidate, output
            "core/input_kernel": tuple(f"params/{_LSTM}/i{gate}/kernel" for gate in "ifgo"),
            "core/hidden_kernel": tuple(f"params/{_LSTM}/h{gate}/kernel" for gate in "ifgo"),
            "core/bias": tuple(f"params/{_LSTM}/h{gate}/bias" for gate in "ifgo"),
            **_dense("q_values", "params/Dense_1"),
        },
        sizes=_sizes(""),
        first_layer="embedding/kernel",
        last_bias="q_values/bias",
        activation=None,
        roots=("params/",),
        # A normalisation of observations, which is made and thrown away unless it is asked for.
        unused={"params/BatchNorm_0/scale": 1.0, "params/BatchNorm_0/bias": 0.0},
        has_identity=True,
    ),
}
