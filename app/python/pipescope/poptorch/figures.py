"""What a compiled model tells of its calls: latencies, cycles and tensors of the graph."""

import datetime

from .errors import Error


def _varint(number):
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes(parts) + bytes([number])


def with_outputs(onnx, names):
    """Return the ONNX model with these tensors as outputs behind its own.

    A message of Protocol Buffers that is given twice is merged, so a second graph that holds outputs only adds them.
    """
    graph = b""
    for name in names:
        text = name.encode()
        value = b"\x0a" + _varint(len(text)) + text  # ValueInfoProto.name
        graph += b"\x62" + _varint(len(value)) + value  # GraphProto.output
    return onnx + b"\x3a" + _varint(len(graph)) + graph if names else onnx  # ModelProto.graph


class Figures:
    """The part of PoplarExecutor that reports on calls. Times are those of the emulated devices."""

    _last = None  # what the last call returned
    _anchors = {}

    def _must_have_run(self, what):
        self._must_be_compiled(what)
        if self._last is None:
            raise Error(f"{what}: the model has not been called yet.")

    def getLatency(self):
        """Return the shortest, longest and mean time of the last call in seconds, which are equal on emulated devices."""
        self._must_have_run("getLatency")
        return (self._last["emulated_seconds"],) * 3

    def cycleCount(self):
        """Return the cycles of the last call, from its first copy to its last. Options.logCycleCount must be on."""
        if not self._options.log_cycle_count:
            raise Error("Cycle count logging is disabled. Please set option logCycleCount to True to enable.")
        self._must_have_run("cycleCount")
        return self._last["emulated_ticks"]

    def compilationTime(self):
        """Return how long the host traced and compiled the model. Options.showCompilationProgressBar must be on, as it is."""
        if not self.isCompiled():
            raise Error("Please compile the model before obtaining compilation time.")
        if not self._options.show_progress_bar:
            raise Error("Please set showCompilationProgressBar option to obtain compilation time.")
        return datetime.timedelta(seconds=self._compilation_seconds)

    def getTensorNames(self):
        """Return the names of all tensors that the operators of the compiled model make."""
        self._must_be_compiled("getTensorNames")
        return list(self._tensor_names)

    def getAnchoredTensor(self, short_name):
        """Return the values that a tensor of Options.anchorTensor had in the last call."""
        self._must_have_run("getAnchoredTensor")
        if short_name not in self._options.anchored_tensors:
            known = ", ".join(self._options.anchored_tensors) or "none"
            raise Error(f'getAnchoredTensor: there is no tensor "{short_name}"; anchored are: {known}.')
        return self._anchors[short_name]

    def _check_anchors(self):
        for short, long in self._options.anchored_tensors.items():
            if long not in self._tensor_names:
                raise Error(f'anchorTensor: {short} names the tensor "{long}", but the model has none of that name: take one of '
                            "getTensorNames().")

    def getPerfCounters(self):
        """Refused: the profile shows when each micro-batch was copied and computed."""
        raise NotImplementedError("getPerfCounters is not implemented: call enableProfiling and open the profile.")

    def _part(self, name):
        raise NotImplementedError(f"{name} is not implemented: copies and computation overlap. Call getLatency for the whole "
                                  "call, or enableProfiling and look at the profile.")

    def getHostIpuLatency(self):
        """Refused, because copies and computation overlap."""
        return self._part("getHostIpuLatency")

    def getComputeLatency(self):
        """Refused, because copies and computation overlap."""
        return self._part("getComputeLatency")

    def getIpuHostLatency(self):
        """Refused, because copies and computation overlap."""
        return self._part("getIpuHostLatency")
