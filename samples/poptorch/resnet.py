#!/usr/bin/python3
"""Trains a small ResNet on made-up pictures of stripes, split over two emulated IPUs, and tests it.

Values behind the first stage are kept instead of computed again, and the learning rate falls between epochs.
--replicas runs several copies. --profile writes profiles that pipescope-gui opens.
"""

import argparse

import pipescope.poptorch as poptorch
import torch
from torch import nn


class Residual(nn.Module):
    """Two convolutions and a short cut beside them."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.short = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.short(x))


class ResNet(nn.Module):
    """A stem, three residual blocks and scores. BeginBlock puts the second half onto another IPU."""

    def __init__(self, classes, width=8):
        super().__init__()
        self.stem = poptorch.BeginBlock(nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width),
                                                      nn.ReLU()), "front", ipu_id=0)
        self.first = Residual(width, width, 1)
        self.second = poptorch.BeginBlock(Residual(width, 2 * width, 2), "back", ipu_id=1)
        self.third = Residual(2 * width, 4 * width, 2)
        self.scores = nn.Linear(4 * width, classes)

    def forward(self, x):
        x = poptorch.recomputationCheckpoint(self.first(self.stem(x)))
        x = self.third(self.second(x))
        return self.scores(x.mean((2, 3)))


class WithLoss(nn.Module):
    """The network and its loss."""

    def __init__(self, model):
        super().__init__()
        self.model, self.loss = model, nn.CrossEntropyLoss()

    def forward(self, x, labels):
        scores = self.model(x)
        return scores, self.loss(scores, labels)


def make_pictures(count, classes, size=16, seed=1):
    """Return pictures whose stripes have a direction and a width by class, and their classes."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, classes, (count,), generator=generator)
    angle = labels.float() * (3.14159 / classes)
    rows, columns = torch.meshgrid(torch.arange(float(size)), torch.arange(float(size)), indexing="ij")
    across = torch.cos(angle).reshape(-1, 1, 1) * rows + torch.sin(angle).reshape(-1, 1, 1) * columns
    shift = torch.rand(count, 1, 1, generator=generator) * 6
    pictures = torch.sin(across + shift).unsqueeze(1).expand(-1, 3, -1, -1)
    return pictures + 0.3 * torch.randn(count, 3, size, size, generator=generator), labels


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1536)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--gradient-accumulation", type=int, default=4)
    parser.add_argument("--device-iterations", type=int, default=2)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--profile", metavar="DIR", help="Write profiles into this folder")
    return parser.parse_args()


def options_of(arguments):
    """Return the options of training."""
    options = poptorch.Options().randomSeed(3).deviceIterations(arguments.device_iterations)
    options.replicationFactor(arguments.replicas)
    options.Training.gradientAccumulation(arguments.gradient_accumulation)
    if arguments.profile:
        options.enableProfiling(arguments.profile)
    return options


def main():
    arguments = parse_arguments()
    torch.manual_seed(1)
    model, options = ResNet(arguments.classes), options_of(arguments)
    data = torch.utils.data.TensorDataset(*make_pictures(arguments.samples, arguments.classes))
    loader = poptorch.DataLoader(options, data, batch_size=arguments.batch_size, shuffle=True)
    optimizer = poptorch.optim.SGD(model.parameters(), lr=arguments.learning_rate, momentum=0.9, weight_decay=1e-4)
    training = poptorch.trainingModel(WithLoss(model), options, optimizer)
    for epoch in range(1, arguments.epochs + 1):
        for pictures, labels in loader:
            _, loss = training(pictures, labels)
        print(f"Epoch {epoch}/{arguments.epochs}  learning rate {optimizer.param_groups[0]['lr']:g}  loss {loss.mean():0.4f}")
        optimizer.param_groups[0]["lr"] *= 0.5
        training.setOptimizer(optimizer)
    print(f"One call takes {training.emulatedSecondsPerCall() * 1e3:0.3f} ms on the emulated IPUs.")
    training.detachFromDevice()
    testing = options.clone().replicationFactor(1).deviceIterations(8)
    testing.Training.gradientAccumulation(1)
    inference = poptorch.inferenceModel(model, testing)
    pictures, labels = make_pictures(256, arguments.classes, seed=2)
    rows = 8 * arguments.batch_size
    predicted = torch.cat([inference(pictures[first : first + rows]) for first in range(0, 256 - rows + 1, rows)])
    right = (predicted.argmax(1) == labels[: len(predicted)]).float().mean().item()
    print(f"Accuracy on test pictures: {right * 100:0.1f}%")
    training.destroy()
    inference.destroy()


if __name__ == "__main__":
    main()
