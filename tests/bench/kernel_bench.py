#!/usr/bin/python3
"""Compares single operators with PyTorch on one thread: kernel_bench.py PATH/kernel_bench [ROUNDS] [NAME-PART].

Both run in turn, timed by the thread's processor time; of each the median over the rounds counts. ratio = PyTorch's time / ours: above 1 we are faster.
"""
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)


def conv_cases():
    cases = {}
    for channels, extent in ((64, 32), (128, 16), (256, 8), (512, 4)):
        x = torch.rand(32, channels, extent, extent)
        w = torch.rand(channels, channels, 3, 3)
        args = (None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        back = torch.ops.aten.convolution_backward
        name = f"conv{channels}"
        cases[name] = lambda x=x, w=w: F.conv2d(x, w, padding=1)
        cases[name + "_input"] = lambda x=x, w=w, a=args: back(x, x, w, *a, [True, False, False])
        cases[name + "_weight"] = lambda x=x, w=w, a=args: back(x, x, w, *a, [False, True, False])
    return cases


def all_cases():
    cases = conv_cases()
    tokens, wide, w = torch.rand(1024, 256), torch.rand(1024, 1024), torch.rand(256, 1024)
    heads, keys, scores = torch.rand(32, 128, 64), torch.rand(32, 64, 128), torch.rand(32, 128, 128)
    planes, channel, weight, bias = torch.rand(32, 64, 32, 32), torch.rand(64), torch.rand(256), torch.rand(256)
    aten = torch.ops.aten
    mean, inverse = torch.rand(1024, 1), torch.rand(1024, 1)
    split, row, other = torch.rand(8, 128, 4, 64), torch.rand(1024), torch.rand(1024, 1024)
    ups = torch.rand(32, 128, 128)
    cases.update({
        "linear": lambda: tokens @ w,
        "linear_input": lambda: wide @ w.t(),
        "linear_weight": lambda: tokens.t() @ wide,
        "attention_scores": lambda: heads @ keys,
        "attention_values": lambda: scores @ heads,
        "softmax": lambda: torch.softmax(scores, -1),
        "softmax_gradient": lambda: aten._softmax_backward_data(ups, scores, -1, torch.float32),
        "layer_norm": lambda: F.layer_norm(tokens, (256,), weight, bias),
        "layer_norm_gradient": lambda: aten.native_layer_norm_backward(
            tokens, tokens, [256], mean, inverse, weight, bias, [True, True, True]),
        "batch_norm": lambda: aten.native_batch_norm(planes, channel, channel, channel, channel, True, 0.1, 1e-5),
        "batch_norm_gradient": lambda: aten.native_batch_norm_backward(
            planes, planes, channel, channel, channel, channel, channel, True, 1e-5, [True, True, True]),
        "gelu": lambda: F.gelu(wide),
        "gelu_gradient": lambda: aten.gelu_backward(other, wide),
        "relu": lambda: torch.relu(planes),
        "add": lambda: wide + other,
        "add_bias": lambda: wide + row,
        "tanh": lambda: torch.tanh(wide),
        "exp": lambda: torch.exp(wide),
        "sum_rows": lambda: wide.sum(1),
        "sum_columns": lambda: wide.sum(0),
        "transpose_heads": lambda: split.transpose(1, 2).contiguous(),
        "max_pool": lambda: F.max_pool2d(planes, 2, 2),
        "average_pool": lambda: F.adaptive_avg_pool2d(planes, 1),
    })
    return cases


def median_nanoseconds(function, seconds):
    times, start = [], time.thread_time()
    while len(times) < 3 or time.thread_time() - start < seconds:
        before = time.thread_time_ns()
        function()
        times.append(time.thread_time_ns() - before)
    return statistics.median(times)


def main():
    program = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    print(f"{'case':24} {'ours us':>10} {'torch us':>10} {'ratio':>7}")
    with torch.no_grad():
        for name, function in all_cases().items():
            if part not in name:
                continue
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(float(subprocess.check_output([program, name, "0.15"])))
                theirs.append(median_nanoseconds(function, 0.15))
            a, b = statistics.median(ours), statistics.median(theirs)
            print(f"{name:24} {a / 1000:10.1f} {b / 1000:10.1f} {b / a:7.2f}")


if __name__ == "__main__":
    main()
