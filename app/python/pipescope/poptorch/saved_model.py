"""Files of models: PoplarExecutor.save, and poptorch.load, which makes a model from such a file."""

import io
import os
import pickle
import warnings
import zipfile

import numpy
import torch

from .. import torch_versions
from .errors import Error

_FORMAT = "pipescope.poptorch 1"


def file_of(path):
    """Return the path of a file to write: in a folder it is called model.poptorch. Makes the folder of the file."""
    path = os.path.join(path, "model.poptorch") if os.path.isdir(path) else path
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    return path


def write(path, executor, state, export_model):
    """Write the state (bytes) of a compiled model with the shapes of its inputs and, for load(), the model itself.

    If `export_model` is None, a model that cannot be pickled is left out with a warning.
    """
    if export_model is None:
        try:
            return write(path, executor, state, True)
        except Error as error:
            warnings.warn(f"{error} Only the state is saved.", stacklevel=3)
    content = {"format": _FORMAT, "state": state, "arguments": executor._traced.arguments,
               "example": executor._example, "blocks": executor._blocks}
    if export_model:
        content["model"] = (executor._module, executor._options, executor._optimizer, executor._training)
    try:
        torch.save(content, path)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Error(
            f"{type(executor._module).__name__} cannot be saved ({error}): define its classes at the top of a module, or "
            "pass export_model=False to save only its state."
        ) from error


def read(path):
    """Return what write() wrote. A file of another kind is an Error."""
    if not zipfile.is_zipfile(path):
        raise Error(f"{path} is no file of PoplarExecutor.save.")
    try:
        content = torch_versions.load(path)
    except (RuntimeError, pickle.UnpicklingError, AttributeError, ImportError, EOFError) as error:
        raise Error(f"{path} cannot be read as a saved model: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise Error(f"{path} is no file of PoplarExecutor.save.")
    return content


def tensors_of(state, without):
    """Return the content of a state (bytes of an .npz file), but for the names in `without`, as {name: tensor}."""
    content = numpy.load(io.BytesIO(state))
    return {name: torch.from_numpy(content[name]) for name in content.files if name not in without}


def with_state(tensors, current):
    """Return the state `current` (bytes of an .npz file) with other values of these tensors."""
    content = {name: value for name, value in numpy.load(io.BytesIO(current)).items()}
    for name, tensor in tensors.items():
        if name not in content or list(content[name].shape) != list(tensor.shape):
            raise Error("The state of the optimizer belongs to another model or to other settings of the optimizer: load it into "
                        "the same.")
        content[name] = tensor.detach().cpu().numpy().astype(content[name].dtype)
    file = io.BytesIO()
    numpy.savez(file, **content)
    return file.getvalue()


def example_of(content):
    """Return arguments (positional, named) of a call with the shapes of the model that was saved."""
    tensors = [tensor if content["blocks"] == 1 else torch.cat([tensor] * content["blocks"]) for tensor in content["example"]]
    return content["arguments"].build(tensors)
