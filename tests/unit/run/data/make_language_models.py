#!/usr/bin/env python3
"""Makes language_models: small language models as people export them from PyTorch, with the loss outside and inside the
graph, their data, and what PyTorch's SGD makes of them (the loss of each update). Needs numpy and torch 1.13 (Debian:
python3-torch, python3-numpy). Run it in this folder."""
import json
import math
import os
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")
TOKENS, LENGTH, WIDTH, HEADS, BATCH, ROWS, RATE, IGNORED = 11, 6, 8, 2, 4, 24, 0.1, -100


class Block(nn.Module):
    """A transformer layer, causal or with a mask of padding."""
    def __init__(self, causal):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.causal = causal
        if causal:
            self.register_buffer("mask", torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH))

    def forward(self, x, padding=None):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = [p.view(batch, length, HEADS, width // HEADS).transpose(1, 2) for p in parts]
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // HEADS)
        if self.causal:
            scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        if padding is not None:
            scores = scores + (1.0 - padding[:, None, None, :].to(scores.dtype)) * -10000.0
        x = x + self.project((F.softmax(scores, -1) @ v).transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.feed(self.norm2(x))


class Gpt(nn.Module):
    """loss: None (outside), "reshaped", "transposed", "shifted", "self" (the labels are the next samples)
    or "chosen" (plain operators, whose result is the only output)."""
    def __init__(self, loss=None, tied=False):
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList([Block(True) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS, bias=False)
        if tied:
            self.head.weight = self.tokens.weight
        self.loss = loss

    def forward(self, ids, labels=None):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        scores = self.head(self.norm(x))
        if self.loss is None:
            return scores
        if self.loss == "transposed":
            return F.cross_entropy(scores.transpose(1, 2), labels), scores
        if self.loss == "reshaped":
            return F.cross_entropy(scores.view(-1, TOKENS), labels.view(-1)), scores
        if self.loss == "chosen":
            chosen = F.log_softmax(scores, -1).gather(-1, labels.unsqueeze(-1))
            return -chosen.mean(), scores
        labels = ids if self.loss == "self" else labels
        before, after = scores[:, :-1, :].contiguous(), labels[:, 1:].contiguous()
        return F.cross_entropy(before.view(-1, TOKENS), after.view(-1)), scores


class Lstm(nn.Module):
    """A model whose scores are (rows · positions) × tokens."""
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH, padding_idx=0)
        self.cells, self.head = nn.LSTM(WIDTH, WIDTH, 2, batch_first=True), nn.Linear(WIDTH, TOKENS)

    def forward(self, ids):
        return self.head(self.cells(self.tokens(ids))[0]).reshape(-1, TOKENS)


class Bert(nn.Module):
    """Masked tokens, with a mask of padding, token types and a tied head."""
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH, padding_idx=0), nn.Embedding(LENGTH, WIDTH)
        self.types, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList([Block(False) for _ in range(2)])
        self.dense, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, TOKENS)
        self.head.weight = self.tokens.weight

    def forward(self, input_ids, attention_mask, token_type_ids, labels):
        places = torch.arange(input_ids.shape[1])
        x = self.norm(self.tokens(input_ids) + self.types(token_type_ids) + self.places(places))
        for layer in self.layers:
            x = layer(x, attention_mask)
        scores = self.head(F.gelu(self.dense(x)))
        return F.cross_entropy(scores.view(-1, TOKENS), labels.view(-1)), scores


class Translator(nn.Module):
    """An encoder and a decoder."""
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(TOKENS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.body = nn.Transformer(WIDTH, HEADS, 1, 1, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.head = nn.Linear(WIDTH, TOKENS)
        self.register_buffer("mask", torch.triu(torch.full((LENGTH, LENGTH), float("-inf")), 1))

    def forward(self, source, target, labels):
        scores = self.head(self.body(self.source(source), self.target(target), tgt_mask=self.mask))
        return F.cross_entropy(scores.transpose(1, 2), labels), scores


class Tagger(nn.Module):
    """A model whose scores are rows × classes × positions, from a convolution, or transposed behind a product."""
    def __init__(self, convolves):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.head = nn.Conv1d(WIDTH, LENGTH, 3, padding=1) if convolves else nn.Linear(WIDTH, LENGTH)
        self.convolves = convolves

    def forward(self, ids):
        x = self.tokens(ids)
        return self.head(x.transpose(1, 2)) if self.convolves else self.head(x).transpose(1, 2)


class Alone(nn.Module):
    """Returns only the first result of a model."""
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(*inputs)[0]


def make(name, model, fields, opset, inside, alone=False):
    """fields: input → rows of it; `labels` is an input of the model if its loss is inside. alone: the loss is the only
    output."""
    model.train()
    inputs = [field for field in fields if inside or field != "labels"]
    first = tuple(fields[field][:BATCH] for field in inputs)
    outputs = ["loss"] if alone else ["loss", "scores"] if inside else ["scores"]
    axes = {field: {0: "batch"} for field in inputs + outputs if field != "loss"}
    os.makedirs(f"language_models/{name}", exist_ok=True)
    torch.onnx.export(Alone(model) if alone else model, first, f"language_models/{name}/model.onnx", opset_version=opset, input_names=inputs,
                      output_names=outputs, dynamic_axes=axes, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False)
    np.savez(f"language_models/{name}/train.npz", **{field: rows.numpy() for field, rows in fields.items()})
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    losses, correct, compared = [], 0, 0
    for row in range(0, ROWS, BATCH):
        part = {field: rows[row:row + BATCH] for field, rows in fields.items()}
        made = model(*[part[field] for field in inputs])
        scores = made[1] if inside else made
        labels = part.get("labels")
        if inside:
            loss = made[0]
        elif scores.dim() == 3 and scores.shape[1:] == (LENGTH, LENGTH):
            loss = F.cross_entropy(scores, labels)
        else:
            loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels.reshape(-1))
        if labels is not None:
            classes = scores.transpose(1, 2) if isinstance(model, Tagger) else scores
            right = classes.argmax(-1).reshape(labels.shape) == labels
            correct += right[labels != IGNORED].sum().item()
            compared += (labels != IGNORED).sum().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    golden = {"losses": losses}
    if compared > 0:
        golden["accuracy"] = correct / compared
    return golden


torch.manual_seed(4)
ids = torch.randint(1, TOKENS, (ROWS, LENGTH))
labels = torch.randint(1, TOKENS, (ROWS, LENGTH))
some = labels.clone()
some[:, ::3] = IGNORED
tags = labels % LENGTH
mask = torch.ones(ROWS, LENGTH, dtype=torch.int64)
mask[:, 5:] = 0
types = torch.zeros(ROWS, LENGTH, dtype=torch.int64)
types[:, 3:] = 1
text = {"ids": ids, "labels": labels}
golden = {
    "gpt": make("gpt", Gpt(), text, 13, False),
    "gpt_ignored": make("gpt_ignored", Gpt(tied=True), {"ids": ids, "labels": some}, 17, False),
    "gpt_reshaped": make("gpt_reshaped", Gpt("reshaped"), {"ids": ids, "labels": some}, 14, True),
    "gpt_transposed": make("gpt_transposed", Gpt("transposed"), text, 12, True),
    "gpt_shifted": make("gpt_shifted", Gpt("shifted", tied=True), text, 13, True),
    "gpt_self": make("gpt_self", Gpt("self"), {"ids": ids}, 13, True),
    "lstm": make("lstm", Lstm(), text, 13, False),
    "bert": make("bert", Bert(), {"input_ids": ids, "attention_mask": mask, "token_type_ids": types,
                                  "labels": some}, 15, True),
    "translator": make("translator", Translator(), {"source": ids, "target": labels, "labels": ids}, 13, True),
    "tagger_convolution": make("tagger_convolution", Tagger(True), {"ids": ids, "labels": tags}, 13, False),
    "tagger_product": make("tagger_product", Tagger(False), {"ids": ids, "labels": tags}, 13, False),
    "gpt_chosen": make("gpt_chosen", Gpt("chosen"), text, 13, True, True),
}
with open("language_models/golden.json", "w") as file:
    json.dump(golden, file, indent=1)
