#!/usr/bin/env python3
"""Reads the metrics of a run with readers that are written here from the formats' descriptions.

metrics_files.py PIPESCOPE CONFIGURATION trains and infers with --metrics, --metrics-prometheus and --metrics-tensorboard, decodes
the event file (TFRecord with CRC-32C, Event and Summary messages) and the text file of Prometheus, and compares both with the
JSON lines. A second run must add an event file and leave the first one alone.
"""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile


def crc32c(data):
    """Bit by bit, as RFC 3720 defines it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, check = struct.unpack_from("<QI", data, at)
        assert check == masked(data[at:at + 8]), "the checksum of a length is wrong"
        content = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(content), "the checksum of a record is wrong"
        yield content
        at += length + 16


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The (number, value) of all fields of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert kind == 2, f"wire type {kind}"
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        yield tag >> 3, value


def events(path):
    """The scalars of an event file as (step, tag, value)."""
    with open(path, "rb") as file:
        messages = [dict(fields(record)) for record in records(file.read())]
    assert messages[0][3] == b"brain.Event:2", messages[0]
    times = [message[1] for message in messages]
    assert times == sorted(times) and times[0] > 1.5e9, "the wall times are wrong"
    scalars = []
    for message in messages[1:]:
        for number, value in fields(message[5]):
            assert number == 1
            scalar = dict(fields(value))
            scalars.append((message[2], scalar[1].decode(), scalar[2]))
    return scalars


def prometheus(path):
    """The values of a file in Prometheus' text format by (name, labels)."""
    values, types = {}, {}
    with open(path) as file:
        for line in file:
            if line.startswith("# HELP "):
                continue
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                assert name not in types, f"{name} is declared twice"
                types[name] = kind
                continue
            name, labels, value = re.fullmatch(r'([a-z_]+)\{((?:[a-z]+="[^"]*",?)+)\} (\S+)\n', line).groups()
            assert (types[name] == "counter") == name.endswith("_total"), line
            values[name, dict(re.findall(r'([a-z]+)="([^"]*)"', labels))["kind"]] = float(value)
    return values


NAMES = ["loss", "accuracy", "learning_rate", "loss_scale", "gradient_norm"]


def expected_events(lines):
    expected, updates = [], 0
    for line in lines:
        updates = line["updates"] or updates
        step = line["call"] if line["kind"] == "inference" else updates
        expected += [(step, f"{line['kind']}/{name}", line[name]) for name in NAMES if line[name] is not None]
    return expected


def main():
    binary, configuration = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        names = {key: os.path.join(folder, name)
                 for key, name in [("lines", "m.jsonl"), ("text", "m.prom"), ("events", "runs")]}
        command = [binary, "run", configuration, "-o", os.path.join(folder, "p.pop"), "--progress", "off",
                   "--dataset", "synthetic", "--samples", "8000", "--test-samples", "1000", "--set", "model.input=[1, 28, 28]",
                   "--set", "inference.device_iterations=10", "--metrics", names["lines"],
                   "--metrics-prometheus", names["text"], "--metrics-tensorboard", names["events"]]
        subprocess.run(command, check=True, capture_output=True, text=True)
        with open(names["lines"]) as file:
            lines = [json.loads(line) for line in file]
        assert {line["kind"] for line in lines} == {"training", "inference"}, lines
        [first] = os.listdir(names["events"])
        assert first.startswith("events.out.tfevents."), first
        found, expected = events(os.path.join(names["events"], first)), expected_events(lines)
        assert len(found) == len(expected) > len(lines), (len(found), len(expected))
        for one, other in zip(found, expected):
            assert one[:2] == other[:2] and math.isclose(one[2], other[2], rel_tol=1e-6), (one, other)
        values = prometheus(names["text"])
        for kind in ("training", "inference"):
            own = [line for line in lines if line["kind"] == kind]
            assert values["pipescope_calls_total", kind] == len(own)
            assert values["pipescope_samples_total", kind] == sum(line["samples"] for line in own)
            for name in NAMES:
                last = [line[name] for line in own if line[name] is not None][-1:]
                assert [values[key] for key in [(f"pipescope_{name}", kind)] if key in values] == last or \
                    math.isclose(values[f"pipescope_{name}", kind], last[0], rel_tol=1e-11), (kind, name)
        assert values["pipescope_updates_total", "training"] == [line for line in lines if line["updates"] is not None][-1]["updates"]
        before = os.stat(os.path.join(names["events"], first))
        subprocess.run(command, check=True, capture_output=True, text=True)
        assert len(os.listdir(names["events"])) == 2
        assert os.stat(os.path.join(names["events"], first)).st_mtime_ns == before.st_mtime_ns


main()
