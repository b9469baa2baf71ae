"""close.py A B TOLERANCE: fails unless two safetensors files hold the same
tensors, within a relative Euclidean distance."""

import sys

import numpy as np
from safetensors.numpy import load_file

a, b = load_file(sys.argv[1]), load_file(sys.argv[2])
if set(a) != set(b):
    sys.exit(f"different tensors: {sorted(set(a) ^ set(b))}")
square = sum(float(np.sum((a[k].astype(np.float64) - b[k]) ** 2)) for k in a)
norm = sum(float(np.sum(b[k].astype(np.float64) ** 2)) for k in a)
distance = (square / norm) ** 0.5
if not distance <= float(sys.argv[3]):
    sys.exit(f"distance {distance:.1e}")
