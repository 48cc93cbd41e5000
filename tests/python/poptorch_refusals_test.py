"""Refusals of PopTorch for models, strategies, options and loaders, each with its sentence, and what it takes beside them."""

import unittest

import torch
from pipescope import poptorch
from pipescope.poptorch import ParallelPhasedExecution, Phase, PipelinedExecution, SerialPhasedExecution, Stage
from torch import nn
from torch.utils.data import BatchSampler, IterableDataset, TensorDataset


class Blocks(nn.Module):
    """Blocks B0, B1 … of one layer each. The loss is in the last one."""

    def __init__(self, count, tied=False):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(count))
        if tied:
            self.layers[-1].weight = self.layers[0].weight

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            with poptorch.Block(f"B{number}"):
                x = layer(x)
                loss = x.pow(2).mean() if number + 1 == len(self.layers) else None
        return x, loss


class Numbers(IterableDataset):
    def __iter__(self):
        return iter(range(5))


def train(count, strategy, accumulation, rows=None, replicas=1, tied=False):
    """Compile a model for training, on any number of IPUs."""
    options = poptorch.Options().setExecutionStrategy(strategy).useIpuModel(True).replicationFactor(replicas)
    options.Training.gradientAccumulation(accumulation)
    module = Blocks(count, tied)
    model = poptorch.trainingModel(module, options, poptorch.optim.SGD(module.parameters(), lr=0.1))
    model.compile(torch.ones(rows or accumulation * replicas, 4))


def on(*ipus):
    """Stages of one block each on these IPUs."""
    return PipelinedExecution(*(Stage(f"B{number}").ipu(ipu) for number, ipu in enumerate(ipus)))


def processes(count):
    options = poptorch.Options()
    options.Distributed.configureProcessId(0, count)
    return options


class Refusals(unittest.TestCase):
    def refused(self, cases):
        for kind, sentence, call in cases:
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                call()

    def test_pipelines_need_micro_batches(self):
        """The examples of stages that are counted as changes of IPU, beginning on IPU 0."""
        for ipus, forward in (((0, 1, 2, 3), 4), ((0, 0, 1), 2), ((0, 1, 2, 1), 4), ((1, 0), 3), ((0, 1), 2)):
            with self.subTest(ipus):
                least = 2 * forward - 1
                train(len(ipus), on(*ipus), least)
                with self.assertRaisesRegex(poptorch.Error, rf"is {least - 1}, but the pipeline has {least} stages"):
                    train(len(ipus), on(*ipus), least - 1)
        train(3, on(0, 0, 0), 1)  # one IPU: no pipeline

    def test_phases(self):
        pair = Phase(Stage("B0"), Stage("B1"))
        train(4, ParallelPhasedExecution(pair.ipus(0, 2), Phase(Stage("B2"), Stage("B3")).ipus(1, 3)), 2)
        train(3, ParallelPhasedExecution("B0", "B1", "B2"), 2)
        train(3, ParallelPhasedExecution(pair.ipus(0, 2), Phase("B2").ipus(1)), 2)  # phases of two stages and of one
        train(3, SerialPhasedExecution("B0", ["B1", "B2"]).setTensorsLiveness(poptorch.Liveness.AlwaysLive), 2)
        self.refused([
            (ValueError, "phases of even number are on devices of even number",
             lambda: train(2, ParallelPhasedExecution(Phase("B0").ipus(1), Phase("B1").ipus(0)), 2)),
            (ValueError, "got 2 IPUs for 1 stages", lambda: Phase("B0").ipus(0, 1)),
            (ValueError, "needs its phases", SerialPhasedExecution),
        ])

    def test_inputs_have_no_gradients(self):
        with self.assertLogs("poptorch", "WARNING") as logged:
            poptorch.inferenceModel(torch.nn.Linear(1, 1))(torch.ones(2, 1, requires_grad=True))
        self.assertIn("backward pass via inputs is not supported", logged.output[0])

    def test_blocks_stages_and_ipus(self):
        self.refused([
            (AssertionError, 'names block "B7"', lambda: train(2, PipelinedExecution("B0", "B7"), 3)),
            (AssertionError, "in two stages", lambda: train(2, PipelinedExecution(Stage("B0", "B1"), Stage("B1")), 3)),
            (ValueError, 'Block "B0" has no ipu_id', lambda: train(2, PipelinedExecution(), 3)),
            (ValueError, "its users must sit on one device", lambda: train(2, on(0, 1), 3, tied=True)),
            (poptorch.Error, "takes 66 IPUs.*too many IPUs", lambda: train(2, on(0, 1), 3, replicas=33)),
            (poptorch.Error, r"\[9, 4\]: invalid batch dimension", lambda: train(2, on(0, 1), 4, rows=9)),
        ])

    def test_functions_that_do_not_exist_say_what_to_use(self):
        with self.assertRaisesRegex(AttributeError, "poptorch.fps is not implemented.*on the host"):
            poptorch.fps(torch.ones(1))
        with self.assertRaisesRegex(AttributeError, "no attribute 'optims'"):
            poptorch.optims  # noqa: B018
        self.assertFalse(hasattr(poptorch, "custom_op"))

    def test_a_model_knows_where_it_runs(self):
        class Where(nn.Module):
            def forward(self, x):
                return poptorch.nop(x) * (2 if poptorch.isRunningOnIpu() else 3)

        x = torch.ones(2, 1)
        self.assertEqual(poptorch.inferenceModel(Where())(x).tolist(), [[2], [2]])
        self.assertEqual(Where()(x).tolist(), [[3], [3]])

    def test_how_replicas_differ(self):
        def call(replicas, change):
            options = poptorch.Options()
            options.replicationFactor(replicas)
            change(options)
            return poptorch.inferenceModel(torch.nn.Linear(2, 1), options)(torch.ones(2, 2))

        for sentence, change in (
            (r"syncPattern\(SinglePipeline\) is not implemented for several replicas",
             lambda options: options.syncPattern(poptorch.SyncPattern.SinglePipeline)),
        ):
            self.assertEqual(call(1, change).shape, (2, 1))  # one replica has none to differ from
            self.refused([(NotImplementedError, sentence, lambda change=change: call(2, change))])

    def test_loaders(self):
        data, sampler = TensorDataset(torch.ones(10, 1)), BatchSampler(range(10), 2, True)
        self.refused([
            (poptorch.Error, "decides batch_size itself",
             lambda: poptorch.DataLoader(poptorch.Options(), data, batch_size=2, batch_sampler=sampler)),
            (poptorch.Error, "decides shuffle itself",
             lambda: poptorch.DataLoader(poptorch.Options(), data, shuffle=True, batch_sampler=sampler)),
            (poptorch.Error, "cannot be divided over processes",
             lambda: poptorch.DataLoader(processes(2), data, batch_sampler=sampler)),
            (AssertionError, "iterable data set cannot be divided",
             lambda: poptorch.DataLoader(processes(2), Numbers())),
            (AssertionError, "needs one seed", lambda: poptorch.DataLoader(processes(2), data, shuffle=True)),
        ])

    def test_optimizers_and_inference(self):
        module = Blocks(1)
        parameters = list(module.parameters())
        strategy = poptorch.Options().setExecutionStrategy(on(0))
        model = poptorch.trainingModel(module, strategy, poptorch.optim.SGD(parameters, lr=0.1))
        model(torch.ones(1, 4))
        accumulates = poptorch.Options()
        accumulates.Training.gradientAccumulation(2)
        own = type("Own", (torch.optim.SGD,), {"step": lambda self, closure=None: None})
        self.refused([
            (poptorch.Error, "Own is no optimizer", lambda: poptorch.trainingModel(module, None, own(parameters, lr=1))),
            (poptorch.Error, "Adagrad is no optimizer",
             lambda: poptorch.trainingModel(module, None, torch.optim.Adagrad(parameters))),
            (poptorch.Error, "cannot become adam", lambda: model.setOptimizer(poptorch.optim.Adam(parameters))),
            (ValueError, "would need other state",
             lambda: model.setOptimizer(poptorch.optim.SGD(parameters, lr=0.1, momentum=0.9))),
            (poptorch.Error, "inference trains nothing",
             lambda: poptorch.inferenceModel(module, None, poptorch.optim.SGD(parameters, lr=0.1))),
            (poptorch.Error, "use deviceIterations for more", lambda: poptorch.inferenceModel(module, accumulates)),
            (poptorch.Error, "deviceIterations is 1, but the pipeline has 2 stages",
             lambda: poptorch.inferenceModel(Blocks(2), poptorch.Options().setExecutionStrategy(on(0, 1)))(
                 torch.ones(1, 4))),
            (ValueError, "is 3, which does not divide the 4 replicas",
             lambda: poptorch.inferenceModel(nn.Linear(4, 4), poptorch.Options().replicationFactor(4).inputReplicaGrouping(
                 3, poptorch.CommGroupType.Consecutive))(torch.ones(4, 4))),
            (poptorch.Error, "cannot attach to devices",
             lambda: poptorch.inferenceModel(nn.Linear(4, 4), poptorch.Options().useOfflineIpuTarget())(torch.ones(1, 4))),
        ])
        model.setOptimizer(poptorch.optim.SGD(parameters, lr=0.3))

    def test_rows_of_the_output_modes(self):
        """The counts for b = 2, R = 2, D = 10, G = 3."""
        modes = poptorch.OutputMode
        for mode, period, rows in ((modes.All, None, 120), (modes.EveryN, 5, 24), (modes.Final, None, 4), (modes.Sum, None, 4)):
            options = poptorch.Options().replicationFactor(2).deviceIterations(10).outputMode(mode, period)
            options.setExecutionStrategy(on(0)).Training.gradientAccumulation(3)
            module = Blocks(1)
            model = poptorch.trainingModel(module, options, poptorch.optim.SGD(module.parameters(), lr=0.0))
            self.assertEqual(len(model(torch.ones(120, 4))[0]), rows, mode)


if __name__ == "__main__":
    unittest.main()
