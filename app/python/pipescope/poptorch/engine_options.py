"""Reads POPLAR_ENGINE_OPTIONS: a JSON object of options of Poplar, with which PopTorch's users ask for a profile."""

import json
import os

from .errors import Error
from .log import note_once

_PROFILES = ("autoReport.all", "autoReport.outputGraphProfile", "autoReport.outputExecutionProfile",
             "autoReport.outputLoweredVars", "autoReport.outputArchive", "autoReport.outputSerializedGraph",
             "autoReport.outputDebugInfo", "autoReport.streamAtEachRun", "autoReport.directory")
_CALLS = "autoReport.executionProfileProgramRunCount"


def _calls(value):
    if not str(value).isdecimal() or int(value) < 1:
        raise Error(f"POPLAR_ENGINE_OPTIONS: {_CALLS} is the number of calls that a profile holds, a whole number from 1 on, not "
                    f"{value}.")
    return int(value)


def _is_on(value):
    return str(value).lower() in ("true", "1")


def profile_request():
    """Return (folder in which models write profiles, number of calls that a profile holds), or None.

    "autoReport.all" or one of its parts asks for profiles, "autoReport.directory" names the folder, and
    "autoReport.executionProfileProgramRunCount" says how many calls are recorded: two, as with Poplar, unless it is given.
    Other options have no effect, and a line of the log names each once. Text that is no JSON object is an Error.
    """
    text = os.environ.get("POPLAR_ENGINE_OPTIONS", "").strip()
    if not text:
        return None
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise Error(f"POPLAR_ENGINE_OPTIONS is no JSON object: {text[:200]}. Write {{\"autoReport.all\": \"true\"}}.")
    for name in options:
        if name not in (*_PROFILES, _CALLS):
            note_once(f"POPLAR_ENGINE_OPTIONS: {name} has no effect on emulated devices.")
    parts = [name for name in _PROFILES if name.startswith("autoReport.output") or name == "autoReport.all"]
    if not any(_is_on(options.get(name)) for name in parts):
        return None
    return options.get("autoReport.directory", "."), _calls(options.get(_CALLS, 2))
