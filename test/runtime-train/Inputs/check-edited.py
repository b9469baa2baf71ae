"""The weights that edit-checkpoint.py wrote are in the exported file."""
import sys

import numpy as np

raw = open(sys.argv[1], "rb").read()
assert raw[4:4 + 256] == np.arange(64, dtype=np.float32).tobytes()
