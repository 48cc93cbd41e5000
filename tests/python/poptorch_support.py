"""Shared parts of the tests of pipescope.poptorch: the tutorial's network."""

import importlib.util
import os

import pipescope.poptorch as poptorch
import torch

SAMPLES = os.environ["PIPESCOPE_SAMPLES"]


def load_sample():
    """Import samples/poptorch/mnist.py."""
    spec = importlib.util.spec_from_file_location("mnist", os.path.join(SAMPLES, "poptorch", "mnist.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def options(device_iterations=1, accumulation=7, strategy=None, mode=None):
    """Options with four stages, the tutorial's split, unless a strategy is given."""
    made = poptorch.Options()
    made.deviceIterations(device_iterations)
    made.Training.gradientAccumulation(accumulation)
    made.setExecutionStrategy(strategy or poptorch.PipelinedExecution("B1", "B2", "B3", "B4"))
    if mode is not None:
        made.outputMode(mode)
    return made


def network(seed=1):
    """The network with its loss, with weights from the seed."""
    mnist = load_sample()
    torch.manual_seed(seed)
    return mnist.TrainingModelWithLoss(mnist.Network())


def digits(rows, seed=2):
    """Images and labels that are drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(rows, 1, 28, 28, generator=generator)
    return images, torch.randint(0, 10, (rows,), generator=generator)
