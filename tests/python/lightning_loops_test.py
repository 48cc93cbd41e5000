"""The loops of training on the CPU: updates, schedulers, validations and ends. All expected values are computed by hand."""

import contextlib
import io
import os
import tempfile
import unittest
import warnings

import pipescope.lightning as pl
import torch
from lightning_logging_test import Line, rows, trainer
from pipescope.lightning.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, IterableDataset, TensorDataset


class Watch(pl.Callback):
    """Keeps what is seen after each batch, and when validations begin."""

    def __init__(self):
        self.weights, self.steps, self.rates, self.validations = [], [], [], []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.weights.append(round(pl_module.weight.item(), 5))
        self.steps.append(trainer.global_step)
        self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])

    def on_validation_start(self, trainer, pl_module):
        self.validations.append((trainer.current_epoch, trainer.global_step))


class Validated(Line):
    def validation_step(self, batch, batch_idx):
        self.log("weight", self.weight)


def fit(module=None, loader=None, validation=None, **settings):
    watch = Watch()
    run = trainer(**{**settings, "callbacks": [watch, *settings.get("callbacks", [])]})
    run.fit(module or Line(), rows(batch=1) if loader is None else loader, validation)
    return run, watch


class Accumulation(unittest.TestCase):
    """Seven batches with the gradients 1 to 7, each divided by the accumulated number of them."""

    def test_the_last_batch_of_an_epoch_updates(self):
        """(1 + 2 + 3) / 3 = 2, then (4 + 5 + 6) / 3 = 5, then 7 / 3."""
        run, watch = fit(accumulate_grad_batches=3, max_epochs=2)
        self.assertEqual(watch.steps, [0, 0, 1, 1, 1, 2, 3, 3, 3, 4, 4, 4, 5, 6])
        epoch = [0, 0, -2, -2, -2, -7, -7 - 7 / 3]
        self.assertEqual(watch.weights, [round(each, 5) for each in epoch + [each - 28 / 3 for each in epoch]])
        self.assertEqual((run.global_step, run.current_epoch), (6, 2))

    def test_more_batches_than_there_are(self):
        run, watch = fit(accumulate_grad_batches=10)
        self.assertEqual((run.global_step, watch.weights[-2:]), (1, [0.0, -2.8]))

    def test_the_last_batch_of_a_limit_updates(self):
        run, watch = fit(accumulate_grad_batches=3, limit_train_batches=5)
        self.assertEqual((run.global_step, watch.weights), (2, [0, 0, -2, -2, -5]))

    def test_a_loader_of_unknown_length(self):
        class Numbers(IterableDataset):
            def __iter__(self):
                return iter(torch.arange(1.0, 8).reshape(7, 1))

        for limit, steps, weight in ((None, 3, -9.33333), (4, 2, -3.33333), (100, 3, -9.33333)):
            run, watch = fit(Validated(), DataLoader(Numbers(), batch_size=1), rows(), accumulate_grad_batches=3,
                             limit_train_batches=limit)
            self.assertEqual((run.global_step, watch.weights[-1], watch.validations), (steps, weight, [(0, steps)]))

    def test_gradients_are_clipped_when_the_weights_change(self):
        for algorithm in (None, "norm", "value"):
            _, watch = fit(accumulate_grad_batches=3, gradient_clip_val=4.0, gradient_clip_algorithm=algorithm)
            self.assertEqual(watch.weights[-1], round(-2 - 4 - 7 / 3, 5))

        class Two(Line):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(2))

            def training_step(self, batch, batch_idx):
                return (self.weight * torch.tensor([3.0, 4.0])).sum()

        for algorithm, expected in (("norm", [-0.6, -0.8]), ("value", [-1.0, -1.0])):
            module = Two()
            trainer(gradient_clip_val=1.0, gradient_clip_algorithm=algorithm, limit_train_batches=1).fit(module, rows())
            torch.testing.assert_close(module.weight.detach(), torch.tensor(expected))
        with self.assertRaisesRegex(pl.MisconfigurationException, 'must be "norm" or "value"'):
            trainer(gradient_clip_algorithm="other")

    def test_steps_that_return_nothing_are_left_out(self):
        """Batches 2, 4 and 6 have no loss: 1 + 3 + 5 + 7, or half of that with two accumulated."""

        class Odd(Line):
            def training_step(self, batch, batch_idx):
                return super().training_step(batch, batch_idx) if batch_idx % 2 == 0 else None

        for together, steps in ((1, 7), (2, 4)):
            run, watch = fit(Odd(), accumulate_grad_batches=together)
            self.assertEqual((run.global_step, watch.weights[-1]), (steps, -16 / together))

    def test_an_optimizer_may_call_the_step_again(self):
        """The square (weight − 3)² of LBFGS, which evaluates a step several times, is at its minimum after one update or two."""

        class Square(Line):
            def training_step(self, batch, batch_idx):
                return (self.weight - 3) ** 2

            def configure_optimizers(self):
                return torch.optim.LBFGS(self.parameters(), max_iter=20, line_search_fn="strong_wolfe")

        module = Square()
        trainer(limit_train_batches=2).fit(module, rows())
        self.assertAlmostEqual(module.weight.item(), 3.0, places=4)

    def test_devices_say_which_accumulation_takes_all_batches(self):
        """Eight batches do not divide by three, which is compiled; four is more than was asked, and two divides."""
        loader = DataLoader(TensorDataset(torch.ones(16, 1)), batch_size=2, drop_last=True)
        with self.assertWarnsRegex(UserWarning, "leaves out the last 4 of 16 samples of an epoch, because a call takes 6.*"
                                                "accumulate_grad_batches=2 takes all 8 batches"):
            trainer(accelerator="ipu", devices=1, accumulate_grad_batches=3).fit(Line(), loader)
        for rows_there, together in ((17, 2), (17, 4)):
            loader = DataLoader(TensorDataset(torch.ones(rows_there, 1)), batch_size=2, drop_last=True)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                run = trainer(accelerator="hpu", devices=1, accumulate_grad_batches=together)
                run.fit(Line(), loader)  # the seventeenth row is dropped as asked
            self.assertEqual(run.global_step, 8 // together)


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
                           (0.5, lambda o, s: ([o], [s])), (0.5, lambda o, s: ([o], s)), (0.5, lambda o, s: [{"optimizer": o, "lr_scheduler": s}]),
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
            ("belongs to an optimizer that configure_optimizers does not return", lambda o, s: ([o], [lr_scheduler.StepLR(strange, 1)])),
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


class Validations(unittest.TestCase):
    """Seven batches in an epoch."""

    def test_intervals(self):
        for settings, expected in (
            ({}, [(0, 7), (1, 14)]),
            ({"val_check_interval": 0.5}, [(0, 3), (0, 6), (1, 10), (1, 13)]),
            ({"val_check_interval": 4}, [(0, 4), (1, 11)]),
            ({"check_val_every_n_epoch": 2}, [(1, 14)]),
            ({"check_val_every_n_epoch": 2, "val_check_interval": 1.0}, [(1, 14)]),
            ({"check_val_every_n_epoch": None, "val_check_interval": 5}, [(0, 5), (1, 10)]),
            ({"limit_val_batches": 0}, []),
        ):
            _, watch = fit(Validated(), validation=rows(), max_epochs=2, **settings)
            self.assertEqual(watch.validations, expected, settings)

    def test_devices_validate_between_calls(self):
        class Returns(Validated):
            def validation_step(self, batch, batch_idx):
                return self.weight * batch[0].mean()

            def validation_epoch_end(self, outputs):
                self.log("weight", outputs[0])

        watch = Watch()
        run = trainer(accelerator="ipu", devices=1, val_check_interval=3, callbacks=watch)
        run.fit(Returns(), rows(batch=1), rows(last=1, batch=1))
        self.assertEqual(watch.validations, [(0, 3), (0, 6)])
        self.assertEqual(run.callback_metrics["weight"].item(), -21.0)

    def test_intervals_that_are_refused(self):
        for kind, sentence, settings in (
            (ValueError, "val_check_interval is 8, but an epoch has 7 batches", {"val_check_interval": 8}),
            (ValueError, "must be at least 1", {"val_check_interval": 0}),
            (TypeError, "must be a share of an epoch or a number", {"val_check_interval": "all"}),
            (pl.MisconfigurationException, "a share must be from 0.0 to 1.0", {"val_check_interval": 1.5}),
            (pl.MisconfigurationException, "give a number of batches", {"val_check_interval": 0.5, "check_val_every_n_epoch": None}),
            (ValueError, "check_val_every_n_epoch is 0", {"check_val_every_n_epoch": 0}),
            (pl.MisconfigurationException, "the share 0.1 of 3, which is less than one", {"limit_val_batches": 0.1}),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                fit(Validated(), validation=rows(), **settings)

        class Numbers(IterableDataset):
            def __iter__(self):
                return iter(torch.arange(1.0, 8).reshape(7, 1))

        with self.assertRaisesRegex(pl.MisconfigurationException, "the loader does not know its length: give a number of batches"):
            fit(Validated(), DataLoader(Numbers()), rows(), val_check_interval=0.5)

    def test_modes_and_gradients(self):
        """Validation runs in evaluation mode without gradients, and gives each part back the mode that it had."""
        seen = []

        class Parts(Validated):
            def __init__(self):
                super().__init__()
                self.frozen = torch.nn.Dropout()

            def on_train_epoch_start(self):
                self.frozen.eval()

            def training_step(self, batch, batch_idx):
                seen.append((self.training, self.frozen.training))
                return super().training_step(batch, batch_idx)

            def on_validation_start(self):
                seen.append((self.training, torch.is_grad_enabled()))

        module = Parts()
        fit(module, validation=rows(), max_epochs=2, limit_train_batches=1)
        self.assertEqual(seen, [(True, False), (False, False)] * 2)
        self.assertEqual((module.training, module.frozen.training), (True, False))


class Ends(unittest.TestCase):
    def test_the_number_of_epochs(self):
        for settings, epochs, steps in (({"max_epochs": 2}, 2, 14), ({"max_steps": 9, "max_epochs": None}, 2, 9),
                                        ({"max_steps": 9, "max_epochs": -1}, 2, 9), ({"max_epochs": 0}, 0, 0),
                                        ({"max_steps": 0}, 0, 0), ({"limit_train_batches": 0}, 0, 0)):
            run, _ = fit(Validated(), validation=rows(), **settings)
            self.assertEqual((run.current_epoch, run.global_step), (epochs, steps), settings)

    def test_loaders_without_a_batch(self):
        empty = DataLoader(TensorDataset(torch.ones(2)), batch_size=3, drop_last=True)
        with self.assertRaisesRegex(pl.MisconfigurationException, "The loader for training gave no batch"):
            fit(loader=empty)
        with self.assertWarnsRegex(UserWarning, "The loader of the validation gives no batch: .* does drop_last drop all"):
            _, watch = fit(Validated(), validation=empty)
        self.assertEqual(watch.validations, [])

        class Nothing(IterableDataset):
            def __iter__(self):
                return iter(())

        with self.assertRaisesRegex(pl.MisconfigurationException, "The loader for training gave no batch"):
            fit(loader=DataLoader(Nothing()))

    def test_an_end_within_an_epoch_has_no_validation(self):
        run, watch = fit(Validated(), validation=rows(), max_steps=9, max_epochs=None)
        self.assertEqual(watch.validations, [(0, 7)])

    def test_a_second_fit_goes_on_where_the_first_ended(self):
        run, watch = fit(max_epochs=1)
        run.fit(Line(), rows(batch=1))
        self.assertEqual((run.current_epoch, run.global_step), (1, 7))
        run.max_epochs = 2
        run.fit(Line(), rows(batch=1))
        self.assertEqual((run.current_epoch, run.global_step), (2, 14))

    def test_a_callback_may_stop_within_an_epoch(self):
        class Stops(pl.Callback):
            def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
                trainer.should_stop = trainer.should_stop or batch_idx == 2

        run, watch = fit(Validated(), validation=rows(), max_epochs=5, callbacks=[Stops()])
        self.assertEqual((run.current_epoch, run.global_step, watch.validations), (1, 3, [(0, 3)]))
        run, watch = fit(Validated(), validation=rows(), max_epochs=5, min_epochs=2, callbacks=[Stops()])
        self.assertEqual((run.current_epoch, run.global_step, watch.validations), (2, 14, [(0, 7), (1, 14)]))
        for steps, expected in ((2, 7), (7, 7), (9, 9), (12, 12), (99, 35)):  # and the first epoch ends
            run, _ = fit(max_epochs=5, min_steps=steps, callbacks=[Stops()])
            self.assertEqual(run.global_step, expected)
        run.callbacks.pop()
        run.max_epochs = run.current_epoch + 1
        run.fit(Line(), rows(batch=1))  # what asked to stop is forgotten
        self.assertEqual(run.global_step, 42)

    def test_a_module_may_skip_the_rest_of_an_epoch(self):
        class Skips(Validated):
            def on_train_batch_start(self, batch, batch_idx):
                return -1 if batch_idx == 3 else None

        run, watch = fit(Skips(), validation=rows(), max_epochs=2, accumulate_grad_batches=2)
        self.assertEqual((watch.steps, watch.validations, run.current_epoch), ([0, 1, 1, 1, 2, 2], [], 2))

    def test_no_batch_is_read_that_is_not_used(self):
        read = []

        class Reads(torch.utils.data.Dataset):
            def __len__(self):
                return 7

            def __getitem__(self, index):
                read.append(index)
                return torch.tensor(float(index))

        trainer(limit_train_batches=2).fit(Numbers(), DataLoader(Reads()))
        self.assertEqual(read, [0, 1])

    def test_samplers_are_told_the_epoch(self):
        class Orders(torch.utils.data.Sampler):
            def __init__(self):
                self.told = []

            def set_epoch(self, epoch):
                self.told.append(epoch)

            def __iter__(self):
                return iter(range(4))

            def __len__(self):
                return 4

        order = Orders()
        fit(loader=DataLoader(TensorDataset(torch.ones(4)), sampler=order), max_epochs=3)
        self.assertEqual(order.told, [0, 1, 2])

    def test_arguments_that_say_nothing(self):
        run = trainer(strategy="auto", log_every_n_steps=None, precision=None, inference_mode=False, min_steps=None)
        run.fit(Line(), rows())
        self.assertEqual((run.global_step, run.log_every_n_steps, run.precision), (3, 50, 32))
        with self.assertRaisesRegex(ValueError, "log_every_n_steps is -1"):
            trainer(log_every_n_steps=-1)
        for settings in ({"max_steps": -2}, {"max_epochs": -3}):
            with self.assertRaisesRegex(pl.MisconfigurationException, "must be at least 0, or -1 for no limit"):
                trainer(**settings)

    def test_how_many_updates_there_will_be(self):
        asked = []

        class Asks(Line):
            def configure_optimizers(self):
                asked.append(self.trainer.estimated_stepping_batches)
                return super().configure_optimizers()

        for settings in ({"max_epochs": 2}, {"accumulate_grad_batches": 3, "max_epochs": 2}, {"max_steps": 5, "max_epochs": None},
                         {"max_steps": 5, "max_epochs": 3}, {"limit_train_batches": 4}):
            run, _ = fit(Asks(), **settings)
            self.assertEqual(run.global_step, asked[-1])
        self.assertEqual(asked, [14, 6, 5, 5, 4])


class Numbers(Line):
    def training_step(self, batch, batch_idx):
        return self.weight * batch.mean()


class Outputs(unittest.TestCase):
    def test_hooks_of_batches_get_dictionaries(self):
        """Lightning hands the loss on as the optimizer sees it: divided by the accumulated batches."""
        seen = []

        class Ends(Line):
            def __init__(self, extra):
                super().__init__()
                self.weight, self.extra = torch.nn.Parameter(torch.ones(())), extra

            def training_step(self, batch):  # batch_idx may be left out
                loss = super().training_step(batch, 0)
                return {"loss": loss, "x": [batch[0] * self.weight]} if self.extra else loss

            def on_train_batch_end(self, outputs, batch, batch_idx):
                seen.append(outputs)

        trainer(accumulate_grad_batches=2, limit_train_batches=1).fit(Ends(False), rows(batch=1))
        trainer(limit_train_batches=1).fit(Ends(True), rows(batch=1))
        self.assertEqual([each["loss"].item() for each in seen], [0.5, 1.0])
        self.assertFalse(seen[0]["loss"].requires_grad or seen[1]["x"][0].requires_grad)
        with self.assertRaisesRegex(pl.MisconfigurationException, 'dictionary without the key "loss"'):
            class Lost(Line):
                def training_step(self, batch, batch_idx):
                    return {"cost": self.weight}

            trainer().fit(Lost(), rows())

    def test_the_order_of_hooks(self):
        called = []

        def keeps(name, kind):
            return lambda self, *arguments: called.append(f"{kind} {name}")

        names = ["prepare_data", "setup", "on_fit_start", "on_sanity_check_start", "on_train_start", "on_train_epoch_start",
                 "on_train_batch_start", "on_train_batch_end", "on_validation_start", "on_validation_end", "on_train_epoch_end",
                 "training_epoch_end", "on_train_end", "on_fit_end", "teardown"]
        module = type("Module", (Validated,), {name: keeps(name, "m") for name in names})
        callback = type("Callback", (pl.Callback,), {name: keeps(name, "c") for name in names})
        data = type("Data", (pl.LightningDataModule,), {name: keeps(name, "d") for name in ("setup", "teardown")} | {
            "train_dataloader": lambda self: rows(), "val_dataloader": lambda self: rows()})
        trainer(callbacks=[callback()], limit_train_batches=1, num_sanity_val_steps=1).fit(module(), datamodule=data())
        both = [f"{kind} {{}}" for kind in "cm"]
        expected = ["m prepare_data", "d setup", "c setup", "m setup", "c on_fit_start", "m on_fit_start", "c on_sanity_check_start",
                    "m on_sanity_check_start"]
        for name in ("on_validation_start", "on_validation_end", "on_train_start", "on_train_epoch_start", "on_train_batch_start",
                     "on_train_batch_end", "on_validation_start", "on_validation_end"):
            expected += [each.format(name) for each in both]
        expected.append("m training_epoch_end")
        for name in ("on_train_epoch_end", "on_train_end", "on_fit_end"):
            expected += [each.format(name) for each in both]
        self.assertEqual(called, [*expected, "d teardown", "c teardown", "m teardown"])


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
