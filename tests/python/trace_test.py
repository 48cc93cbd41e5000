"""Annotations of user code: which spans, events and values a profile gets, and how they nest."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import pipescope
import pipescope.trace
from pipescope import interface
from pipescope import trace
from small_model import LAYERS

MODEL = LAYERS + """
[training]
micro_batch_size = 2
[execution]
mode = "training"
"""


class Recording:
    """Records a profile while its block runs."""

    def __init__(self, more="", calls=0):
        self.program = interface.compile(MODEL + more, "small")
        self.calls = calls

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "profile.pop")
        self.device = interface.Device(self.program, self.path)
        self.device.attach()
        return self

    def call(self):
        made = interface.Executable(self.program, 0)
        rows = {"samples": numpy.eye(2, dtype=numpy.float32), "labels": numpy.array([0, 1], numpy.int32)}
        made.call(self.device, "call", dict(zip([name for name, _, _ in made.info.inputs], rows.values())))

    def __exit__(self, *_):
        self.device.finish()
        report = pipescope.openReport(self.path)
        self.names = report.table("host_name")
        self.threads = report.table("host_thread")
        self.rows = report.table("host_span")
        self.series = report.table("host_series")
        self.samples = report.table("host_sample")
        self.folder.cleanup()

    def spans(self, channel):
        """(thread, name, start, end) of the spans of a channel, by start; the outer one of equal ones first."""
        found = []
        for thread, name, start, end in zip(*(self.rows[key] for key in ("thread", "name", "start", "end"))):
            if self.names["channel"][name] == channel:
                found.append((self.threads["name"][thread], self.names["name"][name], int(start), int(end)))
        return sorted(found, key=lambda span: (span[2], -span[3]))

    def labels(self, channel):
        return [name for _, name, _, _ in self.spans(channel)]


class Spans(unittest.TestCase):
    def test_blocks_nest_and_belong_to_their_thread(self):
        channel = trace.channel("nesting")
        with Recording() as made:
            with channel.tracepoint("outer"):
                with channel.tracepoint("inner"):
                    pass
            worker = threading.Thread(target=lambda: channel.tracepoint("apart").begin().end(), name="reader 7")
            worker.start()
            worker.join()
        outer, inner, apart = made.spans("nesting")
        self.assertEqual([outer[:2], inner[:2], apart[:2]], [("main", "outer"), ("main", "inner"), ("reader 7", "apart")])
        self.assertLessEqual(outer[2], inner[2])
        self.assertLessEqual(inner[3], outer[3])
        self.assertLess(inner[2], inner[3])

    def test_functions_keep_their_results_names_and_errors(self):
        channel = trace.channel("functions")

        @channel.tracepoint("square")
        def square(number):
            """A doc."""
            return number * number

        @channel.tracepoint("failing")
        def failing():
            raise KeyError("own error")

        with Recording() as made:
            self.assertEqual([square(n) for n in range(3)], [0, 1, 4])
            with self.assertRaises(KeyError):
                failing()
        self.assertEqual((square.__name__, square.__doc__), ("square", "A doc."))
        self.assertEqual(made.labels("functions"), ["square"] * 3 + ["failing"])

    def test_one_tracepoint_may_be_within_itself(self):
        point = trace.channel("recursion").tracepoint("level")

        @point
        def descend(levels):
            return 0 if levels == 0 else 1 + descend(levels - 1)

        with Recording() as made:
            self.assertEqual(descend(3), 3)
        spans = made.spans("recursion")
        self.assertEqual(len(spans), 4)
        for outer, inner in zip(spans, spans[1:]):
            self.assertTrue(outer[2] <= inner[2] and inner[3] <= outer[3])

    def test_coroutines_that_take_turns_have_spans_of_their_own(self):
        channel = trace.channel("coroutines")

        @channel.tracepoint("part")
        async def part(number):
            await asyncio.sleep(0)
            return number

        async def both():
            return await asyncio.gather(part(1), part(2))

        with Recording() as made:
            self.assertEqual(asyncio.run(both()), [1, 2])
        first, second = made.spans("coroutines")
        self.assertLess(second[2], first[3], "the second began before the first had ended")

    def test_a_disabled_channel_and_a_process_without_a_profile_record_nothing(self):
        channel = trace.channel("switched")
        self.assertFalse(trace.isRecording())
        channel.tracepoint("before").begin().end()
        with Recording() as made:
            self.assertTrue(trace.isRecording())
            channel.disable()
            channel.tracepoint("off").begin().end()
            channel.event("off, too")
            channel.enable()
            channel.tracepoint("on").begin().end()
        self.assertEqual(made.labels("switched"), ["on"])
        self.assertIs(trace.channel("switched"), channel)

    def test_instrumented_methods_and_the_names_of_pvti(self):
        class Loader:
            def read(self, rows):
                return rows + 1

        channel = trace.createTraceChannel("pvti")
        loader = Loader()
        trace.instrument(loader, ["read"], channel)
        with Recording() as made:
            self.assertEqual(loader.read(2), 3)
            self.assertEqual(Loader().read(2), 3)
            with trace.Tracepoint(channel, "block"):
                pass
            trace.Graph("queue", "items").addSeries("length").add(3)
        self.assertEqual(made.labels("pvti"), ["Loader.read", "block"])
        self.assertEqual(list(made.series["unit"]), ["items"])

    def test_the_work_of_pipescope_lies_beside_that_of_the_program(self):
        channel = trace.channel("program")
        with Recording() as made:
            with channel.tracepoint("one call"):
                made.call()
        (outer,) = made.spans("program")
        computed = [span for span in made.spans("numerics") if span[1] == "compute a call"]
        self.assertEqual(len(computed), 1)
        self.assertEqual(computed[0][0], outer[0])
        self.assertTrue(outer[2] <= computed[0][2] and computed[0][3] <= outer[3])

    def test_without_recording_there_are_no_spans(self):
        with Recording('record = "off"\n') as made:
            self.assertFalse(trace.isRecording())
            trace.channel("off").tracepoint("span").begin().end()
        self.assertEqual(len(made.rows["start"]), 0)


class Values(unittest.TestCase):
    def test_events_have_no_length(self):
        with Recording() as made:
            trace.channel("events").event("checkpoint")
        ((_, name, start, end),) = made.spans("events")
        self.assertEqual((name, start), ("checkpoint", end))

    def test_series_keep_their_values_in_order(self):
        with Recording() as made:
            length, age = trace.series("queue", "length", unit="items"), trace.series("queue", "age")
            for value in (3, 1.5, numpy.float32(2)):
                length.add(value)
            age.add(7)
        self.assertEqual(list(made.series["name"]), ["length", "age"])
        self.assertEqual(list(made.samples["value"]), [3, 1.5, 2, 7])
        self.assertEqual(list(made.samples["series"]), [0, 0, 0, 1])
        self.assertEqual(sorted(made.samples["time"]), list(made.samples["time"]))


class WholeRuns(unittest.TestCase):
    """`pipescope run` records its own work."""

    def run_sample(self, name, *options):
        path = os.path.join(self.folder.name, name)
        sample = os.path.join(os.environ["PIPESCOPE_SAMPLES"], "mnist", "two_stages.toml")
        subprocess.run(
            [os.environ["PIPESCOPE_PROGRAM"], "run", sample, "-o", path, "--progress", "off", "--set", "data.samples=800",
             "--set", "data.test_samples=400", "--set", "training.epochs=1", "--set", "training.device_iterations=1",
             "--set", "inference.device_iterations=10", *options],
            check=True, capture_output=True)
        return path

    def content_hash(self, path):
        done = subprocess.run([os.environ["PIPESCOPE_PROGRAM"], "verify", path], check=True, capture_output=True, text=True)
        (found,) = re.findall(r"\b[0-9a-f]{32}\b", done.stdout)
        return found

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_two_runs_have_one_hash_and_times_of_their_own(self):
        paths = [self.run_sample(f"{i}.pop") for i in range(2)]
        reports = [pipescope.openReport(path) for path in paths]
        self.assertEqual(*[self.content_hash(path) for path in paths])
        starts = [list(report.table("host_span")["start"]) for report in reports]
        self.assertNotEqual(*starts)
        names = set(reports[0].table("host_name")["name"])
        self.assertLessEqual(
            {"compile", "open the data", "training", "compute a call", "micro-batch", "update weights", "wait for a batch",
             "prepare a batch", "emulate a call", "test pass"}, names)
        self.assertLessEqual({"main", "data reader"}, set(reports[0].table("host_thread")["name"]))

    def test_each_call_is_computed_within_its_run(self):
        report = pipescope.openReport(self.run_sample("calls.pop"))
        names, spans, runs = report.table("host_name")["name"], report.table("host_span"), report.table("run")
        computed = sorted(
            (int(start), int(end))
            for name, start, end in zip(spans["name"], spans["start"], spans["end"])
            if names[name] == "compute a call"
        )
        walls = sorted(zip(map(int, runs["wall_start_ns"]), map(int, runs["wall_end_ns"])))
        self.assertEqual(len(computed), len(walls))
        for (start, end), (wall_start, wall_end) in zip(computed, walls):
            self.assertTrue(wall_start <= start and wall_end <= end, "the span is within the measured time but for its end")
            self.assertLess(start, wall_end)

    def test_without_recording_there_is_no_host(self):
        report = pipescope.openReport(self.run_sample("off.pop", "--record", "off"))
        self.assertEqual(len(report.table("host_span")["start"]), 0)

    def test_the_sample_annotates_its_loop(self):
        path = os.path.join(self.folder.name, "annotated.pop")
        sample = os.path.join(os.environ["PIPESCOPE_SAMPLES"], "python", "annotate.py")
        subprocess.run([sys.executable, sample, path], check=True, capture_output=True)
        report = pipescope.openReport(path)
        self.assertEqual(list(report.table("host_series")["name"]), ["loss"])
        self.assertEqual(len(report.table("host_sample")["value"]), 20)
        done = subprocess.run([os.environ["PIPESCOPE_PROGRAM"], "report", path, "--section", "host", "--format", "json"],
                              check=True, capture_output=True, text=True)
        names = {row["name"]: row["count"] for row in json.loads(done.stdout)["names"]}
        self.assertEqual((names["make a batch"], names["draw samples"], names["compute a call"]), (20, 20, 20))


MARKS = """
import asyncio, os, sys, threading
from pipescope import pvti
channel = pvti.createTraceChannel("work")
off = pvti.createTraceChannel("off")
pvti.disableTraceChannel(off)
with pvti.Tracepoint(channel, "outer"):
    for number in range(2):
        with pvti.Tracepoint(channel, f"inner {number}"):
            pass
    with pvti.Tracepoint(off, "unseen"):
        pass
def other():
    with pvti.Tracepoint(channel, "elsewhere"):
        pass
thread = threading.Thread(target=other)
thread.start()
thread.join()
async def wait():
    await asyncio.sleep(0)
asyncio.run(pvti.Tracepoint(channel, "waits")(wait)())
pvti.Graph("Load", "%").addSeries("CPU").add(3)
channel.event("moment")
if os.fork() == 0:  # a worker of a data loader writes nothing into the file of its parent
    with pvti.Tracepoint(channel, "child"):
        pass
    os._exit(0)
os.wait()
print(pvti.getCurrentTraceFilename())
sys.stdout.flush()
if len(sys.argv) > 1:
    os._exit(0)  # as a killed process, without the end of the file
"""


class Files(unittest.TestCase):
    """PVTI_OPTIONS asks for a file of marks, which pva.openTrace reads."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def written(self, *arguments, options='{"enable": "true", "directory": "DIR"}'):
        options = options.replace("DIR", os.path.join(self.folder, "reports"))
        return subprocess.run([sys.executable, "-c", MARKS, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PVTI_OPTIONS": options})

    def test_spans_nest_by_thread(self):
        from pipescope import pva

        for arguments in ((), ("killed",)):
            made = self.written(*arguments)
            path = made.stdout.strip()
            self.assertTrue(path.endswith(".pvti"), made.stderr)
            trace = pva.openTrace(path)
            self.assertEqual(len(trace.processes), 1)
            process = trace.process(trace.processes[0].pid)
            main, other = process.threads
            self.assertIs(process.thread(main.tid), main)
            self.assertEqual([each.label for each in main.events], ["outer", "waits"])
            self.assertEqual([each.label for each in other.events], ["elsewhere"])
            outer = main.events[0]
            self.assertEqual([each.label for each in outer.children()], ["inner 0", "inner 1"])
            self.assertEqual((outer.channel, outer.children()[0].children()), ("work", []))
            self.assertLessEqual(sum(each.duration for each in outer.children()), outer.duration)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertEqual((text.count('"ph": "C"'), text.count('"moment"'), text.endswith("]\n")), (1, 1, not arguments))

    def test_other_files_and_options(self):
        from pipescope import pva

        path = os.path.join(self.folder, "a.pvti")
        for content, sentence in ((b"SQLite format 3\0", "no file of marks .* Graphcore's libpvti are not read"), (b"", "no file of marks"),
                                  (b'[\n{"ph": "X",\n{}\n]\n', "a.pvti:2 is damaged")):
            with open(path, "wb") as file:
                file.write(content)
            with self.assertRaisesRegex(ValueError, sentence):
                pva.openTrace(path)
        self.assertEqual(self.written(options='{"enable": "false"}').stdout, "\n")
        for options in ("{", "[]"):
            self.assertRegex(self.written(options=options).stderr, "PVTI_OPTIONS is .* must be a JSON object")


class Refusals(unittest.TestCase):
    def test_what_makes_no_sense_is_refused_with_a_sentence(self):
        channel = trace.channel("refusals")

        def generator():
            yield 1

        for sentence, call in (
            ("The name of a channel must be a text that is not empty, but '' was given", lambda: trace.channel("")),
            ("The label of a tracepoint must be a text", lambda: channel.tracepoint(7)),
            ("The label of an event must be a text", lambda: channel.event(None)),
            ("A tracepoint belongs to a channel", lambda: trace.Tracepoint("refusals", "label")),
            ("generator is a generator, which gives back control", lambda: channel.tracepoint("label")(generator)),
            ("The name of a series must be a text", lambda: trace.series("chart", "")),
            ("The unit of a series must be a text", lambda: trace.series("chart", "name", 3)),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(TypeError, sentence):
                call()
        with self.assertRaisesRegex(RuntimeError, "'label' ends, but this thread has not begun it"):
            channel.tracepoint("label").end()


if __name__ == "__main__":
    unittest.main()
