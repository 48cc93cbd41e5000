#!/usr/bin/env python3
"""Generates ONNX's backend node cases: make_cases.py FOLDER

Needs python3-onnx and python3-numpy. FOLDER/node holds a folder for each case (model.onnx, test_data_set_0 with
input_N.pb and output_N.pb), FOLDER/cases.tsv names each case's operator. Does nothing where the folder is
complete and of the same versions.
"""
import os
import shutil
import sys

import numpy as np

# The packaged generator uses names that NumPy 1.24 took away.
for name, type_ in (("bool", bool), ("int", int), ("float", float), ("complex", complex), ("object", object), ("str", str)):
    if name not in np.__dict__:
        setattr(np, name, type_)

import onnx  # noqa: E402
from onnx import defs  # noqa: E402
from onnx.backend.test import cmd_tools  # noqa: E402


def operator_of(case, model):
    """The operator that a case is about: the one its name begins with, or else its first node's."""
    flat = case[len("test_"):].replace("_", "").lower()
    names = {schema.name for schema in defs.get_all_schemas_with_history()}
    here = {node.op_type for node in model.graph.node}
    for candidates in (here, names):
        matches = [name for name in candidates if flat.startswith(name.lower())]
        if matches:
            return max(matches, key=len)
    return model.graph.node[0].op_type


def complete_adam(folder):
    """Adds epsilon 0.01 to the node of test_adam_multiple. The generator computes the outputs with it, but leaves it out
    of the node, whose default is 1e-6."""
    path = os.path.join(folder, "node", "test_adam_multiple", "model.onnx")
    model = onnx.load(path)
    node = model.graph.node[0]
    if not any(attribute.name == "epsilon" for attribute in node.attribute):
        node.attribute.append(onnx.helper.make_attribute("epsilon", 1e-2))
        onnx.save(model, path)


def main():
    folder = sys.argv[1]
    stamp = os.path.join(folder, "complete")
    version = f"onnx {onnx.__version__} numpy {np.__version__} adam\n"
    if os.path.exists(stamp) and open(stamp).read() == version:
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "node"))  # newer generators list it before they make it
    sys.argv = ["make_cases.py", "generate-data", "-o", folder]
    cmd_tools.main()
    complete_adam(folder)
    cases = sorted(os.listdir(os.path.join(folder, "node")))
    with open(os.path.join(folder, "cases.tsv"), "w") as table:
        for case in cases:
            model = onnx.load(os.path.join(folder, "node", case, "model.onnx"))
            table.write(f"{case}\t{operator_of(case, model)}\n")
    for other in os.listdir(folder):
        if other not in ("node", "cases.tsv"):
            shutil.rmtree(os.path.join(folder, other))
    with open(stamp, "w") as file:
        file.write(version)


main()
