#!/usr/bin/python3
"""Compares training steps with PyTorch: training_bench.py BUILD/tests/bench/training_bench [--rounds N] [--threads 1,2]
[--only NAME-PART] [--seconds S].

Forward, backward and optimizer in float32, same network (exported to ONNX), same batch, same number of threads. Both
programs stay loaded and train in turn; of each the median over the rounds counts. ratio = our samples per second over
PyTorch's: above 1 we are faster. cpu ratio = PyTorch's processor time per sample over ours, which other programs on the
machine disturb less. loss = difference of the first step's losses. A fast BLAS is needed (libopenblas0-openmp).
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

import torch
from torch import nn
import torch.nn.functional as F


class Mnist(nn.Module):
    """The network of samples/mnist."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(10, 20, 5), nn.MaxPool2d(2),
                                    nn.ReLU(), nn.Flatten(), nn.Linear(320, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, x):
        return self.layers(x)


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outside)
        self.short = None
        if stride != 1 or inside != outside:
            self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + (self.short(x) if self.short else x))


class ResNet18(nn.Module):
    """ResNet-18 for small images: a 3×3 stem without pooling. With `large` torchvision's stem: 7×7, stride 2, pooled."""

    def __init__(self, large=False):
        super().__init__()
        stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False)] if large else [nn.Conv2d(3, 64, 3, 1, 1, bias=False)]
        stem += [nn.BatchNorm2d(64), nn.ReLU()] + ([nn.MaxPool2d(3, 2, 1)] if large else [])
        widths, blocks, inside = [64, 128, 256, 512], [], 64
        for stage, width in enumerate(widths):
            for i in range(2):
                blocks.append(Block(inside, width, 2 if stage > 0 and i == 0 else 1))
                inside = width
        self.body = nn.Sequential(*stem, *blocks)
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.body(x), 1), 1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.layers(x).mean(1))


SGD = ("sgd", {"learning_rate": 0.01}, lambda p: torch.optim.SGD(p, lr=0.01))
MOMENTUM = ("sgd", {"learning_rate": 0.01, "momentum": 0.9}, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9))
ADAM = ("adam", {"learning_rate": 1e-4}, lambda p: torch.optim.Adam(p, lr=1e-4))
# name, network, shape of a sample, batch, optimizer, wanted ratio
CASES = [("mnist", Mnist, (1, 28, 28), 40, SGD, 1.8),
         ("mnist", Mnist, (1, 28, 28), 256, SGD, 1.8),
         ("resnet18", ResNet18, (3, 32, 32), 32, MOMENTUM, 1.0),
         ("resnet18-large-stem", lambda: ResNet18(True), (3, 32, 32), 32, MOMENTUM, 1.0),
         ("encoder", Encoder, (128, 256), 8, ADAM, 1.2)]


def pattern(count):
    return (torch.arange(count, dtype=torch.int64) * 7919 % 1009).float() / 1009


class Torch:
    def __init__(self, model, sample, batch, optimizer):
        self.model, self.batch = model.train(), batch
        self.x = pattern(batch * torch.Size(sample).numel()).reshape(batch, *sample)
        self.labels = torch.arange(batch) % 10
        self.optimizer = optimizer(model.parameters())
        self.loss = self.step().item()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(self.x), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def run(self, seconds):
        wall, cpu, samples = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - wall < seconds or samples == 0:
            self.step()
            samples += self.batch
        return samples, time.perf_counter() - wall, time.process_time() - cpu


class Ours:
    def __init__(self, program, file, batch, threads, name, settings):
        words = [f"{key}={value}" for key, value in settings.items()]
        self.process = subprocess.Popen([program, file, str(batch), str(threads), name, *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        samples, wall, cpu, self.loss = map(float, self.process.stdout.readline().split())
        return samples, wall, cpu

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def export(folder, name, model, sample, batch):
    file = os.path.join(folder, f"{name}.onnx")
    with torch.no_grad():
        torch.onnx.export(model.train(), torch.rand(batch, *sample), file, opset_version=17, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.TRAINING)
    return file


def state(model):
    return {key: value.clone() for key, value in model.state_dict().items()}


def compare(program, folder, case, threads, rounds, seconds):
    name, network, sample, batch, (rule, settings, optimizer), wanted = case
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = network()
    before = state(model)
    file = export(folder, name, model, sample, batch)
    model.load_state_dict(before)
    ours = Ours(program, file, batch, threads, rule, settings)
    ours.run(0.05)
    theirs = Torch(model, sample, batch, optimizer)
    theirs.run(0.05)
    speeds, costs = ([], []), ([], [])
    for _ in range(rounds):
        for side, runner in enumerate((ours, theirs)):
            samples, wall, cpu = runner.run(seconds)
            speeds[side].append(samples / wall)
            costs[side].append(cpu / samples)
            time.sleep(0.02)  # the other side's idle threads go to sleep
    ours.close()
    (a, b), (c, d) = map(statistics.median, speeds), map(statistics.median, costs)
    print(f"{name + ' @ ' + str(batch):24} {threads:7} {a:11.1f} {b:11.1f} {a / b:7.2f} {wanted:7.1f} {c * 1e6:11.1f} "
          f"{d * 1e6:11.1f} {d / c:9.2f} {abs(ours.loss - theirs.loss):9.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
    parser.add_argument("--export", help="write the models into this folder and stop")
    arguments = parser.parse_args()
    if arguments.export:
        for name, network, sample, batch, _, _ in CASES:
            torch.manual_seed(1)
            print(export(arguments.export, f"{name}-{batch}", network(), sample, batch))
        return
    print(f"{'network @ batch':24} {'threads':>7} {'ours/s':>11} {'torch/s':>11} {'ratio':>7} {'wanted':>7} "
          f"{'ours cpu us':>11} {'torch cpu':>11} {'cpu ratio':>9} {'loss':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if arguments.only not in f"{case[0]} @ {case[3]}":
                continue
            for threads in map(int, arguments.threads.split(",")):
                compare(arguments.program, folder, case, threads, arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
