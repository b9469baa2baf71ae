"""Checks that the exported file has the weights that edit-checkpoint.py wrote."""
import sys

import numpy as np

raw = open(sys.argv[1], "rb").read()
assert raw[4:4 + 256] == np.arange(64, dtype=np.float32).tobytes()
