"""Writes optimizers.golden: what PyTorch's optimizers and learning-rate schedulers compute.

Weights and gradients come from formulas that the test repeats. Lines: "rule NAME key=value … : w0 w1 w2 w3" after ten
updates in double precision; "rate KIND key=value … : r0 r1 …", the rate of each of twelve updates.

Usage: /usr/bin/python3 make_optimizer_golden.py > optimizers.golden      (torch 1.13)
"""
import math

import torch
from torch.optim import lr_scheduler

RULES = [
    ("sgd", torch.optim.SGD, dict(lr=0.1), {}),
    ("sgd", torch.optim.SGD, dict(lr=0.1, momentum=0.9, weight_decay=0.02), {}),
    ("sgd", torch.optim.SGD, dict(lr=0.1, momentum=0.8, weight_decay=0.02, nesterov=True), {}),
    ("adam", torch.optim.Adam, dict(lr=0.05), {}),
    ("adam", torch.optim.Adam, dict(lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1), {}),
    ("adamw", torch.optim.AdamW, dict(lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1), {}),
    ("adamax", torch.optim.Adamax, dict(lr=0.05, betas=(0.8, 0.95), weight_decay=0.1), {}),
    ("rmsprop", torch.optim.RMSprop, dict(lr=0.01), {}),
    ("rmsprop", torch.optim.RMSprop, dict(lr=0.01, alpha=0.9, eps=1e-4, weight_decay=0.1, momentum=0.7), {}),
    ("rmsprop", torch.optim.RMSprop, dict(lr=0.01, alpha=0.9, momentum=0.7, centered=True), {}),
]
NAMES = {"lr": "learning_rate", "eps": "epsilon"}


def settings(options):
    words = []
    for key, value in options.items():
        if key == "betas":
            words += ["beta1=%g" % value[0], "beta2=%g" % value[1]]
        else:
            words.append("%s=%g" % (NAMES.get(key, key), value))
    return " ".join(words)


for name, rule, options, _ in RULES:
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    optimizer = rule([weights], **options)
    for step in range(10):
        weights.grad = torch.tensor([math.sin(1.0 + step + 0.7 * i) for i in range(4)], dtype=torch.float64)
        optimizer.step()
    print("rule", name, settings(options), ":", *("%.12g" % w for w in weights.tolist()))

RATES = [
    ("step", lambda o: lr_scheduler.StepLR(o, 3, 0.5), "stepSize=3 gamma=0.5"),
    ("multi_step", lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 9], 0.1), "milestones=2,5,9 gamma=0.1"),
    ("exponential", lambda o: lr_scheduler.ExponentialLR(o, 0.8), "gamma=0.8"),
    ("linear", lambda o: lr_scheduler.LinearLR(o, 1.0, 0.25, 8), "total=8 end=0.1"),
    ("cosine", lambda o: lr_scheduler.CosineAnnealingLR(o, 12, 0.05), "total=12 end=0.05"),
    ("polynomial", lambda o: lr_scheduler.PolynomialLR(o, 10, 2.0), "total=10 power=2"),
]
for kind, make, text in RATES:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
    scheduler = make(optimizer)
    rates = []
    for _ in range(12):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    print("rate", kind, "base=0.4", text, ":", *("%.12g" % r for r in rates))
