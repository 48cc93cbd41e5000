"""Anchored gradients and weights, compared with those of PyTorch's autograd."""

import copy
import unittest

import torch

import pipescope.poptorch as poptorch

MODES = poptorch.OutputMode


class Model(torch.nn.Module):
    """Two layers in blocks of their own, with a loss that is the mean over the micro-batch."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)

    def forward(self, rows, wanted):
        with poptorch.Block("A", ipu_id=0):
            hidden = torch.relu(self.first(rows))
        with poptorch.Block("B", ipu_id=1):
            return torch.nn.functional.mse_loss(self.second(hidden), wanted)


def reference(module, rows, wanted, iterations, accumulation, rate=0.1):
    """Return the gradients of each micro-batch and the weights after each update, by name."""
    module = copy.deepcopy(module)
    gradients, weights = {}, {}
    for rows_of, wanted_of in zip(rows.chunk(iterations), wanted.chunk(iterations)):
        sums = {}
        for part, goal in zip(rows_of.chunk(accumulation), wanted_of.chunk(accumulation)):
            module.zero_grad()
            torch.nn.functional.mse_loss(module.second(torch.relu(module.first(part))), goal).backward()
            for name, weight in module.named_parameters():
                gradients.setdefault(name, []).append(weight.grad.clone())
                sums[name] = sums.get(name, 0) + weight.grad / accumulation
        with torch.no_grad():
            for name, weight in module.named_parameters():
                weight -= rate * sums[name]
                weights.setdefault(name, []).append(weight.clone())
    return gradients, weights


def trained(options, iterations=2, accumulation=3):
    """Return the called model, and what PyTorch computes for the same rows."""
    torch.manual_seed(1)
    module, count = Model(), 2 * iterations * accumulation
    rows, wanted = torch.randn(count, 3), torch.randn(count, 2)
    gradients, weights = reference(module, rows, wanted, iterations, accumulation)
    options.deviceIterations(iterations)
    options.Training.gradientAccumulation(accumulation)
    model = poptorch.trainingModel(module, options, torch.optim.SGD(module.parameters(), lr=0.1))
    model(rows, wanted)
    return model, gradients, weights


class Anchors(unittest.TestCase):
    def assertClose(self, made, expected):
        self.assertEqual(made.shape, expected.shape)
        self.assertTrue(torch.allclose(made, expected, atol=1e-6), f"{made} != {expected}")

    def test_gradients_and_weights_follow_the_output_mode_of_the_model(self):
        for strategy in (poptorch.PipelinedExecution(), poptorch.ShardedExecution()):
            options = poptorch.Options().setExecutionStrategy(strategy)
            options.anchorTensor("gradient", "Gradient___first.weight")
            options.anchorTensor("weight", "UpdatedVar___second.bias")
            model, gradients, weights = trained(options)
            self.assertClose(model.getAnchoredTensor("gradient"), gradients["first.weight"][-1])
            self.assertClose(model.getAnchoredTensor("weight"), weights["second.bias"][-1])
            self.assertTrue({"Gradient___second.bias", "UpdatedVar___first.weight"} <= set(model.getTensorNames()))

    def test_anchored_tensors_may_have_output_modes_of_their_own(self):
        options = poptorch.Options()
        for short, mode, period in (("all", MODES.All, 1), ("sum", MODES.Sum, 1), ("final", MODES.Final, 1), ("few", MODES.EveryN, 2)):
            if short != "final":
                options.anchorTensor(short, {"all": "Gradient___first.bias", "sum": "Gradient___second.bias",
                                             "few": "Gradient___second.weight"}[short], mode, period)
            options.anchorTensor(f"weight {short}", "UpdatedVar___first.bias", mode, period)
        options.outputMode(MODES.All)
        model, gradients, weights = trained(options)
        self.assertClose(model.getAnchoredTensor("all"), torch.cat(gradients["first.bias"]))
        self.assertClose(model.getAnchoredTensor("sum"), sum(gradients["second.bias"]))
        self.assertClose(model.getAnchoredTensor("few"), torch.cat(gradients["second.weight"][1::2]))
        updated = weights["first.bias"]
        self.assertClose(model.getAnchoredTensor("weight all"), torch.cat(updated))
        self.assertClose(model.getAnchoredTensor("weight sum"), sum(updated))
        self.assertClose(model.getAnchoredTensor("weight final"), updated[-1])
        self.assertClose(model.getAnchoredTensor("weight few"), updated[1])

    def test_results_without_a_mode_keep_that_of_the_model(self):
        options = poptorch.Options().anchorTensor("all", "Gradient___first.bias", MODES.All)
        torch.manual_seed(1)
        module = Model()
        options.deviceIterations(2)
        options.setExecutionStrategy(poptorch.ShardedExecution())
        model = poptorch.trainingModel(module, options)
        loss = model(torch.randn(4, 3), torch.randn(4, 2))
        self.assertEqual((loss.shape, model.getAnchoredTensor("all").shape), (torch.Size([]), torch.Size([8])))

    def test_inputs_weights_the_loss_and_settings_have_names(self):
        options = poptorch.Options().outputMode(MODES.All).setExecutionStrategy(poptorch.ShardedExecution())
        names = ("input", "input.1", "first.weight", "loss", "scaledLearningRate0___specific___first.weight", "lossScaling_FLOAT")
        for name in names:
            options.anchorTensor(f"the {name}", name)
        torch.manual_seed(1)
        before = Model().first.weight.detach().clone()
        model, _, weights = trained(options, iterations=2, accumulation=1)
        generator = torch.manual_seed(1)
        Model()  # draws the weights before the rows
        rows, wanted = torch.randn(4, 3, generator=generator), torch.randn(4, 2, generator=generator)
        self.assertLessEqual(set(names), set(model.getTensorNames()))
        found = {name: model.getAnchoredTensor(f"the {name}") for name in names}
        self.assertClose(found["input"], rows)
        self.assertClose(found["input.1"], wanted)
        self.assertClose(found["first.weight"], torch.cat([before, weights["first.weight"][0]]))
        self.assertEqual(found["loss"].shape, (2,))
        self.assertAlmostEqual(found[names[4]].item(), 0.1)
        self.assertEqual(found["lossScaling_FLOAT"].item(), 1.0)

    def test_the_loss_scale_is_that_of_the_last_update(self):
        class Half(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 2)

            def forward(self, rows):
                return self.layer(rows).sum()

        options = poptorch.Options().anchorTensor("scale", "finalLossScale", MODES.Final)
        options.Training.setAutomaticLossScaling(True)
        module = Half().half()
        optimizer = poptorch.optim.Adam(module.parameters(), lr=0.0, loss_scaling=2.0)
        model = poptorch.trainingModel(module, options, optimizer)
        rows = torch.ones(4, 3, dtype=torch.half)
        model.compile(rows)
        for _ in range(3):
            factor = optimizer.state_dict()["ipu_state"]["lossScaleUpdateFactor"]
            model(rows)
            self.assertEqual(model.getAnchoredTensor("scale"), 2.0 * factor)
        loaded = optimizer.state_dict()
        loaded["ipu_state"]["lossScaleUpdateFactor"] = torch.tensor(16.0)
        optimizer.load_state_dict(loaded)
        model(rows)
        self.assertEqual(model.getAnchoredTensor("scale"), 32.0)

    def test_unknown_weights_and_contradictions_are_refused(self):
        with self.assertRaisesRegex(poptorch.Error, 'names the tensor "Gradient___third.bias", but .*getTensorNames'):
            trained(poptorch.Options().anchorTensor("a", "Gradient___third.bias"))
        options = poptorch.Options().anchorTensor("a", "Gradient___first.bias", MODES.Sum)
        with self.assertRaisesRegex(poptorch.Error, "anchored twice with different output modes"):
            trained(options.anchorTensor("b", "Gradient___first.bias", MODES.All))
        with self.assertRaisesRegex(ValueError, "output_return_period is -1"):
            poptorch.Options().anchorTensor("a", "b", MODES.EveryN, -1)


if __name__ == "__main__":
    unittest.main()
