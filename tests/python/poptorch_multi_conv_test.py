"""MultiConv: convolutions that run side by side give the same bits, and its options are refused or hold."""

import copy
import json
import os
import subprocess
import tempfile
import unittest

import pipescope.poptorch as poptorch
import torch
from torch import nn


def parallel():
    return poptorch.MultiConv()


class Octave(nn.Module):
    """An octave convolution: two frequencies, of which the low one has half the field."""

    def __init__(self, scope):
        super().__init__()
        self.scope = scope
        self.high_high, self.high_low = nn.Conv2d(6, 6, 3, padding=1), nn.Conv2d(6, 2, 3, padding=1)
        self.low_high, self.low_low = nn.Conv2d(2, 6, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)
        self.head = nn.Linear(8, 4)

    def forward(self, high, low, labels):
        pooled = nn.functional.avg_pool2d(high, 2)
        with self.scope():
            high_high, high_low = self.high_high(high), self.high_low(pooled)
            low_high, low_low = self.low_high(low), self.low_low(low)
        high = torch.relu(high_high + nn.functional.interpolate(low_high, scale_factor=2))
        low = torch.relu(high_low + low_low)
        scores = self.head(torch.cat([high.mean((2, 3)), low.mean((2, 3))], 1))
        return scores, poptorch.identity_loss(nn.functional.cross_entropy(scores, labels), "none")


class Nothing:
    """A scope that does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        pass


def octave_samples():
    generator = torch.Generator().manual_seed(3)
    return (torch.randn(4, 6, 8, 8, generator=generator), torch.randn(4, 2, 4, 4, generator=generator),
            torch.tensor([0, 1, 2, 3]))


def train_octave(scope, folder=None):
    """Return the losses of two updates and the weights after them."""
    torch.manual_seed(1)
    module, made = Octave(scope), poptorch.Options()
    if folder is not None:
        made.enableProfiling(folder)
    model = poptorch.trainingModel(module, made, poptorch.optim.SGD(module.parameters(), lr=0.1))
    losses = [model(*octave_samples())[1] for _ in range(2)]
    model.destroy()
    return torch.stack(losses), torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def run_scope(body, scope=None):
    """Run a module that calls `body(convolution, x)` within a MultiConv."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution, self.other = nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)

        def forward(self, x):
            with scope or poptorch.MultiConv():
                return body(self, x)

    return poptorch.inferenceModel(Model())(torch.ones(1, 2, 8, 8))


class MultiConv(unittest.TestCase):
    def test_numbers_are_the_same_bits(self):
        serial = poptorch.MultiConv().planType(poptorch.MultiConvPlanType.Serial)
        plain = train_octave(Nothing)
        for scope in (parallel, lambda: serial):
            losses, weights = train_octave(scope)
            self.assertTrue(torch.equal(losses, plain[0]))
            self.assertTrue(torch.equal(weights, plain[1]))

    def test_the_profile_shows_one_operator_for_each_product(self):
        with tempfile.TemporaryDirectory() as folder:
            train_octave(parallel, folder)
            report = subprocess.run(
                [os.environ["PIPESCOPE_PROGRAM"], "report", os.path.join(folder, "training", "profile.pop"), "--section",
                 "programs", "--format", "json"], capture_output=True, text=True, check=True)
        passes = {each["name"]: each for each in json.loads(report.stdout)["passes"]}
        # Four convolutions forward and four gradients of weights. The inputs need no gradients.
        self.assertEqual(passes["join_convolutions"]["changes"], 8)

    def test_it_computes_what_pytorch_computes(self):
        torch.manual_seed(1)
        module = Octave(parallel)
        reference = copy.deepcopy(module)
        scores, loss = poptorch.trainingModel(module, None, poptorch.optim.SGD(module.parameters(), lr=0.1))(
            *octave_samples())
        expected, expected_loss = reference(*octave_samples())
        torch.testing.assert_close(scores, expected.detach(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(loss.reshape(()), expected_loss.detach(), rtol=1e-4, atol=1e-5)

    def test_other_operators_may_stand_inside(self):
        result = run_scope(lambda model, x: model.convolution(x) + model.other(torch.abs(x)))
        self.assertEqual(list(result.shape), [1, 2, 8, 8])

    def test_refusals_name_the_line(self):
        def nested(model, x):
            with poptorch.MultiConv():
                return model.convolution(x)

        with self.assertRaisesRegex(poptorch.Error, r"within another one at .*multi_conv_test\.py:\d+.*Nested"):
            run_scope(nested)
        with self.assertRaisesRegex(poptorch.Error, r"MultiConv at .*multi_conv_test\.py:\d+.* holds no convolution"):
            run_scope(lambda model, x: x * x)
        with self.assertRaisesRegex(ValueError, "which needs the result of the first"):
            run_scope(lambda model, x: model.other(model.convolution(x)))

    def test_options_hold_or_are_refused(self):
        multi_conv = poptorch.MultiConv().enableConvDithering(False).planType(poptorch.MultiConvPlanType.Parallel)
        self.assertEqual(list(run_scope(lambda model, x: model.convolution(x), multi_conv).shape), [1, 2, 8, 8])
        for call in (lambda: multi_conv.availableMemoryProportions(0.8), lambda: multi_conv.perConvReservedTiles(100),
                     lambda: multi_conv.cycleBackOff(0.3), lambda: multi_conv.enableConvDithering([False, True]),
                     lambda: multi_conv.partialsTypes(torch.half)):
            with self.subTest(call):
                self.assertIs(call(), multi_conv)  # accepted, with a line of the log
        self.assertRaisesRegex(ValueError, "Invalid partials types", lambda: multi_conv.partialsTypes("half"))
        self.assertRaisesRegex(AssertionError, "Invalid plan type", lambda: multi_conv.planType("parallel"))


if __name__ == "__main__":
    unittest.main()
