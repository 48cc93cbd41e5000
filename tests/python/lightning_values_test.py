"""Hyperparameters, batches of every kind, and the arguments of Lightning's trainer that ask for nothing."""

import os
import tempfile
import unittest

import pipescope.lightning as pl
import torch
from pipescope.lightning.callbacks import ModelCheckpoint
from pipescope.lightning.errors import MisconfigurationException
from torch import nn


class Weighted(pl.LightningModule):
    """A classifier whose batches are dictionaries with a weight for each sample. Its __init__ calls self `this`."""

    def __init__(this, hidden=8, rate=0.1):  # noqa: N805
        super().__init__()
        this.save_hyperparameters()
        this.layers = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 3))

    def training_step(self, batch, batch_idx):
        losses = nn.functional.cross_entropy(self.layers(batch["x"]), batch["label"], reduction="none")
        return (losses * batch["weight"]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)


class Base(pl.LightningModule):
    def __init__(self, rate=0.1, *, width=4, **more):
        super().__init__()
        self.save_hyperparameters(ignore=["encoder"])


class Derived(Base):
    def __init__(self, encoder, depth=2):
        super().__init__(rate=0.5, momentum=0.9)
        self.layer = nn.Linear(depth, 1)


class Whole(pl.LightningModule):
    def __init__(self, settings):
        super().__init__()
        self.save_hyperparameters(settings, logger=False)
        self.layer = nn.Linear(self.hparams.inputs, 1)


class Samples(torch.utils.data.Dataset):
    """Dictionaries, whose Python numbers a loader makes tensors of int64 and float64."""

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return {"x": torch.full((4,), index / 32), "label": index % 3, "weight": 1.0 + index % 2}


def trainer(**arguments):
    return pl.Trainer(accelerator="ipu", devices=1, max_epochs=1, enable_progress_bar=False, **arguments)


class Values(unittest.TestCase):
    def test_batches_may_hold_float64(self):
        torch.manual_seed(1)
        module, other = Weighted(), Weighted()
        other.load_state_dict(module.state_dict())
        loader = torch.utils.data.DataLoader(Samples(), batch_size=4)
        trainer().fit(module, loader)
        optimizer = other.configure_optimizers()
        for batch in loader:
            optimizer.zero_grad()
            other.training_step(batch, 0).backward()
            optimizer.step()
        torch.testing.assert_close(module.layers[0].weight, other.layers[0].weight)

    def test_accumulation_may_be_a_dictionary_of_one_number(self):
        """Lightning's IPUs refuse more than one (PR 9652). 16 batches of two samples make eight updates."""
        model = Weighted()
        one = trainer(accumulate_grad_batches={0: 2})
        one.fit(model, torch.utils.data.DataLoader(Samples(), batch_size=2))
        self.assertEqual(one.global_step, 8)
        with self.assertRaisesRegex(MisconfigurationException, "accumulate_grad_batches"):
            trainer(accumulate_grad_batches={0: 2, 3: 4}).fit(
                model, torch.utils.data.DataLoader(Samples(), batch_size=2))

    def test_prediction_returns_every_row(self):
        """The last batch of 34 samples has two of them; a device takes batches of one size."""

        class Doubled(pl.LightningModule):
            def predict_step(self, batch, batch_idx):
                return 2 * batch[0]

        rows = torch.arange(34.0).reshape(34, 1)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows), batch_size=4)
        for devices in (1, 2):
            running = pl.Trainer(accelerator="ipu", devices=devices, enable_progress_bar=False)
            torch.testing.assert_close(torch.cat(running.predict(Doubled(), loader)), 2 * rows)

    def test_hyperparameters_are_attributes_and_are_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            module = Weighted(hidden=6)
            self.assertEqual((module.hparams.hidden, module.hparams["rate"]), (6, 0.1))
            with self.assertRaisesRegex(AttributeError, "no hyperparameter depth; there are: hidden, rate"):
                print(module.hparams.depth)
            module.hparams.rate = 0.2
            saving = ModelCheckpoint(dirpath=folder)
            trainer(callbacks=saving).fit(module, torch.utils.data.DataLoader(Samples(), batch_size=4))
            self.assertEqual(os.listdir(folder), [os.path.basename(saving.best_model_path)])
            again = Weighted.load_from_checkpoint(saving.best_model_path)
        self.assertEqual(dict(again.hparams), {"hidden": 6, "rate": 0.2})
        self.assertTrue(torch.equal(again.layers[0].weight, module.layers[0].weight))

    def test_hyperparameters_are_those_of_all_classes(self):
        """As in Lightning: arguments of derived classes count, `ignore` leaves out, and a dictionary may hold them all."""
        module = Derived(nn.Linear(2, 2))
        self.assertEqual(module.hparams, {"rate": 0.5, "width": 4, "momentum": 0.9, "depth": 2})
        whole = Whole({"inputs": 3, "rate": 0.1})
        self.assertEqual(whole.hparams, {"inputs": 3, "rate": 0.1})
        self.assertEqual(whole.hparams.inputs, 3)

        class Data(pl.LightningDataModule):
            def __init__(self, folder="here", batch=4):
                super().__init__()
                self.save_hyperparameters("batch")

        self.assertEqual(Data(batch=2).hparams, {"batch": 2})
        with self.assertRaisesRegex(TypeError, "takes names of arguments, or a dictionary"):
            whole.save_hyperparameters(3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "whole.ckpt")
            torch.save({"state_dict": whole.state_dict(), "hyper_parameters": dict(whole.hparams),
                        "hparams_name": whole._hparams_name}, path)
            self.assertEqual(Whole.load_from_checkpoint(path).hparams, whole.hparams)
            torch.save({"state_dict": module.state_dict(), "hyper_parameters": dict(module.hparams)}, path)
            self.assertEqual(Derived.load_from_checkpoint(path, encoder=None).hparams, module.hparams)

    def test_arguments_that_ask_for_nothing(self):
        trainer(num_sanity_val_steps=0, enable_model_summary=False, deterministic=True, profiler=None, num_nodes=1)
        with self.assertRaisesRegex(pl.MisconfigurationException, r"Trainer\(num_nodes=2\) is not implemented.* pass 1\."):
            trainer(num_nodes=2)
        with self.assertRaisesRegex(pl.MisconfigurationException, r"pass 0 or 0\.0"):
            trainer(overfit_batches=0.5)
        trainer(ipus=None, gpus=None, min_steps=None, track_grad_norm=-1, amp_backend="native")
        with self.assertRaisesRegex(pl.MisconfigurationException, 'use accelerator="ipu", devices=4'):
            trainer(ipus=4)
        with self.assertRaisesRegex(pl.MisconfigurationException, "there are no such devices"):
            trainer(gpus=1)
        with self.assertRaisesRegex(TypeError, "Trainer has no argument acelerator"):
            trainer(acelerator="ipu")


if __name__ == "__main__":
    unittest.main()
