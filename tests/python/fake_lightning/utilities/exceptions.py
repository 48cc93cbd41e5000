"""Lightning's own exceptions."""


class MisconfigurationException(Exception):
    """A trainer was asked for what it cannot do."""
