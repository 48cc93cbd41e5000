"""Saved models, log lines, and the number of IPUs that a process may attach to."""

import copy
import logging
import os
import pickle
import tempfile
import unittest
import warnings

import torch
from pipescope import poptorch
from torch import nn


class Scores(nn.Module):
    """A layer, dropout and a loss. Its inputs come in a dictionary."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.dropout = nn.Dropout(0.4)

    def forward(self, batch, scale=1.0):
        scores = self.dropout(self.layer(batch["x"])) * scale
        return {"scores": scores, "loss": nn.functional.cross_entropy(scores, batch["labels"])}


class Split(nn.Module):
    """A layer on each of some IPUs."""

    def __init__(self, ipus):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in ipus)
        self.ipus = ipus

    def forward(self, x):
        for ipu, layer in zip(self.ipus, self.layers):
            with poptorch.Block(ipu_id=ipu):
                x = layer(x)
        return x


def batch(rows=6):
    return {"x": torch.linspace(-1, 1, rows * 4).reshape(rows, 4), "labels": torch.arange(rows) % 3}


def model_of(module, accumulation=3):
    options = poptorch.Options().randomSeed(5)
    options.Training.gradientAccumulation(accumulation)
    return poptorch.trainingModel(module, options, poptorch.optim.AdamW(module.parameters(), lr=0.1))


class Saving(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "model.poptorch")

    def trained(self, **kwargs):
        """Save a model after two calls. Returns the loss of the third call."""
        model = model_of(Scores())
        for _ in range(2):
            model(batch(), scale=0.5)
        model.save(self.path, **kwargs)
        return model(batch(), scale=0.5)["loss"].item()

    def test_a_loaded_model_goes_on_with_the_same_bits(self):
        expected = self.trained()
        model = poptorch.load(self.path)
        self.assertTrue(model.isCompiled())
        self.assertEqual(model(batch(), scale=0.5)["loss"].item(), expected)
        self.assertEqual(type(model.model), Scores)

    def test_state_of_a_weight_without_axes(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.tensor(2.0))

            def forward(self, x):
                return poptorch.identity_loss(x * self.scale, "sum")

        module = Scaled()
        rule = poptorch.optim.AdamW(module.parameters(), lr=0.5, betas=(0.75, 0.5), weight_decay=0.0)
        model = poptorch.trainingModel(module, None, rule)
        self.assertEqual(model(torch.tensor([1.0, 3.0])).item(), 8.0)  # the gradient is 4
        state = rule.state_dict()["ipu_state"]
        self.assertEqual({name: tensor.item() for name, tensor in state.items()},
                         {"Accl1___scale": 0.25 * 4, "Accl2___scale": 0.5 * 16, "Step___scale": 1.0})

    def test_a_checkpoint_of_module_and_optimizer_goes_on_with_the_same_bits(self):
        def fresh():
            torch.manual_seed(1)
            module = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
            return module, poptorch.optim.Adam(module.parameters(), lr=0.05)

        class Loss(nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

            def forward(self, x):
                return self.module(x).pow(2).mean()

        x = torch.linspace(-1, 1, 8).reshape(2, 4)
        module, optimizer = fresh()
        model = poptorch.trainingModel(Loss(module), None, optimizer)
        for _ in range(3):
            model(x)
        torch.save((module.state_dict(), optimizer.state_dict()), self.path)
        expected = [model(x).item() for _ in range(3)]
        module, optimizer = fresh()
        weights, state = torch.load(self.path)
        module.load_state_dict(weights)
        optimizer.load_state_dict(state)  # before the model is compiled
        for name, tensor in optimizer.state_dict()["ipu_state"].items():
            self.assertTrue(torch.equal(tensor, state["ipu_state"][name]), name)
        other = poptorch.trainingModel(Loss(module), None, optimizer)
        self.assertEqual([other(x).item() for _ in range(3)], expected)
        module.load_state_dict(weights)
        other.copyWeightsToDevice()
        optimizer.load_state_dict(state)  # and afterwards
        self.assertEqual([other(x).item() for _ in range(3)], expected)
        self.assertEqual(sorted(state["ipu_state"]), sorted(f"{name}___module.{layer}.{kind}" for name in ("Accl1", "Accl2", "Step")
                                                            for layer in (0, 1) for kind in ("weight", "bias")))
        self.assertEqual(state["ipu_state"]["Step___module.1.bias"].item(), 3)
        self.assertAlmostEqual(state["ipu_param"]["learningRate___specific___module.0.bias"].item(), 0.05)
        slow = {**state, "param_groups": [{**group, "lr": 0.0} for group in state["param_groups"]]}
        optimizer.load_state_dict({**slow, "ipu_param": {name: value * 0.0 if name.startswith("learningRate___specific___") else value
                                                         for name, value in state["ipu_param"].items()}})
        before = [weight.clone() for weight in module.parameters()]
        other(x)  # at the loaded learning rate of 0
        self.assertTrue(all(torch.equal(*pair) for pair in zip(before, module.parameters())))
        sgd = poptorch.optim.SGD(module.parameters(), lr=0.1)
        sgd.load_state_dict({**sgd.state_dict(), "ipu_state": state["ipu_state"]})
        with self.assertRaisesRegex(poptorch.Error, "state of the optimizer belongs to another model"):
            poptorch.trainingModel(Loss(module), None, sgd)(x)

    def test_a_loaded_state_may_give_each_weight_settings_of_its_own(self):
        """The rates and decays of PopART's names, until the next setOptimizer(). One is below 0, which PopART accepts, too."""
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(3)
                self.layer = nn.Linear(4, 2)

            def forward(self, x):
                return self.layer(x).pow(2).mean()

        def stepped(module, rates, decays):
            """One update by hand: w − rate·(gradient + decay·w)."""
            module = copy.deepcopy(module)
            module(x).backward()
            return [(p - rate * (p.grad + decay * p)).detach() for p, rate, decay in zip(module.parameters(), rates, decays)]

        x, module = torch.linspace(-1, 1, 8).reshape(2, 4), Loss()
        optimizer = poptorch.optim.SGD(module.parameters(), lr=0.1, weight_decay=0.0)
        model = poptorch.trainingModel(module, None, optimizer)
        model(x)
        state = optimizer.state_dict()
        own = {"scaledLearningRate0___specific___layer.weight": -0.25, "scaledLearningRate0___specific___layer.bias": 0.5,
               "weightDecayScaleFactor0___specific___layer.bias": 0.75}  # 1 - 0.5 * 0.5
        optimizer.load_state_dict({**state, "ipu_param": {**state["ipu_param"], **{k: torch.tensor(v) for k, v in own.items()}}})
        wanted = stepped(module, [-0.25, 0.5], [0.0, 0.5])
        model(x)
        for found, expected in zip(module.parameters(), wanted):
            self.assertTrue(torch.allclose(found, expected, atol=1e-6))
        found = optimizer.state_dict()
        self.assertEqual({name: found["ipu_param"][name].item() for name in own}, own)
        self.assertEqual(found["ipu_state"]["Step___layer.bias"].item(), 2)
        model.setOptimizer(poptorch.optim.SGD(module.parameters(), lr=0.1, weight_decay=0.0))
        wanted = stepped(module, [0.1, 0.1], [0.0, 0.0])
        model(x)
        for found, expected in zip(module.parameters(), wanted):
            self.assertTrue(torch.allclose(found, expected, atol=1e-6))
        # A decay that the program gave no value was left out when the model was compiled.
        module = Loss()
        optimizer = poptorch.optim.SGD(module.parameters(), lr=0.1)
        model = poptorch.trainingModel(module, None, optimizer)
        model(x)
        state = optimizer.state_dict()
        optimizer.load_state_dict({**state, "ipu_param": {**state["ipu_param"], "weightDecayScaleFactor0___specific___layer.bias":
                                                          torch.tensor(0.75)}})
        with self.assertRaisesRegex(ValueError, "would need other work on the device: compile the model again"):
            model(x)

    def test_copies_of_an_optimizer_keep_its_settings(self):
        optimizer = poptorch.optim.AdamW(nn.Linear(2, 2).parameters(), loss_scaling=8, max_grad_norm=0.5,
                                         bias_correction=False, accum_type=torch.float16,
                                         first_order_momentum_accum_type=torch.float16)
        for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
            self.assertEqual((other.loss_scaling, other.max_grad_norm, other.bias_correction, other.accum_type,
                              other.first_order_momentum_accum_type), (8, 0.5, False, "float16", torch.float16))

    def test_the_options_of_a_loaded_model_can_be_edited(self):
        self.trained()
        model = poptorch.load(self.path, lambda options: options.outputMode(poptorch.OutputMode.All))
        self.assertEqual(model(batch(), scale=0.5)["loss"].shape, (3,))

    def test_a_state_is_loaded_into_a_model_of_the_same_module(self):
        expected = self.trained(export_model=False)
        with self.assertRaisesRegex(poptorch.Error, "export_model=False: make the model from its module"):
            poptorch.load(self.path)
        model = model_of(Scores())
        model.loadExecutable(self.path)
        self.assertEqual(model(batch(), scale=0.5)["loss"].item(), expected)
        compiled = model_of(Scores())
        compiled.compile(batch(), scale=0.5)
        compiled.load(self.path)
        self.assertEqual(compiled(batch(), scale=0.5)["loss"].item(), expected)

    def test_compiling_and_exporting_in_one_call(self):
        module = nn.Linear(4, 2)
        poptorch.inferenceModel(module).compileAndExport(self.path, torch.ones(3, 4))
        torch.testing.assert_close(poptorch.load(self.path)(torch.ones(3, 4)), module(torch.ones(3, 4)).detach())

    def test_what_cannot_be_saved_or_loaded_is_refused(self):
        class Local(nn.Linear):
            """A class that no other program can import."""

        model = poptorch.inferenceModel(Local(2, 2))
        with self.assertRaisesRegex(poptorch.Error, "the model is not compiled yet"):
            model.save(self.path)
        model.compile(torch.ones(1, 2))
        with self.assertRaisesRegex(poptorch.Error, r"Local cannot be saved .* at the top of a module, or pass export_model"):
            model.save(self.path, export_model=True)
        with self.assertWarnsRegex(UserWarning, "Local cannot be saved .* Only the state is saved"):
            model.save(self.path)
        with self.assertRaisesRegex(poptorch.Error, "was saved with export_model=False"):
            poptorch.load(self.path)
        with self.assertRaisesRegex(NotImplementedError, "save_rng_state=False"):
            model.save(self.path, save_rng_state=False)
        for content in (b"no model", None):
            if content is None:
                torch.save({"weights": 1}, self.path)
            else:
                with open(self.path, "wb") as file:
                    file.write(content)
            with self.assertRaisesRegex(poptorch.Error, "is no file of PoplarExecutor.save"):
                poptorch.load(self.path)


class Numbers(unittest.TestCase):
    def compile(self, ipus, **calls):
        options = poptorch.Options().deviceIterations(len(ipus))
        for name, value in calls.items():
            getattr(options, name)(value)
        model = poptorch.inferenceModel(Split(ipus), options)
        model.compile(torch.ones(options.device_iterations * options.replication_factor, 4))
        return model

    def test_a_process_attaches_to_a_power_of_two(self):
        with self.assertRaisesRegex(poptorch.Error, r"takes 3 IPUs \(1 replicas of 3\).* at least 4\. Call autoRoundNumIPUs"):
            self.compile([0, 1, 2])
        with self.assertRaisesRegex(poptorch.Error, r"takes 6 IPUs \(3 replicas of 2\).* at least 8\."):
            self.compile([0, 1], replicationFactor=3)
        self.assertTrue(self.compile([0, 1, 2], autoRoundNumIPUs=True).isCompiled())
        self.assertTrue(self.compile([0, 1, 2], useIpuModel=True).isCompiled())
        self.assertTrue(self.compile([0, 1, 2], connectionType=poptorch.ConnectionType.Never).isCompiled())  # an offline target
        options = poptorch.Options().useOfflineIpuTarget().deviceIterations(3)
        exported = poptorch.inferenceModel(Split([0, 1, 2]), options)
        with tempfile.TemporaryDirectory() as folder:
            exported.compileAndExport(folder + "/three.poptorch", torch.ones(3, 4))
            with self.assertRaisesRegex(poptorch.Error, "systems are attached in powers of two"):
                poptorch.load(folder + "/three.poptorch")
            rounded = poptorch.load(folder + "/three.poptorch", lambda made: made.autoRoundNumIPUs(True))
        torch.testing.assert_close(rounded(torch.ones(3, 4)), exported.model(torch.ones(3, 4)))
        self.assertTrue(self.compile([0, 1], replicationFactor=2).isCompiled())


class Speaking(unittest.TestCase):
    def test_the_level_decides_what_is_said(self):
        self.addCleanup(poptorch.setLogLevel, "WARN")
        with self.assertLogs("poptorch", logging.INFO) as said:
            poptorch.inferenceModel(nn.Linear(2, 2)).compile(torch.ones(1, 2))
        self.assertRegex(said.output[0], r"inference: \d+ operators traced and compiled in")
        for level, known in (("DEBUG", logging.DEBUG), (2, logging.INFO), ("ERR", logging.ERROR)):
            poptorch.setLogLevel(level)
            self.assertEqual(logging.getLogger("poptorch").level, known)
        with self.assertRaisesRegex(ValueError, "'LOUD' is no level"):
            poptorch.setLogLevel("LOUD")

    def test_caching_says_that_it_has_no_effect(self):
        with self.assertLogs("poptorch", logging.WARNING) as said:
            poptorch.Options().enableExecutableCaching("cache")
        self.assertIn("has no effect", said.output[0])

    def test_schedules_of_rates_do_not_warn(self):
        module = Scores()
        optimizer = poptorch.optim.SGD(module.parameters(), lr=1.0)
        model = poptorch.trainingModel(module, None, optimizer)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model(batch())
            schedule.step()
        model.setOptimizer(optimizer)
        before = copy.deepcopy(module.state_dict())
        model(batch())
        self.assertTrue(torch.equal(before["layer.weight"], module.layer.weight))


class Reading(unittest.TestCase):
    def test_any_data_can_be_read_ahead(self):
        loader = poptorch.AsynchronousDataAccessor([1, 2, 3], buffer_size=1)
        self.assertEqual((list(loader), list(loader), len(loader)), ([1, 2, 3], [1, 2, 3], 3))

        def fails():
            yield 1
            raise KeyError("the user's own")

        with self.assertRaisesRegex(KeyError, "the user's own"):
            list(poptorch.AsynchronousDataAccessor(fails()))
        with self.assertRaisesRegex(ValueError, "buffer_size is 0"):
            poptorch.AsynchronousDataAccessor([], 0)


if __name__ == "__main__":
    unittest.main()
