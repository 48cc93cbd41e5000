"""Figures of the calls of a compiled model: latencies, cycles and tensors of the graph."""

import datetime
import os
import tempfile

from .._pipescope import interface, openReport
from .errors import Error, StateError
from .initializers import varint

_HOST_IN, _HOST_OUT = 5, 6  # numbers of passes in profiles


def with_outputs(onnx, names):
    """Return the ONNX model with these tensors as outputs behind its own.

    A message of Protocol Buffers that is given twice is merged, so a second graph that holds outputs only adds them.
    """
    graph = b""
    for name in names:
        text = name.encode()
        value = b"\x0a" + varint(len(text)) + text  # ValueInfoProto.name
        graph += b"\x62" + varint(len(value)) + value  # GraphProto.output
    return onnx + b"\x3a" + varint(len(graph)) + graph if names else onnx  # ModelProto.graph


class Figures:
    """The part of PoplarExecutor that reports on calls. Times are those of the emulated devices."""

    _last = None  # results of the last call
    _anchors = {}

    def _must_have_run(self, what):
        self._must_be_compiled(what)
        if self._last is None:
            raise StateError(f"{what}: the model has not been called yet.")

    def getLatency(self):
        """Return the shortest, longest and mean time of the last call in seconds, which are equal on emulated devices."""
        self._must_have_run("getLatency")
        if self._options.synthetic_data:
            return (0.0, 0.0, 0.0)
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
        """Return the names of the inputs, weights and buffers, and of all tensors that the operators of the compiled model make.

        In training there are the loss, gradients (Gradient___NAME), weights after an update (UpdatedVar___NAME) and settings, too.
        """
        self._must_be_compiled("getTensorNames")
        return list(self._tensor_names)

    def getAnchoredTensor(self, short_name):
        """Return the values that a tensor of Options.anchorTensor had in the last call."""
        self._must_have_run("getAnchoredTensor")
        if short_name not in self._options.anchored_tensors:
            known = ", ".join(self._options.anchored_tensors) or "none"
            raise Error(f'getAnchoredTensor: there is no tensor "{short_name}"; anchored are: {known}.')
        return self._anchors[short_name]

    def getPerfCounters(self):
        """Return when the devices copied tensors in a call: seconds from its beginning, as lists by tensor and micro-batch.

        The keys are "input" and "input_complete" for the begin and end of copies to the devices, "output" and "output_complete"
        for those of what a call returns. With synthetic data there are none.
        """
        self._must_have_run("getPerfCounters")
        if self._counters_of_calls is None:
            self._counters_of_calls = {} if self._options.synthetic_data else self._emulated_copies()
        times = self._counters_of_calls
        inputs, outputs = max(len(self._example), 1), max(len(self._traced.places), 1)
        return {key: [list(times.get(key, ())) for _ in range(inputs if key.startswith("input") else outputs)]
                for key in ("input", "input_complete", "output", "output_complete")}

    _counters_of_calls = None

    def _emulated_copies(self):
        """The times of the copies, from a profile of one emulated call."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.pop")
            device = interface.Device(self._program, path, "getPerfCounters")
            device.attach()
            device.emulate(0, "call")
            device.finish()
            report = openReport(path)
            rows, clock = report.table("placement"), report.compilation.target.clockFrequency
        copies = {}
        for number, kind in (("input", _HOST_IN), ("output", _HOST_OUT)):
            for place in (rows["pass"] == kind).nonzero()[0]:
                key = tuple(int(rows[name][place]) for name in ("iteration", "micro_batch", "replica"))
                begin, end = int(rows["start"][place]) / clock, int(rows["end"][place]) / clock
                known = copies.setdefault(number, {}).get(key, (begin, end))
                copies[number][key] = (min(begin, known[0]), max(end, known[1]))
        times = {}
        for number, spans in copies.items():
            recorded = len({key[2] for key in spans})  # equal replicas are recorded once
            kept = [spans[key] for key in sorted(spans) for _ in range(self._options.replication_factor // recorded)]
            times[number], times[f"{number}_complete"] = [each[0] for each in kept], [each[1] for each in kept]
        return times

    def _latency(self, begins, ends):
        times = self.getPerfCounters()
        if not times[begins] or not times[begins][0]:
            return (0.0, 0.0, 0.0)
        starts, stops = times[begins][0], times[ends][0]
        count = len(starts) // max(len(stops), 1)
        spans = [stop - starts[min(number * max(count, 1), len(starts) - 1)] for number, stop in enumerate(stops)]
        return (min(spans), max(spans), sum(spans) / len(spans)) if spans else (0.0, 0.0, 0.0)

    def getHostIpuLatency(self):
        """Return the shortest, longest and mean time of a copy to the devices, in seconds."""
        return self._latency("input", "input_complete")

    def getComputeLatency(self):
        """Return the shortest, longest and mean time from the end of the copies in to the begin of those out, in seconds."""
        return self._latency("input_complete", "output")

    def getIpuHostLatency(self):
        """Return the shortest, longest and mean time of a copy from the devices, in seconds."""
        return self._latency("output", "output_complete")
