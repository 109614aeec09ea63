"""The version, for the package and for the files that it writes."""

__version__ = "0.1.0.dev0"


def installed(package: str) -> str | None:
    """Return the version of an installed package; None if it is not there."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
