"""Writes the small files of this folder with NumPy and ImageMagick: what other programs write is read here.

Usage: /usr/bin/python3 make_files.py      (NumPy 1.24, ImageMagick 6.9; in this folder)
"""
import subprocess

import numpy as np

samples = np.arange(12, dtype=np.float32).reshape(3, 2, 2) / 4
labels = np.array([2, 0, 1], dtype=np.int64)
np.savez("stored.npz", samples=samples, labels=labels)
np.savez_compressed("packed.npz", samples=samples.astype(np.float16), labels=labels.astype(np.uint8))
np.save("scalar.npy", np.float64(2.5))
np.save("columns.npy", np.asfortranarray(samples[0]))
np.save("complex.npy", np.zeros(2, dtype=np.complex64))
np.save("big_endian.npy", samples.astype(">f4"))


def convert(*arguments):
    subprocess.run(["convert", *arguments], check=True)


# Six pixels: red, green, blue above black, grey 128, white.
pixels = bytes([255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 128, 128, 128, 255, 255, 255])
open("six.rgb", "wb").write(pixels)
convert("-size", "3x2", "-depth", "8", "rgb:six.rgb", "-strip", "PNG24:six.png")
convert("-size", "16x8", "xc:rgb(200,100,50)", "-strip", "-quality", "95", "even.jpg")
convert("-size", "4x4", "gradient:black-white", "-depth", "8", "-strip", "PNG8:grey.png")
subprocess.run(["rm", "six.rgb"], check=True)
