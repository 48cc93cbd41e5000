"""Tracepoints of a program's own work, as PopTorch's `poptorch.profiling` has them: they go where those of pipescope.pvti go."""

from pipescope import pvti


class Channel:
    """A channel of the timeline of the host, by its name."""

    def __init__(self, name):
        self._name, self._channel = name, pvti.createTraceChannel(name)

    def instrument(self, obj, *methods):
        """Make a span of each call of these methods (names) of an object or a class. Returns the object."""
        pvti.instrument(obj, methods, self._channel)
        return obj

    def tracepoint(self, name):
        """Return a span for `with`, whose label is that of the channel and this name."""
        return pvti.Tracepoint(self._channel, f"{self._name}.{name}")
