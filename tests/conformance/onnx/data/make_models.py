#!/usr/bin/env python3
"""Makes the golden models of this folder: make_models.py FOLDER, with PyTorch 1.13 (python3-torch) and python3-onnx.

Each model is FOLDER/NAME/{model.onnx,input_N.pb,output_N.pb}: what torch.onnx.export wrote, and what PyTorch computed.
NAME_training was exported with TrainingMode.TRAINING; FOLDER/NAME_training/losses.txt holds the losses of steps of
plain SGD on the same batch, as PyTorch computed them.
"""
import os
import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

torch.manual_seed(7)
torch.set_num_threads(1)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(4, 8, 5), nn.ReLU(), nn.AvgPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(8 * 5 * 5, 20), nn.Tanh(), nn.Linear(20, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


class BasicBlock(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.short = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.short(x))


class ResNet(nn.Module):
    """ResNet-18's eight basic blocks with a few channels."""

    def __init__(self):
        super().__init__()
        width = [4, 4, 4, 8, 8, 12, 12, 16, 16]
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU())
        self.layers = nn.Sequential(*[BasicBlock(width[i], width[i + 1], 2 if width[i] != width[i + 1] else 1)
                                      for i in range(8)])
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.layers(self.stem(x)).mean((2, 3)))


class Depthwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), nn.Conv2d(8, 8, 3, 1, 1, groups=8),
                                 nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 12, 1), nn.GELU(), nn.AdaptiveAvgPool2d(1),
                                 nn.Flatten(), nn.Linear(12, 5))

    def forward(self, x):
        return self.net(x)


class Encoder(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=dropout, batch_first=True, activation="gelu")
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(16, 2, 32, dropout=dropout, batch_first=True,
                                                                activation="gelu") for _ in range(2)])
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight  # tied
        del layer

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class FloatEncoder(nn.Module):
    """Takes the numbers themselves, so that a data set of floats can train it."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(6, 16)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True) for _ in range(2)])
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        x = self.project(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.head(y[:, -1])


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 8, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1])


def save_tensor(path, array):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(np.ascontiguousarray(array)).SerializeToString())


def export(folder, name, model, inputs, opset=17, training=False, dynamic=True):
    target = os.path.join(folder, name)
    os.makedirs(target, exist_ok=True)
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    model.train(training)
    axes = {"x": {0: "batch"}} if dynamic else None
    torch.onnx.export(model, tuple(inputs), os.path.join(target, "model.onnx"), opset_version=opset, training=mode,
                      do_constant_folding=not training, input_names=["x"], output_names=["y"], dynamic_axes=axes)
    stripped = onnx.load(os.path.join(target, "model.onnx"))
    for node in stripped.graph.node:
        node.doc_string = ""
    onnx.save(stripped, os.path.join(target, "model.onnx"))
    for i, value in enumerate(inputs):
        save_tensor(os.path.join(target, f"input_{i}.pb"), value.numpy())


def inference(folder, name, model, x, opset=17, dynamic=True):
    export(folder, name, model, [x], opset, False, dynamic)
    with torch.no_grad():
        save_tensor(os.path.join(folder, name, "output_0.pb"), model(x).numpy())


def training(folder, name, model, x, classes, steps=4, rate=0.1):
    export(folder, name + "_training", model, [x], 17, True)
    labels = torch.arange(len(x)) % classes
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(f"{loss.item():.9g}")
    with open(os.path.join(folder, name + "_training", "losses.txt"), "w") as file:
        file.write("\n".join(losses) + "\n")


def main():
    folder = sys.argv[1]
    inference(folder, "lenet", LeNet(), torch.randn(3, 1, 28, 28))
    inference(folder, "lenet_opset9", LeNet(), torch.randn(2, 1, 28, 28), opset=9)
    inference(folder, "resnet", ResNet(), torch.randn(2, 3, 16, 16))
    inference(folder, "depthwise", Depthwise(), torch.randn(2, 3, 12, 12))
    inference(folder, "encoder", Encoder(0.1), torch.randint(0, 50, (2, 7)))
    inference(folder, "encoder_opset12", Encoder(0.1), torch.randint(0, 50, (2, 7)), opset=12, dynamic=False)
    inference(folder, "lstm", Lstm(), torch.randn(3, 5, 6))
    inference(folder, "gru", Gru(), torch.randn(3, 5, 6), dynamic=False)
    training(folder, "lenet", LeNet(), torch.randn(6, 1, 28, 28), 10)
    training(folder, "resnet", ResNet(), torch.randn(6, 3, 16, 16), 10)
    training(folder, "depthwise", Depthwise(), torch.randn(6, 3, 12, 12), 5)
    training(folder, "float_encoder", FloatEncoder(), torch.randn(6, 7, 6), 4)
    training(folder, "lstm", Lstm(), torch.randn(6, 5, 6), 4)


main()
