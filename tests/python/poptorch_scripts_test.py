"""Things that scripts of PopTorch's users rely on: the front door, the environment, hooks, notes, libpva and libpvti."""

import collections
import contextlib
import copy
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import unittest

import torch
from pipescope import aliases, poptorch, pva, pvti
from pipescope.poptorch.log import _noted, logger

SCRIPT = """
import libpvti, lightning.pytorch, poptorch, pva, pytorch_lightning, subprocess, sys, torch
poptorch.inferenceModel(torch.nn.Linear(3, 2))(torch.ones(2, 3))
assert pytorch_lightning.Trainer is lightning.pytorch.Trainer
assert pva.openReport and libpvti.Tracepoint and poptorch.ipuHardwareIsAvailable()
if len(sys.argv) > 1:
    subprocess.run([sys.executable, __file__], check=True)  # finds the names, too
    print("done", *sys.argv[1:])
"""


class MeanSquare(torch.nn.Module):
    """The mean of the squared results of a layer, as the loss."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x).square().mean()


def run_profiled(folder, **options):
    """Run a small model with these options of Poplar in the environment."""
    os.environ["POPLAR_ENGINE_OPTIONS"] = json.dumps({"autoReport.directory": folder, **options})
    try:
        model = poptorch.inferenceModel(torch.nn.Linear(3, 2))
        model(torch.ones(2, 3))
        model.destroy()
    finally:
        del os.environ["POPLAR_ENGINE_OPTIONS"]


LOCALES = """
import locale, os, sys, torch
from pipescope import openReport, poptorch
locale.setlocale(locale.LC_ALL, sys.argv[1])
print("decimal point", locale.localeconv()["decimal_point"])
torch.manual_seed(1)
class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
    def forward(self, x):
        with poptorch.Block("A", ipu_id=0):
            return torch.nn.functional.leaky_relu(self.layer(x), 0.25).square().mean()
options = poptorch.Options().setAvailableMemoryProportion({"IPU0": 0.35})
options.Training.gradientAccumulation(2)
os.environ["POPLAR_ENGINE_OPTIONS"] = '{"autoReport.directory": "' + sys.argv[2] + '", "autoReport.all": "true"}'
module = Loss()
optimizer = poptorch.optim.AdamW(module.parameters(), lr=0.0625, weight_decay=0.125, loss_scaling=1.5)
model = poptorch.trainingModel(module, options, optimizer)
losses = [model(torch.ones(2, 3)).item() for _ in range(3)]
optimizer.param_groups[0]["lr"] = 0.03125
model.setOptimizer(optimizer)
print(losses, model(torch.ones(2, 3)).item(), module.layer.weight.tolist(), model.getLatency())
model.destroy()
report = openReport(os.path.join(sys.argv[2], "training", "profile.pop"))
print(report.compilation.target.clockFrequency, sum(step.ipus[0].cycles for step in report.execution.steps))
"""


class FrontDoor(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_run_python(self):
        path = os.path.join(self.folder, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        made = subprocess.run([os.environ["PIPESCOPE_PROGRAM"], "run-python", "--python", sys.executable, path, "--epochs", "2"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((made.returncode, made.stdout), (0, "done --epochs 2\n"), made.stderr)

    def test_names_on_the_path_leave_what_is_installed(self):
        names = os.path.join(os.path.dirname(os.path.abspath(aliases.__file__)), "names")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "pytorch_lightning.py"), "w", encoding="utf-8") as file:
                file.write("installed = True\n")
            script = "import poptorch, pytorch_lightning; print(pytorch_lightning.installed, poptorch.__name__)"
            paths = os.pathsep.join([folder, os.environ["PYTHONPATH"], names])
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                                  env={**os.environ, "PYTHONPATH": paths})
        self.assertEqual(done.stdout, "True pipescope.poptorch\n")

    def test_parts_of_the_frameworks_that_programs_import_by_the_way(self):
        """Programs try their handling of errors with PopTorch's own errors, and import PopART without using it."""
        script = """
import popart, poptorch
from poptorch.poptorch_core import TestErrorType
assert len(TestErrorType.__members__) == 7
for kind in TestErrorType.__members__.values():
    try:
        poptorch.poptorch_core._throwTestError(kind)
    except poptorch.RecoverableError as error:
        print("again", error.recovery_action)
    except poptorch.UnrecoverableError as error:
        print("offline")
    except poptorch.Error as error:
        print(error.type, error.type in error.message, error.location == "")
try:
    popart.Session
except AttributeError as error:
    print(error)
"""
        path = os.path.join(self.folder, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        made = subprocess.run([sys.executable, "-m", "pipescope.run", path], capture_output=True, text=True, check=False)
        lines = made.stdout.splitlines()
        self.assertEqual(len(lines), 8, made.stderr)
        self.assertEqual(lines[0], "popart_exception True True")
        self.assertEqual((lines[3], lines[5]), ("offline", "again FULL_RESET"))
        self.assertRegex(lines[7], "popart.Session is not implemented.* Use poptorch")

    def test_a_decimal_comma_changes_no_number(self):
        made = subprocess.run(["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", os.path.join(self.folder, "de_DE.UTF-8")],
                              capture_output=True, check=False)
        if made.returncode:
            self.skipTest("this machine cannot make the locale de_DE")
        lines = {}
        for name, point in (("C", "."), ("de_DE.UTF-8", ",")):
            done = subprocess.run([sys.executable, "-c", LOCALES, name, os.path.join(self.folder, name + " profile")], text=True, check=True,
                                  capture_output=True, env={**os.environ, "LOCPATH": self.folder})
            first, *lines[name] = done.stdout.splitlines()
            self.assertEqual(first, f"decimal point {point}")
        self.assertEqual(len(lines["C"]), 2)
        self.assertEqual(lines["C"], lines["de_DE.UTF-8"])

    def test_run_python_refuses(self):
        for words, sentence in (([], "needs a script"), (["none.py"], "There is no file none.py"),
                                (["--wrong", "x.py"], "has no option --wrong")):
            made = subprocess.run([os.environ["PIPESCOPE_PROGRAM"], "run-python", *words], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(made.returncode, 2)
            self.assertIn(sentence, made.stderr)

    def test_profiles_by_environment(self):
        run_profiled(self.folder, **{"autoReport.all": "true"})
        self.assertEqual(os.listdir(self.folder), ["inference"])
        run_profiled(self.folder + "/none", **{"autoReport.all": "false"})
        self.assertFalse(os.path.exists(self.folder + "/none"))
        os.environ["POPLAR_ENGINE_OPTIONS"] = "autoReport"
        self.addCleanup(os.environ.pop, "POPLAR_ENGINE_OPTIONS")
        with self.assertRaisesRegex(poptorch.Error, "is no JSON object: autoReport"):
            poptorch.inferenceModel(torch.nn.Linear(3, 2))(torch.ones(2, 3))

    def test_profiles_hold_the_first_calls(self):
        for number, (options, held) in enumerate((({}, 2), ({"autoReport.executionProfileProgramRunCount": "3"}, 3),
                                                  ({"autoReport.executionProfileProgramRunCount": 9}, 5))):
            folder = f"{self.folder}/{number}"
            os.environ["POPLAR_ENGINE_OPTIONS"] = json.dumps({"autoReport.all": "true", "autoReport.directory": folder, **options})
            self.addCleanup(os.environ.pop, "POPLAR_ENGINE_OPTIONS", None)
            module = torch.nn.Linear(3, 2)
            plain = copy.deepcopy(module)
            model = poptorch.trainingModel(MeanSquare(module), optimizer=torch.optim.SGD(module.parameters(), lr=0.125))
            rule = torch.optim.SGD(plain.parameters(), lr=0.125)
            for call in range(5):
                x = torch.full((2, 3), call + 1.0)
                rule.zero_grad()
                wanted = plain(x).square().mean()
                wanted.backward()
                rule.step()
                torch.testing.assert_close(model(x), wanted)  # calls that are not recorded compute, too
                seconds = model.getLatency()[2] if call == 0 else seconds
                self.assertEqual(model.getLatency()[2], seconds)
            model.destroy()
            report = pva.openReport(folder + "/training/profile.pop")
            self.assertEqual([run.name for run in report.execution.runs], [f"call {each + 1}" for each in range(held)])
            number = list(report.table("counter", 0, 100)["name"]).index("loss")
            self.assertEqual(sum(each == number for each in report.table("counter_sample", 0, 1000)["counter"]), held)
            told = [each for each in report.table("diagnostic", 0, 100)["text"] if "calls, as it was asked to" in each]
            self.assertEqual(told, [f"The profile holds the first {held} of 5 calls, as it was asked to."] if held < 5 else [])
        os.environ["POPLAR_ENGINE_OPTIONS"] = '{"autoReport.all": "true", "autoReport.executionProfileProgramRunCount": "none"}'
        with self.assertRaisesRegex(poptorch.Error, "a whole number from 1 on, not none"):
            poptorch.inferenceModel(torch.nn.Linear(3, 2))(torch.ones(2, 3))

    def test_hardware_by_environment(self):
        self.assertTrue(poptorch.ipuHardwareIsAvailable())
        self.assertEqual(poptorch.ipuHardwareVersion(), 2)
        os.environ["PIPESCOPE_IPU_HARDWARE"] = "0"
        self.addCleanup(os.environ.pop, "PIPESCOPE_IPU_HARDWARE")
        self.assertFalse(poptorch.ipuHardwareIsAvailable())
        self.assertEqual(poptorch.ipuHardwareVersion(), 0)

    def test_libpva(self):
        run_profiled(self.folder, **{"autoReport.outputExecutionProfile": "true"})
        report = pva.openReport(self.folder + "/inference/profile.pop")
        seen = {"sets": 0, "begins": 0}

        class Visitor(pva.ProgramVisitor):
            def visitOnTileExecute(self, program):
                seen["sets"] += 1
                self.last = program.computeset.vertices

            def visitStreamCopyBegin(self, program):
                seen["begins"] += 1

        visitor = Visitor()
        steps = list(report.execution.steps)
        for step in steps:
            step.program.accept(visitor)
        self.assertEqual(steps[0].ipus[0].cycles, report.execution.steps(report.execution.runs[0]._id)[0].ipus[0].cycles)
        self.assertEqual(len(report.execution.steps), len(steps))
        self.assertGreater(seen["sets"], 0)
        self.assertRegex(report.poplarVersion.string, r"Pipescope \d+\.\d+")
        self.assertEqual(report.poplarVersion.major, report.version.major)

    def test_libpvti(self):
        channel = pvti.createTraceChannel("mine")
        options = poptorch.Options().enableProfiling(self.folder)
        model = poptorch.inferenceModel(torch.nn.Linear(3, 2), options)
        model.compile(torch.ones(2, 3))
        with pvti.Tracepoint(channel, "work", "of one"):
            pvti.HeatmapDouble("sizes", [0, 1, 10], "rows").add([0.5, 3, 4, 99])
            pvti.Graph("queue", "items").addSeries("length").add(7)
        own, worker = poptorch.profiling.Channel("MyApp"), collections.Counter()
        self.assertIs(own.instrument(worker, "update", "most_common"), worker)
        with own.tracepoint("Timed"):
            worker.update("abb")
        self.assertEqual(worker.most_common(1), [("b", 2)])
        model(torch.ones(2, 3))
        model.destroy()
        text = subprocess.run([os.environ["PIPESCOPE_PROGRAM"], "report", self.folder + "/inference/profile.pop", "--section",
                               "host", "--format", "json"], capture_output=True, text=True, check=True).stdout
        for label in ("work (of one)", "MyApp.Timed", "Counter.update", "Counter.most_common"):
            self.assertIn(label, text)
        with self.assertRaisesRegex(ValueError, "two numbers that ascend"):
            pvti.HeatmapDouble("sizes", [1, 1])


class Options(unittest.TestCase):
    def test_settings_of_hardware_get_one_note(self):
        _noted.clear()
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        for _ in range(2):
            options = poptorch.Options().useIpuId(1).enableSyntheticData(True).maxRepeatLogs(4)
            options._Popart.set("defaultPrefetchBufferingDepth", 3)
            options.Training.setConvolutionDithering(True)
        lines = stream.getvalue().splitlines()
        self.assertEqual(len(lines), 5)
        self.assertIn("its option defaultPrefetchBufferingDepth has no effect", stream.getvalue())

    def test_hooks(self):
        calls = []
        handles = [poptorch.registerPreCompileHook(lambda: calls.append("before")),
                   poptorch.registerPostCompileHook(lambda: calls.append("after"))]
        poptorch.inferenceModel(torch.nn.Linear(3, 2))(torch.ones(2, 3))
        for handle in handles:
            handle.remove()
        poptorch.inferenceModel(torch.nn.Linear(3, 2))(torch.ones(2, 3))
        self.assertEqual(calls, ["before", "after"])
        with self.assertRaisesRegex(RuntimeError, "must be callable"):
            poptorch.registerPreCompileHook(2)

    def test_options_of_popart_are_kept_and_frozen(self):
        options = poptorch.Options()
        options._Popart.set("saveInitializersToFile", "weights.onnx")
        self.assertIn("saveInitializersToFile=weights.onnx", str(options))
        self.assertNotEqual(str(options), str(poptorch.Options()))
        self.assertEqual(str(poptorch.Options()), str(poptorch.Options()))
        os.environ["POPTORCH_DEFAULT_OPTIONS"] = '{"_Popart.set": ["saveInitializersToFile", "weights.onnx"]}'
        try:
            self.assertEqual(str(poptorch.Options()), str(options))
        finally:
            del os.environ["POPTORCH_DEFAULT_OPTIONS"]
        copy = options.clone()
        options.checkIsFrozen()
        poptorch.inferenceModel(torch.nn.Linear(1, 1), options)
        for change in (options.checkIsFrozen, lambda: options._Popart.set("a", 1)):
            with self.assertRaisesRegex(AttributeError, "Can't modify frozen"):
                change()
        copy._Popart.set("a", 1)

    def test_options_of_instances_leave_to_the_launcher_what_it_decides(self):
        from pipescope import popdist

        options = popdist.poptorch.Options(ipus_per_replica=2)  # no launcher contradicts
        distributed = options.Distributed
        for name, call in (("useIpuId", lambda: options.useIpuId(1)), ("replicationFactor", lambda: options.replicationFactor(2)),
                           ("Distributed.disable", distributed.disable),
                           ("Distributed.setEnvVarNames", lambda: distributed.setEnvVarNames("A", "B")),
                           ("Distributed.configureProcessId", lambda: distributed.configureProcessId(1))):
            with self.assertRaisesRegex(RuntimeError, f"Cannot call `{name}` with popdist.poptorch.Options: .*poprun|without"):
                call()

    def test_files_may_name_strategies(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("setExecutionStrategy(poptorch.ShardedExecution())\n  deviceIterations(3) # rounds\n\n# nothing\n"
                       "outputMode(poptorch.OutputMode.All, 5)\n")
            file.flush()
            options = poptorch.Options().loadFromFile(file.name)
        self.assertIsInstance(options.strategy, poptorch.ShardedExecution)
        self.assertEqual((options.device_iterations, options.output_mode), (3, poptorch.OutputMode.All))


class Inputs(unittest.TestCase):
    def test_any_shapes(self):
        class Net(torch.nn.Module):
            def forward(self, a, b, s):
                return a @ b * s, s + 1

        product, number = poptorch.inferenceModel(Net())(torch.ones(2, 3), torch.ones(3, 5), torch.tensor(2.0))
        self.assertEqual((product.tolist(), number.shape, number.item()), ([[6.0] * 5] * 2, torch.Size([]), 3.0))
        made = poptorch.inferenceModel(Net(), poptorch.Options().deviceIterations(2))
        product, number = made(torch.ones(4, 3), torch.arange(6.0).reshape(6, 1), torch.ones(2))
        self.assertEqual(product.tolist(), [[3.0], [3.0], [12.0], [12.0]])
        self.assertEqual(number.tolist(), [2.0, 2.0])

    def test_buffers_that_the_program_changes_need_a_copy(self):
        class Sum(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("first", torch.ones(1))
                self.register_buffer("second", torch.ones(1))

            def forward(self, x):
                return torch.sum(x + self.first + self.second)

        model = poptorch.inferenceModel(Sum(), poptorch.Options().updatableNamedBuffers(["first"]))
        rows = torch.ones(3)
        self.assertEqual(model(rows), 9)
        model.first.add_(1)
        self.assertEqual(model(rows), 9)
        model.copyNamedBuffersToDevice()
        self.assertEqual(model(rows), 12)
        model.second.add_(1)
        model.copyNamedBuffersToDevice()
        self.assertEqual(model(rows), 12)
        model.copyWeightsToDevice()
        self.assertEqual(model(rows), 15)
        with self.assertRaisesRegex(poptorch.Error, "updatableNamedBuffers names third, but .* it has: first, second"):
            poptorch.inferenceModel(Sum(), poptorch.Options().updatableNamedBuffers(["third"]))(rows)

    def test_layers_beside_the_model_are_constants(self):
        layer = torch.nn.Linear(3, 2)

        class Beside(torch.nn.Module):
            def forward(self, x):
                return poptorch.CPU(layer, "layer")(x)

        rows = torch.randn(4, 3)
        self.assertTrue(torch.allclose(poptorch.inferenceModel(Beside())(rows), layer(rows), atol=1e-6))

    def test_what_needs_a_compiled_model_says_so(self):
        model = poptorch.inferenceModel(torch.nn.Linear(1, 1))
        with self.assertRaisesRegex(AssertionError, "getTensorNames: the model is not compiled yet") as raised:
            model.getTensorNames()
        self.assertEqual((raised.exception.message, raised.exception.type), (str(raised.exception), "StateError"))
        offline = poptorch.inferenceModel(torch.nn.Linear(1, 1), poptorch.Options().useOfflineIpuTarget())
        with self.assertRaisesRegex(AssertionError, "offline device"):
            offline(torch.ones(1, 1))

    def test_no_inputs_and_constants(self):
        class Constant(torch.nn.Module):
            def forward(self):
                return torch.ones(3), torch.arange(2)

        ones, numbers = poptorch.inferenceModel(Constant())()
        self.assertEqual((ones.tolist(), numbers.tolist()), ([1, 1, 1], [0, 1]))

    def test_objects_of_the_users_own(self):
        class Pair:
            def __init__(self, first, second):
                self.first, self.second = first, second

        class Parser(poptorch.ICustomArgParser):
            def yieldTensors(self, struct):
                yield struct.first
                yield struct.second

            def reconstruct(self, original_structure, tensor_iterator):
                return Pair(next(tensor_iterator), next(tensor_iterator))

        class Swap(torch.nn.Module):
            def forward(self, pair):
                return Pair(pair.second, pair.first * 2)

        poptorch.registerCustomArgParser(Pair, Parser())
        made = poptorch.inferenceModel(Swap())(Pair(torch.ones(2), torch.zeros(2)))
        self.assertEqual((made.first.tolist(), made.second.tolist()), ([0, 0], [2, 2]))
        with self.assertRaisesRegex(poptorch.Error, "not Other. Register a parser"):
            poptorch.inferenceModel(Swap())(type("Other", (), {})())

    def test_batches_of_samplers_are_joined(self):
        data = torch.utils.data.TensorDataset(torch.arange(44.0))
        for mode in poptorch.DataLoaderMode:
            sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(data), 2, True)
            loader = poptorch.DataLoader(poptorch.Options().deviceIterations(4), data, batch_sampler=sampler, mode=mode)
            self.assertEqual((len(loader), loader.combinedBatchSize), (5, 8))
            self.assertEqual([each.tolist() for each, in loader], [list(range(8 * k, 8 * k + 8)) for k in range(5)])

    def test_an_epoch_that_was_left_early_begins_anew(self):
        loader = poptorch.DataLoader(poptorch.Options(), torch.arange(10.0), num_workers=1, persistent_workers=True,
                                     mode=poptorch.DataLoaderMode.Async)
        for _ in range(4):
            for _ in loader:
                break
            self.assertEqual([int(each) for each in loader], list(range(10)))
        loader.terminate()

    def test_losses_on_the_way(self):
        class Two(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 2)

            def forward(self, x):
                part = poptorch.identity_loss(self.layer(x), "none")
                return part, poptorch.identity_loss(part**2, "mean")

        module = Two()
        part, loss = poptorch.trainingModel(module)(torch.ones(2, 3))
        self.assertAlmostEqual(loss.item(), (part**2).mean().item(), places=6)

    def test_floating_point_exceptions(self):
        class Product(torch.nn.Module):
            def forward(self, x, y):
                return x * y

        options = poptorch.Options()
        options.Precision.enableFloatingPointExceptions(True)
        model = poptorch.inferenceModel(Product(), options)
        model(torch.tensor([float("inf")]), torch.ones(1))
        with self.assertRaisesRegex(poptorch.Error, "makes 1 NaN values from infinite inputs"):
            model(torch.tensor([float("inf")]), torch.zeros(1))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        unittest.main()
