"""The names of Graphcore's libpvti: `import libpvti` of a program that `pipescope run-python` runs.

Everything is recorded by pipescope.trace, into the timeline of the host of each profile that is recorded meanwhile, and into a file
of its own if the environment says PVTI_OPTIONS='{"enable": "true", "directory": "reports"}'.
"""

import bisect
import functools

from pipescope import marks_file as _marks
from pipescope import trace as _trace
from pipescope.trace import Channel, Graph, createTraceChannel, instrument  # noqa: F401

__all__ = ["Channel", "Graph", "HeatmapDouble", "HeatmapFloat", "HeatmapInt", "Tracepoint", "checkTraceChannel", "closeTrace",
           "createTraceChannel", "disableTraceChannel", "enableTraceChannel", "getCurrentTraceFilename", "instrument",
           "instrument_fn", "listTraceChannels"]


def _channel(channel):
    return channel if isinstance(channel, Channel) else createTraceChannel(channel)


class Tracepoint(_trace.Tracepoint):
    """A span of a channel: with `with`, as a decorator, or by begin() and end(). Metadata becomes part of its label."""

    def __init__(self, channel, label, metadata=None):
        super().__init__(_channel(channel), label if metadata is None else f"{label} ({metadata})")

    @staticmethod
    def event(channel, label, metadata=None):
        """Record a moment."""
        _channel(channel).event(label if metadata is None else f"{label} ({metadata})")


def enableTraceChannel(channel):
    """Record what belongs to the channel (a Channel or its name)."""
    _channel(channel).enable()


def disableTraceChannel(channel):
    """Record nothing of the channel."""
    _channel(channel).disable()


def checkTraceChannel(channel):
    """Return True if the channel is recorded."""
    return _channel(channel).enabled


def listTraceChannels():
    """Return the names of all channels."""
    return list(_trace._channels)


def getCurrentTraceFilename():
    """Return the path of the file of marks, or an empty text if PVTI_OPTIONS asks for none: profiles hold them then."""
    file = _marks.current()
    return file.path if file else ""


def closeTrace():
    """End the file of marks, if PVTI_OPTIONS asks for one. A profile ends with the model that records it."""
    if file := _marks.current():
        file.close()


def instrument_fn(function, channel, label=None):
    """Return the function wrapped, so that every call of it is a span of the channel."""
    wrapped = Tracepoint(channel, label or function.__qualname__)(function)
    return functools.wraps(function)(wrapped)


class HeatmapDouble:
    """Counts how many values fall between neighbouring edges, over time: a chart with a series for each pair of edges.

    `edges` ascend. A value belongs to the pair whose first edge is at or below it; values outside of all pairs are not
    counted.
    """

    def __init__(self, name, edges, unit=""):
        self._edges = [float(edge) for edge in edges]
        if len(self._edges) < 2 or any(a >= b for a, b in zip(self._edges, self._edges[1:])):
            raise ValueError(f"The edges of the heat map {name!r} must be at least two numbers that ascend.")
        labels = (f"{a:g} … {b:g}{f' {unit}' if unit else ''}" for a, b in zip(self._edges, self._edges[1:]))
        self._series = [_trace.series(name, label, "values") for label in labels]

    def add(self, values):
        """Count the values that exist from now on."""
        counts = [0] * len(self._series)
        for value in values:
            place = bisect.bisect_right(self._edges, float(value)) - 1
            if 0 <= place < len(counts):
                counts[place] += 1
        for series, count in zip(self._series, counts):
            series.add(count)


#: A heat map of other numbers counts them in the same way.
HeatmapFloat = HeatmapInt = HeatmapDouble
