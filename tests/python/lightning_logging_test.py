"""Values that steps and hooks log on the CPU: of batches and of epochs, and who sees them. All expected values are computed by hand."""

import csv
import os
import tempfile
import unittest

import pipescope.lightning as pl
import torch
from pipescope.lightning.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from pipescope.lightning.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


class Line(pl.LightningModule):
    """One weight, 0 at first. The loss of rows x is weight · mean(x), so a rate of 1 subtracts the mean of x."""

    def __init__(self, rate=1.0):
        super().__init__()
        self.weight, self.rate = torch.nn.Parameter(torch.zeros(())), rate

    def training_step(self, batch, batch_idx):
        return (self.weight * batch[0]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.rate)


def rows(last=7, batch=3):
    """The numbers 1 to `last`: with seven of them in batches of three, their means are 2, 5 and 7."""
    return DataLoader(TensorDataset(torch.arange(1.0, last + 1)), batch_size=batch)


def trainer(**settings):
    return pl.Trainer(**{"enable_progress_bar": False, "max_epochs": 1, "num_sanity_val_steps": 0, **settings})


def values(metrics):
    return {name: round(float(value), 5) for name, value in metrics.items()}


class Means(unittest.TestCase):
    """The values 1 to 7 have the mean 4; batches of 3, 3 and 1 have the means 2, 5 and 7, the mean of which is 14/3."""

    class Logs(Line):
        def validation_step(self, batch, batch_idx):
            self.log("mean", batch[0].mean())
            self.log("equal", batch[0].mean(), batch_size=1)
            self.log("sum", batch[0].sum(), reduce_fx="sum")
            self.log_dict({"least": batch[0].min(), "number": batch_idx}, reduce_fx=torch.min)
            self.log("most", batch[0].max(), reduce_fx=max)
            self.log("step", float(batch_idx), on_step=True, on_epoch=False)
            self.log("both", batch[0].mean(), on_step=True, on_epoch=True)

        test_step = validation_step

    EXPECTED = {"mean": 4.0, "equal": round(14 / 3, 5), "sum": 28.0, "least": 1.0, "number": 0.0, "most": 7.0}

    def test_validation_and_test_log_the_epoch(self):
        for name in ("validate", "test"):
            run = trainer()
            given = getattr(run, name)(self.Logs(), rows(), verbose=False)
            self.assertEqual([values(each) for each in given], [{**self.EXPECTED, "both_epoch": 4.0}])
            self.assertIsInstance(given[0]["mean"], float)
            self.assertEqual(values(run.callback_metrics), {**self.EXPECTED, "both": 4.0, "both_epoch": 4.0})
            self.assertIsInstance(run.callback_metrics["mean"], torch.Tensor)
            self.assertEqual(values(run.logged_metrics),
                             {**self.EXPECTED, "step": 2.0, "both_step": 7.0, "both_epoch": 4.0})

    def test_each_epoch_begins_anew(self):
        """The weight is −4 more after each epoch of one batch. The numbers of the batches, 0, 0, 0, 1, 1, 1 and 2 by row, add 5/7."""

        class Weight(Line):
            def validation_step(self, batch, batch_idx):
                self.log("weight", self.weight + batch_idx)

        for epochs in (1, 2, 3):
            run = trainer(max_epochs=epochs)
            run.fit(Weight(), rows(batch=7), rows())
            self.assertAlmostEqual(run.callback_metrics["weight"].item(), -4 * epochs + 5 / 7, places=5)

    def test_training_logs_batches_unless_told_otherwise(self):
        seen = []

        class Trains(Line):
            def training_step(self, batch, batch_idx):
                self.log("step", batch[0].mean())
                self.log("epoch", batch[0].mean(), on_step=False, on_epoch=True)
                self.log("both", batch[0].mean(), on_epoch=True, prog_bar=True)
                self.log("quiet", 3, logger=False)
                return super().training_step(batch, batch_idx)

            def on_train_batch_end(self, outputs, batch, batch_idx):
                seen.append(values(self.trainer.callback_metrics))
                self.log("end", float(batch_idx))

            def on_train_epoch_start(self):
                self.log("start", 2.0)

            def on_train_epoch_end(self):
                seen.append(values(self.trainer.callback_metrics))
                self.log("last", 1.0)

        run = trainer()
        run.fit(Trains(), rows())
        for batch, mean in enumerate((2.0, 5.0, 7.0)):
            self.assertEqual({name: seen[batch][name] for name in ("step", "both", "both_step")},
                             dict.fromkeys(("step", "both", "both_step"), mean))
            self.assertNotIn("epoch", seen[batch])
        expected = {"step": 7.0, "epoch": 4.0, "both": 4.0, "both_step": 7.0, "both_epoch": 4.0, "quiet": 3.0, "end": 2.0, "start": 2.0}
        self.assertEqual(seen[3], expected)
        self.assertEqual(values(run.callback_metrics), {**expected, "last": 1.0})
        self.assertEqual(values(run.progress_bar_metrics), {"both_step": 7.0, "both_epoch": 4.0})
        self.assertEqual(set(run.logged_metrics), {"step", "epoch", "both_step", "both_epoch", "end", "start", "last"})

    def test_the_size_of_a_batch_is_the_first_axis_of_its_tensors(self):
        class Nested(Line):
            def validation_step(self, batch, batch_idx):
                self.log("mean", batch["x"].mean())

        def collate(pairs):
            return {"name": "rows", "x": torch.tensor([each[0].item() for each in pairs]), "one": [torch.zeros(len(pairs), 2)]}

        loader = DataLoader(TensorDataset(torch.arange(1.0, 8)), batch_size=3, collate_fn=collate)
        self.assertEqual(values(trainer().validate(Nested(), loader, verbose=False)[0]), {"mean": 4.0})
        loader = DataLoader(TensorDataset(torch.arange(1.0, 8)), batch_size=3,
                            collate_fn=lambda pairs: {"x": torch.tensor([each[0].item() for each in pairs]), "y": torch.zeros(9)})
        with self.assertWarnsRegex(UserWarning, "differ in their first axis.*pass batch_size"):
            trainer().validate(Nested(), loader, verbose=False)

        class Named(Line):
            def validation_step(self, batch, batch_idx):
                self.log("mean", 1.0)

        loader = DataLoader(TensorDataset(torch.arange(1.0, 8)), batch_size=3, collate_fn=lambda pairs: "rows")
        with self.assertRaisesRegex(pl.MisconfigurationException, "the batch holds no tensor, so its size is not known"):
            trainer().validate(Named(), loader)

    def test_half_and_double_precision(self):
        class Kinds(Line):
            def validation_step(self, batch, batch_idx):
                self.log("half", batch[0].mean().half())
                self.log("double", batch[0].mean().double() / 3)

        run = trainer()
        run.validate(Kinds(), rows(), verbose=False)
        self.assertEqual((run.callback_metrics["half"].dtype, run.callback_metrics["double"].dtype), (torch.float32, torch.float64))
        self.assertAlmostEqual(run.callback_metrics["double"].item(), 4 / 3, places=12)


class Refusals(unittest.TestCase):
    def test_what_has_no_meaning_is_refused(self):
        cases = (
            ({"on_step": False, "on_epoch": False}, "would log nothing"),
            ({"reduce_fx": "median"}, 'reduced by "mean", "sum", "min" or "max" only'),
            ({"enable_graph": True}, "values are logged without their graphs"),
            ({"sync_dist_group": 1}, "joined over all instances"),
            ({"metric_attribute": "accuracy"}, "metrics are numbers here"),
            ({"rank_zero_only": True, "sync_dist": True}, "needs the values of all instances"),
            ({"batch_size": 0, "on_epoch": True}, "at least one row"),
        )
        for arguments, sentence in cases:
            class Logs(Line):
                def training_step(self, batch, batch_idx):
                    self.log("x", 1.0, **arguments)  # noqa: B023
                    return super().training_step(batch, batch_idx)

            with self.subTest(sentence), self.assertRaisesRegex(pl.MisconfigurationException, sentence):
                trainer().fit(Logs(), rows())

    def test_values_that_are_no_numbers(self):
        class Metric:
            def compute(self):
                return 1.0

        for value, sentence in (("text", "got a str: log a number"), (Metric(), "log the number that its compute"),
                                (torch.ones(2), "got a tensor of 2 numbers")):
            class Logs(Line):
                def validation_step(self, batch, batch_idx):
                    self.log("x", value, reduce_fx="sum")  # noqa: B023

            with self.subTest(sentence), self.assertRaisesRegex(pl.MisconfigurationException, sentence):
                trainer().validate(Logs(), rows())

    def test_hooks_that_do_not_log(self):
        cases = [(name, {}, f"called in {name}, where Lightning does not log")
                 for name in ("on_fit_start", "on_train_end", "on_validation_end")]
        cases += [("configure_optimizers", {}, "outside of the loops"),
                  ("on_train_epoch_end", {"on_step": True}, "belongs to a step, not to on_train_epoch_end"),
                  ("on_validation_epoch_end", {"on_epoch": False}, "on_epoch=False.* in on_validation_epoch_end would log nothing"),
                  ("on_train_start", {"name": "x/dataloader_idx_1"}, "added to the name by itself")]
        for hook, arguments, sentence in cases:
            class Logs(Line):
                def validation_step(self, batch, batch_idx):
                    """Logs nothing."""

            def logs(self):
                self.log(**{"name": "x", "value": 1.0, **arguments})  # noqa: B023
                return torch.optim.SGD(self.parameters(), lr=1)

            setattr(Logs, hook, logs)
            with self.subTest(hook), self.assertRaisesRegex(pl.MisconfigurationException, sentence):
                trainer().fit(Logs(), rows(), rows())

        class Predicts(Line):
            def predict_step(self, batch, batch_idx):
                self.log("x", 1.0)

        with self.assertRaisesRegex(pl.MisconfigurationException, "called in predict_step, where Lightning does not log"):
            trainer().predict(Predicts(), rows())

    def test_one_hook_logs_a_name_in_one_way(self):
        class Twice(Line):
            def validation_step(self, batch, batch_idx):
                self.log("x", 1.0)
                self.log("x", 1.0, prog_bar=True)

        with self.assertRaisesRegex(pl.MisconfigurationException, "twice in validation_step with different arguments"):
            trainer().validate(Twice(), rows())


class Readers(unittest.TestCase):
    class Falls(Line):
        """Logs −1 · epoch as the mean of an epoch, but larger numbers in its last batch, of one row."""

        def validation_step(self, batch, batch_idx):
            epoch = self.trainer.current_epoch
            self.log("falls", 6.0 * epoch if batch_idx == 2 else -13.0 * epoch / 6)

    def test_monitors_see_the_mean_of_the_epoch(self):
        """(3 · −13/6 · 2 + 6) / 7 = −1: it falls by 1 each epoch, so training goes on and the last checkpoint is the best."""
        with tempfile.TemporaryDirectory() as folder:
            saving = ModelCheckpoint(folder, monitor="falls", filename="{epoch}")
            stopping = EarlyStopping("falls", patience=1)
            run = trainer(max_epochs=4, callbacks=[stopping, saving])
            run.fit(self.Falls(), rows(), rows())
            self.assertEqual((run.current_epoch, run.should_stop, round(stopping.best_score.item(), 5)), (4, False, -3.0))
            self.assertEqual(os.listdir(folder), ["epoch=3.ckpt"])
            self.assertAlmostEqual(saving.best_model_score.item(), -3.0, places=5)

    def test_monitors_see_what_the_module_logs_at_the_end_of_the_epoch(self):
        class Ends(Line):
            def on_train_epoch_end(self):
                self.log("end", float(self.trainer.current_epoch))

        stopping = EarlyStopping("end", patience=2)
        run = trainer(max_epochs=9, callbacks=stopping)
        run.fit(Ends(), rows())
        self.assertEqual((run.current_epoch, stopping.stopped_epoch, stopping.best_score.item()), (3, 2, 0.0))

    def test_loggers_get_steps_and_epochs(self):
        """Every second of three batches is written, numbered from 0 over all epochs, and the epoch's values with the last."""

        class Logs(Line):
            def training_step(self, batch, batch_idx):
                self.log("x", batch[0].mean(), on_epoch=True)
                return super().training_step(batch, batch_idx)

            def validation_step(self, batch, batch_idx):
                self.log("v", batch[0].mean(), on_step=True)

        with tempfile.TemporaryDirectory() as folder:
            run = trainer(max_epochs=2, logger=CSVLogger(folder), log_every_n_steps=2, callbacks=LearningRateMonitor())
            run.fit(Logs(rate=0.5), rows(), rows(last=2, batch=1))
            with open(os.path.join(run.loggers[0].log_dir, "metrics.csv"), encoding="utf-8") as file:
                written = [{name: float(value) for name, value in row.items() if value and name != "train_loss_step"}
                           for row in csv.DictReader(file)]
        epoch = [[{"step": 0, "lr-SGD": 0.5}, {"step": 1, "epoch": 0, "x_step": 5}, {"step": 0, "v_step": 1}, {"step": 1, "v_step": 2},
                  {"step": 2, "epoch": 0, "v_epoch": 1.5}, {"step": 2, "epoch": 0, "x_epoch": 4}],
                 [{"step": 3, "lr-SGD": 0.5}, {"step": 3, "epoch": 1, "x_step": 2}, {"step": 5, "epoch": 1, "x_step": 7},
                  {"step": 2, "v_step": 1}, {"step": 3, "v_step": 2}, {"step": 5, "epoch": 1, "v_epoch": 1.5},
                  {"step": 5, "epoch": 1, "x_epoch": 4}]]
        self.assertEqual(written, epoch[0] + epoch[1])

    def test_the_sanity_check_leaves_no_values(self):
        """Neither logged values nor random numbers of the training differ from those of a training without the check."""
        seen = []

        class Checks(Line):
            def training_step(self, batch, batch_idx):
                seen.append(torch.rand(1).item())
                return super().training_step(batch, batch_idx)

            def validation_step(self, batch, batch_idx):
                self.log("v", torch.rand(1))
                if self.trainer.sanity_checking:
                    checked.append(batch_idx)

            def on_train_start(self):
                seen.append(dict(self.trainer.callback_metrics))

        expected = None
        for steps, batches in ((0, []), (2, [0, 1]), (None, [0, 1]), (-1, [0, 1, 2])):
            seen, checked = [], []
            torch.manual_seed(1)
            trainer(num_sanity_val_steps=steps).fit(Checks(), rows(), rows())
            expected = expected or seen
            self.assertEqual((seen, checked), (expected, batches))
        self.assertEqual(expected[0], {})
        with self.assertRaisesRegex(ValueError, "num_sanity_val_steps is -2"):
            trainer(num_sanity_val_steps=-2)


class SeveralLoaders(unittest.TestCase):
    class Pairs(Line):
        def validation_step(self, batch, batch_idx, dataloader_idx=0):
            self.log("mean", batch[0].mean())
            self.log(f"own{dataloader_idx}", batch[0].max(), add_dataloader_idx=False, reduce_fx="max")
            return dataloader_idx

        def validation_epoch_end(self, outputs):
            self.log("all", float(sum(map(sum, outputs))))

        def predict_step(self, batch, batch_idx, dataloader_idx=0):
            return len(batch[0]), dataloader_idx

    def test_each_loader_has_values_of_its_own(self):
        """1 to 7 have the mean 4, and 1 to 4 the mean 2.5."""
        loaders = [rows(), rows(last=4)]
        run = trainer()
        self.assertEqual([values(each) for each in run.validate(self.Pairs(), loaders, verbose=False)],
                         [{"mean/dataloader_idx_0": 4.0, "own0": 7.0, "all": 2.0},
                          {"mean/dataloader_idx_1": 2.5, "own1": 4.0, "all": 2.0}])
        run.fit(self.Pairs(), rows(), loaders)
        self.assertEqual(values(run.callback_metrics), {"mean/dataloader_idx_0": 4.0, "mean/dataloader_idx_1": 2.5, "own0": 7.0,
                                                        "own1": 4.0, "all": 2.0})
        self.assertEqual(run.num_val_batches, [3, 2])
        self.assertEqual(run.predict(self.Pairs(), loaders), [[(3, 0), (3, 0), (1, 0)], [(3, 1), (1, 1)]])

    def test_what_several_loaders_need(self):
        class One(Line):
            def validation_step(self, batch, batch_idx):
                """Takes no number of a loader."""

        with self.assertRaisesRegex(pl.MisconfigurationException, "takes no dataloader_idx, but there are several loaders"):
            trainer().validate(One(), [rows(), rows()])
        with self.assertRaisesRegex(pl.MisconfigurationException, "got 2 loaders, but takes one on IPUs"):
            trainer(accelerator="ipu", devices=1).validate(self.Pairs(), [rows(), rows()])
        with self.assertRaisesRegex(pl.MisconfigurationException, "got 2 loaders, but takes one"):
            trainer().fit(Line(), [rows(), rows()])


if __name__ == "__main__":
    unittest.main()
