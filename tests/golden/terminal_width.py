#!/usr/bin/env python3
"""Runs commands in terminals of several widths.

terminal_width.py PIPESCOPE SAMPLE shows help and the progress of a run of SAMPLE. A line of help fits the terminal, so that no word
is cut. A line of progress fits, too, because a longer one would stay on the screen instead of being overwritten.
"""
import fcntl
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios

HELP = [["help"], ["run", "--help"], ["report", "--help"], ["plan", "--help"], ["help", "execution.stages"], ["help", "schedule"],
        ["help", "training"], ["help", "stages"], ["help", "popart"], ["help", "decoder"], ["help", "fail-if"]]


def shown(command, columns):
    """Return what a command writes into a terminal with so many columns."""
    reader, writer = os.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command, stdin=writer, stdout=writer, stderr=writer) as process:
        os.close(writer)
        written = b""
        while True:
            try:
                part = os.read(reader, 65536)
            except OSError:  # the program has ended
                break
            if not part:
                break
            written += part
        os.close(reader)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} fails: {written.decode()}")
    return written.decode().replace("\r\n", "\n")


def check(lines, columns, command):
    for line in lines:
        if len(line) > columns:
            sys.exit(f"{' '.join(command)}: {len(line)} characters in a terminal of {columns} columns: {line}")


def main():
    program, sample = sys.argv[1:]
    for columns in (80, 100, 200):
        for topic in HELP:
            lines = shown([program, *topic], columns).split("\n")
            check(lines, min(columns, 112), topic)
            if len(lines) < 5:
                sys.exit(f"{' '.join(topic)} shows {lines}")
    with tempfile.TemporaryDirectory() as folder:
        for columns in (20, 40, 80, 132):
            command = [program, "run", sample, "--progress", "bar", "--overwrite", "-o", os.path.join(folder, "t.pop")]
            reports = shown(command, columns).split("\n")[0].split("\r\033[K")[1:]
            if not reports or not all(re.match("[█░]+", report) for report in reports):
                sys.exit(f"with {columns} columns the progress is {reports}")
            check(reports, columns - 1, command)
            if columns == 132 and not any("epoch 1/" in report for report in reports):
                sys.exit(f"the progress does not say what is done: {reports}")
    print("as wide as the terminal")


if __name__ == "__main__":
    main()
