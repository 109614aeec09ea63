"""Measurements of speed and quality, each a command that prints our figure beside its rival's."""
