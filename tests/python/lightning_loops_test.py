"""The loops of training on the CPU: updates, validations and ends. All expected values are computed by hand."""

import unittest
import warnings

import pipescope.lightning as pl
import torch
from lightning_logging_test import Line, rows, trainer
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


if __name__ == "__main__":
    unittest.main()
