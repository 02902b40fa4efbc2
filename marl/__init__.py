"""Cooperative multi-agent learners for ALEM. Importing this package does no work."""

import os

# Before jax is imported: on CPUs with AVX-512 it reports every kept program that it loads as an
# error, with thousands of letters each (jax issue 38445). Fatal errors are still reported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
