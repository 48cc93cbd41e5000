#!/usr/bin/python3
"""Trains a small BERT on made-up text: masked words are guessed from their neighbours.

Four emulated IPUs hold embeddings and layers. The weights of the words are tied to those of the last layer, norms and
biases have no weight decay, and --half trains in half precision. --profile writes a profile that pipescope-gui opens.
"""

import argparse

import pipescope.poptorch as poptorch
import torch
from torch import nn

MASK = 0  # the word that hides another one


class Attention(nn.Module):
    """Every word looks at all others, in several heads."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output, self.dropout = nn.Linear(width, width), nn.Dropout(dropout)

    def split(self, x):
        batch, words, width = x.shape
        return x.reshape(batch, words, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x, bias):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(query, key.transpose(2, 3)) / query.shape[3] ** 0.5 + bias
        mixed = torch.matmul(self.dropout(torch.softmax(scores, 3)), value)
        return self.output(mixed.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    """Attention and two products, each with a norm behind it."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention, self.attention_norm = Attention(width, heads, dropout), nn.LayerNorm(width)
        self.inner, self.outer, self.norm = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, bias):
        x = self.attention_norm(x + self.dropout(self.attention(x, bias)))
        return self.norm(x + self.dropout(self.outer(nn.functional.gelu(self.inner(x)))))


class Bert(nn.Module):
    """Embeddings, layers on IPUs of their own, and scores of all words."""

    def __init__(self, words, length, width, heads, layers, dropout):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads, dropout) for _ in range(layers))
        self.scores = nn.Linear(width, words)
        nn.init.normal_(self.words.weight, std=0.1)
        self.scores.weight = self.words.weight  # tied, so both lie on IPU 0

    def forward(self, ids, mask, labels=None):
        with poptorch.Block("embedding", ipu_id=0):
            places = torch.arange(ids.shape[1]).expand(ids.shape)
            x = self.norm(self.words(ids) + self.places(places))
            bias = ((1.0 - mask) * -1000.0).to(x.dtype).reshape(mask.shape[0], 1, 1, mask.shape[1])
        for number, layer in enumerate(self.layers):
            with poptorch.Block(f"layer{number}", ipu_id=1 + number % 3):
                x = layer(x, bias)
        with poptorch.Block("scores", ipu_id=0):
            scores = self.scores(x)
            if labels is None:
                return scores
            flat = scores.reshape(-1, scores.shape[2])
            loss = nn.functional.cross_entropy(flat, labels.reshape(-1), ignore_index=-100)
            return {"loss": poptorch.identity_loss(loss, "none"), "scores": scores}


def make_text(samples, words, length, generator):
    """Return sentences out of three, cut at the end, their masks, and labels for the hidden sixth of their words."""
    sentences = torch.randint(1, words, (3, length), generator=torch.Generator().manual_seed(1))
    ids = sentences[torch.randint(0, 3, (samples,), generator=generator)]
    used = torch.randint(length // 2, length + 1, (samples, 1), generator=generator)
    mask = (torch.arange(length) < used).float()
    hidden = (torch.rand(samples, length, generator=generator) < 1 / 6) & (mask > 0)
    hidden[:, 0] = True
    return ids.masked_fill(hidden, MASK), mask, ids.masked_fill(~hidden, -100)


def optimizer_of(model, arguments):
    """AdamW without weight decay for norms and biases."""
    plain = [p for name, p in model.named_parameters() if "norm" in name or name.endswith("bias")]
    rest = [p for name, p in model.named_parameters() if not ("norm" in name or name.endswith("bias"))]
    groups = [{"params": rest, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    return poptorch.optim.AdamW(groups, lr=arguments.learning_rate, loss_scaling=128.0 if arguments.half else 1.0)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=32)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--gradient-accumulation", type=int, default=12)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--learning-rate", type=float, default=0.005)
    parser.add_argument("--half", action="store_true", help="Train in half precision")
    parser.add_argument("--profile", metavar="DIR", help="Write a profile into this folder")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    model = Bert(arguments.words, arguments.length, arguments.width, 4, arguments.layers, 0.05)
    model = model.half() if arguments.half else model
    options = poptorch.Options().randomSeed(3)
    options.Training.gradientAccumulation(arguments.gradient_accumulation)
    options.setExecutionStrategy(poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))
    options.outputMode(poptorch.OutputMode.All)
    if arguments.profile:
        options.enableProfiling(arguments.profile)
    training = poptorch.trainingModel(model, options, optimizer_of(model, arguments))
    rows = arguments.batch_size * arguments.gradient_accumulation
    for call in range(1, arguments.calls + 1):
        ids, mask, labels = make_text(rows, arguments.words, arguments.length, generator)
        results = training(ids, mask.half() if arguments.half else mask, labels=labels)
        if call % 10 == 0:
            right = (results["scores"].argmax(2) == labels)[labels != -100].float().mean().item()
            print(f"Call {call}  loss {results['loss'].mean().item():0.4f}  right {right * 100:0.1f}%")
    print(f"One call takes {training.emulatedSecondsPerCall() * 1e3:0.3f} ms on the emulated IPUs.")
    training.destroy()


if __name__ == "__main__":
    main()
