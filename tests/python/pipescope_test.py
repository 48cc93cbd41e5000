"""The Python module against a run whose figures are known: the fixed sample (costs are in its file)."""

import os
import tempfile
import unittest

import numpy
import pipescope

SAMPLES = os.environ["PIPESCOPE_SAMPLES"]


class Module(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "p.pop")
        cls.report = pipescope.run(os.path.join(SAMPLES, "fixed", "imbalanced.toml"), cls.path)

    @classmethod
    def tearDownClass(cls):
        cls.report = None
        cls.folder.cleanup()

    def test_runs_and_opens(self):
        again = pipescope.openReport(self.path)
        self.assertEqual(again.executables, ["training"])
        self.assertEqual(again.pipescopeVersion, pipescope.__version__)
        runs = again.execution.runs
        self.assertEqual(len(runs), 2)
        self.assertEqual(runs[0].cyclesTo, runs[1].cyclesFrom)

    def test_columns_are_arrays_of_the_rows(self):
        columns = self.report.table("placement")
        start, end = columns["start"], columns["end"]
        self.assertEqual(start.dtype, numpy.int64)
        self.assertTrue((end >= start).all())
        some = self.report.table("placement", 3, 7)
        self.assertTrue((some["start"] == start[3:7]).all())
        self.assertEqual(self.report.table("device")["kind"], ["fixed"] * 4)
        # 4 stages, 8 micro-batches, 4 device iterations, 2 calls
        forward = columns["pass"] == 0
        self.assertEqual(int(forward.sum()), 4 * 8 * 4 * 2)

    def test_target_and_steps(self):
        target = self.report.compilation.target
        self.assertEqual(target.numIPUs, 4)
        self.assertEqual(target.clockFrequency, 1_000_000)
        self.assertEqual(len(self.report.compilation.ipus), 4)
        self.assertEqual([len(r.ipus) for r in self.report.compilation.replicas], [4])
        self.assertEqual(self.report.compilation.graph.numVars, len(self.report.table("variable")["id"]))
        spans = [r.cyclesTo - r.cyclesFrom for r in self.report.execution.runs]
        self.assertEqual(self.report.execution.totalCycles, sum(spans))
        run = self.report.execution.runs[-1]
        steps = self.report.execution.steps(run._id)
        for step in steps:
            self.assertLessEqual(run.cyclesFrom, step.ipu.cyclesFrom)
            self.assertLessEqual(step.ipu.cyclesTo, run.cyclesTo)
        spans = self.report.execution.window(run.cyclesFrom, run.cyclesTo, run.cyclesTo - run.cyclesFrom)
        self.assertLess(len(spans), len(steps))
        self.assertEqual({span.ipu for span in spans}, {step.ipu.ipu for step in steps})

    def test_cycles_by_tile(self):
        path = os.path.join(self.folder.name, "tiles.pop")
        settings = {"execution.numerics": False, "execution.record": "tiles", "training.epochs": 1,
                    "execution.mode": "training"}
        report = pipescope.run(os.path.join(SAMPLES, "mnist", "two_stages.toml"), path, settings)
        target = report.compilation.target
        steps = report.table("step")
        active = {int(p): int(n) for p, n in zip(steps["program"], steps["active_units"])}
        slowest = {int(p): int(n) for p, n in zip(steps["program"], steps["max_ticks"])}
        sets = report.compilation.computeSets
        self.assertGreater(len(sets), 0)
        for one in sets:
            cycles = one.estimatedCyclesByTile
            self.assertEqual(cycles.shape, (target.tilesPerIpu,))
            self.assertEqual(int((cycles > 0).sum()), active[one.program._id])
            self.assertEqual(int(cycles.max()), slowest[one.program._id])
        plain = self.report.compilation.computeSets
        for one in plain:
            self.assertEqual(len(one.estimatedCyclesByTile), 0)

    def test_variables_by_tile(self):
        path = os.path.join(self.folder.name, "variables.pop")
        settings = {"execution.numerics": False, "training.epochs": 1, "execution.mode": "training"}
        compilation = pipescope.run(os.path.join(SAMPLES, "mnist", "two_stages.toml"), path, settings).compilation
        lowered = compilation.loweredVariablesForTile(3)
        self.assertGreater(len(lowered), 0)
        self.assertTrue(all(part.tile == 3 and part.bytes > 0 for part in lowered))
        always = compilation.alwaysLiveVariablesForTile(3)
        self.assertEqual(sorted((v.name, v.size) for v in always), sorted((v.name, v.bytes) for v in lowered if v.alwaysLive))
        steps = compilation.livenessProgramSteps(0)
        most = max(steps, key=lambda step: step.notAlwaysLiveBytes)
        self.assertLessEqual(most.notAlwaysLiveMemoryForTile(3).bytes, most.notAlwaysLiveBytes)
        with self.assertRaisesRegex(ValueError, "The profile has no tile"):
            compilation.loweredVariablesForTile(10**9)

    def test_members_of_libpva(self):
        """Figures under libpva's names add up to one another, and to the rows of the profile."""
        path = os.path.join(self.folder.name, "members.pop")
        settings = {"execution.numerics": False, "training.epochs": 1, "execution.mode": "training"}
        report = pipescope.run(os.path.join(SAMPLES, "mnist", "two_stages.toml"), path, settings)
        compilation, execution = report.compilation, report.execution
        self.assertEqual([program._id for program in compilation.programs], report.table("program")["id"].tolist())
        self.assertLess(len(compilation.rootPrograms), len(compilation.programs))
        self.assertEqual(len(compilation.livenessProgramSteps), len(report.table("liveness_step")["index"]))
        step = max(compilation.livenessProgramSteps, key=lambda each: each.notAlwaysLiveBytes)
        self.assertEqual(step.notAlwaysLiveMemoryForIpu(step.ipu).bytes, step.notAlwaysLiveBytes)
        self.assertEqual(step.notAlwaysLiveMemoryForIpu(1 - step.ipu).bytes, 0)
        memory = compilation.tiles[5].memory
        self.assertEqual(sum(each.total for each in memory.category.values()), memory.total.excludingGaps)
        self.assertEqual(sum(each.interleaved for each in memory.category.values()), memory.interleaved.excludingGaps)
        for each in memory.category.values():
            self.assertEqual(each.total, each.interleaved + each.nonInterleaved + each.overflowed)
        self.assertEqual(memory.category.vertexCode.total, sum(each.codeBytes for each in memory.vertices))
        self.assertEqual(memory.category.instrumentationResults.total, 0)
        with self.assertRaisesRegex(AttributeError, "no category of memory wrong"):
            memory.category.wrong
        computes = next(program for program in compilation.programs if program.type == "OnTileExecute" and program.computeset.vertices)
        for vertices in computes.computeset.vertices:
            self.assertEqual(vertices.countByTile.shape, (compilation.target.tilesPerIpu,))
            self.assertEqual((vertices.countByTile.sum(), (vertices.countByTile > 0).sum()), (vertices.count, vertices.tiles))
        brief = compilation.loweredVariables.allBriefVars
        for tile in (3, compilation.target.tilesPerIpu + 7):
            always = {each._id: each.bytes for each in compilation.loweredVariables.forTile(tile) if each.alwaysLive}
            self.assertEqual(always, {each.id: each.bytes for each in brief if each.tileId == tile and each.id in always})
            found = {each.id for each in brief if each.tileId == tile}
            self.assertEqual(found, {each._id for each in compilation.loweredVariables.forTile(tile)})
        lives = {}
        for each in brief:
            life = [(step.start, step.end) for step in each.equivalenceClass.steps]
            self.assertEqual(lives.setdefault(each.equivalenceClass.id, life), life)
        tensor = next(each for each in compilation.loweredVariables.forTile(3) if each.hasUnloweredVar).unloweredVar
        self.assertIn(tensor.type, ("float32", "float16", "int32"))
        self.assertTrue(all(size > 0 for size in tensor.shape))
        self.assertTrue(tensor.name.endswith(tensor.debugContext.name))
        self.assertEqual(compilation.engineOptions["execution.mode"], '"training"')
        self.assertRegex(compilation.timestamp, r"^\d{4}-\d\d-\d\d")
        self.assertEqual([len(run.steps) for run in execution.runs], [len(execution.steps(run._id)) for run in execution.runs])
        self.assertEqual(execution.blocks(0), [])  # a lightweight profile is what hardware writes
        report.listPrintLength = 20
        self.assertEqual(report.listPrintLength, 20)
        operation = next(each for each in pipescope.pva.OperationAnalysis(report).operations if each.programs())
        first = list(compilation.livenessProgramSteps)[operation.firstStepIndex]
        self.assertIn(first.program._id, [program._id for program in operation.programs()])
        for owner, name in ((compilation.graph, "numEdges"), (computes, "vars"), (computes, "controlCodeByTile")):
            with self.assertRaisesRegex(AttributeError, f"{name}: (the models of the devices|a profile does not)"):
                getattr(owner, name)

    def test_settings_change_the_run(self):
        path = os.path.join(self.folder.name, "other.pop")
        other = pipescope.run(os.path.join(SAMPLES, "fixed", "imbalanced.toml"), path, {"training.gradient_accumulation": 16})
        forward = other.table("placement")["pass"] == 0
        self.assertEqual(int(forward.sum()) % (4 * 16), 0)

    def test_visitor(self):
        class Count(pipescope.ProgramVisitor):
            def __init__(self):
                super().__init__()
                self.seen = 0

            def visitProgram(self, program):
                self.seen += 1

            visitOnTileExecute = visitSequence = visitProgram

        visitor = Count()
        programs = self.report.compilation.programs
        for program in programs:
            program.accept(visitor)
        self.assertLessEqual(visitor.seen, len(programs))

    def test_errors_are_sentences(self):
        with self.assertRaisesRegex(ValueError, "no table \"nothing\""):
            self.report.table("nothing")
        with self.assertRaisesRegex((ValueError, OSError), "none.pop"):
            pipescope.openReport(os.path.join(self.folder.name, "none.pop"))
        with self.assertRaisesRegex(OSError, "no file debug.cbor. A profile of Pipescope holds debug information itself"):
            pipescope.openReport(self.path, "debug.cbor")
        self.assertEqual(pipescope.openReport(self.path, self.path).executables, ["training"])
        with self.assertRaisesRegex(ValueError, "no run 77"):
            self.report.execution.steps(77)
        with self.assertRaisesRegex(ValueError, "no executable \"validation\""):
            self.report.compilationOf("validation")


if __name__ == "__main__":
    unittest.main()
