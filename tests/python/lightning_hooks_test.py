"""Hooks of modules and callbacks: which are called, with what, and which are refused. Names of checkpoint files."""

import os
import tempfile
import unittest

import pipescope.lightning as pl
import torch
from pipescope.lightning.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from pipescope.lightning.loggers import CSVLogger, TensorBoardLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        self.called = []

    def training_step(self, batch, batch_idx):
        return nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        return (self.layers(batch[0]).argmax(1) == batch[1]).float()

    test_step = validation_step

    def predict_step(self, batch, batch_idx):
        return self.layers(batch[0]).argmax(1)

    def validation_epoch_end(self, outputs):
        self.log("val_acc", torch.cat([each.reshape(-1) for each in outputs]).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_validation_start(self):
        self.called.append("on_validation_start")

    def on_test_batch_end(self, outputs, batch, batch_idx, dataloader_idx):
        self.called.append(("on_test_batch_end", tuple(outputs.shape), batch_idx, dataloader_idx))

    def on_save_checkpoint(self, checkpoint):
        checkpoint["own"] = 7

    def on_load_checkpoint(self, checkpoint):
        self.called.append(("on_load_checkpoint", checkpoint["own"]))


class Flags(pl.Callback):
    """Keeps what the trainer says of itself in some hooks."""

    NAMES = ("training", "validating", "testing", "predicting", "sanity_checking", "evaluating")

    def __init__(self):
        self.seen = {}

    def note(self, hook, trainer):
        on = [name for name in self.NAMES if getattr(trainer, name)]
        stages = {"training": "train", "validating": "validate", "testing": "test", "predicting": "predict"}
        assert trainer.state.stage == stages.get(on[0], "sanity_check") and trainer.state.status == "running"
        self.seen.setdefault(hook, []).append((on, trainer.is_last_batch) if hook == "train_batch" else on)

    def setup(self, trainer, module, stage):
        self.note(f"setup {stage}", trainer)

    def teardown(self, trainer, module, stage):
        self.note(f"teardown {stage}", trainer)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.note("train_batch", trainer)

    def on_validation_start(self, trainer, module):
        self.note("validation", trainer)

    def on_validation_end(self, trainer, module):
        self.note("validation_end", trainer)

    def on_test_start(self, trainer, module):
        self.note("test", trainer)

    def on_predict_start(self, trainer, module):
        self.note("predict", trainer)

    def on_train_epoch_end(self, trainer, module):
        self.note("epoch_end", trainer)


class Recorder(pl.Callback):
    """Keeps the names of all hooks that are called."""

    STAGES = ("validation", "test", "predict")
    HOOKS = [f"on_{stage}_{what}" for stage in STAGES
             for what in ("start", "epoch_start", "batch_start", "batch_end", "epoch_end", "end")]

    def __init__(self):
        self.called = []
        for name in [*self.HOOKS, "on_save_checkpoint", "on_load_checkpoint", "on_exception"]:
            setattr(self, name, self._keeper(name))

    def _keeper(self, name):
        return lambda *arguments: self.called.append(name)


def data(rows=32):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 4, generator=generator)
    return DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=8)


def trainer(**more):
    settings = {"accelerator": "ipu", "devices": 1, "max_epochs": 2, "enable_progress_bar": False}
    return pl.Trainer(**{**settings, **more})


class Hooks(unittest.TestCase):
    def test_stages_call_their_hooks_in_order(self):
        recorder, module = Recorder(), Classifier()
        runner = trainer(callbacks=[recorder])
        for stage, run in (("validation", lambda: runner.validate(module, data(), verbose=False)),
                           ("test", lambda: runner.test(module, data(), verbose=False)),
                           ("predict", lambda: runner.predict(module, data()))):
            recorder.called.clear()
            run()
            steps = [f"on_{stage}_batch_start", f"on_{stage}_batch_end"] * 4
            self.assertEqual(recorder.called, [f"on_{stage}_start", f"on_{stage}_epoch_start", *steps,
                                               f"on_{stage}_epoch_end", f"on_{stage}_end"])
        self.assertEqual(module.called[0], "on_validation_start")
        self.assertEqual(module.called[1], ("on_test_batch_end", (8,), 0, 0))

    def test_the_trainer_says_which_stage_runs(self):
        """The values are those of Lightning 2.2: `training` holds from setup() to teardown() of fit() but for what runs between."""
        flags = Flags()
        runner = trainer(accelerator="cpu", max_epochs=1, callbacks=[flags], num_sanity_val_steps=1)
        model, rows = Classifier(), data()
        self.assertFalse(runner.training or runner.evaluating)
        runner.fit(model, rows, rows)
        batches = len(rows)
        self.assertEqual(flags.seen.pop("train_batch"), [(["training"], number + 1 == batches) for number in range(batches)])
        self.assertEqual(flags.seen.pop("setup fit") + flags.seen.pop("teardown fit"), [["training"], ["training"]])
        between = [["sanity_checking", "evaluating"], ["validating", "evaluating"]]
        self.assertEqual(flags.seen.pop("validation"), between)
        self.assertEqual(flags.seen.pop("validation_end"), between)
        self.assertEqual(flags.seen.pop("epoch_end"), [["training"]])
        runner.test(model, rows, verbose=False)
        runner.predict(model, rows)
        self.assertEqual(flags.seen["test"], [["testing", "evaluating"]])
        self.assertEqual(flags.seen["predict"], [["predicting"]])
        self.assertFalse(runner.training or runner.validating or runner.testing or runner.predicting)
        self.assertEqual((runner.state.fn, runner.state.stage, runner.state.status), ("predict", None, "finished"))
        self.assertTrue(runner.is_global_zero)
        self.assertEqual((runner.global_rank, runner.local_rank, runner.world_size), (0, 0, 1))

    def test_checkpoints_and_exceptions_have_hooks(self):
        recorder, module = Recorder(), Classifier()
        with tempfile.TemporaryDirectory() as folder:
            runner = trainer(callbacks=[recorder, ModelCheckpoint(folder)])
            runner.fit(module, data())
            path = runner.checkpoint_callback.best_model_path
            runner.validate(module, data(), ckpt_path=path, verbose=False)
            loaded = Classifier.load_from_checkpoint(path, map_location="cpu")
            with self.assertRaisesRegex(pl.MisconfigurationException, "hparams_file is not supported"):
                Classifier.load_from_checkpoint(path, hparams_file="hparams.yaml")
        self.assertEqual(loaded.called, [("on_load_checkpoint", 7)])
        self.assertEqual(recorder.called.count("on_save_checkpoint"), 2)
        self.assertEqual(recorder.called.count("on_load_checkpoint"), 1)
        self.assertIn(("on_load_checkpoint", 7), module.called)
        with self.assertRaises(TypeError):
            runner.validate(module, [[1]])
        self.assertEqual(recorder.called[-1], "on_exception")

    def test_hooks_that_are_never_called_are_refused(self):
        class Steps(Classifier):
            def optimizer_step(self, *arguments):
                """Lightning would call it."""

        class Watches(pl.Callback):
            def on_after_backward(self, trainer, module):
                """Lightning would call it."""

        with self.assertRaisesRegex(pl.MisconfigurationException, "Steps.optimizer_step would never be called: .*scheduler"):
            trainer().fit(Steps(), data())
        with self.assertRaisesRegex(pl.MisconfigurationException, "Watches.on_after_backward would never be called"):
            trainer(callbacks=Watches()).fit(Classifier(), data())


class Files(unittest.TestCase):
    def test_names_of_checkpoints_may_hold_formats(self):
        for filename, expected in (
            ("{epoch}-{val_acc:.2f}", r"epoch=1-val_acc=\d\.\d\d\.ckpt"),
            ("best-{epoch:02d}", r"best-epoch=01\.ckpt"),
            ("epoch={epoch}-val_acc={val_acc:.1f}", r"epoch=1-val_acc=\d\.\d\.ckpt"),
            ("{step}", r"step=8\.ckpt"),
            (None, r"epoch=1-step=8\.ckpt"),
        ):
            with self.subTest(filename), tempfile.TemporaryDirectory() as folder:
                trainer(callbacks=ModelCheckpoint(folder, filename)).fit(Classifier(), data(), data())
                self.assertRegex(os.listdir(folder)[0], f"^{expected}$")
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(
                pl.MisconfigurationException, "filename holds {loss}, but logged are: val_acc, epoch, step"):
            trainer(callbacks=ModelCheckpoint(folder, "{loss:.2f}")).fit(Classifier(), data(), data())

    def test_half_precision_goes_with_all_callbacks_and_loggers(self):
        with tempfile.TemporaryDirectory() as folder:
            runner = trainer(precision=16, logger=[CSVLogger(folder), TensorBoardLogger(folder, "board")],
                             default_root_dir=folder, enable_checkpointing=True, log_every_n_steps=2,
                             callbacks=[EarlyStopping("val_acc", mode="max"), LearningRateMonitor()])
            runner.fit(Classifier(), data(), data())
            with open(os.path.join(runner.loggers[0].log_dir, "metrics.csv"), encoding="utf-8") as file:
                header = file.readline()
            for column in ("step", "epoch", "train_loss_step", "val_acc", "lr-SGD"):
                self.assertIn(column, header)
            self.assertTrue(os.listdir(runner.loggers[1].log_dir)[0].startswith("events.out.tfevents"))
            self.assertEqual(len(os.listdir(runner.checkpoint_folder)), 1)


if __name__ == "__main__":
    unittest.main()
