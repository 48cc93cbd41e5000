"""Messages of models at work: the logger "poptorch", at the level that setLogLevel or POPTORCH_LOG_LEVEL chose."""

import logging
import os

logger = logging.getLogger("poptorch")

_LEVELS = {"TRACE": logging.DEBUG, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING,
           "ERR": logging.ERROR, "OFF": logging.CRITICAL + 1}
#: PopTorch's numbers for them.
_NUMBERS = {0: "TRACE", 1: "DEBUG", 2: "INFO", 3: "WARN", 4: "ERR", 6: "OFF"}


def setLogLevel(level):
    """Choose what is said: "TRACE" (0), "DEBUG" (1), "INFO" (2), "WARN" (3, the default), "ERR" (4) or "OFF" (6)."""
    name = _NUMBERS.get(level, level)
    if name not in _LEVELS:
        raise ValueError(f"setLogLevel: {level!r} is no level (Invalid log level {'integer' if isinstance(level, int) else 'string'}); use one of {', '.join(_LEVELS)}.")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[poptorch] %(levelname)s: %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(_LEVELS[name])


setLogLevel(os.environ.get("POPTORCH_LOG_LEVEL", "WARN"))

_noted = set()


def note_once(text):
    """Say once in this process that something has no effect on emulated devices."""
    if text not in _noted:
        _noted.add(text)
        logger.warning(text)
