#!/usr/bin/python3
"""Trains a network on handwritten digits, split over emulated IPUs, as PopTorch's tutorial on pipelining does.

Without --data it draws digits of its own. --profile writes profiles that pipescope-gui opens.
"""

import argparse
import gzip
import os
import struct
import sys

import numpy
import pipescope
import pipescope.poptorch as poptorch
import torch
from torch import nn


class ConvLayer(nn.Module):
    """A convolution, a pooling and an activation."""

    def __init__(self, in_channels, num_filters, kernel_size, pool_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, num_filters, kernel_size=kernel_size)
        self.pool = nn.MaxPool2d(kernel_size=pool_size)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.pool(self.conv(x)))


class Network(nn.Module):
    """Two convolutions and two linear layers, each in a block of its own."""

    def __init__(self):
        super().__init__()
        self.layer1 = ConvLayer(1, 10, 5, 2)
        self.layer2 = ConvLayer(10, 20, 5, 2)
        self.layer3 = nn.Linear(320, 256)
        self.layer3_act = nn.ReLU()
        self.layer4 = nn.Linear(256, 10)

    def forward(self, x):
        with poptorch.Block("B1"):
            x = self.layer1(x)
        with poptorch.Block("B2"):
            x = self.layer2(x)
        with poptorch.Block("B3"):
            x = x.view(-1, 320)
            x = self.layer3_act(self.layer3(x))
        with poptorch.Block("B4"):
            x = self.layer4(x)
        return x


class TrainingModelWithLoss(nn.Module):
    """The network and its loss, which belongs to the last block."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.loss = nn.CrossEntropyLoss()

    def forward(self, args, labels=None):
        output = self.model(args)
        if labels is None:
            return output
        with poptorch.Block("B4"):
            loss = self.loss(output, labels)
        return output, loss


def read_idx(folder, name):
    """Read one of MNIST's files, plain or compressed."""
    path = os.path.join(folder, name)
    opened = open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz", "rb")
    with opened as file:
        axes = struct.unpack(">I", file.read(4))[0] & 0xFF
        shape = struct.unpack(f">{axes}I", file.read(4 * axes))
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(shape)


def read_digits(folder, split, limit):
    """Return images with MNIST's mean and deviation taken out, and labels."""
    images = read_idx(folder, f"{split}-images-idx3-ubyte").astype(numpy.float32)[:limit]
    labels = read_idx(folder, f"{split}-labels-idx1-ubyte").astype(numpy.int64)[:limit]
    images = (images[:, None] / 255 - 0.1307) / 0.3081
    return torch.utils.data.TensorDataset(torch.from_numpy(images.astype(numpy.float32)), torch.from_numpy(labels))


def accuracy(predictions, labels):
    """Return the share of right predictions in percent. There may be predictions for the last rows only."""
    _, indices = torch.max(predictions, 1)
    labels = labels[-predictions.size()[0] :]
    return torch.sum(torch.eq(indices, labels)).item() / labels.size()[0] * 100.0


def strategy_of(arguments):
    """Four stages, or two stages of two blocks."""
    if arguments.stages == 4:
        stages = [poptorch.Stage(f"B{i + 1}").ipu(i) for i in range(4)]
    else:
        stages = [poptorch.Stage("B1", "B2").ipu(0), poptorch.Stage("B3", "B4").ipu(1)]
    kind = poptorch.PipelinedExecution if arguments.strategy == "pipelined" else poptorch.ShardedExecution
    return kind(*stages)


def training_options(arguments):
    """Return the options of training."""
    options = poptorch.Options()
    options.deviceIterations(arguments.device_iterations)
    options.Training.gradientAccumulation(arguments.gradient_accumulation)
    options.outputMode(poptorch.OutputMode.All)
    options.randomSeed(arguments.seed)
    options.setExecutionStrategy(strategy_of(arguments))
    if arguments.offload_optimiser:
        options.TensorLocations.setOptimizerLocation(poptorch.TensorLocationSettings().useOnChipStorage(False))
    if arguments.profile:
        options.enableProfiling(arguments.profile_dir)
    return options


def inference_options(arguments, options):
    """Return the options of training without accumulation and with more micro-batches in a call."""
    options = options.clone()
    options.Training.gradientAccumulation(1)
    options.deviceIterations(arguments.inference_iterations)
    return options


def train(training_model, training_data, epochs):
    """Train for some epochs and print loss and accuracy of each."""
    for epoch in range(1, epochs + 1):
        sum_loss = sum_accuracy = 0.0
        for data, labels in training_data:
            predictions, losses = training_model(data, labels)
            sum_loss += torch.mean(losses).item()
            sum_accuracy += accuracy(predictions, labels)
        calls = len(training_data)
        print(f"Epoch {epoch}/{epochs}  loss {sum_loss / calls:0.4f}  accuracy {sum_accuracy / calls:0.2f}%")


def test(inference_model, test_data):
    """Print the accuracy on the test set."""
    sum_accuracy = sum(accuracy(inference_model(data), labels) for data, labels in test_data)
    print(f"Accuracy on test set: {sum_accuracy / len(test_data):0.2f}%")


def require_a_call(loader, what, options):
    """End the program if the loader has no whole batch for a call."""
    if len(loader) == 0:
        sys.exit(f"mnist.py: there are {len(loader.dataset)} samples for {what}, but one call takes "
                 f"{loader.combinedBatchSize}. Raise --samples, or lower {options}.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="Folder with MNIST's four files; default: draw digits")
    parser.add_argument("--samples", type=int, help="Use only so many training samples, and a sixth as many for the test")
    parser.add_argument("--batch-size", type=int, default=40)
    parser.add_argument("--device-iterations", type=int, default=10)
    parser.add_argument("--gradient-accumulation", type=int, default=10)
    parser.add_argument("--test-batch-size", type=int, default=8)
    parser.add_argument("--inference-iterations", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument("--strategy", choices=["pipelined", "sharded"], default="pipelined")
    parser.add_argument("--stages", type=int, choices=[2, 4], default=4)
    parser.add_argument("--offload-optimiser", action="store_true", help="Keep the optimiser's state off the chip")
    parser.add_argument("--profile", action="store_true", help="Write profiles")
    parser.add_argument("--profile-dir", default="./profile")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--debug", action="store_true", help="Print the options and the debug log")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    limit = arguments.samples or 60000
    folder = arguments.data or pipescope.digits(train=limit, test=max(1, limit // 6))
    options = training_options(arguments)
    if arguments.debug:
        poptorch.setLogLevel("DEBUG")
        print(options)
    testing = inference_options(arguments, options)
    training_data = poptorch.DataLoader(options, read_digits(folder, "train", limit), batch_size=arguments.batch_size,
                                        shuffle=True, mode=poptorch.DataLoaderMode.Async)
    test_data = poptorch.DataLoader(testing, read_digits(folder, "t10k", max(1, limit // 6)),
                                    batch_size=arguments.test_batch_size)
    require_a_call(training_data, "training", "--batch-size, --device-iterations or --gradient-accumulation")
    require_a_call(test_data, "testing", "--test-batch-size or --inference-iterations")
    model = Network()
    optimizer = poptorch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)
    training_model = poptorch.trainingModel(TrainingModelWithLoss(model), options, optimizer)
    train(training_model, training_data, arguments.epochs)
    print(f"One call takes {training_model.emulatedSecondsPerCall() * 1e3:0.3f} ms on the emulated IPUs.")
    training_model.destroy()
    inference_model = poptorch.inferenceModel(model, testing)
    test(inference_model, test_data)
    inference_model.destroy()


if __name__ == "__main__":
    main()
