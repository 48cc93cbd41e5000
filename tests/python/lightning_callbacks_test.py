"""Callbacks on the CPU: when training stops early, and which checkpoints are saved. Expected values are computed by hand."""

import contextlib
import io
import os
import tempfile
import unittest

import pipescope.lightning as pl
from lightning_logging_test import Line, rows, trainer
from pipescope.lightning.callbacks import EarlyStopping, ModelCheckpoint


class Stops(unittest.TestCase):
    class Values(Line):
        """Logs the numbers of a list, one at each validation."""

        def __init__(self, numbers):
            super().__init__()
            self.numbers, self.at = numbers, 0

        def validation_step(self, batch, batch_idx):
            if batch_idx == 0:
                self.at += 1
            self.log("v", float(self.numbers[self.at - 1]))

    def stopped(self, numbers, settings, **arguments):
        stopping = EarlyStopping("v", **arguments)
        run = trainer(max_epochs=len(numbers), callbacks=stopping, **settings)
        run.fit(self.Values(numbers), rows(batch=1), rows())
        return run.global_step, stopping.wait_count

    def test_when_training_ends(self):
        nan = float("nan")
        for numbers, settings, arguments, expected in (
            ([3, 2, 2, 2, 2, 2], {}, {"patience": 2}, (28, 2)),
            ([3, 2, 2, 2, 1, 2], {}, {"patience": 3}, (42, 1)),
            ([3, 2.95, 2.9, 2, 1, 0], {}, {"patience": 2, "min_delta": 0.5}, (21, 2)),
            ([1, 2, 2, 2, 2, 2], {}, {"patience": 1, "mode": "max"}, (21, 1)),
            ([3, 2, 1, 0, 0, 0], {}, {"stopping_threshold": 1.5}, (21, 0)),
            ([3, 4, 5, 6, 7, 8], {}, {"patience": 9, "divergence_threshold": 4.5}, (21, 1)),
            ([3, nan, 5, 6, 7, 8], {}, {}, (14, 0)),
            ([3, nan, nan, 2, 1, 0], {}, {"check_finite": False}, (42, 0)),
            ([3, 3, 3, 3, 3, 3, 3, 3], {"check_val_every_n_epoch": 2}, {"patience": 2}, (42, 2)),
            ([3, 3, 3, 3, 3, 3], {"val_check_interval": 3}, {"patience": 2}, (10, 2)),
            ([3, 3, 2, 2, 2, 2, 2, 2], {"val_check_interval": 3}, {"patience": 2, "check_on_train_epoch_end": True}, (28, 2)),
        ):
            with self.subTest(numbers, **settings, **arguments):
                self.assertEqual(self.stopped(numbers + [0] * 20 if settings else numbers, {**settings}, **arguments), expected)

    def test_a_derived_class_may_check_when_it_likes(self):
        """The class of Lightning's page on early stopping checks at the end of the training only."""

        class AtTheEnd(EarlyStopping):
            def on_train_epoch_end(self, trainer, pl_module):
                """Does not check."""

            def on_train_end(self, trainer, pl_module):
                self._run_early_stopping_check(trainer)

        stopping = AtTheEnd("v", patience=1)
        run = trainer(max_epochs=3, callbacks=stopping)
        run.fit(self.Values([1, 2, 3]), rows(), rows())
        self.assertEqual((run.current_epoch, stopping.best_score.item()), (3, 3.0))

    def test_a_value_that_nobody_logs(self):
        run = trainer(callbacks=EarlyStopping("other", strict=False))
        run.fit(Line(), rows())
        self.assertEqual(run.current_epoch, 1)

    def test_training_goes_on_with_the_counts_of_a_checkpoint(self):
        """1, 1 and 1: after two checks that gave nothing better than the first one, training ends."""
        with tempfile.TemporaryDirectory() as folder:
            for epochs, expected in ((2, 1), (9, 2)):
                stopping, saving = EarlyStopping("v", patience=2), ModelCheckpoint(folder, "{epoch}", save_last=True, save_top_k=-1)
                run = trainer(max_epochs=epochs, callbacks=[stopping, saving])
                path = os.path.join(folder, "last.ckpt")
                run.fit(self.Values([1] * 9), rows(), rows(), ckpt_path=path if epochs == 9 else None)
                self.assertEqual(stopping.wait_count, expected)
            self.assertEqual(run.current_epoch, 3)
            self.assertEqual(sorted(map(os.path.basename, saving.best_k_models)), ["epoch=0.ckpt", "epoch=1.ckpt", "epoch=2.ckpt"])


class Checkpoints(unittest.TestCase):
    """Seven updates in an epoch, and four epochs."""

    def saved(self, numbers=(4, 3, 2, 1), settings=None, times=1, **arguments):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(times):
                saving = ModelCheckpoint(folder, **arguments)
                trainer(max_epochs=4, callbacks=saving, **(settings or {})).fit(Stops.Values(numbers), rows(batch=1), rows())
            return sorted(os.listdir(folder)), os.path.basename(saving.best_model_path)

    def test_which_files_are_there(self):
        nan = float("nan")
        for expected, best, case in (
            (["step=21.ckpt", "step=28.ckpt"], "step=28.ckpt", {"monitor": "v", "save_top_k": 2, "filename": "{step}"}),
            (["step=14.ckpt"], "step=14.ckpt", {"numbers": [2, 1, nan, 3], "monitor": "v", "filename": "{step}"}),
            (["step=14.ckpt"], "step=14.ckpt", {"numbers": [nan, 1, 2, 3], "monitor": "v", "filename": "{step}"}),
            (["v=1.0.ckpt"], "v=1.0.ckpt", {"monitor": "v", "filename": "{v}"}),
            (["x1.ckpt"], "x1.ckpt", {"monitor": "v", "filename": "x{v:.0f}", "auto_insert_metric_name": False}),
            (["best-v1.ckpt", "best.ckpt"], "best.ckpt", {"monitor": "v", "filename": "best", "mode": "max", "save_top_k": 2}),
            (["epoch=1.ckpt", "epoch=3.ckpt"], "epoch=3.ckpt", {"every_n_epochs": 2, "save_top_k": -1, "filename": "{epoch}"}),
            (["step=10.ckpt", "step=20.ckpt"], "step=20.ckpt", {"every_n_train_steps": 10, "save_top_k": -1, "filename": "{step}"}),
            (["step=14.ckpt", "step=28.ckpt"], "step=28.ckpt",
             {"settings": {"check_val_every_n_epoch": 2}, "monitor": "v", "save_top_k": -1, "filename": "{step}"}),
            (["step=17.ckpt", "step=20.ckpt"], "step=17.ckpt",
             {"settings": {"val_check_interval": 3, "max_steps": 25}, "numbers": [5, 4, 3, 3, 1, 2, 2.5, 2], "monitor": "v",
              "save_top_k": 2, "filename": "{step}"}),
            (["last.ckpt"], "", {"save_last": True, "save_top_k": 0}),
            (["one-v1.ckpt", "one.ckpt"], "one-v1.ckpt", {"times": 2, "filename": "one"}),
            ([], "", {"settings": {"fast_dev_run": True}}),
        ):
            with self.subTest(expected, **case):
                self.assertEqual(self.saved(**case), (expected, best))

    def test_what_cannot_be_continued(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, sentence, arguments in (("weights", "holds weights only", {"save_weights_only": True}),
                                              ("within", "was saved within epoch 0", {"every_n_train_steps": 3})):
                run = trainer(callbacks=ModelCheckpoint(folder, name, **arguments), max_steps=4)
                run.fit(Line(), rows(batch=1))
                path = os.path.join(folder, f"{name}.ckpt")
                self.assertEqual(Line.load_from_checkpoint(path).weight.item(), -10.0 if name == "weights" else -6.0)
                with self.assertRaisesRegex(pl.MisconfigurationException, sentence):
                    trainer().fit(Line(), rows(batch=1), ckpt_path=path)
            run = trainer(max_epochs=1)
            run.fit(Line(), rows(batch=1))
            run.save_checkpoint(path)  # after the end, for another epoch
            run = trainer(max_epochs=2)
            run.fit(Line(), rows(batch=1), ckpt_path=path)
            self.assertEqual((run.current_epoch, run.global_step), (2, 14))

    def test_the_last_checkpoint_is_found_again(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(epochs, callback):
                made = trainer(max_epochs=epochs, callbacks=callback)
                made.fit(Line(), rows(batch=1), ckpt_path="last")
                return made.global_step, sorted(os.listdir(folder))

            with self.assertWarnsRegex(UserWarning, 'ckpt_path="last", but no such checkpoint was saved: training begins anew'):
                self.assertEqual(run(1, ModelCheckpoint(folder, "{epoch}", save_last=True)), (7, ["epoch=0.ckpt", "last.ckpt"]))
            self.assertEqual(run(2, ModelCheckpoint(folder, "{epoch}", save_last=True)), (14, ["epoch=1.ckpt", "last.ckpt"]))
            with self.assertRaisesRegex(pl.MisconfigurationException, r'fit\(\) got ckpt_path="best", but no such checkpoint'):
                trainer().fit(Line(), rows(), ckpt_path="best")

    def test_callbacks_say_what_they_do(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as shown:
            callbacks = [ModelCheckpoint(folder, "one", verbose=True), EarlyStopping("v", patience=1, verbose=True)]
            trainer(max_epochs=3, callbacks=callbacks).fit(Stops.Values([1, 2, 3]), rows(), rows())
        self.assertEqual(shown.getvalue().splitlines(), [f"ModelCheckpoint: saved {folder}/one.ckpt.",
                                                         "EarlyStopping: v did not become better in 1 checks.",
                                                         f"ModelCheckpoint: saved {folder}/one.ckpt."])

    def test_arguments_that_are_refused(self):
        for sentence, arguments in (("needs a value to monitor", {"save_top_k": 2}), ("must be at least -1", {"save_top_k": -2, "monitor": "v"}),
                                    ("train_time_interval is not supported", {"train_time_interval": 1}),
                                    ("exclude each other", {"every_n_epochs": 1, "every_n_train_steps": 1})):
            with self.subTest(sentence), self.assertRaisesRegex(pl.MisconfigurationException, sentence):
                ModelCheckpoint(**arguments)
        for name in ("every_n_epochs", "every_n_train_steps"):
            with self.assertRaisesRegex(ValueError, f"{name} is 0, but must be at least 1"):
                ModelCheckpoint(**{name: 0})


if __name__ == "__main__":
    unittest.main()
