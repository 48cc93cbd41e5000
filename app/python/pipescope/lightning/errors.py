"""Errors for uses of Lightning's surface that it refuses."""


class MisconfigurationException(Exception):
    """A trainer, module or strategy was used in a way that cannot work. The text says what to do."""
