"""Writes mnist_adamw.golden: what PyTorch computes for the tutorial's MNIST network.

Weights, samples and labels come from a linear congruential generator that the test repeats. Five AdamW steps of three
micro-batches of four samples each; the gradient is the mean over micro-batches. Lines: the three losses of each step;
then per weight its name, sum, sum of absolute values and first element after the last step; then the predictions of
the last micro-batch in the last step's forward pass.

Usage: /usr/bin/python3 make_golden.py > mnist_adamw.golden      (torch 1.13)
"""
import torch
from torch import nn

torch.set_num_threads(1)
STEPS, MICRO_BATCHES, BATCH = 5, 3, 4


def values(seed, count):
    """Multiples of 2^-24 in [0, 1)."""
    state, result = seed, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        result.append((state >> 8) / 2**24)
    return result


def tensor(seed, shape, scale, shift):
    count = 1
    for extent in shape:
        count *= extent
    return (torch.tensor(values(seed, count), dtype=torch.float64) * scale + shift).to(torch.float32).reshape(shape)


model = nn.Sequential(
    nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
    nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(),
    nn.Flatten(), nn.Linear(320, 256), nn.ReLU(),
    nn.Linear(256, 10))
names = {"0.weight": "layer1/conv/weight", "0.bias": "layer1/conv/bias", "3.weight": "layer2/conv/weight",
         "3.bias": "layer2/conv/bias", "7.weight": "layer3/linear/weight", "7.bias": "layer3/linear/bias",
         "9.weight": "layer4/linear/weight", "9.bias": "layer4/linear/bias"}
with torch.no_grad():
    for seed, (name, parameter) in enumerate(model.named_parameters()):
        parameter.copy_(tensor(1000 + seed, list(parameter.shape), 0.25, -0.125))

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
for step in range(STEPS):
    optimizer.zero_grad()
    losses = []
    for micro_batch in range(MICRO_BATCHES):
        seed = 7 + step * MICRO_BATCHES + micro_batch
        samples = tensor(seed, [BATCH, 1, 28, 28], 2.0, -0.5)
        labels = torch.tensor([int(v * 10) for v in values(500 + seed, BATCH)])
        scores = model(samples)
        loss = criterion(scores, labels)
        losses.append(loss.item())
        (loss / MICRO_BATCHES).backward()
    optimizer.step()
    print("losses", *("%.9g" % loss for loss in losses))
for name, parameter in model.named_parameters():
    p = parameter.detach().double()
    print("weight", names[name], "%.12g %.12g %.9g" % (p.sum().item(), p.abs().sum().item(), p.flatten()[0].item()))
print("scores", *("%.9g" % v for v in scores.detach().flatten().tolist()))
