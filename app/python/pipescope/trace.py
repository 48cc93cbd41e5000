"""Annotations of a program's own work, for the timeline of the host in the profiles that are recorded meanwhile.

    channel = pipescope.trace.channel("input")

    with channel.tracepoint("augment"):         # a span
        ...

    @channel.tracepoint("load")                 # every call of the function is a span
    def load(path): ...

    channel.event("checkpoint written")         # a moment without a length
    queue = pipescope.trace.series("queue", "length", unit="items")
    queue.add(7)                                # a value from now on

Spans nest as they nest in the program, on each thread. While no profile is being recorded, they cost well below a
microsecond and leave nothing behind. `pipescope report --section host` and the page Host of the window show them. PVTI_OPTIONS
may ask for a file of them (marks_file.py). The names `createTraceChannel`, `Tracepoint`, `Graph` and `instrument` are those of
Graphcore's `pvti`.
"""

import functools
import inspect
import threading

from pipescope import marks_file as _marks
from pipescope._pipescope import host as _host

__all__ = ["Channel", "Graph", "Series", "Tracepoint", "channel", "createTraceChannel", "instrument", "isRecording", "series"]

_thread = threading.local()
_channels = {}
_lock = threading.Lock()


def _text(value, what):
    if not isinstance(value, str) or not value:
        raise TypeError(f"{what} must be a text that is not empty, but {value!r} was given.")
    return value


def _known_thread():
    """Names the calling thread in profiles, once."""
    if not getattr(_thread, "known", False):
        name = threading.current_thread().name
        _host.name_thread("main" if name == "MainThread" else name)
        _thread.known = True


def isRecording():
    """True while a profile records what this process does."""
    return _host.is_traced()


class Channel:
    """A group of names, which has a colour of its own in the window. `channel(name)` makes it."""

    def __init__(self, name):
        self.name = _text(name, "The name of a channel")
        self._enabled = True

    @property
    def enabled(self):
        return self._enabled

    def enable(self):
        self._enabled = True

    def disable(self):
        """Records nothing of this channel until enable() is called."""
        self._enabled = False

    def tracepoint(self, label):
        """A Tracepoint of this channel."""
        return Tracepoint(self, label)

    def event(self, label):
        """Records a moment."""
        name = _host.Name(self.name, _text(label, "The label of an event"))
        if not self._enabled:
            return
        if _host.is_traced():
            _known_thread()
            _host.event(name)
        if file := _marks.current():
            file.event(self.name, label)

    def __repr__(self):
        return f"pipescope.trace.channel({self.name!r})"


def channel(name):
    """The channel of that name; the same object for each call."""
    _text(name, "The name of a channel")
    with _lock:
        if name not in _channels:
            _channels[name] = Channel(name)
        return _channels[name]


class Tracepoint:
    """A span: with `with`, as a decorator of functions and coroutines, or between begin() and end().

    One object may be used by several threads, and again within itself.
    """

    def __init__(self, channel, label):
        if not isinstance(channel, Channel):
            raise TypeError(f"A tracepoint belongs to a channel: pass pipescope.trace.channel(NAME), not {channel!r}.")
        self.channel = channel
        self.label = _text(label, "The label of a tracepoint")
        self._name = _host.Name(channel.name, label)
        self._open = threading.local()

    def begin(self):
        span = None
        if self.channel.enabled and _host.is_traced():
            _known_thread()
            span = _host.Span(self._name)
        if not hasattr(self._open, "spans"):
            self._open.spans = []
        self._open.spans.append((span, _marks.now() if self.channel.enabled and _marks.current() else None))
        return self

    def end(self):
        """Ends the span that this thread began last with this tracepoint."""
        if not getattr(self._open, "spans", None):
            raise RuntimeError(f"The tracepoint {self.label!r} ends, but this thread has not begun it.")
        self._close(*self._open.spans.pop())

    def _close(self, span, begun):
        if span is not None:
            span.end()
        if begun is not None and (file := _marks.current()):
            file.span(self.channel.name, self.label, begun, _marks.now())

    def __enter__(self):
        return self.begin()

    def __exit__(self, *_):
        self.end()

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__qualname__} is a generator, which gives back control before it ends: use the tracepoint with "
                "`with` around the work within it."
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def traced_coroutine(*arguments, **named):
                # Several coroutines may be under way on one thread, so this keeps its span to itself.
                span = _host.Span(self._name) if self.channel.enabled and _host.is_traced() else None
                begun = _marks.now() if self.channel.enabled and _marks.current() else None
                try:
                    return await function(*arguments, **named)
                finally:
                    self._close(span, begun)

            return traced_coroutine

        @functools.wraps(function)
        def traced(*arguments, **named):
            with self:
                return function(*arguments, **named)

        return traced


class Series:
    """Values over wall time. `series(chart, name)` makes it."""

    def __init__(self, chart, name, unit=""):
        if not isinstance(unit, str):
            raise TypeError(f"The unit of a series must be a text, but {unit!r} was given.")
        self._series = _host.Series(_text(chart, "The chart of a series"), _text(name, "The name of a series"), unit)
        self._names = chart, name

    def add(self, value):
        """The value from now on."""
        value = float(value)
        if _host.is_traced():
            _known_thread()
            self._series.add(value)
        if file := _marks.current():
            file.value(*self._names, value)


def series(chart, name, unit=""):
    """A series; those of one chart stand together."""
    return Series(chart, name, unit)


class Graph:
    """A chart of several series, as in pvti."""

    def __init__(self, name, unit=""):
        self.name, self.unit = _text(name, "The name of a graph"), unit

    def addSeries(self, label):
        return Series(self.name, label, self.unit)


def createTraceChannel(name):
    """The name of channel() in pvti."""
    return channel(name)


def instrument(target, methods, channel):
    """Wraps methods of an object or class, so that every call of them is a span of the channel."""
    for method in methods:
        function = getattr(target, method)
        owner = target.__name__ if inspect.isclass(target) else type(target).__name__
        setattr(target, method, Tracepoint(channel, f"{owner}.{method}")(function))
