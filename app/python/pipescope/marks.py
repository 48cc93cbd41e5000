"""Marks of a file (.pvti) by libpva's names: a trace has processes, these have threads, and these have events that nest."""

from . import marks_file


class Event:
    """A span, with those within it. Times are microseconds."""

    def __init__(self, event):
        self.label, self.channel, self.start, self.duration = event["name"], event["cat"], event["ts"], event["dur"]
        self._children = []

    @property
    def end(self):
        return self.start + self.duration

    def children(self):
        """Return the spans within this one, in the order of time."""
        return list(self._children)

    def __repr__(self):
        return f"Event({self.label!r}, {self.duration} µs)"


class Thread:
    """A thread with its outermost spans."""

    def __init__(self, tid, events):
        self.tid, self.events, around = tid, [], []
        # A span that begins with another one and is longer is around it.
        for event in sorted(map(Event, events), key=lambda each: (each.start, -each.duration)):
            while around and event.start >= around[-1].end:
                around.pop()
            (around[-1]._children if around else self.events).append(event)
            around.append(event)


class Process:
    """A process with its threads that marked something."""

    def __init__(self, pid, events):
        self.pid = pid
        self.threads = [Thread(tid, [each for each in events if each["tid"] == tid]) for tid in dict.fromkeys(each["tid"] for each in events)]

    def thread(self, tid):
        """Return the thread with this number."""
        return next(each for each in self.threads if each.tid == tid)


class Trace:
    """The marks of a file."""

    def __init__(self, path):
        spans = [each for each in marks_file.read(path) if each.get("ph") == "X"]
        self.processes = [Process(pid, [each for each in spans if each["pid"] == pid]) for pid in dict.fromkeys(each["pid"] for each in spans)]

    def process(self, pid):
        """Return the process with this number."""
        return next(each for each in self.processes if each.pid == pid)


def openTrace(path):
    """Open a file of marks, which a program writes that runs with PVTI_OPTIONS='{"enable": "true", "directory": "reports"}'."""
    return Trace(path)
