#!/usr/bin/env python3
"""Makes the corpora of data_fuzz and text_fuzz: make_data_corpus.py CORPUS. Both hold small files, each of another kind."""
import gzip
import io
import os
import struct
import sys
import zipfile
import zlib

import numpy

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def array_file(array):
    out = io.BytesIO()
    numpy.save(out, array)
    return out.getvalue()


def archive(method, **arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, array in arrays.items():
            file.writestr(zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0)), array_file(array), method)
    return out.getvalue()


def idx(*extents):
    count = int(numpy.prod(extents))
    return struct.pack(">I", 0x0800 | len(extents)) + struct.pack(">%dI" % len(extents), *extents) + bytes(i % 7 for i in range(count))


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width, height, colour, channels, depth=8):
    rows = b"".join(b"\0" + bytes((x * y) % 251 for x in range(width * channels * depth // 8)) for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def data_files():
    yield "floats.npy", array_file(numpy.arange(12, dtype="<f4").reshape(3, 4))
    yield "wide.npy", array_file(numpy.arange(5, dtype="<i8"))
    yield "truth.npy", array_file(numpy.array([True, False]))
    yield "scalar.npy", array_file(numpy.float16(1.5))
    yield "big_endian.npy", array_file(numpy.arange(3, dtype=">f4"))
    yield "empty.npy", array_file(numpy.zeros((0, 4), "<f4"))
    yield "stored.npz", archive(zipfile.ZIP_STORED, x=numpy.arange(6, dtype="<f4"), y=numpy.arange(2, dtype="<i4"))
    yield "packed.npz", archive(zipfile.ZIP_DEFLATED, x=numpy.zeros((20, 20), "<f4"), y=numpy.arange(20, dtype="<i8"))
    yield "labels.idx", idx(9)
    yield "images.idx", idx(2, 4, 4)
    yield "images.idx.gz", gzip.compress(idx(2, 4, 4), mtime=0)
    yield "grey.png", png(5, 4, 0, 1)
    yield "colour.png", png(4, 4, 2, 3)
    yield "deep.png", png(3, 3, 6, 4, 16)
    with open(os.path.join(ROOT, "tests/unit/data/data/even.jpg"), "rb") as file:
        yield "colour.jpg", file.read()


def text_files():
    for place in ("samples/fixed/imbalanced.toml", "samples/fixed/zero_bubble.toml", "samples/mnist/two_stages.toml",
                  "samples/mnist/eight_gaudis.toml", "resources/devices/mk2.toml", "resources/devices/h100.toml",
                  "resources/systems/hls-gaudi2.toml", "resources/systems/dgx-h100.toml"):
        with open(os.path.join(ROOT, place), "rb") as file:
            yield place.split("/", 1)[1].replace("/", "_"), file.read()
    yield "rules.toml", b"""[[rule]]
name = 'forward (\\d+)\\.(\\d+)'
stage = "{name.1}"
micro_batch = "{name.2}"
pass = "forward"
also = [{ pass = "backward", micro_batch = "{order}" }]
[[rule]]
category = "nccl.*"
args.layer = '(.*)'
pass = "collective"
group = "{args.layer.1}"
"""
    yield "order.csv", b"stage,pass,micro_batch\n0,forward,0\n1,forward,0 # the last stage\n\n1,backward,0\n0,backward,0\n"
    yield "layout.txt", b"--pipeline-model-parallel-layout Et*2|(t|)*3tL"
    yield "parts.txt", b"[0, 3, 8]"
    yield "table.csv", b'\xef\xbb\xbfname,"time, us",note\nfirst,1.5,"a ""quoted"" word"\n\nsecond,2,\n'
    yield "deep.toml", b"a" + b".a" * 300 + b" = 1"
    yield "decoder.toml", b"""[model]
builder = "decoder"
layers = 2
hidden = 64
heads = 4
vocabulary = 100
sequence = 16
experts = 4
[execution]
tensor_parallel = 2
strategy = "pipelined"
schedule = "1f1b"
stages = 2
[training]
micro_batch_size = 2
gradient_accumulation = 4
[system]
name = "dgx-h100"
"""


def main():
    for kind, files in (("data", data_files()), ("text", text_files())):
        folder = os.path.join(sys.argv[1], kind)
        os.makedirs(folder, exist_ok=True)
        for name, content in files:
            with open(os.path.join(folder, name), "wb") as out:
                out.write(content)


if __name__ == "__main__":
    main()
