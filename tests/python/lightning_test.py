"""pipescope.lightning: the code of Lightning's pages on IPUs and HPUs, what trainers do, and what is refused."""

import contextlib
import csv
import glob
import io
import os
import tempfile
import unittest
import warnings

import pipescope
import pipescope.lightning as pl
import pipescope.poptorch as poptorch
import torch
from pipescope.lightning.accelerators import HPUAccelerator, IPUAccelerator
from pipescope.lightning.callbacks import DeviceStatsMonitor, EarlyStopping, LearningRateMonitor, ModelCheckpoint
from pipescope.lightning.loggers import CSVLogger, TensorBoardLogger
from pipescope.lightning.plugins import HPUPrecisionPlugin, IPUPrecision
from pipescope.lightning.strategies import HPUDDPStrategy, HPUParallelStrategy, IPUStrategy, SingleHPUStrategy
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(pl.LightningModule):
    """A linear classifier of five features."""

    def __init__(self, lr=0.1, log_in_step=False):
        super().__init__()
        self.save_hyperparameters("lr")
        self.layer = nn.Linear(5, 3)
        self.lr, self.log_in_step = lr, log_in_step

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        x, labels = batch
        loss = nn.functional.cross_entropy(self(x), labels)
        if self.log_in_step:
            self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, labels = batch
        scores = self(x)
        return {"loss": nn.functional.cross_entropy(scores, labels), "right": (scores.argmax(1) == labels).float()}

    test_step = validation_step

    def predict_step(self, batch, batch_idx):
        return self(batch[0])

    def validation_epoch_end(self, outputs):
        self.log("val_loss", torch.cat([each["loss"].reshape(-1) for each in outputs]).mean())
        self.log("val_acc", torch.cat([each["right"].reshape(-1) for each in outputs]).mean(), prog_bar=True)

    def test_epoch_end(self, outputs):
        self.log("test_acc", torch.cat([each["right"].reshape(-1) for each in outputs]).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


def data(rows=64, batch=4, shuffle=False):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 5, generator=generator)
    return DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=batch, shuffle=shuffle)


def quiet(**settings):
    return pl.Trainer(**{"enable_progress_bar": False, "max_epochs": 1, **settings})


def model(seed=1, **settings):
    torch.manual_seed(seed)
    return Model(**settings)


class BasicPage(unittest.TestCase):
    """The code of "Accelerator: IPU training" and "Accelerator: HPU training"."""

    def test_devices_of_ipus_are_replicas(self):
        for devices in (1, 8):
            trainer = quiet(accelerator="ipu", devices=devices)
            module = model()
            trainer.fit(module, data(rows=64, batch=4))
            self.assertEqual((trainer.num_devices, trainer.global_step), (devices, 16 // devices))
        self.assertEqual(quiet(accelerator="ipu", devices="auto").num_devices, 4)
        with self.assertRaisesRegex(ValueError, "must be a power of two"):
            quiet(accelerator="ipu", devices=3)

    def test_devices_of_hpus_are_cards(self):
        self.assertEqual(pl.Trainer(accelerator="hpu", devices=1).num_devices, 1)
        self.assertEqual(pl.Trainer(devices=8, accelerator="hpu").num_devices, 8)
        self.assertEqual(pl.Trainer(accelerator="hpu").num_devices, 8)
        self.assertEqual(pl.Trainer(accelerator="hpu", devices="auto").num_devices, 8)
        self.assertEqual(pl.Trainer(accelerator=HPUAccelerator(), devices="2").num_devices, 2)
        with self.assertRaisesRegex(TypeError, "devices is a list"):
            pl.Trainer(accelerator="hpu", devices=[0, 1])
        trainer = quiet(accelerator="hpu", devices=8)
        trainer.fit(model(), data())
        self.assertEqual(trainer.global_step, 2)
        self.assertTrue(IPUAccelerator.is_available() and HPUAccelerator.is_available())
        self.assertIn("emulated", HPUAccelerator.get_device_name())

    def test_limitations_have_their_sentences(self):
        refused = pl.MisconfigurationException

        class TwoOptimizers(Model):
            def configure_optimizers(self):
                return [torch.optim.SGD(self.parameters(), lr=1), torch.optim.SGD(self.parameters(), lr=1)]

        class TwoLosses(Model):
            def training_step(self, batch, batch_idx):
                loss = super().training_step(batch, batch_idx)
                return loss, loss * 2

        class ManyNumbers(Model):
            def training_step(self, batch, batch_idx):
                return self(batch[0])

        class Nothing(Model):
            def training_step(self, batch, batch_idx):
                return None

        class HabanaDataLoader(DataLoader):
            pass

        for accelerator in ("ipu", "hpu"):
            for sentence, make in (
                ("clipping gradients is not supported", lambda a: quiet(accelerator=a, gradient_clip_val=0.5)),
                ("DeviceStatsMonitor is not supported", lambda a: quiet(accelerator=a, callbacks=DeviceStatsMonitor())),
                ("returns 2 optimizers, but one", lambda a: quiet(accelerator=a, devices=1).fit(TwoOptimizers(), data())),
                ("two losses", lambda a: quiet(accelerator=a, devices=1).fit(TwoLosses(), data())),
                ("only one number is supported", lambda a: quiet(accelerator=a, devices=1).fit(ManyNumbers(), data())),
                ("returns nothing", lambda a: quiet(accelerator=a, devices=1).fit(Nothing(), data())),
                (r'self.log\("loss"\) is called in training_step.*log it in training_epoch_end',
                 lambda a: quiet(accelerator=a, devices=1).fit(Model(log_in_step=True), data())),
                ("Habana's data loader is not supported",
                 lambda a: quiet(accelerator=a, devices=1).fit(model(), HabanaDataLoader(data().dataset))),
            ):
                with self.subTest(sentence, accelerator=accelerator), self.assertRaisesRegex(refused, sentence):
                    make(accelerator)
        with self.assertRaisesRegex(refused, "get_device_stats is not supported"):
            HPUAccelerator().get_device_stats(0)

    def test_control_flow_on_data_is_traced_once_and_said(self):
        class Branches(Model):
            def training_step(self, batch, batch_idx):
                loss = super().training_step(batch, batch_idx)
                return loss * 2 if loss > 0 else loss

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            quiet(accelerator="ipu", devices=1).fit(Branches(), data())
        self.assertTrue(any("always takes the same way" in str(each.message) for each in caught))


class Blocks(pl.LightningModule):
    """The module of the advanced page with begun blocks, completed by a step and data of five features."""

    def __init__(self):
        super().__init__()
        # This will place layer1, layer2+layer3, layer4, softmax on different IPUs at runtime.
        self.layer1 = poptorch.BeginBlock(torch.nn.Linear(5, 10), ipu_id=0)
        self.layer2 = poptorch.BeginBlock(torch.nn.Linear(10, 5), ipu_id=1)
        self.layer3 = torch.nn.Linear(5, 5)
        self.layer4 = poptorch.BeginBlock(torch.nn.Linear(5, 5), ipu_id=2)
        self.softmax = poptorch.BeginBlock(torch.nn.Softmax(dim=1), ipu_id=3)

    def forward(self, x):
        return self.softmax(self.layer4(self.layer3(self.layer2(self.layer1(x)))))

    def training_step(self, batch, batch_idx):
        return nn.functional.nll_loss(self(batch[0]), batch[1])

    def predict_step(self, batch, batch_idx):
        return self(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Scopes(Blocks):
    """The other module of the advanced page: blocks as scopes in forward."""

    def __init__(self):
        pl.LightningModule.__init__(self)
        self.layer1 = torch.nn.Linear(5, 10)
        self.layer2 = torch.nn.Linear(10, 5)
        self.layer3 = torch.nn.Linear(5, 5)
        self.layer4 = torch.nn.Linear(5, 5)
        self.act = torch.nn.ReLU()
        self.softmax = torch.nn.Softmax(dim=1)

    def forward(self, x):
        with poptorch.Block(ipu_id=0):
            x = self.act(self.layer1(x))
        with poptorch.Block(ipu_id=1):
            x = self.act(self.layer2(x))
        with poptorch.Block(ipu_id=2):
            x = self.act(self.layer3(x))
            x = self.act(self.layer4(x))
        with poptorch.Block(ipu_id=3):
            x = self.softmax(x)
        return x

    def training_step(self, batch, batch_idx):
        scores = self(batch[0])
        with poptorch.Block(ipu_id=3):
            return nn.functional.nll_loss(scores, batch[1])


class AdvancedPage(unittest.TestCase):
    """The code of "Accelerator: IPU training", advanced."""

    def test_device_iterations(self):
        strategy = IPUStrategy(device_iterations=32)
        trainer = quiet(accelerator="ipu", devices=8, strategy=strategy, max_epochs=2)
        trainer.fit(model(), data(rows=512, batch=1))
        self.assertEqual(trainer.global_step, 2 * 2 * 32)

    def test_custom_options_silence_the_trainer_with_a_warning(self):
        inference, training = poptorch.Options(), poptorch.Options()
        training.deviceIterations(4).outputMode(poptorch.OutputMode.All)
        strategy = IPUStrategy(device_iterations=2, inference_opts=inference, training_opts=training)
        trainer = quiet(accelerator="ipu", devices=8, strategy=strategy, accumulate_grad_batches=2)
        with self.assertWarnsRegex(UserWarning, "device_iterations=2 and devices=8 and accumulate_grad_batches=2 have no "
                                                "effect, because training_opts was passed"):
            trainer.fit(model(), data(rows=32, batch=4))
        self.assertEqual(trainer.global_step, 8)
        self.assertEqual(strategy.replicas(8), 1)

    def test_blocks_take_ipus_times_devices(self):
        for kind in (Blocks, Scopes):
            with self.subTest(kind.__name__), tempfile.TemporaryDirectory() as folder:
                strategy = IPUStrategy(device_iterations=2, autoreport=True, autoreport_dir=folder)
                trainer = quiet(accelerator="ipu", devices=8, strategy=strategy, accumulate_grad_batches=7)
                trainer.fit(kind(), data(rows=112, batch=1))
                report = pipescope.openReport(os.path.join(folder, "training", "profile.pop"))
                self.assertEqual(int(report.compilation.target.numIPUs), 64)  # the partition for 32
                placed = report.table("placement")
                self.assertEqual(len(set(placed["device"])), 4)  # one replica stands for eight

    def test_pipelines_need_accumulation_in_training_and_iterations_in_inference(self):
        with self.assertRaisesRegex(pl.MisconfigurationException, r"at least 7, whatever deviceIterations is. Set "
                                                                  r"Trainer\(accumulate_grad_batches=…\)"):
            strategy = IPUStrategy(device_iterations=20)
            quiet(accelerator="ipu", devices=8, strategy=strategy).fit(Blocks(), data(rows=160, batch=1))
        with self.assertRaisesRegex(pl.MisconfigurationException, r"at least 4. Set IPUStrategy\(device_iterations=…\)"):
            quiet(accelerator="ipu", devices=1, strategy=IPUStrategy(device_iterations=3)).predict(Blocks(), data())
        strategy = IPUStrategy(device_iterations=4)
        done = quiet(accelerator="ipu", devices=1, strategy=strategy).predict(Blocks(), data(rows=32, batch=2))
        self.assertEqual([each.shape for each in done], [(8, 5)] * 4)


class Trainers(unittest.TestCase):
    def test_devices_give_the_losses_of_the_cpu(self):
        """Two replicas or cards, and two accumulated batches, are one batch of four times the size."""
        whole = model()
        quiet(accelerator="cpu").fit(whole, data(batch=16))
        for settings in ({"accelerator": "ipu", "devices": 2}, {"accelerator": "hpu", "devices": 2}):
            module = model()
            quiet(accumulate_grad_batches=2, **settings).fit(module, data(batch=4))
            # Cards draw every second sample, so single losses differ; every update sees the same 16 rows.
            self.assertTrue(torch.allclose(module.layer.weight, whole.layer.weight, atol=1e-6), settings)

    def test_stages_callbacks_and_loggers(self):
        for accelerator in ("cpu", "ipu"):
            with self.subTest(accelerator), tempfile.TemporaryDirectory() as folder:
                checkpoint = ModelCheckpoint(monitor="val_acc", mode="max", save_last=True, filename="{epoch}-{val_acc}")
                trainer = quiet(accelerator=accelerator, devices=1, max_epochs=3, default_root_dir=folder,
                                callbacks=[checkpoint, LearningRateMonitor()], log_every_n_steps=4,
                                logger=[CSVLogger(folder), TensorBoardLogger(folder, name="events")])
                module = model()
                trainer.fit(module, data(shuffle=True), data())
                accuracy = trainer.callback_metrics["val_acc"]
                self.assertGreater(accuracy, 0.5)
                self.assertEqual(trainer.validate(module, data(), verbose=False)[0]["val_acc"], accuracy)
                self.assertEqual(trainer.test(module, data(), verbose=False)[0]["test_acc"], accuracy)
                predicted = torch.cat(trainer.predict(module, data()))
                self.assertTrue(torch.allclose(predicted, module(data().dataset.tensors[0]), atol=1e-5))
                with open(os.path.join(folder, "lightning_logs", "version_0", "metrics.csv"), encoding="utf-8") as file:
                    rows = list(csv.DictReader(file))
                self.assertIn("train_loss_step", rows[0])
                self.assertEqual([row["lr-SGD"] for row in rows if row["lr-SGD"]], ["0.1"] * 3)
                self.assertEqual(len(glob.glob(os.path.join(folder, "events", "version_0", "events.out.*"))), 1)
                self.assertTrue(os.path.exists(checkpoint.best_model_path))
                self.assertIn("val_acc=", checkpoint.best_model_path)
                loaded = Model.load_from_checkpoint(checkpoint.last_model_path)
                self.assertTrue(torch.equal(loaded.layer.weight, module.layer.weight))
                self.assertEqual(loaded.hparams["lr"], 0.1)

    def test_evaluation_takes_the_module_and_the_checkpoint_of_the_fit(self):
        class Worse(Model):
            """A model whose weights are spoilt in the second epoch, so that the best checkpoint is not the last one."""

            spoils = True

            def validation_epoch_end(self, outputs):
                if not self.spoils or self.trainer.current_epoch == 0:
                    return super().validation_epoch_end(outputs)
                with torch.no_grad():
                    self.layer.weight.zero_()
                self.log("val_acc", torch.tensor(0.0))

        with tempfile.TemporaryDirectory() as folder:
            checkpoint = ModelCheckpoint(dirpath=folder, monitor="val_acc", mode="max", save_last=True)
            trainer = quiet(accelerator="cpu", devices=1, max_epochs=2, callbacks=[checkpoint])
            module = Worse()
            trainer.fit(module, data(), data())
            module.spoils = False
            best = checkpoint.best_model_score
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                self.assertEqual(trainer.test(dataloaders=data())[0]["test_acc"], best)
            self.assertIn(f"test test_acc: {float(best):.6g}", shown.getvalue())
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                self.assertEqual(trainer.validate(module, data(), "best", verbose=False)[0]["val_acc"], best)
                last = trainer.test(module, data(), ckpt_path="last", verbose=False)[0]["test_acc"]
            self.assertNotEqual(last, best)
            self.assertEqual(shown.getvalue(), "")
            self.assertIsNone(trainer.predict(module, data(), return_predictions=False))
            for path, other in (("best", quiet(accelerator="cpu")), ("last", quiet(accelerator="cpu"))):
                with self.assertRaisesRegex(pl.MisconfigurationException, f'ckpt_path="{path}", but no such checkpoint'):
                    other.test(module, data(), ckpt_path=path)
            with self.assertRaisesRegex(pl.MisconfigurationException, "pass one, or call fit"):
                quiet(accelerator="cpu").test(dataloaders=data())

    def test_training_continues_from_a_checkpoint(self):
        for accelerator in ("cpu", "ipu"):
            with self.subTest(accelerator), tempfile.TemporaryDirectory() as folder:
                class Moving(Model):
                    def configure_optimizers(self):
                        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

                def fit(epochs, module, path=None, checkpoint=None, where=folder, on=accelerator, kind=Moving):
                    callbacks = [ModelCheckpoint(dirpath=where, save_last=True)] if checkpoint else None
                    trainer = quiet(accelerator=on, devices=1, max_epochs=epochs, callbacks=callbacks)
                    trainer.fit(module, data(), ckpt_path=path)
                    return module.layer.weight.detach().clone(), trainer

                torch.manual_seed(1)
                whole, _ = fit(2, Moving())
                torch.manual_seed(1)
                fit(1, Moving(), checkpoint=True)
                after, trainer = fit(2, Moving(), os.path.join(folder, "last.ckpt"))
                self.assertTrue(torch.equal(after, whole))
                self.assertEqual((trainer.current_epoch, trainer.global_step), (2, 32))  # epochs that are done

    def test_schedulers_reach_the_devices(self):
        class Scheduled(Model):
            def configure_optimizers(self):
                optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
                return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.0)]

        weights = []
        for epochs in (1, 3):
            torch.manual_seed(1)
            module = Scheduled()
            quiet(accelerator="ipu", devices=1, max_epochs=epochs).fit(module, data())
            weights.append(module.layer.weight.detach().clone())
        self.assertTrue(torch.equal(*weights))

    def test_early_stopping_and_limits(self):
        stopping = EarlyStopping("val_loss", patience=2)
        trainer = quiet(accelerator="ipu", devices=1, max_epochs=20, callbacks=stopping, limit_train_batches=2,
                        limit_val_batches=0.5)
        trainer.fit(model(lr=0.0), data(), data())
        self.assertEqual((stopping.stopped_epoch, trainer.global_step), (2, 6))
        with self.assertRaisesRegex(pl.MisconfigurationException, 'monitors "other", but logged are: val_loss'):
            quiet(accelerator="cpu", callbacks=EarlyStopping("other")).fit(model(), data(), data())
        trainer = quiet(accelerator="cpu", max_epochs=None, max_steps=5)
        trainer.fit(model(), data())
        self.assertEqual(trainer.global_step, 5)
        trainer = pl.Trainer(accelerator="cpu", fast_dev_run=True)
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            trainer.fit(model(), data(), data())
        self.assertRegex(shown.getvalue(), r"^Epoch 1/1  loss \d\.\d{4}  val_acc \d\.\d{4}\n$")

    def test_where_values_are_logged(self):
        class OnStep(Model):
            def training_epoch_end(self, outputs):
                self.log("loss", 1.0, on_step=True)

        with self.assertRaisesRegex(pl.MisconfigurationException, "belongs to a step"):
            quiet(accelerator="cpu").fit(OnStep(), data())
        trainer = quiet(accelerator="cpu")
        trainer.fit(Model(log_in_step=True), data())
        self.assertIn("loss", trainer.callback_metrics)
        with self.assertRaisesRegex(pl.MisconfigurationException, "has no trainer yet"):
            Model().log("x", 1.0)

    def test_hooks_and_data_modules(self):
        called = []

        class Data(pl.LightningDataModule):
            def prepare_data(self):
                called.append("prepare")

            def setup(self, stage=None):
                called.append(stage)

            def train_dataloader(self):
                return data()

        class Hooks(pl.Callback):
            def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
                called.append((sorted(outputs), tuple(outputs["loss"].shape)))

        class Ends(Model):
            def training_epoch_end(self, outputs):
                called.append((len(outputs), sorted(outputs[0])))

        trainer = quiet(accelerator="ipu", devices=1, limit_train_batches=1, callbacks=[Hooks()])
        trainer.fit(Ends(), datamodule=Data())
        self.assertEqual(called, ["prepare", "fit", (["loss"], ()), (1, ["loss"])])
        called.clear()
        trainer.fit(Ends(), Data())  # a data module may stand in the place of the loaders
        self.assertEqual(called[:2], ["prepare", "fit"])

    def test_precision(self):
        module = model()
        quiet(accelerator="ipu", devices=1, precision=16).fit(module, data())
        self.assertEqual(module.layer.weight.dtype, torch.float16)
        wide, narrow = model(), model()
        quiet(accelerator="hpu", devices=1).fit(wide, data())
        quiet(accelerator="hpu", devices=1, precision="bf16").fit(narrow, data())
        difference = (wide.layer.weight - narrow.layer.weight).abs().max().item()
        self.assertTrue(0 < difference < 0.02, difference)
        trainer = quiet(accelerator="hpu", devices=1, plugins=[HPUPrecisionPlugin(precision="bf16")])
        self.assertEqual(trainer.precision, "bf16")
        self.assertEqual(quiet(accelerator="ipu", plugins=IPUPrecision(16)).precision, 16)
        for settings in ({"accelerator": "hpu", "precision": 16}, {"accelerator": "ipu", "precision": "bf16"},
                         {"accelerator": "cpu", "precision": 16}):
            with self.assertRaisesRegex(ValueError, "must be one of"):
                quiet(**settings)
        with self.assertRaisesRegex(pl.MisconfigurationException, 'is for accelerator="hpu"'):
            quiet(accelerator="ipu", plugins=HPUPrecisionPlugin("bf16"))

    def test_strategies_belong_to_accelerators(self):
        refused = pl.MisconfigurationException
        self.assertIsInstance(quiet(accelerator="hpu", strategy="hpu_ddp").strategy, HPUDDPStrategy)
        self.assertEqual(quiet(strategy=IPUStrategy()).accelerator_name, "ipu")
        for sentence, make in (
            ('is for accelerator="ipu"', lambda: quiet(accelerator="hpu", strategy=IPUStrategy())),
            ("exchange gradients with hccl", lambda: HPUParallelStrategy(process_group_backend="nccl")),
            ("SingleHPUStrategy runs on one card",
             lambda: quiet(accelerator="hpu", devices=2, strategy=SingleHPUStrategy()).fit(model(), data())),
            ("autoreport is False", lambda: IPUStrategy(autoreport_dir="x")),
            ("one call takes 256", lambda: quiet(accelerator="ipu", devices=64).fit(model(), data())),
            ("needs data", lambda: quiet(accelerator="ipu").fit(model())),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(refused, sentence):
                make()
        with self.assertRaisesRegex(ValueError, 'There is no strategy "ddp"'):
            quiet(accelerator="hpu", strategy="ddp")
        with self.assertRaisesRegex(ValueError, 'accelerator is "tpu"'):
            quiet(accelerator="tpu")
        self.assertEqual(pl.seed_everything(7), 7)
        self.assertEqual(quiet(accelerator="ipu").seed, 7)
        del os.environ["PL_GLOBAL_SEED"]


if __name__ == "__main__":
    unittest.main()
