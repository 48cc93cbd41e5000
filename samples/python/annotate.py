#!/usr/bin/env python3
"""Annotates a training loop, so that the profile tells what the program itself does.

annotate.py [PROFILE]: trains a small model and writes a profile with the program's own spans, events and series.
"""

import sys

import numpy
from pipescope import interface, trace

MODEL = """
[model]
name = "small"
input = [16]
[[model.layers]]
type = "linear"
name = "scores"
block = "A"
out_features = 4
[training]
micro_batch_size = 8
gradient_accumulation = 4
[execution]
mode = "training"
"""

channel = trace.channel("program")
loss = trace.series("training", "loss")
rows = numpy.random.default_rng(1)


@channel.tracepoint("make a batch")
def batch():
    with channel.tracepoint("draw samples"):
        samples = rows.normal(size=(32, 16)).astype(numpy.float32)
    labels = numpy.abs(samples[:, :4]).argmax(axis=1).astype(numpy.int32)
    return samples, labels


def main():
    profile = sys.argv[1] if len(sys.argv) > 1 else "annotated.pop"
    program = interface.compile(MODEL, "small")
    device = interface.Device(program, profile)
    device.attach()
    executable = interface.Executable(program, 0)
    names = [name for name, _, _ in executable.info.inputs]
    for step in range(20):
        result = executable.call(device, f"step {step}", dict(zip(names, batch())))
        loss.add(result["losses"].mean())
        if step % 10 == 9:
            channel.event("checkpoint")
    device.finish()
    print(f"{profile} is written; see pipescope report {profile} --section host")


if __name__ == "__main__":
    main()
