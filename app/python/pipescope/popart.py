"""The name of PopART, Graphcore's compiler, which programs of PopTorch import by the way. Emulated devices have no PopART."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"popart.{name} is not implemented: emulated devices have no PopART. Use poptorch, or compile an ONNX model "
                         "with pipescope.interface.")
