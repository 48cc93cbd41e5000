"""Learning-rate schedulers and what configure_optimizers may return, on the CPU. Expected values are computed by hand."""

import os
import tempfile
import unittest

import pipescope.lightning as pl
import torch
from lightning_logging_test import Line, rows, trainer
from lightning_loops_test import Validated, Watch, fit
from pipescope.lightning.callbacks import LearningRateMonitor, ModelCheckpoint
from torch.optim import lr_scheduler


class Schedulers(unittest.TestCase):
    """Rates that halve with each step of a scheduler, so they tell how often and when it was stepped."""

    @staticmethod
    def module(**entries):
        class Halves(Validated):
            def configure_optimizers(self):
                optimizer = torch.optim.SGD(self.parameters(), lr=1.0)
                return {"optimizer": optimizer, "lr_scheduler": {"scheduler": lr_scheduler.StepLR(optimizer, 1, 0.5), **entries}}

        return Halves()

    @staticmethod
    def halvings(watch):
        return [round(-torch.tensor(rate).log2().item()) for rate in watch.rates]

    def test_schedulers_of_batches_are_stepped_with_updates(self):
        cases = (({}, 1, [1, 2, 3, 4, 5, 6, 7]), ({}, 3, [0, 0, 1, 1, 1, 2, 3]), ({"frequency": 2}, 3, [0, 0, 0, 0, 0, 1, 1]),
                 ({"frequency": 3}, 1, [0, 0, 1, 1, 1, 2, 2]))
        for entries, together, expected in cases:
            _, watch = fit(self.module(interval="step", **entries), accumulate_grad_batches=together)
            self.assertEqual(self.halvings(watch), expected)

    def test_schedulers_of_epochs_are_stepped_after_the_last_batch(self):
        _, watch = fit(self.module(), max_epochs=2, limit_train_batches=2)
        self.assertEqual(self.halvings(watch), [0, 1, 1, 2])
        _, watch = fit(self.module(frequency=2), max_epochs=4, limit_train_batches=1)
        self.assertEqual(self.halvings(watch), [0, 1, 1, 2])
        run, watch = fit(self.module(), max_steps=3, max_epochs=None)  # the epoch does not end
        self.assertEqual(run.optimizers[0].param_groups[0]["lr"], 1.0)

    def test_training_continues_with_the_rate_of_the_next_epoch(self):
        with tempfile.TemporaryDirectory() as folder:
            fit(self.module(), callbacks=[ModelCheckpoint(folder, "one")])
            watch = Watch()
            run = trainer(max_epochs=2, callbacks=watch)
            run.fit(self.module(), rows(batch=1), ckpt_path=os.path.join(folder, "one.ckpt"))
        self.assertEqual(self.halvings(watch), [1] * 6 + [2])
        self.assertEqual((run.current_epoch, run.global_step), (2, 14))

    def test_plateaus_follow_a_value(self):
        """The weight falls, so a scheduler of larger values that waits for nothing reduces the rate after each validation."""

        class Plateau(Validated):
            def __init__(self, form, interval="epoch", mode="max"):
                super().__init__()
                self.form, self.interval, self.mode = form, interval, mode

            def configure_optimizers(self):
                optimizer = torch.optim.SGD(self.parameters(), lr=1.0)
                plateau = lr_scheduler.ReduceLROnPlateau(optimizer, self.mode, factor=0.5, patience=0)
                return {"top": {"optimizer": optimizer, "lr_scheduler": plateau, "monitor": "weight"},
                        "inner": {"optimizer": optimizer,
                                  "lr_scheduler": {"scheduler": plateau, "monitor": "weight", "interval": self.interval}},
                        "lenient": {"optimizer": optimizer,
                                    "lr_scheduler": {"scheduler": plateau, "monitor": "other", "strict": False}},
                        "strict": {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": "other"}},
                        "none": {"optimizer": optimizer, "lr_scheduler": plateau}}[self.form]

        for form in ("top", "inner"):
            run, watch = fit(Plateau(form), validation=rows(), max_epochs=4, limit_train_batches=1)
            self.assertEqual(self.halvings(watch), [0, 0, 1, 2])
            self.assertEqual(run.optimizers[0].param_groups[0]["lr"], 0.125)
        run, watch = fit(Plateau("inner", "step"), validation=rows(), val_check_interval=1, limit_train_batches=4)
        self.assertEqual(self.halvings(watch), [0, 0, 1, 2])
        with self.assertWarnsRegex(UserWarning, 'monitors "other", but logged are: weight. The learning rate stays'):
            fit(Plateau("lenient"), validation=rows(), limit_train_batches=1)
        for form, sentence in (("strict", 'monitors "other", but logged are: weight'), ("none", "needs a value to monitor")):
            with self.assertRaisesRegex(pl.MisconfigurationException, sentence):
                fit(Plateau(form), validation=rows())

    def test_forms_of_configure_optimizers(self):
        def run(form):
            class Forms(Line):
                def configure_optimizers(self):
                    optimizer = torch.optim.SGD(self.parameters(), lr=1.0)
                    return form(optimizer, lr_scheduler.StepLR(optimizer, 1, 0.5))

            made, _ = fit(Forms(), limit_train_batches=1)
            return made.optimizers[0].param_groups[0]["lr"]

        for rate, form in ((1.0, lambda o, s: o), (1.0, lambda o, s: [o]), (1.0, lambda o, s: {"optimizer": o}),
                           (0.5, lambda o, s: ([o], [s])), (0.5, lambda o, s: ([o], s)),
                           (0.5, lambda o, s: [{"optimizer": o, "lr_scheduler": s}]),
                           (0.25, lambda o, s: ([o], [s, {"scheduler": lr_scheduler.ExponentialLR(o, 0.5)}]))):
            self.assertEqual(run(form), rate)
        strange = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        for sentence, form in (
            ('without the key "optimizer"', lambda o, s: {"lr_scheduler": s}),
            ('the key "scheduler", which is not supported', lambda o, s: {"optimizer": o, "scheduler": s}),
            ("lr_scheduler has the key every", lambda o, s: ([o], [{"scheduler": s, "every": 1}])),
            ('without the key "scheduler"', lambda o, s: ([o], [{"interval": "step"}])),
            ("the interval 'batch'", lambda o, s: ([o], [{"scheduler": s, "interval": "batch"}])),
            ("the frequency 0", lambda o, s: ([o], [{"scheduler": s, "frequency": 0}])),
            ("is a int, not a scheduler", lambda o, s: ([o], [5])),
            ("belongs to an optimizer that configure_optimizers does not return",
             lambda o, s: ([o], [lr_scheduler.StepLR(strange, 1)])),
            ("must return an optimizer", lambda o, s: None),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(pl.MisconfigurationException, sentence):
                run(form)

    def test_names_of_rates(self):
        class Groups(Line):
            def __init__(self, names, name):
                super().__init__()
                self.other, self.names, self.name = torch.nn.Parameter(torch.zeros(())), names, name

            def configure_optimizers(self):
                groups = [{"params": [each], **({"name": name} if name else {})}
                          for each, name in zip((self.weight, self.other), self.names)]
                optimizer = torch.optim.SGD(groups, lr=1.0)
                return [optimizer], [{"scheduler": lr_scheduler.StepLR(optimizer, 1), "name": self.name}]

        for names, name, expected in (([None], None, ["lr-SGD"]), ([None, None], None, ["lr-SGD/pg1", "lr-SGD/pg2"]),
                                      ([None], "rate", ["rate"]), (["a", "b"], "rate", ["rate/a", "rate/b"])):
            run, _ = fit(Groups(names, name), limit_train_batches=1, callbacks=[LearningRateMonitor()])
            self.assertEqual(list(run.callback_metrics), expected)

    def test_the_rates_of_steps_are_logged_with_them(self):
        for interval, expected in (("step", [0.25, 0.0625, 0.015625]), (None, [0.25, 0.0625, 0.015625]), ("epoch", [1.0])):
            class Log(pl.loggers.Logger):
                def log_metrics(self, metrics, step):
                    seen.extend(value for name, value in metrics.items() if name == "lr-SGD")  # noqa: B023

            seen = []
            fit(self.module(interval="step"), logger=Log("."), log_every_n_steps=2,
                callbacks=[LearningRateMonitor(logging_interval=interval)])
            self.assertEqual(seen, [each * 2 for each in expected] if interval != "epoch" else expected)
        with self.assertRaisesRegex(pl.MisconfigurationException, "logging_interval is 'batch'"):
            LearningRateMonitor("batch")


if __name__ == "__main__":
    unittest.main()
