#!/usr/bin/env python3
"""Makes named_inputs: a model of two inputs that score a short text, its data by name, and what PyTorch's SGD makes of
it (losses of each update). Needs numpy, onnx and torch. Run it in this folder."""
import json
import os

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

ROWS, TEST_ROWS, LENGTH, TOKENS, WIDTH, SCORES, BATCH, RATE = 24, 8, 4, 11, 3, 2, 4, 0.5
random = np.random.default_rng(3)
table = random.standard_normal((TOKENS, WIDTH)).astype(np.float32)
weight = random.standard_normal((WIDTH, SCORES)).astype(np.float32)

nodes = [
    helper.make_node("Gather", ["table", "input_ids"], ["words"], "embed"),
    helper.make_node("Cast", ["attention_mask"], ["real_mask"], "cast", to=TensorProto.FLOAT),
    helper.make_node("Unsqueeze", ["real_mask", "last"], ["column"], "column"),
    helper.make_node("Mul", ["words", "column"], ["kept"], "mask"),
    helper.make_node("ReduceMean", ["kept"], ["mean"], "pool", axes=[1], keepdims=0),
    helper.make_node("MatMul", ["mean", "weight"], ["scores"], "score"),
]
graph = helper.make_graph(
    nodes, "named_inputs",
    [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", LENGTH]) for name in ("input_ids", "attention_mask")],
    [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", SCORES])],
    [numpy_helper.from_array(table, "table"), numpy_helper.from_array(weight, "weight"),
     numpy_helper.from_array(np.array([2], np.int64), "last")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
os.makedirs("named_inputs", exist_ok=True)
onnx.save(model, "named_inputs/model.onnx")


def data(rows):
    return {"input_ids": random.integers(0, TOKENS, (rows, LENGTH)),
            "attention_mask": random.integers(0, 2, (rows, LENGTH)).astype(np.uint8),
            "classes": random.integers(0, SCORES, rows),
            "targets": random.standard_normal((rows, SCORES)).astype(np.float32)}


def forward(parameters, part):
    words = parameters[0][torch.from_numpy(part["input_ids"])]
    kept = words * torch.from_numpy(part["attention_mask"]).float()[:, :, None]
    return kept.mean(1) @ parameters[1]


def loss_of(kind, scores, part):
    if kind == "cross_entropy":
        return torch.nn.functional.cross_entropy(scores, torch.from_numpy(part["classes"]))
    return torch.nn.functional.mse_loss(scores, torch.from_numpy(part["targets"]))


train, test = data(ROWS), data(TEST_ROWS)
golden = {}
for kind, labels in (("cross_entropy", "classes"), ("mse", "targets")):
    parameters = [torch.tensor(table, requires_grad=True), torch.tensor(weight, requires_grad=True)]
    optimizer = torch.optim.SGD(parameters, RATE)
    losses = []
    for first in range(0, ROWS, BATCH):
        part = {name: rows[first:first + BATCH] for name, rows in train.items()}
        loss = loss_of(kind, forward(parameters, part), part)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    golden[kind] = {"losses": losses, "validation": loss_of(kind, forward(parameters, test), test).item()}
    for split, rows in (("train", train), ("test", test)):
        folder = f"named_inputs/{kind}"
        os.makedirs(folder, exist_ok=True)
        np.savez(f"{folder}/{split}.npz", input_ids=rows["input_ids"], attention_mask=rows["attention_mask"],
                 labels=rows[labels])
with open("named_inputs/golden.json", "w") as file:
    json.dump(golden, file, indent=1)
