#!/usr/bin/env python3
"""Makes the golden data of whole models from PyTorch: make_golden.py FOLDER

Needs PyTorch 1.13, python3-onnx and python3-numpy. For each model: NAME.onnx (exported for training), NAME.input.pb
and NAME.labels.pb (TensorProto), and NAME.golden: the loss, the loss after one step of gradient descent, and every
parameter's gradient, computed by PyTorch in double precision from the model's float32 weights. Seeded: the same
versions make the same files.
"""
import copy
import os
import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

LEARNING_RATE = 0.05


class Residual(nn.Module):
    """A residual convolutional net with batch norm: an identity and a projected skip connection."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU())
        self.a = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(),
                               nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6))
        self.b = nn.Sequential(nn.Conv2d(6, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                               nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))
        self.skip = nn.Sequential(nn.Conv2d(6, 8, 1, stride=2, bias=False), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.stem(x), 3, 2, 1)
        x = torch.relu(x + self.a(x))
        x = torch.relu(self.skip(x) + self.b(x))
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Depthwise(nn.Module):
    """Depthwise-separable convolutions with bounded activations and a squeeze-and-excite gate."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.depth = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.gate = nn.Sequential(nn.Conv2d(8, 2, 1), nn.ReLU(), nn.Conv2d(2, 8, 1), nn.Sigmoid())
        self.point = nn.Sequential(nn.Conv2d(8, 12, 1, bias=False), nn.BatchNorm2d(12))
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        x = self.depth(self.stem(x))
        x = x * self.gate(x.mean((2, 3), keepdim=True))
        return self.head(self.point(x).mean((2, 3)))


class Encoder(nn.Module):
    """Two layers of a transformer encoder, one with the norm first, on learned positions."""

    def __init__(self):
        super().__init__()
        self.inlet = nn.Linear(5, 12)
        self.position = nn.Parameter(torch.randn(6, 12) * 0.1)
        self.first = nn.TransformerEncoderLayer(12, 3, 20, dropout=0.0, activation="gelu", batch_first=True)
        self.second = nn.TransformerEncoderLayer(12, 2, 20, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.second(self.first(self.inlet(x) + self.position)).mean(1))


class Recurrent(nn.Module):
    """Two layers of a bidirectional LSTM, then a GRU and a plain RNN."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 6, batch_first=True)
        self.rnn = nn.RNN(6, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        x, (last, _) = self.lstm(x)
        x, _ = self.gru(x)
        _, h = self.rnn(x.transpose(0, 1))
        return self.head(torch.tanh(h[0]) + last[-1, :, :4])


class Tied(nn.Module):
    """A language model whose output weights are its embedding: causal attention in between."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.mix = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)
        self.register_buffer("mask", torch.full((6, 6), -1e4).triu(1))

    def forward(self, tokens):
        x = self.embedding(tokens)
        q, k, v = self.mix(self.norm(x)).chunk(3, -1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 8 ** 0.5 + self.mask, -1)
        x = x + weights @ v
        return (x @ self.embedding.weight.t()).transpose(1, 2)


class Moves(nn.Module):
    """An hourglass out of what moves and samples: reflected padding, resizing, pixel shuffling, transposed
    convolution, slices, tiles."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 8, 3, stride=2)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.mix = nn.Conv2d(10, 3, 1)
        self.slope = nn.PReLU(8)
        self.head = nn.Linear(3 * 8 * 8, 1)

    def forward(self, x):
        low = self.slope(self.down(nn.functional.pad(x, (1, 1, 1, 1), mode="reflect")))
        wide = nn.functional.interpolate(low[:, 1::2], scale_factor=2.0, mode="bilinear", align_corners=False)
        shuffled = nn.functional.pixel_shuffle(low, 2)
        return self.head(self.mix(torch.cat([wide, self.up(low), shuffled], 1)).flatten(1))


def noise(*shape):
    return torch.randn(*shape)


MODELS = {
    "residual": (Residual, lambda: noise(4, 3, 8, 8), lambda: torch.tensor([0, 4, 2, 1]), "cross_entropy"),
    "depthwise": (Depthwise, lambda: noise(3, 3, 8, 8), lambda: torch.tensor([3, 0, 1]), "cross_entropy"),
    "encoder": (Encoder, lambda: noise(3, 6, 5), lambda: torch.tensor([2, 0, 3]), "cross_entropy"),
    "recurrent": (Recurrent, lambda: noise(3, 5, 4), lambda: torch.tensor([[2], [-1], [1]]), "mse"),
    "tied": (Tied, lambda: torch.randint(0, 11, (2, 6)), lambda: torch.randint(0, 11, (2, 6)), "cross_entropy"),
    "moves": (Moves, lambda: noise(2, 2, 8, 8), lambda: torch.tensor([[1], [-2]]), "mse"),
}


def loss_of(kind, predictions, labels):
    if kind == "mse":
        return nn.functional.mse_loss(predictions, labels.to(predictions.dtype))
    return nn.functional.cross_entropy(predictions, labels)


def save_tensor(path, array, name):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(array, name).SerializeToString())


def make(folder, name):
    kind, make_input, make_labels, loss_name = MODELS[name]
    torch.manual_seed(sorted(MODELS).index(name))
    model = kind().train()
    x, labels = make_input(), make_labels()
    double = copy.deepcopy(model).double()
    wide = x.double() if x.is_floating_point() else x
    loss = loss_of(loss_name, double(wide), labels)
    loss.backward()
    gradients = {key: parameter.grad.clone() for key, parameter in double.named_parameters()}
    with torch.no_grad():
        for key, parameter in double.named_parameters():
            parameter -= LEARNING_RATE * gradients[key]
    after = loss_of(loss_name, double(wide), labels).item()

    base = os.path.join(folder, name)
    torch.onnx.export(model, x, base + ".onnx", opset_version=17, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, input_names=["input"], output_names=["predictions"])
    exported = onnx.load(base + ".onnx")
    for node in exported.graph.node:
        node.doc_string = ""
    onnx.save(exported, base + ".onnx")
    save_tensor(base + ".input.pb", x.numpy(), "input")
    label_type = np.float32 if loss_name == "mse" else np.int32
    save_tensor(base + ".labels.pb", labels.numpy().astype(label_type), "labels")
    with open(base + ".golden", "w") as file:
        file.write(f"model_loss {loss_name}\nloss {loss.item():.12g}\n")
        file.write(f"learning_rate {LEARNING_RATE}\nloss_after {after:.12g}\n")
        for key, _ in model.named_buffers():  # the file does not tell them from weights
            if "running_" not in key and "num_batches" not in key:
                file.write(f"frozen {key}\n")
        for key in sorted(gradients):
            values = gradients[key].flatten().tolist()
            file.write(f"gradient {key} {len(values)}\n" + " ".join(f"{v:.7g}" for v in values) + "\n")


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sorted(MODELS):
        make(sys.argv[1], name)


main()
