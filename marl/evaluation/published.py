"""Published and reference figures, for tables. Percent; Base, Coord, Total.

Reinforcement-learning rows: the benchmark's `data/rl_results.json` (alem-world.github.io), 20
worlds x 5 runs, greedy, rules 0.1.0, 4 channels. Random: uniform over legal actions, measured on
the reference implementation (alem-env) over the 20 protocol worlds with 4 channels.
"""

RANDOM_REFERENCE = {
    "easy": (2.6, 0.0, 1.49),
    "medium": (2.6, 0.0, 1.48),
    "hard": (2.4, 0.0, 1.41),
}

IPPO_100M = {
    "easy": (12.1, 14.1, 12.9),
    "medium": (13.9, 7.0, 11.0),
    "hard": (11.5, 5.3, 8.9),
}

IPPO_1B = {
    "easy": (21.0, 22.0, 21.4),
    "medium": (20.1, 19.8, 19.9),
    "hard": (18.7, 1.3, 11.3),
}

# What stands under a table of ours, with everything that differs said in the label.
ROWS = (
    ("random legal, reference program, 20 worlds", RANDOM_REFERENCE),
    ("IPPO 100M steps, published (rules 0.1.0, 5 runs)", IPPO_100M),
    ("IPPO 1B steps, published (rules 0.1.0, 5 runs)", IPPO_1B),
)
