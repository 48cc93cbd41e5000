"""Registration with Lightning, against a stand-in (fake_lightning), because Lightning is no package of Debian."""

import os
import subprocess
import sys
import tempfile
import unittest

import fake_lightning
import torch
from pipescope import lightning as pl
from pipescope.lightning import registration
from pipescope.lightning.strategies import IPUStrategy

HERE = os.path.dirname(os.path.abspath(__file__))


class Module(torch.nn.Module):
    """A module as Lightning would run it. It is no LightningModule of ours."""

    def __init__(self, logs=False):
        super().__init__()
        torch.manual_seed(1)
        self.layer, self.logs = torch.nn.Linear(4, 3), logs

    def log(self, name, value):
        """Lightning's own."""

    def training_step(self, batch, batch_idx):
        x, labels = batch
        loss = torch.nn.functional.cross_entropy(self.layer(x), labels)
        if self.logs:
            self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        return self.layer(batch[0]).argmax(1)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class WithMoments(Module):
    """The same with an optimizer whose state decides about the next update."""

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.1)


class Own(Module, pl.LightningModule):
    """The same for our trainer."""

    def log(self, name, value):
        pl.LightningModule.log(self, name, value)


def loader(rows=32):
    generator = torch.Generator().manual_seed(2)
    data = torch.utils.data.TensorDataset(torch.randn(rows, 4, generator=generator),
                                          torch.randint(0, 3, (rows,), generator=generator))
    return torch.utils.data.DataLoader(data, batch_size=2)


class Registration(unittest.TestCase):
    def setUp(self):
        self.names = registration.register("fake_lightning")

    def test_the_devices_of_a_trainer_are_counted(self):
        for name, strategy in (("ipu", "ipu_strategy"), ("hpu", "hpu_parallel")):
            trainer = fake_lightning.Trainer(name, strategy, devices=4)
            self.assertEqual(trainer.num_devices, 4)
            self.assertFalse(trainer.strategy.is_distributed)  # one process reads the samples of all devices

    def test_strategies_and_accelerators_are_in_the_registries(self):
        self.assertEqual(self.names, ["ipu_strategy", "hpu_parallel", "hpu_ddp", "hpu_single", "ipu", "hpu"])
        strategy = fake_lightning.strategies.StrategyRegistry.get("ipu_strategy")
        self.assertIsInstance(strategy, fake_lightning.strategies.Strategy)
        self.assertIsInstance(strategy.own, IPUStrategy)
        kind = fake_lightning.accelerators.AcceleratorRegistry.get("hpu")
        self.assertEqual((kind.name(), kind.parse_devices("auto"), kind.auto_device_count()), ("hpu", 8, 8))
        self.assertTrue(kind.is_available())
        with self.assertRaisesRegex(fake_lightning.MisconfigurationException, "no counters"):
            kind.get_device_stats("cpu")
        with self.assertRaisesRegex(ValueError, "power of two"):
            fake_lightning.accelerators.AcceleratorRegistry.get("ipu").parse_devices(3)

    def test_training_is_that_of_our_trainer(self):
        for name, strategy, own in (("ipu", "ipu_strategy", None), ("hpu", "hpu_ddp", None),
                                    ("ipu", registration.strategies_of("fake_lightning")["ipu_strategy"](
                                        device_iterations=2), IPUStrategy(device_iterations=2))):
            with self.subTest(f"{name} {strategy}"):
                module, other = Module(), Own()
                trainer = fake_lightning.Trainer(name, strategy, devices=2, max_epochs=2, accumulate_grad_batches=2)
                trainer.fit(module, loader())
                pl.Trainer(accelerator=name, strategy=own, devices=2, max_epochs=2, accumulate_grad_batches=2,
                           enable_progress_bar=False).fit(other, loader())
                self.assertTrue(torch.equal(module.layer.weight, other.layer.weight))
                self.assertFalse(torch.equal(module.layer.weight, Module().layer.weight))
                self.assertEqual(len(trainer.losses), 4 if own else 8)
                # A call of Lightning's loop is an update, whatever it accumulates on the devices.
                self.assertEqual((trainer.global_step, trainer.accumulate_grad_batches), (len(trainer.losses), 2))
                classes = torch.cat(trainer.validate(module, loader()))
                data = torch.cat([x for x, _ in loader()])
                self.assertEqual(sorted(classes.tolist()), sorted(module.layer(data).argmax(1).tolist()))

    def test_what_devices_do_not_support_is_refused(self):
        trainer = fake_lightning.Trainer("ipu", "ipu_strategy", devices=1)
        with self.assertRaisesRegex(fake_lightning.MisconfigurationException, r'self.log\("loss"\) is called in training_step'):
            trainer.fit(Module(logs=True), loader())
        strategy = fake_lightning.strategies.StrategyRegistry.get("ipu_strategy")
        strategy.optimizers = [1, 2]
        trainer.lightning_module = Module()
        with self.assertRaisesRegex(fake_lightning.MisconfigurationException, "One optimizer is supported"):
            strategy.setup(trainer)

    def test_the_state_of_the_optimizer_is_in_checkpoints(self):
        whole, first, second = WithMoments(), WithMoments(), WithMoments()
        fake_lightning.Trainer("ipu", "ipu_strategy", devices=1, max_epochs=3).fit(whole, loader())
        trainer = fake_lightning.Trainer("ipu", "ipu_strategy", devices=1, max_epochs=2)
        trainer.fit(first, loader())
        saved = {"optimizer_states": [trainer.strategy.optimizer_state(each) for each in trainer.strategy.optimizers]}
        second.load_state_dict(first.state_dict())
        fake_lightning.Trainer("ipu", "ipu_strategy", devices=1).fit(second, loader(), saved)
        self.assertTrue(torch.equal(second.layer.weight, whole.layer.weight))
        other = WithMoments()
        optimizer = other.configure_optimizers()
        other.training_step(next(iter(loader())), 0).backward()
        optimizer.step()
        with self.assertRaisesRegex(fake_lightning.MisconfigurationException, "another accelerator has trained with"):
            fake_lightning.Trainer("ipu", "ipu_strategy", devices=1).fit(
                other, loader(), {"optimizer_states": [optimizer.state_dict()]})

    def test_batch_samplers_make_the_batches(self):
        sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(32)), 4, True)
        data = loader().dataset
        trainer = fake_lightning.Trainer("ipu", "ipu_strategy", devices=2)
        trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_sampler=sampler))
        self.assertEqual(len(trainer.losses), 4)  # 32 rows in batches of 4 for 2 replicas

    def test_clipping_is_refused(self):
        trainer = fake_lightning.Trainer("ipu", "ipu_strategy", devices=1, gradient_clip_val=0.5)
        with self.assertRaisesRegex(fake_lightning.MisconfigurationException, "gradient_clip_val=0.5.* poptorch.optim with max_grad_norm"):
            trainer.fit(Module(), loader())

    def test_different_accumulations_of_epochs_are_refused(self):
        """Lightning gives them as a dictionary or as a callback, and the model is compiled once."""
        for given, callbacks in (({0: 1, 1: 2}, ()), (1, [type("Scheduler", (), {"scheduling": {4: 2}})()])):
            trainer = fake_lightning.Trainer("ipu", "ipu_strategy", devices=1, accumulate_grad_batches=given)
            trainer.callbacks = callbacks
            with self.assertRaisesRegex(fake_lightning.MisconfigurationException, "do not support different numbers .* Give one number"):
                trainer.fit(Module(), loader())
        trainer = fake_lightning.Trainer("ipu", "ipu_strategy", devices=1, accumulate_grad_batches={0: 2})
        module, other = Module(), Module()
        trainer.fit(module, loader())
        fake_lightning.Trainer("ipu", "ipu_strategy", devices=1, accumulate_grad_batches=2).fit(other, loader())
        self.assertTrue(torch.equal(module.layer.weight, other.layer.weight))
        schedule = type("Scheduler", (), {})()
        schedule.scheduling = {0: 2}
        trainer, module = fake_lightning.Trainer("ipu", "ipu_strategy", devices=1), Module()
        trainer.callbacks = [schedule]
        trainer.fit(module, loader())
        self.assertTrue(torch.equal(module.layer.weight, other.layer.weight))
        self.assertEqual((schedule.scheduling, trainer.global_step), ({0: 2}, 8))

    def test_samples_that_a_training_leaves_out_are_counted(self):
        with self.assertWarnsRegex(UserWarning, "leaves out the last 1 of 33 samples of an epoch, because a call takes 2"):
            fake_lightning.Trainer("ipu", "ipu_strategy", devices=1).fit(Module(), loader(33))

    def test_it_happens_on_import_where_lightning_is_installed(self):
        self.assertEqual(registration.register(), [] if registration.installed_package() is None else self.names)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(HERE, "fake_lightning"), os.path.join(folder, "pytorch_lightning"))
            script = ("import pipescope.lightning, pytorch_lightning as pl\n"
                      "print(pl.strategies.StrategyRegistry['hpu_ddp']['description'])\n")
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                                  env={**os.environ, "PYTHONPATH": folder + os.pathsep + os.environ["PYTHONPATH"]})
        self.assertEqual(done.stdout, "emulated by Pipescope\n")


if __name__ == "__main__":
    unittest.main()
