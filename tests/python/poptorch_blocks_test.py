"""Blocks, stages and strategies: what PopTorch's rules say of them, without running a model."""

import unittest

import pipescope.poptorch as poptorch
import torch
from pipescope.poptorch import configuration
from pipescope.poptorch.structure import Structure
from pipescope.poptorch.trace import trace
from poptorch_support import network, options

POP = poptorch


class Chain(torch.nn.Module):
    """Calls functions one after another."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = parts
        for i, part in enumerate(parts):
            if isinstance(part, torch.nn.Module):
                self.add_module(str(i), part)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def inside(block, ipu=None, function=torch.relu):
    """A function within a block."""
    return POP.BlockFunction(block, ipu)(function)


def blocks_of(module, shape=(2, 4)):
    """{block: operators} of a model, and its annotations."""
    from pipescope.poptorch.model import interface

    arguments = Structure(([torch.ones(shape)], {}))
    traced = trace(module, arguments, arguments.release(), False)
    nodes = interface.outline(traced.onnx, "model")["nodes"]
    kinds = dict((name, kind) for kind, name in nodes)
    blocks = configuration.assign_nodes(nodes, traced.annotations)
    return {block: [kinds[name] for name in names] for block, names in blocks.items()}, traced.annotations


def placed(strategy, blocks):
    return [(stage.blocks, stage.ipu) for stage in strategy.place(blocks)]


class Annotating(unittest.TestCase):
    def test_operators_belong_to_the_block_in_which_they_are_made(self):
        blocks, notes = blocks_of(Chain(inside("A"), inside("B", 2, torch.tanh), inside("A", None, torch.sigmoid)))
        self.assertEqual(blocks, {"A": ["Relu", "Sigmoid"], "B": ["Tanh"]})
        self.assertEqual(notes.ipus, {"A": None, "B": 2})

    def test_a_block_may_begin_at_a_module_and_last_until_the_next(self):
        layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4), torch.nn.Tanh())
        POP.BeginBlock(layers[0], "A", 0)
        POP.BeginBlock(layers[2], "B", 1)
        blocks, notes = blocks_of(Chain(layers, torch.sigmoid))
        self.assertEqual(blocks, {"A": ["Gemm", "Relu"], "B": ["Gemm", "Tanh", "Sigmoid"]})
        self.assertEqual(notes.ipus, {"A": 0, "B": 1})
        with self.assertRaisesRegex(POP.Error, "begins a block already"):
            POP.BeginBlock(layers[0], "C")
        with self.assertRaisesRegex(TypeError, "takes a module or a function"):
            POP.BeginBlock(3, "C")

    def test_a_block_may_be_started_between_operators(self):
        def start(block):
            return lambda x: POP.Block.start(block) or x

        module = Chain(torch.relu, start("A"), torch.tanh, start("B"), torch.sigmoid)
        blocks, _ = blocks_of(module)
        self.assertEqual(blocks, {"before the first block": ["Relu"], "A": ["Tanh"], "B": ["Sigmoid"]})

    def test_a_block_on_several_ipus_has_a_part_on_each(self):
        blocks, _ = blocks_of(Chain(inside("A", 0), inside("A", 1, torch.tanh), inside("A", 0, torch.sigmoid)))
        self.assertEqual(blocks, {"A": ["Relu", "Sigmoid"], "A on IPU 1": ["Tanh"]})

    def test_ids_may_be_automatic(self):
        try:
            POP.Block.useAutoId()
            blocks, _ = blocks_of(Chain(inside(None), inside(None, None, torch.tanh)))
        finally:
            POP.Block._automatic = False
        self.assertEqual(blocks, {"0": ["Relu"], "1": ["Tanh"]})

    def test_wrong_blocks_are_refused_with_the_line(self):
        nested = POP.BlockFunction("A")(inside("B"))
        with self.assertRaisesRegex(POP.Error, r"within another one at .*poptorch_blocks_test\.py:\d+"):
            blocks_of(Chain(nested))
        with self.assertRaisesRegex(POP.Error, "no active block"):
            blocks_of(Chain(inside("A"), torch.tanh))
        with self.assertRaisesRegex(ValueError, "needs a user_id or an ipu_id"):
            POP.Block()
        with self.assertRaisesRegex(ValueError, "counted from 0"):
            POP.Block("A", -1)


class Placing(unittest.TestCase):
    def test_stages_take_the_ipu_that_is_given_first(self):
        strategy = POP.PipelinedExecution(POP.Stage("A", "B").ipu(3), "C", POP.Stage("D"))
        found = placed(strategy, {"A": 7, "B": None, "C": 5, "D": None})
        self.assertEqual(found, [(["A", "B"], 3), (["C"], 5), (["D"], 2)])
        self.assertEqual(strategy.stage("B").blocks, ["A", "B"])

    def test_automatic_stages(self):
        self.assertEqual(placed(POP.PipelinedExecution(), {"A": 0, "B": 0, "C": 1}), [(["A", "B"], 0), (["C"], 1)])
        increment = POP.ShardedExecution(POP.AutoStage.AutoIncrement)
        self.assertEqual(placed(increment, {"A": 0, "B": 1, "C": 0}), [(["A"], 0), (["B"], 1), (["C"], 0)])

    def test_stages_that_contradict_the_blocks_are_refused(self):
        refusals = [
            (ValueError, "returns to IPU 0", POP.PipelinedExecution(), {"A": 0, "B": 1, "C": 0}),
            (ValueError, "has no ipu_id", POP.PipelinedExecution(), {"A": None}),
            (AssertionError, "is in two stages", POP.PipelinedExecution("A", POP.Stage("A")), {"A": 0}),
            (AssertionError, 'names block "B"', POP.PipelinedExecution("A", "B"), {"A": 0}),
            (AssertionError, "is in no stage", POP.PipelinedExecution("A"), {"A": 0, "B": 1}),
        ]
        for kind, sentence, strategy, blocks in refusals:
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                strategy.place(blocks)
        with self.assertRaisesRegex(TypeError, "takes Stage objects"):
            POP.PipelinedExecution(3)
        with self.assertRaisesRegex(ValueError, "at least one block"):
            POP.Stage()
        with self.assertRaisesRegex(ValueError, "counted from 0"):
            POP.Stage("A").ipu(-1)
        with self.assertRaisesRegex(ValueError, "No stage holds"):
            POP.PipelinedExecution("A").stage("B")

    def test_a_phase_has_a_stage_on_each_ipu_of_its_blocks(self):
        blocks = {"A": 0, "A on IPU 2": 2, "B": 1}
        origins = {"A": "A", "A on IPU 2": "A", "B": "B"}
        one = POP.ParallelPhasedExecution("A", "B")
        found = [(s.blocks, s.ipu, s.phase) for s in one.place(blocks, origins)]
        self.assertEqual(found, [(["A"], 0, 0), (["A on IPU 2"], 2, 0), (["B"], None, 1)])
        with self.assertRaisesRegex(AssertionError, "stage on IPU 3 has blocks on several IPUs"):
            POP.ParallelPhasedExecution(POP.Phase(POP.Stage("A").ipu(3)), "B").place(blocks, origins)
        with self.assertRaisesRegex(AssertionError, 'Block "A" is on the IPUs 0 and 2, but a stage is on one'):
            POP.PipelinedExecution("A", "B").place(blocks, origins)

    def test_phases(self):
        one = POP.SerialPhasedExecution(POP.Phase("A", "B"), POP.Phase(POP.Stage("C"), POP.Stage("D")).ipus(0, 2))
        found = [(s.blocks, s.ipu, s.phase) for s in one.place(dict.fromkeys("ABCD"))]
        self.assertEqual(found, [(["A", "B"], None, 0), (["C"], 0, 1), (["D"], 2, 1)])
        self.assertIs(one.phase(1).stage(0), one.phases[1].stages[0])
        for kind, sentence, make in (
            (ValueError, "got 1 IPUs for 2 stages", lambda: POP.Phase(POP.Stage("A"), POP.Stage("B")).ipus(0)),
            (ValueError, "not both", lambda: POP.Phase("A", POP.Stage("B"))),
            (ValueError, "at least one stage", lambda: POP.Phase()),
            (ValueError, "needs its phases", lambda: POP.ParallelPhasedExecution()),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                make()


class Counting(unittest.TestCase):
    """The worked examples of PopTorch's count of stages: IPUs -> forward stages and least accumulation."""

    EXAMPLES = [([0, 1, 2, 3], 4, 7), ([0, 0, 1], 2, 3), ([0, 1, 2, 1], 4, 7), ([1, 0], 3, 5)]

    def stages(self, ipus):
        return POP.PipelinedExecution(*[POP.Stage(str(i)).ipu(ipu) for i, ipu in enumerate(ipus)]).place(
            {str(i): None for i in range(len(ipus))}
        )

    def test_forward_stages_are_counted_by_changes_of_the_ipu(self):
        for ipus, forward, least in self.EXAMPLES:
            stages = self.stages(ipus)
            self.assertEqual(configuration.count_forward_stages(stages), forward, ipus)
            configuration.check_pipeline(options(1, least), stages, True)
            with self.assertRaisesRegex(POP.Error, f"must be at least {least}"):
                configuration.check_pipeline(options(1, least - 1), stages, True)
            configuration.check_pipeline(options(forward, 1), stages, False)
            with self.assertRaisesRegex(POP.Error, f"at least {forward}"):
                configuration.check_pipeline(options(forward - 1, 1), stages, False)

    def test_one_ipu_is_no_pipeline_and_sharding_needs_no_accumulation(self):
        configuration.check_pipeline(options(1, 1), self.stages([0, 0]), True)
        configuration.check_pipeline(options(1, 1, POP.ShardedExecution("A")), self.stages([0, 1]), True)

    def test_one_process_has_at_most_64_ipus(self):
        self.assertEqual(configuration.count_ipus(self.stages([0, 1, 3]), 2), 8)
        self.assertEqual(configuration.count_ipus([], 64), 64)
        command = "poprun --num-instances 2 --num-replicas 16 --ipus-per-replica 5"
        with self.assertRaisesRegex(POP.Error, "takes 80 IPUs.*too many IPUs.*2 processes.*" + command):
            configuration.count_ipus(self.stages([0, 4]), 16)


class Refusing(unittest.TestCase):
    def test_a_pipeline_that_is_too_long_for_its_accumulation_is_refused_at_the_first_call(self):
        model = network()
        training = POP.trainingModel(model, options(4, 6), torch.optim.SGD(model.parameters(), lr=0.1))
        with self.assertRaisesRegex(POP.Error, "gradientAccumulation is 6, .* at least 7, whatever deviceIterations"):
            training(torch.zeros(24, 1, 28, 28), torch.zeros(24, dtype=torch.long))


if __name__ == "__main__":
    unittest.main()
