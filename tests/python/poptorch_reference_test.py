"""The defaults, numbers and calls of PopTorch's options and of its executor, one after another."""

import copy
import io
import logging
import math
import os
import unittest
from unittest import mock

import numpy
import torch
from pipescope import poptorch
from pipescope.poptorch import (OverlapMode, ParallelPhasedExecution, Phase, PipelinedExecution, SerialPhasedExecution,
                                ShardedExecution, Stage)
from torch import nn


class Layers(nn.Module):
    """Blocks B0, B1 … of one layer each, with the loss in the last."""

    def __init__(self, count=1, width=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(count))

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            with poptorch.Block(f"B{number}"):
                x = layer(x)
                loss = x.pow(2).mean() if number + 1 == len(self.layers) else None
        return x, loss


def options(strategy=None, accumulation=1):
    made = poptorch.Options().setExecutionStrategy(strategy or PipelinedExecution("B0"))
    made.Training.gradientAccumulation(accumulation)
    return made


def compiled(count=1, made=None, optimizer=None, width=4):
    """A compiled training model, and rows for a call of it."""
    made = made or options()
    module = Layers(count, width)
    optimizer = poptorch.optim.AdamW(module.parameters()) if optimizer is None else optimizer(module.parameters())
    model = poptorch.trainingModel(module, made, optimizer)
    rows = torch.ones(made.Training.gradient_accumulation * made.device_iterations * made.replication_factor, width)
    model.compile(rows)
    return model, rows


def state_bytes(model):
    """Bytes of the state of the optimizer."""
    state = numpy.load(io.BytesIO(model._state()))
    names = ("velocity", "moment1", "moment2", "average", "square_average")
    return sum(state[key].nbytes for key in state.files if key.endswith(names))


class Product(nn.Module):
    """The gradient of its weight, which begins as 1, is its input."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return (self.weight * x).sum()


class Squares(nn.Module):
    """The loss of layers alone."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x):
        return self.layers(x)[1]


class Defaults(unittest.TestCase):
    def test_what_nobody_sets_reaches_the_devices_as_poptorch_has_it(self):
        model, _ = compiled()
        expected = {
            "training.device_iterations": 1, "training.replication_factor": 1, "training.gradient_accumulation": 1,
            "training.reduction": "mean", "training.output_mode": "final", "training.automatic_loss_scaling": False,
            "training.loss_scaling": 1.0, "training.accumulator": "float32", "execution.stochastic_rounding": False,
            "execution.partials_type": "float32", "execution.floating_point_exceptions": False,
            "execution.available_memory_proportion": 0.6, "execution.offload_least_elements": 2,
            "execution.shard_least_elements": 8192, "execution.io_tiles": 0, "execution.strategy": "pipelined",
            "execution.overlap_io": False,
        }
        expected.update({f"execution.{what}_{kind}": False for what in ("offload", "shard")
                         for kind in ("weights", "optimizer", "accumulators")})
        for key, value in expected.items():
            found = model._program.option(key)
            text = {True: "true", False: "false"}.get(value, f'"{value}"' if isinstance(value, str) else repr(value))
            self.assertEqual(found, text if isinstance(value, (bool, str)) else found, key)
            if not isinstance(value, (bool, str)):
                self.assertEqual(float(found), value, key)
        inference = poptorch.inferenceModel(nn.Linear(4, 4))
        inference.compile(torch.ones(1, 4))
        self.assertEqual(inference._program.option("inference.output_mode"), '"all"')

    def test_names_of_the_options_that_are_not_printed(self):
        made = poptorch.Options()
        self.assertEqual((made.input_group_size, made.random_seed, made.profile_dir), (1, None, None))
        self.assertIsInstance(made.strategy, PipelinedExecution)
        self.assertEqual(made.strategy.auto, poptorch.AutoStage.SameAsIpu)
        self.assertEqual(SerialPhasedExecution("B0").separate_backward, False)

    def test_the_place_among_processes_comes_from_open_mpi(self):
        with mock.patch.dict(os.environ, {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}):
            made = poptorch.Options()
        self.assertEqual((made.Distributed.processId, made.Distributed.numProcesses), (2, 4))

    def test_an_offline_target_never_connects(self):
        made = poptorch.Options().useOfflineIpuTarget(2)
        self.assertEqual(made.connection_type, poptorch.ConnectionType.Never.value)
        with mock.patch.dict(os.environ, {"POPDIST_OFFLINE_MODE": "1"}):
            self.assertEqual(poptorch.Options().connection_type, poptorch.ConnectionType.Never.value)

    def test_a_half_accumulator_takes_the_running_mean(self):
        """Two gradients of 40000 have a sum above 65504, the largest number in half, but a running mean of 40000."""

        class Steep(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(2))

            def forward(self, x):
                return (self.weight * x).sum()

        def weight_after(strategy, accum_type):
            made = poptorch.Options()
            made.Training.gradientAccumulation(2)
            if strategy is not None:
                made.Training.setMeanAccumulationAndReplicationReductionStrategy(strategy)
            module = Steep()
            poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=1.0, accum_type=accum_type))(
                torch.full((2, 2), 40000.0))
            return module.weight[0].item()

        self.assertEqual(weight_after(None, torch.float32), -40000)
        self.assertEqual(weight_after(None, torch.float16), -40000)
        # The result is that of PopTorch, whatever was chosen.
        self.assertEqual(weight_after(poptorch.MeanReductionStrategy.Post, torch.float16), -40000)


class Setting(unittest.TestCase):
    def test_stages_and_phases_may_be_lists(self):
        strategy = PipelinedExecution(["B0", "B1"], "B2")
        self.assertEqual([stage.blocks for stage in strategy.stages], [["B0", "B1"], ["B2"]])
        phases = SerialPhasedExecution([Phase(Stage("B0")), Phase("B1", "B2")]).phases
        self.assertEqual([stage.blocks for phase in phases for stage in phase.stages], [["B0"], ["B1", "B2"]])
        with self.assertRaisesRegex(TypeError, "takes Stage objects"):
            PipelinedExecution(3)

    def test_state_of_the_optimizer_may_be_half(self):
        """The figures beside PyTorch, in float16 after each step."""
        cases = [
            (lambda parameters, **more: poptorch.optim.SGD(parameters, lr=1e-6, momentum=0.9, **more), ["velocity_accum_type"]),
            (poptorch.optim.Adam, ["first_order_momentum_accum_type", "second_order_momentum_accum_type"]),
            (poptorch.optim.AdamW, ["first_order_momentum_accum_type", "second_order_momentum_accum_type"]),
            (poptorch.optim.LAMB, ["first_order_momentum_accum_type", "second_order_momentum_accum_type"]),
            (lambda parameters, **more: poptorch.optim.RMSprop(parameters, momentum=0.9, centered=True, **more),
             ["first_order_momentum_accum_type", "second_order_momentum_accum_type"]),
        ]
        for optimizer, names in cases:
            results = []
            for half in (False, True):
                torch.manual_seed(1)
                made = options()
                kind = torch.float16 if half else None
                model, rows = compiled(1, made, lambda p, kind=kind, o=optimizer, n=names: o(p, **dict.fromkeys(n, kind)), 64)
                for _ in range(3):
                    model(rows * 100)  # the squares of smaller gradients would vanish in half
                results.append((state_bytes(model), model.model.layers[0].weight.detach().clone()))
            (whole, wide), (halved, narrow) = results
            self.assertEqual(halved * 2, whole)
            self.assertGreater(whole, 0)
            self.assertFalse(torch.equal(wide, narrow))
            self.assertTrue(torch.allclose(wide, narrow, atol=2e-2))

    def test_half_moments_are_rounded_after_each_step(self):
        module = Product()
        model = poptorch.trainingModel(module, None, poptorch.optim.SGD(
            module.parameters(), lr=1.0, momentum=0.5, velocity_accum_type=torch.float16))
        x = torch.tensor([[1.0 + 2.0**-11]])
        model(x)  # the step takes the velocity before it is rounded, 1 + 2^-11; what is kept is 1
        self.assertEqual(module.weight[0].item(), 1.0 - (1.0 + 2.0**-11))
        model(x)
        self.assertEqual(module.weight[0].item(), 1.0 - (1.0 + 2.0**-11) - (0.5 + 1.0 + 2.0**-11))

    def test_floating_point_exceptions_name_the_operator(self):
        class Root(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 2)

            def forward(self, x):
                return torch.log(self.layer(x).clamp(min=0)).mean()

        def call(enabled, rate=0.0, x=None):
            made = poptorch.Options()
            made.Precision.enableFloatingPointExceptions(enabled)
            module = Root()
            with torch.no_grad():
                module.layer.weight.copy_(torch.eye(2))
                module.layer.bias.zero_()
            model = poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=rate))
            return model(torch.tensor([[1.0, 2.0]]) if x is None else x)

        self.assertAlmostEqual(call(True).item(), math.log(2) / 2, places=6)
        zero = torch.tensor([[0.0, 2.0]])
        self.assertEqual(call(False, x=zero).item(), -math.inf)
        with self.assertRaisesRegex(RuntimeError, "Floating-point exception: Log .* makes 1 infinite or NaN"):
            call(True, x=zero)
        module = Product()
        made = poptorch.Options()
        made.Precision.enableFloatingPointExceptions(True)
        model = poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=10.0))
        with self.assertRaisesRegex(RuntimeError, "update 1 makes 1 values of the weight weight infinite or NaN"):
            model(torch.full((1, 1), 3e38))

    def test_copies_may_overlap_without_a_pipeline(self):
        class Overlapping(Layers):
            def forward(self, x):
                return super().forward(poptorch.set_overlap_for_input(x, OverlapMode.OverlapAccumulationLoop))

        def compile_with(strategy, tiles, mode=None):
            made = options(strategy, 3)
            made.TensorLocations.numIOTiles(tiles)
            module = Overlapping(2)
            model = poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=0.1))
            model.compile(torch.ones(3, 4))
            return model._program.option("execution.overlap_io")

        self.assertEqual(compile_with(ShardedExecution("B0", "B1"), 32), "true")
        with self.assertRaisesRegex(poptorch.Error, "do not go together with PipelinedExecution"):
            compile_with(PipelinedExecution("B0", "B1"), 32)
        with self.assertRaisesRegex(poptorch.Error, r"numIOTiles\(32\)"):
            compile_with(ShardedExecution("B0", "B1"), 0)
        x = torch.ones(1)
        self.assertIs(poptorch.set_overlap_for_output(x, OverlapMode.NoOverlap), x)

    def test_options_that_do_not_exist_say_what_to_do(self):
        made = poptorch.Options()
        with self.assertRaisesRegex(NotImplementedError, "FloatDowncastToHalf"):
            made.Precision.halfFloatCasting(poptorch.HalfFloatCastingBehavior.FloatDowncastToHalf)
        made.Precision.halfFloatCasting(poptorch.HalfFloatCastingBehavior.Default).runningStatisticsAlwaysFloat(True)
        with self.assertLogs("poptorch", "WARNING") as logged:
            ParallelPhasedExecution("B0").sendTensorsOffChipAfterFwd()
        self.assertIn("leave it after each phase", logged.output[0])
        made.relaxOptimizerAttributesChecks()


class Figures(unittest.TestCase):
    def test_latency_and_cycles_are_those_of_the_last_call(self):
        made = options().logCycleCount(True)
        model, rows = compiled(1, made)
        with self.assertRaisesRegex(poptorch.Error, "has not been called"):
            model.getLatency()
        with self.assertLogs("poptorch", logging.INFO) as logged:
            logging.getLogger("poptorch").setLevel(logging.INFO)
            model(rows)
        logging.getLogger("poptorch").setLevel(logging.WARNING)
        seconds = model.emulatedSecondsPerCall()
        self.assertEqual(model.getLatency(), (seconds,) * 3)
        self.assertAlmostEqual(model.cycleCount() / 1.33e9, seconds, delta=1e-9)  # an Mk2 runs at 1.33 GHz
        self.assertIn(f"took {model.cycleCount()} cycles", " ".join(logged.output))
        times = model.getPerfCounters()
        self.assertEqual({key: (len(each), len(each[0])) for key, each in times.items()},
                         {"input": (1, 1), "input_complete": (1, 1), "output": (2, 1), "output_complete": (2, 1)})
        copied, computed, returned = (getattr(model, name)()[2] for name in (
            "getHostIpuLatency", "getComputeLatency", "getIpuHostLatency"))
        self.assertTrue(min(copied, computed, returned) > 0 and copied + computed + returned <= seconds)
        with self.assertRaisesRegex(poptorch.Error, "logCycleCount"):
            other, rows = compiled()
            other(rows)
            other.cycleCount()

    def test_tensors_of_the_graph_may_be_anchored(self):
        model, rows = compiled(2, options(ShardedExecution("B0", "B1")))
        names = model.getTensorNames()
        inner = next(name for name in names if "layers.0" in name)
        made = options(ShardedExecution("B0", "B1"), 2).outputMode(poptorch.OutputMode.All).anchorTensor("hidden", inner)
        self.assertEqual(made.anchored_tensors, {"hidden": inner})
        torch.manual_seed(3)
        anchored, rows = compiled(2, made)
        expected = anchored.model.layers[0](rows).detach()
        anchored(rows)
        self.assertTrue(torch.allclose(anchored.getAnchoredTensor("hidden"), expected, atol=1e-6))
        with self.assertRaisesRegex(poptorch.Error, 'no tensor "other"; anchored are: hidden'):
            anchored.getAnchoredTensor("other")
        with self.assertRaisesRegex(poptorch.Error, 'names the tensor "nothing"'):
            compiled(1, options().anchorTensor("a", "nothing"))

    def test_updates_on_the_host_are_those_of_the_devices(self):
        torch.manual_seed(5)
        rows = torch.randn(8, 4)
        for corrects in (False, True):
            module = Layers(1)
            other = copy.deepcopy(module)
            made = [poptorch.optim.AdamW(each.parameters(), lr=0.02, weight_decay=0.1, bias_correction=corrects)
                    for each in (module, other)]
            model = poptorch.trainingModel(Squares(module), options(), made[0])
            for _ in range(4):
                model(rows)
                made[1].zero_grad()
                Squares(other)(rows).backward()
                made[1].step()
            for mine, theirs in zip(module.parameters(), other.parameters()):
                self.assertTrue(torch.allclose(mine, theirs, atol=1e-6))

    def test_half_sums_of_gradients_choose_the_running_mean_unless_combined(self):
        for combined, strategy in ((False, poptorch.MeanReductionStrategy.Running), (True, poptorch.MeanReductionStrategy.Post)):
            module = Squares(Layers(1))
            optimizer = poptorch.optim.SGD(module.parameters(), lr=0.1, accum_type=torch.half, use_combined_accum=combined)
            model = poptorch.trainingModel(module, None, optimizer)
            self.assertEqual(model.options.Training.meanAccumulationAndReplicationReductionStrategy, strategy)

    def test_optimizers_of_own_classes_get_a_warning(self):
        class Own(torch.optim.SGD):
            pass

        module = Squares(Layers(1))
        with self.assertLogs("poptorch", "WARNING") as logged:
            poptorch.trainingModel(module, None, Own(module.parameters(), lr=0.1))
        self.assertIn("Own: Poptorch does not run Python optimizer code directly: the devices compute the update of SGD",
                      logged.output[0])

    def test_the_executor_has_what_its_module_has(self):
        module = Layers(2)
        model = poptorch.inferenceModel(module, poptorch.Options().deviceIterations(2))
        self.assertIs(model.layers, module.layers)
        with self.assertRaises(AttributeError):
            model.nothing  # noqa: B018
        with self.assertRaisesRegex(AttributeError, "rng_state is not implemented on emulated devices: .*randomSeed"):
            model.rng_state  # noqa: B018


if __name__ == "__main__":
    unittest.main()
