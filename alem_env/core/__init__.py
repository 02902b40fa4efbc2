"""Vocabulary, tables, parameters, state and random numbers that every rule builds on."""
