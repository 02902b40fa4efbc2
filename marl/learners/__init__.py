"""Learners: what is common to on-policy methods, and what differs."""
