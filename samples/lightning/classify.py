#!/usr/bin/python3
"""Trains a classifier with Lightning's trainer on emulated IPUs or HPUs, or on the CPU.

On IPUs the two blocks of the model are a pipeline, and --devices is the number of its replicas. On HPUs it is the number of
cards. --profile writes profiles that pipescope-gui opens.
"""

import argparse

import pipescope.lightning as pl
import pipescope.poptorch as poptorch
import torch
from pipescope.lightning.callbacks import EarlyStopping
from pipescope.lightning.strategies import HPUParallelStrategy, IPUStrategy
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(pl.LightningModule):
    """Two layers, one on each IPU. Steps return values, and the epoch-end hooks log them."""

    def __init__(self, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.hidden = poptorch.BeginBlock(nn.Linear(8, 32), ipu_id=0)
        self.scores = poptorch.BeginBlock(nn.Linear(32, 4), ipu_id=1)

    def forward(self, x):
        return self.scores(torch.relu(self.hidden(x)))

    def training_step(self, batch, batch_idx):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        return (self(batch[0]).argmax(1) == batch[1]).float()

    test_step = validation_step

    def validation_epoch_end(self, outputs):
        self.log("val_acc", torch.cat(outputs).mean(), prog_bar=True)

    def test_epoch_end(self, outputs):
        self.log("test_acc", torch.cat(outputs).mean())

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams["lr"], momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)]


def make_data(samples, seed):
    """Points in eight dimensions; the class is the largest of the first four numbers."""
    x = torch.randn(samples, 8, generator=torch.Generator().manual_seed(seed))
    return DataLoader(TensorDataset(x, x[:, :4].argmax(1)), batch_size=4, shuffle=seed == 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accelerator", choices=["ipu", "hpu", "cpu"], default="ipu")
    parser.add_argument("--devices", default="2")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--profile", metavar="DIR", help="Write profiles into this folder")
    arguments = parser.parse_args()
    reports = {"autoreport": arguments.profile is not None, "autoreport_dir": arguments.profile}
    strategy = {"ipu": IPUStrategy(device_iterations=2, **reports), "hpu": HPUParallelStrategy(**reports), "cpu": None}
    pl.seed_everything(7)
    trainer = pl.Trainer(accelerator=arguments.accelerator, devices="1" if arguments.accelerator == "cpu" else arguments.devices,
                         strategy=strategy[arguments.accelerator], max_epochs=arguments.epochs, accumulate_grad_batches=4,
                         callbacks=[EarlyStopping("val_acc", mode="max", stopping_threshold=0.98)])
    model = Classifier()
    trainer.fit(model, make_data(arguments.samples, 1), make_data(512, 2))
    print(f"test accuracy {trainer.test(model, make_data(512, 3), verbose=False)[0]['test_acc']:0.4f}")


if __name__ == "__main__":
    main()
