"""Environments to train in: ALEM, others, and how one is added (docs/extend.md)."""
