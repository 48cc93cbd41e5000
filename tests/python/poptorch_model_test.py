"""Models through pipescope.poptorch: equal bits with configurations, what calls return, and what is refused."""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy
import pipescope
import pipescope.poptorch as poptorch
import torch
from poptorch_support import SAMPLES, digits, network, options

BATCH, ACCUMULATION, ITERATIONS, CALLS = 4, 7, 2, 3
ROWS = BATCH * ACCUMULATION * ITERATIONS
# The parameters of samples/mnist/pipelined.toml and those of the same network in PyTorch.
NAMES = {
    "layer1/conv": "model.layer1.conv",
    "layer2/conv": "model.layer2.conv",
    "layer3/linear": "model.layer3",
    "layer4/linear": "model.layer4",
}
TWO = poptorch.PipelinedExecution(poptorch.Stage("B1", "B2").ipu(0), poptorch.Stage("B3", "B4").ipu(1))


def losses_of(metrics):
    """The loss of each training call in a file of metrics."""
    with open(metrics, encoding="utf-8") as file:
        return [line["loss"] for line in map(json.loads, file) if line["kind"] == "training"]


class EqualBits(unittest.TestCase):
    """Losses are equal bits through PopTorch's surface, TOML and ONNX if weights and batches are equal."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.images, cls.labels = digits(ROWS * CALLS)
        place = cls.folder.name
        for split in ("train", "test"):
            numpy.savez(os.path.join(place, split + ".npz"), samples=cls.images.numpy(),
                        labels=cls.labels.numpy().astype(numpy.int32))
        model = network()
        weights = {f"{toml}/{kind}": model.state_dict()[f"{torch_name}.{kind}"].numpy()
                   for toml, torch_name in NAMES.items() for kind in ("weight", "bias")}
        numpy.savez(os.path.join(place, "weights.npz"), **weights)
        torch.onnx.export(model.model, torch.zeros(BATCH, 1, 28, 28), os.path.join(place, "model.onnx"),
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
        cls.expected = cls.through_configuration(
            os.path.join(SAMPLES, "mnist", "pipelined.toml"),
            {"execution.load_weights": os.path.join(place, "weights.npz"), "model.input": "[1, 28, 28]"},
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def through_configuration(cls, file, settings):
        place = cls.folder.name
        metrics = os.path.join(place, "metrics.jsonl")
        settings = {
            "data.dataset": "numpy", "data.directory": place, "training.shuffle": False, "training.epochs": 1,
            "training.micro_batch_size": BATCH, "training.gradient_accumulation": ACCUMULATION,
            "training.device_iterations": ITERATIONS, "training.optimizer": "adamw", "training.output_mode": "final",
            "training.learning_rate": 0.001, "execution.mode": "training", "execution.metrics": metrics, **settings,
        }
        pipescope.run(file, os.path.join(place, "profile.pop"), settings)
        return losses_of(metrics)

    def through_poptorch(self, made):
        model = network()
        training = poptorch.trainingModel(model, made, poptorch.optim.AdamW(model.parameters(), lr=0.001))
        losses = []
        for call in range(CALLS):
            rows = slice(call * ROWS, (call + 1) * ROWS)
            losses.append(training(self.images[rows], self.labels[rows])[1].item())
        return losses

    def test_losses_fall(self):
        self.assertEqual(len(self.expected), CALLS)
        self.assertEqual(len(set(self.expected)), CALLS)
        self.assertAlmostEqual(self.expected[0], math.log(10), delta=0.5)

    def test_pipelined(self):
        self.assertEqual(self.through_poptorch(options(ITERATIONS, ACCUMULATION)), self.expected)

    def test_two_blocks_a_stage(self):
        self.assertEqual(self.through_poptorch(options(ITERATIONS, ACCUMULATION, TWO)), self.expected)

    def test_sharded(self):
        sharded = poptorch.ShardedExecution("B1", "B2", "B3", "B4")
        self.assertEqual(self.through_poptorch(options(ITERATIONS, ACCUMULATION, sharded)), self.expected)

    def test_an_onnx_file(self):
        file = os.path.join(self.folder.name, "onnx.toml")
        with open(file, "w", encoding="utf-8") as toml:
            toml.write('[model]\nonnx = "model.onnx"\n')
        self.assertEqual(self.through_configuration(file, {}), self.expected)


class Calling(unittest.TestCase):
    """Row counts of the table of output modes: b = 2, R = 2, D = 10, G = 3."""

    def results(self, mode, period=None):
        made = poptorch.Options().deviceIterations(10).replicationFactor(2).outputMode(mode, period)
        made.Training.gradientAccumulation(3)
        module = Scores()
        training = poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=0.0))
        rows = torch.arange(120.0)
        return training(torch.stack([rows, -rows], 1), torch.zeros(120, dtype=torch.long))

    def test_output_modes(self):
        modes, counted = poptorch.OutputMode, torch.arange(120)
        rows = {modes.All: counted, modes.Final: counted[-4:], modes.Default: counted[-4:]}
        for mode, expected in rows.items():
            predictions, losses = self.results(mode)
            self.assertEqual(predictions[:, 0].tolist(), expected.tolist())
            self.assertEqual(losses.shape, (len(expected) // 2,))
        predictions, _ = self.results(modes.EveryN, 5)
        self.assertEqual(predictions.shape, (24, 2))
        self.assertEqual(predictions[:4, 0].tolist(), [16, 17, 18, 19])
        predictions, losses = self.results(modes.Sum)
        self.assertEqual(predictions[:, 0].tolist(), [4 * 435 + 30 * i for i in range(4)])
        self.assertEqual(losses.shape, (2,))


class Scores(torch.nn.Module):
    """Returns its input through a layer of the identity, and the loss."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.loss = torch.nn.CrossEntropyLoss()
        with torch.no_grad():
            self.layer.weight.copy_(torch.eye(2))
            self.layer.bias.zero_()

    def forward(self, x, labels=None):
        scores = self.layer(x)
        return scores if labels is None else (scores, self.loss(scores, labels))


def scores(lr=0.5, made=None, **settings):
    """A training model of Scores, and rows and labels for it."""
    module = Scores()
    model = poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=lr, **settings))
    return module, model, torch.tensor([[1.0, -1.0], [2.0, 0.5]]), torch.tensor([1, 0])


class Training(unittest.TestCase):
    def test_steps_are_those_of_pytorch(self):
        module, model, x, labels = scores(lr=0.3)
        reference = Scores()
        optimizer = torch.optim.SGD(reference.parameters(), lr=0.3)
        for _ in range(3):
            _, expected = reference(x, labels)
            optimizer.zero_grad()
            expected.backward()
            optimizer.step()
            self.assertAlmostEqual(model(x, labels)[1].item(), expected.item(), places=6)
        for ours, theirs in zip(module.parameters(), reference.parameters()):
            self.assertTrue(torch.allclose(ours, theirs, atol=1e-6))

    def test_weights_reach_inference_and_come_from_the_host(self):
        module, model, x, labels = scores()
        inference = poptorch.inferenceModel(module)
        self.assertTrue(torch.equal(inference(x), x))
        model(x, labels)
        self.assertTrue(torch.allclose(inference(x), module(x), atol=1e-6))
        model.load_state_dict(Scores().state_dict())
        self.assertTrue(torch.equal(inference(x), x))
        self.assertTrue(torch.equal(model(x=x, labels=labels)[0], x))

    def test_the_optimizer_may_change_between_calls(self):
        module, model, x, labels = scores(lr=0.0)
        model(x, labels)
        self.assertTrue(torch.equal(module.layer.weight, torch.eye(2)))
        model.setOptimizer(poptorch.optim.SGD(module.parameters(), lr=0.5))
        model(x, labels)
        self.assertFalse(torch.equal(module.layer.weight, torch.eye(2)))
        with self.assertRaisesRegex(poptorch.Error, "was sgd and cannot become adamw"):
            model.setOptimizer(poptorch.optim.AdamW(module.parameters()))
        with self.assertRaisesRegex(ValueError, "other state"):
            model.setOptimizer(poptorch.optim.SGD(module.parameters(), lr=0.5, momentum=0.9))

    def test_parameters_without_gradients_stay(self):
        module = Scores()
        module.layer.weight.requires_grad_(False)
        model = poptorch.trainingModel(module, None, poptorch.optim.SGD(module.parameters(), lr=0.5))
        model(torch.tensor([[1.0, -1.0]]), torch.tensor([1]))
        self.assertTrue(torch.equal(module.layer.weight, torch.eye(2)))
        self.assertFalse(torch.equal(module.layer.bias, torch.zeros(2)))

    def test_saving_and_loading(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.npz")
            module, model, x, labels = scores(momentum=0.9)
            model(x, labels)
            model.save(path)
            expected = model(x, labels)[1].item()
            other, again, _, _ = scores(momentum=0.9)
            again.compile(x, labels)
            again.load(path)
            self.assertEqual(again(x, labels)[1].item(), expected)
            self.assertTrue(torch.equal(other.layer.weight, module.layer.weight))

    def test_batch_norm_keeps_its_statistics(self):
        def make():
            torch.manual_seed(1)
            return torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten(),
                                       torch.nn.Linear(72, 2))

        class WithLoss(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, x, labels):
                scores = self.model(x)
                return scores, torch.nn.functional.cross_entropy(scores, labels)

        ours, theirs = WithLoss(make()), WithLoss(make())
        x, labels = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1, 1, 0])
        model = poptorch.trainingModel(ours, None, poptorch.optim.SGD(ours.parameters(), lr=0.0))
        for _ in range(2):
            self.assertAlmostEqual(model(x, labels)[1].item(), theirs(x, labels)[1].item(), places=5)
        self.assertTrue(torch.allclose(ours.model[1].running_mean, theirs.model[1].running_mean, atol=1e-5))
        self.assertTrue(torch.allclose(ours.model[1].running_var, theirs.model[1].running_var, atol=1e-5))
        self.assertEqual(ours.model[1].num_batches_tracked.item(), 2)


class Refusing(unittest.TestCase):
    def test_calls_that_cannot_be_made(self):
        _, model, x, labels = scores()
        with self.assertRaisesRegex(poptorch.Error, "not compiled yet"):
            model.detachFromDevice()
        model(x, labels)
        self.assertTrue(model.isAttachedToDevice())
        model.detachFromDevice()
        model(x, labels)
        with self.assertRaisesRegex(poptorch.Error, "argument 1 was a tensor and now is None"):
            model(x)
        with self.assertRaisesRegex(poptorch.Error, r"Input 0 has the shape \[4, 2\], but the model was compiled for \[2, 2\]"):
            model(torch.zeros(4, 2), torch.zeros(4, dtype=torch.long))
        with self.assertRaisesRegex(poptorch.Error, "compiled already"):
            model.compile(x, labels)
        with self.assertRaisesRegex(poptorch.Error, "forward: .*argument"):
            model(x, label=labels)

    def test_batches_must_divide(self):
        made = poptorch.Options().deviceIterations(3)
        _, model, x, labels = scores(made=made)
        with self.assertRaisesRegex(poptorch.Error, r"invalid batch dimension.*divide by 3 \(deviceIterations 3"):
            model(x, labels)
        with self.assertRaisesRegex(poptorch.Error, r"Input 1 has \[\]"):
            model(torch.zeros(6, 2), torch.tensor(3))

    def test_connection_types(self):
        kinds = poptorch.ConnectionType
        _, model, x, labels = scores(made=poptorch.Options().connectionType(kinds.Never))
        model.compile(x, labels)
        self.assertGreater(model.emulatedSecondsPerCall(), 0)
        with self.assertRaisesRegex(poptorch.Error, "compiled only"):
            model.attachToDevice()
        with self.assertRaisesRegex(poptorch.Error, "cannot attach"):
            model(x, labels)
        _, model, x, labels = scores(made=poptorch.Options().connectionType(kinds.OnDemand))
        model.compile(x, labels)
        self.assertFalse(model.isAttachedToDevice())
        model(x, labels)
        self.assertTrue(model.isAttachedToDevice())

    def test_inference_has_neither_optimizer_nor_accumulation(self):
        module = Scores()
        with self.assertRaisesRegex(poptorch.Error, "trains nothing"):
            poptorch.inferenceModel(module, optimizer=poptorch.optim.SGD(module.parameters(), lr=1))
        made = poptorch.Options()
        made.Training.gradientAccumulation(2)
        with self.assertRaisesRegex(poptorch.Error, "use deviceIterations for more"):
            poptorch.inferenceModel(module, made)
        with self.assertRaisesRegex(TypeError, "torch.nn.Module"):
            poptorch.inferenceModel(lambda x: x)

    def test_optimizers_that_cannot_be_used(self):
        module = Scores()
        weights = module.parameters()

        class Own(torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        for kind, sentence, make in (
            (poptorch.Error, "Own is no optimizer of the devices", lambda: Own(module.parameters(), lr=1)),
            (poptorch.Error, "Adagrad is no optimizer", lambda: torch.optim.Adagrad(module.parameters())),
            (poptorch.Error, "amsgrad=True does not run", lambda: poptorch.optim.AdamW(module.parameters(), amsgrad=True)),
            (poptorch.Error, "negate the loss", lambda: torch.optim.SGD(module.parameters(), lr=1, maximize=True)),
            (ValueError, "only used with use_combined_accum=True", lambda: poptorch.optim.SGD(weights, 1, velocity_scaling=2.0)),
            (ValueError, "above 0", lambda: poptorch.optim.Adam(module.parameters(), loss_scaling=0)),
            (ValueError, "accum_type is torch.int32", lambda: poptorch.optim.Adam(
                module.parameters(), accum_type=torch.int32)),
            (ValueError, "velocity_accum_type is torch.int32", lambda: poptorch.optim.SGD(
                module.parameters(), 1, velocity_accum_type=torch.int32)),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                poptorch.trainingModel(module, None, make())

    def test_optimizers_make_the_steps_of_pytorch(self):
        ours, theirs = poptorch.optim, torch.optim
        pairs = [
            (lambda p: ours.SGD(p, lr=0.1, momentum=0.9, nesterov=True, loss_scaling=8.0),
             lambda p: theirs.SGD(p, lr=0.1, momentum=0.9, nesterov=True), 5),
            (lambda p: theirs.SGD(p, lr=0.1, weight_decay=0.1), lambda p: theirs.SGD(p, lr=0.1, weight_decay=0.1), 5),
            (lambda p: ours.Adam(p, lr=0.1, weight_decay=0.1), lambda p: theirs.Adam(p, lr=0.1, weight_decay=0.1), 4),
            (lambda p: ours.Adam(p, lr=0.1, accum_type=torch.float16), lambda p: theirs.Adam(p, lr=0.1), 2),
            (lambda p: ours.AdamW(p, lr=0.1, betas=(0.8, 0.9)), lambda p: theirs.AdamW(p, lr=0.1, betas=(0.8, 0.9)), 4),
            (lambda p: ours.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
             lambda p: theirs.RMSprop(p, lr=0.1, momentum=0.5, centered=True), 3),
        ]
        for mine, reference, places in pairs:
            module, taken, x, labels = scores()
            taken.destroy()
            other = Scores()
            optimizer = reference(other.parameters())
            model = poptorch.trainingModel(module, None, mine(module.parameters()))
            for _ in range(3):
                expected = other(x, labels)[1]
                self.assertAlmostEqual(model(x, labels)[1].item(), expected.item(), places=places)
                optimizer.zero_grad()
                expected.backward()
                optimizer.step()

    def test_variants_of_rules_that_pytorch_lacks(self):
        def adamw_step(w, g, state):
            state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
            state["v"] = 0.999 * state.get("v", 0) + 0.001 * g * g
            return w - 0.1 * (state["m"] / (state["v"].sqrt() + 1e-3) + 0.01 * w)

        def rmsprop_step(w, g, state):  # as Keras does it
            state["square"] = 0.9 * state.get("square", 0) + 0.1 * g * g
            state["velocity"] = 0.5 * state.get("velocity", 0) + 0.1 * g / (state["square"] + 1e-3).sqrt()
            return w - state["velocity"]

        for make, step in (
            (lambda p: poptorch.optim.AdamW(p, lr=0.1, eps=1e-3, bias_correction=False), adamw_step),
            (lambda p: poptorch.optim.RMSprop(p, lr=0.1, alpha=0.9, eps=1e-3, momentum=0.5, use_tf_variant=True),
             rmsprop_step),
        ):
            module, taken, x, labels = scores()
            taken.destroy()
            other = Scores()
            states = [{} for _ in other.parameters()]
            model = poptorch.trainingModel(module, None, make(module.parameters()))
            for _ in range(3):
                expected = other(x, labels)[1]
                self.assertAlmostEqual(model(x, labels)[1].item(), expected.item(), places=3)
                other.zero_grad()
                expected.backward()
                with torch.no_grad():
                    for weight, state in zip(other.parameters(), states):
                        weight.copy_(step(weight, weight.grad, state))

    def test_gradients_are_clipped_as_by_pytorch(self):
        module, taken, x, labels = scores()
        taken.destroy()
        other = Scores()
        optimizer = poptorch.optim.SGD(module.parameters(), lr=0.5, max_grad_norm=0.1)
        poptorch.trainingModel(module, None, optimizer)(x, labels)
        other(x, labels)[1].backward()
        torch.nn.utils.clip_grad_norm_(other.parameters(), 0.1)
        torch.optim.SGD(other.parameters(), lr=0.5).step()
        self.assertTrue(torch.allclose(module.layer.weight, other.layer.weight, atol=1e-6))

    def test_lamb_makes_the_step_computed_by_hand(self):
        # Weights (3, 4), gradient (.3, −.4), learning rate .01, step 1: the worked example of LAMB.
        class Line(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]))

            def forward(self, x):
                return x * self.weight, (x * self.weight).sum()

        module = Line()
        optimizer = poptorch.optim.LAMB(module.parameters(), lr=0.01)
        poptorch.trainingModel(module, None, optimizer)(torch.tensor([[0.3, -0.4]]))
        self.assertTrue(torch.allclose(module.weight, torch.tensor([2.9634237, 4.0340906]), atol=1e-6))

    def test_a_module_belongs_to_one_training_model(self):
        module, x = torch.nn.Linear(2, 1), torch.ones(1, 2)

        class Loss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = module

            def forward(self, x):
                return self.layer(x).sum()

        loss = Loss()
        self.assertFalse(hasattr(loss, "destroy"))
        first = poptorch.trainingModel(loss)
        first(x)
        with self.assertRaisesRegex(poptorch.Error, r"already been wrapped.* Call model.destroy\(\)"):
            poptorch.trainingModel(loss)
        loss.destroy()
        second = poptorch.trainingModel(first)  # the module of a model
        self.assertIs(second.model, loss)
        second(x)
        poptorch.inferenceModel(loss)(x)
        del second, first
        poptorch.trainingModel(loss)  # nobody has the other ones any more

    def test_what_cannot_be_compiled_is_refused_with_its_line(self):
        for function, kind in (
            (lambda x: x[x > 0], "NonZero"),
            (lambda x: torch.masked_select(x, x > 0), "NonZero"),
            (lambda x: torch.unique(x), "Unique"),
        ):
            class Shaped(torch.nn.Module):
                def forward(self, x, function=function):
                    return function(x)

            line = function.__code__.co_firstlineno
            with self.assertRaisesRegex(
                ValueError, rf"Shaped cannot be compiled at .*model_test\.py:{line} \(<lambda>\): inference: {kind} .*: keep the shape, as "
            ):
                poptorch.inferenceModel(Shaped())(torch.tensor([1.0, -2.0, 3.0]))

    def test_what_cannot_be_traced_is_refused_with_its_line(self):
        class Fourier(torch.nn.Module):
            def forward(self, x):
                return torch.fft.fft(x).real

        class Classes(torch.nn.Module):
            def forward(self, x):
                return torch.nn.functional.one_hot(x)

        class Numbers(torch.nn.Module):
            def forward(self, x):
                return [x, {3}]

        with self.assertRaisesRegex(poptorch.Error, r"Fourier cannot be traced at .*model_test\.py:\d+ .*fft_fft"):
            poptorch.inferenceModel(Fourier())(torch.zeros(2, 4))
        with self.assertRaisesRegex(poptorch.Error, r"one_hot at .*model_test\.py:\d+ .*: pass num_classes"):
            poptorch.inferenceModel(Classes())(torch.tensor([1, 2]))
        with self.assertRaisesRegex(poptorch.Error, "tensors, tuples, lists and dictionaries of them, not set"):
            poptorch.inferenceModel(Numbers())(torch.zeros(2, 4))

    def test_results_may_be_written_into_a_tensor(self):
        class Into(torch.nn.Module):
            def forward(self, x):
                written = torch.empty_like(x)
                torch.div(x + 1, 4.0, out=written)
                return torch.sin(x, out=torch.empty_like(x)), written

        x = torch.tensor([[1.0, 2.0]])
        for found, expected in zip(poptorch.inferenceModel(Into())(x), Into()(x)):
            self.assertTrue(torch.allclose(found, expected, atol=1e-6))

    def test_a_training_model_returns_one_loss_at_any_place(self):
        class Returns(torch.nn.Module):
            def __init__(self, results):
                super().__init__()
                self.layer, self.results = torch.nn.Linear(2, 2), results

            def forward(self, x, labels):
                scores = self.layer(x)
                return self.results(scores, torch.nn.functional.cross_entropy(scores, labels))

        def called(results):
            module = Returns(results)
            model = poptorch.trainingModel(module, None, poptorch.optim.SGD(module.parameters(), lr=0.1))
            return model(torch.zeros(4, 2), torch.zeros(4, dtype=torch.long))

        self.assertEqual(called(lambda scores, loss: loss).shape, ())
        loss, scores = called(lambda scores, loss: (loss, scores))
        self.assertEqual((loss.shape, scores.shape), ((), (4, 2)))
        with self.assertRaisesRegex(poptorch.Error, "returns 0 losses"):
            called(lambda scores, loss: scores)
        with self.assertRaisesRegex(poptorch.Error, "returns 2 losses"):
            called(lambda scores, loss: (loss, loss * 2))

    def test_a_loss_may_be_marked(self):
        class Squares(torch.nn.Module):
            def __init__(self, reduction):
                super().__init__()
                self.layer, self.reduction = torch.nn.Linear(2, 1), reduction

            def forward(self, x, target):
                scores = self.layer(x)
                return scores, poptorch.identity_loss((scores - target) ** 2, self.reduction)

        x, target = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0], [0.0]])
        for reduction, reduce in (("mean", torch.mean), ("sum", torch.sum)):
            module = Squares(reduction)
            expected = reduce((module.layer(x) - target) ** 2).item()
            model = poptorch.trainingModel(module, None, poptorch.optim.SGD(module.parameters(), lr=0.1))
            self.assertAlmostEqual(model(x, target)[1].item(), expected, places=4)
        with self.assertRaisesRegex(ValueError, 'must be "mean", "sum" or "none"'):
            poptorch.identity_loss(x, "median")

    def test_checkpoints_are_kept(self):
        class Kept(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

            def forward(self, x, labels):
                with poptorch.Block("A", ipu_id=0):
                    x = poptorch.recomputationCheckpoint(torch.relu(self.first(x)))
                with poptorch.Block("B", ipu_id=1):
                    scores = self.second(x)
                    return scores, torch.nn.functional.cross_entropy(scores, labels)

        module, made = Kept(), poptorch.Options()
        made.Training.gradientAccumulation(3)
        model = poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=0.1))
        model(torch.ones(3, 2), torch.zeros(3, dtype=torch.long))
        self.assertIn("@checkpoint0", model._program.option("execution.checkpoints"))

    def test_what_does_not_fit_is_refused(self):
        class Outer(torch.nn.Module):
            def forward(self, x):
                return x.unsqueeze(1) * x.unsqueeze(2)

        # 9000² float32 numbers are 324 MB; a Mk1 IPU has 304 MiB. The environment chooses the system.
        os.environ["PIPESCOPE_SYSTEM_NAME"] = "mk1"
        try:
            with self.assertRaisesRegex(poptorch.Error, "Out of memory: "):
                poptorch.inferenceModel(Outer())(torch.zeros(1, 9000))
        finally:
            del os.environ["PIPESCOPE_SYSTEM_NAME"]


class Profiling(unittest.TestCase):
    def test_the_sample_runs_and_its_profile_shows_the_pipeline(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(SAMPLES, "poptorch", "mnist.py")
            environment = {**os.environ, "XDG_CACHE_HOME": folder}
            command = [sys.executable, script, "--samples", "960", "--epochs", "1", "--batch-size", "8",
                       "--device-iterations", "2", "--inference-iterations", "4", "--profile", "--profile-dir", folder]
            for extra in ([], ["--stages", "2", "--strategy", "sharded", "--offload-optimiser"]):
                done = subprocess.run(command + extra, env=environment, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"Epoch 1/1  loss \d\.\d+  accuracy \d+\.\d+%")
                self.assertRegex(done.stdout, r"Accuracy on test set: \d+\.\d+%")
                report = pipescope.openReport(os.path.join(folder, "training", "profile.pop"))
                self.assertEqual(len(report.execution.runs), 960 // 160)
                ipus = 2 if extra else 4
                self.assertEqual(len({d for d in report.table("placement")["device"]}), ipus)
                infer = pipescope.openReport(os.path.join(folder, "inference", "profile.pop"))
                self.assertEqual(infer.executables, ["inference"])

    def test_the_sample_says_that_there_are_too_few_samples_for_a_call(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(SAMPLES, "poptorch", "mnist.py")
            environment = {**os.environ, "XDG_CACHE_HOME": folder}
            for samples, batch, sentence in (("100", "8", "there are 100 samples for training, but one call takes 800"),
                                             ("200", "1", "there are 33 samples for testing, but one call takes 800")):
                done = subprocess.run([sys.executable, script, "--samples", samples, "--batch-size", batch],
                                      env=environment, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(sentence, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_without_torch_the_rest_works_and_says_what_is_missing(self):
        program = (
            "import sys; sys.modules['torch'] = None\nimport pipescope; print(pipescope.__version__)\n"
            "try:\n    import pipescope.poptorch\nexcept ImportError as error:\n    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertIn("install python3-torch", done.stdout)
        self.assertTrue(re.match(r"\d+\.\d+", done.stdout))


if __name__ == "__main__":
    unittest.main()
