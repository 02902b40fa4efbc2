"""Checkpoints of the benchmark's own trainers, made into policy bundles."""
