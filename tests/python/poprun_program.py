"""A program that poprun_test.py starts in several instances, or alone with as many replicas."""

import os
import sys

import pipescope.poptorch as poptorch
import torch
from pipescope import popdist

REPLICAS, CALLS, ACCUMULATION, BATCH = 4, 3, 2, 2


class Model(torch.nn.Module):
    """A network with dropout and batch norm, whose random numbers and statistics belong to replicas."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(),
                                          torch.nn.Dropout(0.5), torch.nn.Linear(8, 3))

    def forward(self, x, labels):
        return torch.nn.functional.cross_entropy(self.layers(x), labels)


def main():
    index, count = popdist.getInstanceIndex(), popdist.getNumInstances()
    options = popdist.poptorch.Options() if count > 1 else poptorch.Options().replicationFactor(REPLICAS)
    options.randomSeed(3).outputMode(poptorch.OutputMode.All)
    options.Training.gradientAccumulation(ACCUMULATION)
    torch.manual_seed(index)  # the weights of the first instance must reach the others
    model = Model()
    training = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    generator = torch.Generator().manual_seed(9)
    own, lines = REPLICAS // count, []
    for call in range(CALLS):
        x = torch.randn(ACCUMULATION, REPLICAS, BATCH, 6, generator=generator)
        labels = torch.randint(0, 3, (ACCUMULATION, REPLICAS, BATCH), generator=generator)
        part = slice(index * own, (index + 1) * own)
        losses = training(x[:, part].reshape(-1, 6), labels[:, part].reshape(-1)).reshape(ACCUMULATION, own)
        for step in range(ACCUMULATION):
            lines += [f"{index * own + replica} {call} {step} {losses[step, replica].item():.9e}" for replica in range(own)]
    for replica in range(own):
        norm = model.layers[1]
        lines.append(f"{index * own + replica} state {norm.running_mean.sum().item():.9e} {norm.weight.sum().item():.9e}")
    with open(os.path.join(sys.argv[1], f"{index}_of_{count}"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
