"""ALEM: a long-horizon survival world for teams, transition for transition the benchmark."""
