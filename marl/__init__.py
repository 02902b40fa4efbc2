"""Cooperative multi-agent learners for ALEM. Importing this package does no work."""
