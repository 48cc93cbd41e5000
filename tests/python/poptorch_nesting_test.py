"""Nested arguments and results, losses, parameter groups, modes of training: tests against PyTorch."""

import collections
import copy
import io
import unittest
import warnings

import pipescope.poptorch as poptorch
import torch
from pipescope import interface
from torch import nn

Pair = collections.namedtuple("Pair", "first second")


class Nested(nn.Module):
    """Takes and returns tuples, lists, dictionaries, named tuples and plain values."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x, pair, extra=None, *, scale=1.0, labels=None):
        scores = self.layer(x) * pair[0] + pair[1]["shift"] * scale
        if extra is not None:
            scores = scores + extra.first - extra.second
        if labels is None:
            return Pair(scores, [x, {"twice": scores * 2}, None])
        loss = nn.functional.cross_entropy(scores, labels)
        accuracy = (scores.argmax(1) == labels).float().mean()
        return {"loss": loss, "rest": (scores, accuracy, scores)}


def optimizer(module, lr=0.5):
    return poptorch.optim.SGD(module.parameters(), lr=lr)


class Nesting(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.module = Nested()
        self.x, self.labels = torch.randn(4, 2), torch.tensor([0, 1, 1, 0])
        self.pair = (torch.rand(4, 2), {"shift": torch.rand(4, 2)})

    def test_inference_returns_what_the_module_returns(self):
        model = poptorch.inferenceModel(self.module)
        extra = Pair(torch.rand(4, 2), torch.rand(4, 2))
        ours = model(self.x, self.pair, extra, scale=0.5)
        theirs = self.module(self.x, self.pair, extra, scale=0.5)
        self.assertIsInstance(ours, Pair)
        self.assertTrue(torch.allclose(ours.first, theirs.first, atol=1e-6))
        self.assertTrue(torch.equal(ours.second[0], self.x))
        self.assertTrue(torch.allclose(ours.second[1]["twice"], theirs.second[1]["twice"], atol=1e-6))
        self.assertIsNone(ours.second[2])

    def test_keyword_inputs_leave_gaps(self):
        model = poptorch.trainingModel(self.module, None, optimizer(self.module))
        theirs = self.module(self.x, self.pair, labels=self.labels)
        ours = model(self.x, pair=self.pair, labels=self.labels)
        self.assertAlmostEqual(ours["loss"].item(), theirs["loss"].item(), places=6)
        scores, accuracy, again = ours["rest"]
        self.assertTrue(torch.allclose(scores, theirs["rest"][0], atol=1e-6))
        self.assertEqual(accuracy.tolist(), theirs["rest"][1].item())
        self.assertTrue(torch.equal(scores, again))

    def test_other_arguments_are_refused(self):
        model = poptorch.inferenceModel(self.module)
        model(self.x, self.pair, scale=0.5)
        with self.assertRaisesRegex(poptorch.Error, "argument scale was 0.5 and now is 0.25"):
            model(self.x, self.pair, scale=0.25)
        with self.assertRaisesRegex(poptorch.Error, r"argument 1 had the keys \['shift'\] and now has \['other'\]"):
            model(self.x, (self.pair[0], {"other": self.x}), scale=0.5)
        with self.assertRaisesRegex(poptorch.Error, "argument 1 had 2 members and now has 1"):
            model(self.x, self.pair[:1], scale=0.5)
        with self.assertRaisesRegex(poptorch.Error, "argument 0 was a tensor and now is a tuple"):
            model(self.pair, self.pair, scale=0.5)
        with self.assertRaisesRegex(poptorch.Error, r"named arguments \['labels', 'scale'\], but \['labels'\] were given"):
            model(self.x, self.pair)

    def test_output_modes_of_inference(self):
        modes = poptorch.OutputMode

        class Same(nn.Module):
            def forward(self, x):
                return x * 1.0, x.sum()

        expected = {modes.All: 120, modes.Default: 120, modes.Final: 4, modes.Sum: 4}
        rows = torch.arange(120.0).reshape(120, 1)
        for mode, count in expected.items():
            made = poptorch.Options().deviceIterations(30).replicationFactor(2).outputMode(mode)
            values, sums = poptorch.inferenceModel(Same(), made)(rows)
            self.assertEqual((values.shape, sums.shape), ((count, 1), (count // 2,)))
            if mode == modes.Final:
                self.assertEqual(values.flatten().tolist(), [116, 117, 118, 119])
            if mode == modes.Sum:
                self.assertEqual(values.flatten().tolist(), [4 * 435 + 30 * i for i in range(4)])
        made = poptorch.Options().deviceIterations(10).outputMode(modes.EveryN, 5)
        values, _ = poptorch.inferenceModel(Same(), made)(rows[:20])
        self.assertEqual(values.flatten().tolist(), [8, 9, 18, 19])

    def test_replicas_of_inference_may_share_their_input(self):
        made = poptorch.Options().replicationFactor(4).inputReplicaGrouping(2)
        values = poptorch.inferenceModel(nn.ReLU(), made)(torch.arange(2.0).reshape(2, 1))
        self.assertEqual(values.flatten().tolist(), [0, 0, 1, 1])


class Losses(unittest.TestCase):
    def train(self, results, **inputs):
        class Module(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 1)

            def forward(self, x):
                return results(self.layer(x))

        torch.manual_seed(3)
        module = Module()
        before = module.layer.weight.detach().clone()
        x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
        model = poptorch.trainingModel(module, None, optimizer(module, lr=1.0))
        return model(x), before - module.layer.weight.detach(), x

    def test_a_loss_without_reduction_is_returned_as_it_is(self):
        values, step, x = self.train(lambda y: poptorch.identity_loss(y, "none"))
        self.assertEqual(values.shape, (2, 1))
        self.assertTrue(torch.allclose(step, x.sum(0, keepdim=True), atol=1e-5))

    def test_a_loss_may_be_all_that_is_returned(self):
        loss, step, x = self.train(lambda y: y.mean())
        self.assertEqual(loss.shape, ())
        self.assertTrue(torch.allclose(step, x.mean(0, keepdim=True), atol=1e-5))

    def test_a_marked_loss_wins_over_other_numbers(self):
        (total, part), step, x = self.train(lambda y: (poptorch.identity_loss(y.sum() * 2, "sum"), y.sum()))
        self.assertAlmostEqual(total.item(), 2 * part.item(), places=4)
        self.assertTrue(torch.allclose(step, 2 * x.sum(0, keepdim=True), atol=1e-4))

    def test_two_losses_are_refused(self):
        with self.assertRaisesRegex(poptorch.Error, "returns 2 losses"):
            self.train(lambda y: (y.sum(), y.mean()))
        with self.assertRaisesRegex(poptorch.Error, "identity_loss 2 times"):
            self.train(lambda y: (poptorch.identity_loss(y, "sum"), poptorch.identity_loss(y, "mean")))


class LossOutputs(unittest.TestCase):
    """training.loss_output of an ONNX model."""

    def compile(self, name):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 2)

            def forward(self, x):
                y = self.layer(x)
                return y.sum(), y

        buffer = io.BytesIO()
        torch.onnx.export(Two(), torch.ones(1, 2), buffer, input_names=["x"], output_names=["sum", "values"])
        toml = f'[model]\nname = "two"\n[execution]\nmode = "training"\n[training]\nloss = "model"\nloss_output = "{name}"\n'
        return interface.compile(toml, "two", buffer.getvalue())

    def test_the_other_outputs_stay(self):
        info = self.compile("sum").executables[0]
        self.assertEqual((info.has_loss, [name for name, _, _ in info.outputs]), (True, ["values"]))

    def test_what_is_no_loss_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'loss_output is "total", but the model has no such output'):
            self.compile("total")
        with self.assertRaisesRegex(ValueError, 'loss_output is "values", but a loss is one float32 without axes'):
            self.compile("values")


class Tied(nn.Module):
    """An embedding whose weights are also those of the last layer, with dropout that is off."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(7, 3)
        self.norm = nn.LayerNorm(3)
        self.scores = nn.Linear(3, 7, bias=False)
        self.scores.weight = self.words.weight

    def forward(self, ids, labels):
        return nn.functional.cross_entropy(self.scores(self.norm(self.words(ids))), labels)


class AgainstPyTorch(unittest.TestCase):
    """Three steps of training give PyTorch's losses."""

    def steps(self, make, inputs, optimizers, places=5):
        torch.manual_seed(5)
        ours = make()
        theirs = make()
        theirs.load_state_dict(ours.state_dict())
        reference = optimizers[1](theirs)
        model = poptorch.trainingModel(ours, None, optimizers[0](ours))
        for _ in range(3):
            expected = theirs(*inputs)
            reference.zero_grad()
            expected.backward()
            reference.step()
            self.assertAlmostEqual(model(*inputs).item(), expected.item(), places=places)
        for (name, mine), other in zip(ours.named_parameters(), theirs.parameters()):
            self.assertTrue(torch.allclose(mine, other, atol=1e-4), name)
        return model

    def test_tied_weights(self):
        inputs = torch.tensor([1, 2, 3, 6]), torch.tensor([2, 3, 4, 0])
        self.steps(Tied, inputs, [optimizer, lambda m: torch.optim.SGD(m.parameters(), lr=0.5)])

    def groups(self, module, kind):
        norms = [p for name, p in module.named_parameters() if "norm" in name]
        rest = [p for name, p in module.named_parameters() if "norm" not in name]
        return kind([{"params": rest}, {"params": norms, "lr": 0.3, "weight_decay": 0.0}], lr=0.1, weight_decay=0.2)

    def test_parameter_groups(self):
        inputs = torch.tensor([1, 2, 3, 6]), torch.tensor([2, 3, 4, 0])
        for kind in (poptorch.optim.AdamW, poptorch.optim.SGD):
            of_torch = getattr(torch.optim, kind.__name__)
            model = self.steps(Tied, inputs, [lambda m, k=kind: self.groups(m, k),
                                              lambda m, k=of_torch: self.groups(m, k)], places=4)
        # The rates of the groups may change between calls.
        module = model.model
        changed = self.groups(module, poptorch.optim.SGD)
        for group in changed.param_groups:
            group["lr"] = 0.0
        model.setOptimizer(changed)
        before = [p.detach().clone() for p in module.parameters()]
        model(*inputs)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, module.parameters())))
        with self.assertRaisesRegex(poptorch.Error, "other parameter groups"):
            model.setOptimizer(poptorch.optim.SGD(module.parameters(), lr=0.1))

    def test_dropout_keeps_the_mean_and_differs_between_calls(self):
        class Dropped(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(1))

            def forward(self, x):
                kept = nn.functional.dropout(x * self.scale, 0.25, training=self.training)
                return kept, poptorch.identity_loss(kept, "mean")

        module = Dropped()
        model = poptorch.trainingModel(module, poptorch.Options().randomSeed(4), optimizer(module, lr=0.0))
        x = torch.ones(16, 64)
        first, second = model(x)[0], model(x)[0]
        self.assertFalse(torch.equal(first, second))
        for kept in (first, second):
            values = set(kept.flatten().tolist())
            self.assertEqual(len(values), 2)
            self.assertAlmostEqual(max(values), 1 / 0.75, places=5)
            self.assertAlmostEqual((kept > 0).float().mean().item(), 0.75, delta=0.06)  # 5 standard deviations
        model.destroy()
        again = poptorch.trainingModel(module, poptorch.Options().randomSeed(4), optimizer(module, lr=0.0))
        self.assertTrue(torch.equal(again(x)[0], first))
        self.assertTrue(torch.equal(poptorch.inferenceModel(module)(x)[0], x))

    def test_modules_that_are_not_trained_stay_so(self):
        class Frozen(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.layer = nn.BatchNorm1d(2), nn.Linear(2, 1)

            def forward(self, x):
                return self.layer(self.norm(x)).mean()

        def make():
            module = Frozen()
            module.norm.eval()
            return module

        x = torch.tensor([[1.0, 2.0], [5.0, 9.0]])
        model = self.steps(make, (x,), [optimizer, lambda m: torch.optim.SGD(m.parameters(), lr=0.5)])
        self.assertFalse(model.model.norm.training)
        self.assertTrue(torch.equal(model.model.norm.running_mean, torch.zeros(2)))

    def test_float32_within_a_half_model_stays_float32(self):
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.linspace(0.1, 1.0, 8))

            def forward(self, x):
                third = x.float() / 3.0
                return third * self.weight, third + x, torch.softmax(third, 1)

        module, x = Mixed().half(), torch.linspace(-2, 2, 16).reshape(2, 8).half()
        for found, expected in zip(poptorch.inferenceModel(module)(x), module(x)):
            self.assertEqual(found.dtype, torch.float32)
            self.assertTrue(torch.allclose(found, expected, rtol=1e-6, atol=1e-7))
        norm = nn.GroupNorm(2, 8)
        rounded = poptorch.inferenceModel(norm.half())(x).float()  # one rounding of the result
        expected = nn.functional.group_norm(x.float(), 2)
        self.assertLessEqual((rounded - expected).abs().max().item(), 2.0**-11 * expected.abs().max().item() * 1.01)

    def test_rounding_at_random_holds_for_a_whole_half_model(self):
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 2)

            def forward(self, x):
                return self.layer(x).float().square().mean()

        options = poptorch.Options()
        options.Precision.enableStochasticRounding(True)
        with self.assertLogs("poptorch", "WARNING") as logged:
            poptorch.trainingModel(Loss().half(), options)(torch.ones(2, 4).half())
        self.assertIn("Stochastic rounding goes with half precision of the whole model", logged.output[0])

    def test_half_precision(self):
        torch.manual_seed(2)
        module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).half()

        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = module

            def forward(self, x, labels):
                scores = self.model(x)
                return scores, nn.functional.cross_entropy(scores, labels)

        wide = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        wide.load_state_dict({name: value.float() for name, value in module.state_dict().items()})
        x, labels = torch.randn(8, 8).half(), torch.randint(0, 4, (8,))
        model = poptorch.trainingModel(Loss(), None, poptorch.optim.SGD(module.parameters(), lr=0.1, loss_scaling=64.0))
        reference = torch.optim.SGD(wide.parameters(), lr=0.1)
        for _ in range(3):
            scores = wide(x.float())
            expected = nn.functional.cross_entropy(scores, labels)
            reference.zero_grad()
            expected.backward()
            reference.step()
            ours, loss = model(x, labels)
            self.assertEqual((ours.dtype, module[0].weight.dtype), (torch.float16, torch.float16))
            self.assertAlmostEqual(loss.item(), expected.item(), delta=5e-3)
        self.assertTrue(torch.allclose(module[0].weight.float(), wide[0].weight, atol=2e-3))

    def test_phased_execution(self):
        class Phased(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

            def forward(self, x, labels):
                with poptorch.Block("A"):
                    x = torch.relu(self.first(x))
                with poptorch.Block("B"):
                    return nn.functional.cross_entropy(self.second(x), labels)

        torch.manual_seed(1)
        x, labels = torch.randn(4, 4), torch.tensor([0, 1, 1, 0])
        losses = []
        start = Phased().state_dict()
        for strategy in (poptorch.SerialPhasedExecution("A", "B"), poptorch.ParallelPhasedExecution(
                poptorch.Phase(poptorch.Stage("A").ipu(0)), poptorch.Phase(poptorch.Stage("B").ipu(1))),
                poptorch.ShardedExecution("A", "B")):
            module = Phased()
            module.load_state_dict(start)
            made = poptorch.Options().setExecutionStrategy(strategy)
            model = poptorch.trainingModel(module, made, optimizer(module))
            losses.append([model(x, labels).item() for _ in range(3)])
        self.assertEqual(losses[0], losses[2])
        self.assertEqual(losses[1], losses[2])
        self.assertLess(losses[0][2], losses[0][0])

    def test_ipus_of_a_phase_that_work_in_turns(self):
        class Turns(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))

            def block(self, side, phase):
                return poptorch.Block(f"{side}{phase}")

            def forward(self, x):
                layers = iter(self.layers)
                left = right = x
                for phase in (0, 1, 1):
                    with self.block("left", phase):
                        one = torch.tanh(next(layers)(right))
                    with self.block("right", phase):
                        other = torch.tanh(next(layers)(left))
                    left, right = one, other
                with self.block("right", 1):
                    y = left + right
                    return y, y.square().mean()

        class OneBlockOfAPhase(Turns):
            def block(self, side, phase):
                return poptorch.Block(str(phase), ipu_id=phase + 2 * (side == "right"))

        self.check_turns(Turns(), poptorch.ParallelPhasedExecution(*(
            poptorch.Phase(poptorch.Stage(f"left{phase}").ipu(phase), poptorch.Stage(f"right{phase}").ipu(phase + 2))
            for phase in (0, 1))))
        self.check_turns(OneBlockOfAPhase(), poptorch.ParallelPhasedExecution("0", "1"))

    def check_turns(self, module, strategy):
        torch.manual_seed(1)
        x, twin = torch.randn(4, 4), copy.deepcopy(module)
        model = poptorch.trainingModel(module, poptorch.Options().setExecutionStrategy(strategy),
                                       torch.optim.SGD(module.parameters(), lr=0.1))
        reference = torch.optim.SGD(twin.parameters(), lr=0.1)
        for _ in range(2):
            made, expected = model(x), twin(x)
            self.assertTrue(torch.allclose(made[0], expected[0], atol=1e-6))
            reference.zero_grad()
            expected[1].backward()
            reference.step()
        for one, other in zip(module.parameters(), twin.parameters()):
            self.assertTrue(torch.allclose(one, other, atol=1e-6))


class Tracing(unittest.TestCase):
    def test_values_that_become_constants_are_named(self):
        class Branches(nn.Module):
            def forward(self, x):
                return x * 2 if x.sum() > 0 else x * 3

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = poptorch.inferenceModel(Branches())
            self.assertEqual(model(torch.ones(1)).item(), 2)
        texts = [str(each.message) for each in caught]
        self.assertTrue(any("nesting_test.py" in text and "always takes the same way" in text for text in texts), texts)
        self.assertEqual(model(-torch.ones(1)).item(), -2)

    def test_types_are_those_of_pytorch(self):
        class Widened(nn.Module):
            def __init__(self):
                super().__init__()
                self.narrow, self.wide = nn.Linear(2, 2).half(), nn.Linear(2, 2)

            def forward(self, x):
                y = self.narrow(x)
                return y, self.wide(y.float()), torch.softmax(y, 1), y.double() + 1

        module, x = Widened(), torch.tensor([[0.25, 0.5]]).half()
        narrow = torch.nn.functional.linear(x.float(), module.narrow.weight.float(), module.narrow.bias.float()).half()
        wide = module.wide(narrow.float())
        made = poptorch.inferenceModel(module)(x)
        self.assertEqual([each.dtype for each in made], [torch.float16, torch.float32, torch.float16, torch.float32])
        self.assertTrue(torch.allclose(made[0].float(), narrow.float(), atol=1e-3))
        self.assertTrue(torch.allclose(made[1], wide, atol=1e-3))
        with self.assertRaisesRegex(poptorch.Error, "are bfloat16, which IPUs lack"):
            poptorch.inferenceModel(nn.Linear(2, 2).bfloat16())(torch.zeros(1, 2).bfloat16())

    def test_too_many_ipus_print_the_command_to_use(self):
        made = poptorch.Options().replicationFactor(65)
        with self.assertRaisesRegex(poptorch.Error, "poprun --num-instances 5 --num-replicas 65 --ipus-per-replica 1"):
            poptorch.inferenceModel(nn.ReLU(), made)(torch.zeros(65, 1))
        made = poptorch.Options()
        made.Distributed.configureProcessId(0, 2)
        with self.assertRaisesRegex(poptorch.Error, "started alone: start them with `pipescope poprun"):
            poptorch.inferenceModel(nn.ReLU(), made)(torch.zeros(1, 1))


if __name__ == "__main__":
    unittest.main()
