"""The networks of the benchmarks: files, or names that test/models knows."""

import os
import subprocess
import sys

MAKER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "..", "..", "test", "models", "make_models.py")


def model_file(model, folder, size="full"):
    """The file of a network; that of a name is made in the folder, at the size
    of its images ("full" or "small"), by the Python that runs this."""
    if model.endswith(".onnx"):
        return model
    subprocess.run([sys.executable, MAKER, folder, model, f"--size={size}",
                    "--exporter=legacy"], check=True, stderr=subprocess.DEVNULL)
    suffix = "-full" if size == "full" else ""
    return os.path.join(folder, f"{model}{suffix}.legacy.onnx")
