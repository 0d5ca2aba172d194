__version__ = "0.2.0"


def version_of(distribution: str) -> str:
    """The version of an installed package, or that there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
