"""Writes builders.golden: the losses of six updates that PyTorch makes of the builders' models.

The program makes the weights (seed 42, one run with learning rate 0 and --save-weights), PyTorch trains its own model
from them on the same samples, which come from a linear congruential generator that the test repeats. Lines: "name :
loss loss …". SGD, rate 0.01, micro-batches of 4, 8 samples, 3 epochs, not shuffled.

Usage: /usr/bin/python3 make_builder_golden.py PIPESCOPE > builders.golden      (torch 1.13, torchvision 0.14)
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torchvision
from torch import nn
from torchvision.models.vision_transformer import VisionTransformer

PROGRAM = os.path.abspath(sys.argv[1])
LABELS = torch.arange(8) % 5
MODELS = {
    "resnet": 'builder="resnet"\ndepth=18\nimage_size=16\nclasses=5\nstem="cifar"',
    "vit": 'builder="vit"\nlayers=2\nhidden=16\nheads=4\nfeed_forward=24\nimage_size=16\npatch_size=4\nclasses=5',
    "bert": 'builder="bert"\nlayers=2\nhidden=16\nheads=4\nfeed_forward=24\nsequence=6\npositions=8\nvocabulary=20\n'
            'head="classification"\nclasses=5',
}


def values(seed, count):
    """Multiples of 2^-24 in [0, 1)."""
    result = []
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) % 2**32
        result.append((seed >> 8) / 2**24)
    return np.array(result)


IMAGES = (values(7, 8 * 3 * 256) * 4 - 2).astype(np.float32).reshape(8, 3, 16, 16)
TOKENS = (values(8, 8 * 6) * 20).astype(np.int32).reshape(8, 6)


def weights(keys, samples):
    with tempfile.TemporaryDirectory() as folder:
        np.savez(folder + "/train.npz", samples=samples, labels=LABELS.numpy())
        with open(folder + "/m.toml", "w") as file:
            file.write("[model]\n%s\n[execution]\nmode = 'training'\nstrategy = 'sharded'\n"
                       "[training]\nmicro_batch_size = 4\noptimizer = 'sgd'\nlearning_rate = 0.0\n"
                       "[data]\ndataset = 'numpy'\ndirectory = '%s'\n" % (keys, folder))
        subprocess.run([PROGRAM, "run", folder + "/m.toml", "-o", folder + "/p.pop", "--progress", "off",
                        "--save-weights", folder + "/w.npz", "--system", "pod16"], check=True, stderr=subprocess.DEVNULL)
        return dict(np.load(folder + "/w.npz"))


def resnet(w):
    model = torchvision.models.resnet18(num_classes=5)
    model.conv1, model.maxpool = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.Identity()
    state = model.state_dict()
    for key, value in w.items():
        if key.startswith("optimizer/") or "running_" in key:  # running statistics moved; training does not read them
            continue
        name = key.replace("stem/conv", "conv1").replace("stem/norm", "bn1").replace("head/linear", "fc")
        name = re.sub(r"layer(\d)/block(\d)/", r"layer\1.\2.", name)
        name = name.replace("shortcut/conv", "downsample.0").replace("shortcut/norm", "downsample.1")
        name = name.replace("norm", "bn").replace("/", ".")
        assert name in state and state[name].shape == value.shape, key
        state[name] = torch.tensor(value)
    model.load_state_dict(state)
    return model, torch.tensor(IMAGES)


def layers(state, w, attention, feed_forward, names):
    """The weights of an encoder layer: PyTorch's names for the projections, the norms and the two linear layers."""
    for part in ("weight", "bias"):
        def own(path):
            return torch.tensor(w[path + "/" + part])
        state[names[0] + part] = torch.cat([own(attention + each) for each in ("query", "key", "value")])
        paths = [attention + "output", attention + "norm", feed_forward + "norm", feed_forward + "in", feed_forward + "out"]
        for name, path in zip(names[1:], paths):
            state[name + part] = own(path)


def vit(w):
    model = VisionTransformer(image_size=16, patch_size=4, num_layers=2, num_heads=4, hidden_dim=16, mlp_dim=24,
                              num_classes=5)
    state = model.state_dict()
    for name, path in (("class_token", "embeddings/class"), ("conv_proj.weight", "embeddings/patches/weight"),
                       ("conv_proj.bias", "embeddings/patches/bias"), ("encoder.pos_embedding", "embeddings/positions"),
                       ("encoder.ln.weight", "head/norm/weight"), ("encoder.ln.bias", "head/norm/bias"),
                       ("heads.head.weight", "head/classes/weight"), ("heads.head.bias", "head/classes/bias")):
        state[name] = torch.tensor(w[path])
    for i in range(2):
        at = "encoder.layers.encoder_layer_%d." % i
        linear = [at + k[len(at):-len("weight")] for k in state if k.startswith(at + "mlp.") and k.endswith("weight")]
        layers(state, w, "encoder/layer%d/attention/" % i, "encoder/layer%d/feed_forward/" % i,
               [at + "self_attention.in_proj_", at + "self_attention.out_proj.", at + "ln_1.", at + "ln_2."] + linear)
    model.load_state_dict(state)
    return model, torch.tensor(IMAGES)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.types = nn.Embedding(20, 16), nn.Embedding(8, 16), nn.Embedding(2, 16)
        self.norm = nn.LayerNorm(16, eps=1e-12)
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(16, 4, 24, 0.0, "gelu", 1e-12, batch_first=True) for _ in range(2)])
        self.pooler, self.classes = nn.Linear(16, 16), nn.Linear(16, 5)

    def forward(self, x):
        h = self.norm(self.tokens(x) + self.positions.weight[:6] + self.types.weight[0])
        for layer in self.layers:
            h = layer(h)
        return self.classes(torch.tanh(self.pooler(h[:, 0])))


def bert(w):
    model = Bert()
    state = model.state_dict()
    for name, path in (("tokens", "embeddings/tokens"), ("positions", "embeddings/positions"),
                       ("types", "embeddings/types"), ("norm", "embeddings/norm"), ("pooler", "head/pooler"),
                       ("classes", "head/classes")):
        for part in ("weight", "bias"):
            if path + "/" + part in w:
                state[name + "." + part] = torch.tensor(w[path + "/" + part])
    for i in range(2):
        at = "layers.%d." % i
        layers(state, w, "encoder/layer%d/attention/" % i, "encoder/layer%d/feed_forward/" % i,
               [at + "self_attn.in_proj_", at + "self_attn.out_proj.", at + "norm1.", at + "norm2.", at + "linear1.",
                at + "linear2."])
    model.load_state_dict(state)
    return model, torch.tensor(TOKENS).long()


for name, make in (("resnet", resnet), ("vit", vit), ("bert", bert)):
    model, samples = make(weights(MODELS[name], TOKENS if name == "bert" else IMAGES))
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        for first in (0, 4):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(samples[first:first + 4]), LABELS[first:first + 4])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    print(name, ":", *("%.9g" % loss for loss in losses))
