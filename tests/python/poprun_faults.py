"""A program whose instance 1 fails in its second call: poprun_faults.py die|raise FOLDER."""

import os
import signal
import sys

import numpy
from pipescope import interface, popdist
from small_model import TRAINING


def main():
    first, kind = popdist.getInstanceIndex() == 0, sys.argv[1]
    program = interface.compile(TRAINING, "small")
    device = interface.Device(program, os.path.join(sys.argv[2], "profile.pop") if first and kind == "die" else "")
    device.attach()
    executable = interface.Executable(program, 0)
    values = (numpy.ones((1, 2), numpy.float32), numpy.zeros(1, numpy.int32))
    rows = {name: value for (name, _, _), value in zip(executable.info.inputs, values)}
    for call in range(3):
        if call == 1 and not first and kind == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if call == 1 and not first:
            raise RuntimeError("the reason")
        executable.call(device, f"call {call}", rows)


if __name__ == "__main__":
    main()
