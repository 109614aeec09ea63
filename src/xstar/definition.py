"""Studies described in TOML; see `xstar.files.definition`."""

from xstar.files.definition import Definition

__all__ = ["Definition"]
