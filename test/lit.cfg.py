# lit configuration: run with `lit build/test` (or tools/test.sh).
# Features say what a machine can do: nvcc (compile for CUDA), oracle (PyTorch), chromium (look at
# pages), namespaces (a mount namespace for a test; absent on a machine with a GPU, which a
# namespace would not hide), emit (build emitted programs; absent with sanitizers, against whose
# runtime they do not link).
import os
import shutil
import subprocess

import lit.formats

config.name = "lwcc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".onnxtext", ".test"]
config.test_source_root = os.path.join(config.source_dir, "test")
config.test_exec_root = os.path.join(config.build_dir, "test")
config.excludes = ["unit", "parity", "models", "Inputs"]

bin_dir = os.path.join(config.build_dir, "bin")
config.environment["PATH"] = os.pathsep.join(
    [bin_dir, config.llvm_tools_dir, os.environ["PATH"]])
config.environment["LWCC_DEPS"] = config.deps
# Costs that a person has probed on this machine must not change plans.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
# Tests run side by side: threads of a trainer would wait for each other on a core that another
# test has, a hundred times longer than a step of LeNet-5 takes. So a device has one thread,
# unless a test says --threads, whatever else runs; e2e/threads.test and the README's commands
# have more.
config.environment["OMP_NUM_THREADS"] = "1"
# Else each trainer sets it itself and starts anew (runtime/cpu/Threads.cpp), as in these two.
config.environment["GOMP_SPINCOUNT"] = "20000"
for name in ("HOME", "CCACHE_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

oracle = os.path.join(config.deps, "oracle", "bin", "python")
config.substitutions.append(("%oracle", oracle))
config.substitutions.append(("%models", os.path.join(config.build_dir, "models")))
config.substitutions.append(("%src", config.source_dir))
config.substitutions.append(("%build", config.build_dir))
config.substitutions.append(("%deps", config.deps))

if not config.sanitize:
    config.available_features.add("emit")
if not os.path.exists("/dev/nvidiactl") and not subprocess.run(
        ["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode:
    config.available_features.add("namespaces")
if os.path.exists(oracle):
    config.available_features.add("oracle")
if shutil.which("chromium"):
    config.available_features.add("chromium")
nvcc = os.path.join(config.deps, "cuda", "bin", "nvcc")
if not os.path.exists(nvcc):
    nvcc = shutil.which("nvcc")
if nvcc:
    config.available_features.add("nvcc")
    config.substitutions.append(("%cuda", os.path.dirname(os.path.dirname(nvcc))))
