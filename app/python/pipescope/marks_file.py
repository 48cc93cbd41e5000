"""Files of marks (.pvti), for which PVTI_OPTIONS asks: written by trace.py and read by pva.openTrace.

They hold events of Chrome's Trace Event Format, so that `pipescope import` reads them, too. Times are microseconds.
"""

import atexit
import json
import os
import sys
import threading
import time

_HEAD = "[\n"


class MarksFile:
    """A file of this process, to which each mark is written when it ends."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        program = os.path.splitext(os.path.basename(sys.argv[0]))[0] or "python"
        self.path = os.path.join(folder, f"{program}_{time.strftime('%Y%m%d_%H%M%S')}_{os.getpid()}.pvti")
        self._file, self._lock, self.process = open(self.path, "w", encoding="utf-8", buffering=1), threading.Lock(), os.getpid()
        self._file.write(_HEAD)
        atexit.register(self.close)

    def _write(self, **event):
        line = json.dumps({**event, "pid": self.process, "tid": threading.get_native_id()}, ensure_ascii=False)
        with self._lock:
            if not self._file.closed:
                self._file.write(line + ",\n")

    def span(self, channel, label, begin, end):
        """Write a span. Times are those of now()."""
        self._write(ph="X", cat=channel, name=label, ts=begin, dur=end - begin)

    def event(self, channel, label):
        """Write a moment."""
        self._write(ph="i", s="t", cat=channel, name=label, ts=now())

    def value(self, chart, series, value):
        """Write a value of a series, from now on."""
        self._write(ph="C", name=chart, ts=now(), args={series: value})

    def close(self):
        """End the file. It can be read without its end, too."""
        with self._lock:
            if not self._file.closed and os.getpid() == self.process:
                self._file.write(json.dumps({"ph": "M", "name": "process_name", "pid": self.process, "args": {"name": "python"}}) + "\n]\n")
                self._file.close()


def now():
    """Return the time in microseconds since some moment."""
    return time.perf_counter_ns() / 1000


_file = None
_is_asked = None  # not known yet


def current():
    """Return the file of this process, or None if PVTI_OPTIONS asks for none. A forked process has none."""
    global _file, _is_asked
    if _is_asked is None:
        settings = _settings()
        _is_asked = str(settings.get("enable", False)).lower() in ("true", "1")
        if _is_asked:
            _file = MarksFile(settings.get("directory", "."))
    return _file if _file is not None and _file.process == os.getpid() else None


def _settings():
    text = os.environ.get("PVTI_OPTIONS") or "{}"
    try:
        settings = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f'PVTI_OPTIONS is {text!r}, but must be a JSON object, such as {{"enable": "true"}}: {error}.') from None
    if not isinstance(settings, dict):
        raise ValueError(f'PVTI_OPTIONS is {text!r}, but must be a JSON object, such as {{"enable": "true"}}.')
    return settings


def read(path):
    """Return the events of a file, also of one that has no end."""
    with open(path, "rb") as file:
        lines = file.read().decode("utf-8", "replace").splitlines()
    if not lines or lines[0] + "\n" != _HEAD:
        raise ValueError(f"{path} is no file of marks that PVTI_OPTIONS of Pipescope wrote, and files of Graphcore's libpvti are not read.")
    events = []
    for number, line in enumerate(lines[1:], 2):
        if line == "]":
            break
        try:
            events.append(json.loads(line.rstrip(",")))
        except json.JSONDecodeError:
            if number != len(lines):  # only the last line can be cut off
                raise ValueError(f"{path}:{number} is damaged, so the file is not read.") from None
    return events
