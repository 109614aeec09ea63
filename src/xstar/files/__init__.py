"""Files: written whole or not at all; studies as JSON, definitions as TOML, tables as CSV."""
