"""gpu_bundle.py BUNDLE WORK [TEST]: tests run.py of tools/gpu/bundle without a GPU.

Programs, PyTorch, nvidia-smi and cmake are replaced by scripts that behave as their
names say (good, hangs, crashes, ...). The tests check what run.py reports of them.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

BUNDLE, WORK = map(os.path.abspath, sys.argv[1:3])

# Hangs until it is stopped or the test is over, even if run.py is killed first.
HANG = r'''
import os, sys, time
def hang():
    with open(os.environ["PIDS"], "a") as file: file.write(f"{os.getpid()}\n")
    while not os.path.exists(os.environ["PIDS"] + ".over"): time.sleep(0.1)
    sys.exit(1)
'''
# A trainer that prints the losses of 3 steps, a benchmark or a trace; its name says how it fails.
TRAINER = HANG + r'''
import json, os, sys, time
name = os.path.basename(sys.argv[0])
flags = dict(f.lstrip("-").partition("=")[::2] for f in sys.argv[1:])
if "hangs" in name and "PIDS" in os.environ: hang()
if "crashes" in name: os.kill(os.getpid(), 11)
if "devices" in name and os.environ["LWCC_DEVICES"] != "0,0,0": sys.exit("devices?")
if "trace" in flags: open(flags["trace"], "w").write("{}")
with open(flags.get("log", os.devnull), "w") as log:
    if "benchmark" in flags:
        print("  step  median 4.000 ms,\n  note  no graph")
        record = dict(benchmark=int(flags["benchmark"]), median_s=0.004,
                      held_bytes=1000000000)
        log.write(json.dumps(record) + "\n")
        sys.exit()
    for step in range(2 if "short" in name else 3):
        loss = 2.0 + ("wrong" in name) + 1e-3 * ("tf32" in name)
        if "random" in name and "deterministic" in flags: loss += os.getpid() * 1e-9
        log.write(json.dumps(dict(step=step, loss=loss, lr=0.1)) + "\n")
'''
OPS_CHECK = HANG + r'''
import os, sys, time
part = sys.argv[1]
if os.environ.get("STARTS") == "no":
    sys.exit("libcudnn.so.9: cannot open shared object file")
if part == "--list": print("machine\nbad\nhangs\nfaults")
if part == "machine":
    if os.environ.get("GPU") == "no":
        print("ops-check: no NVIDIA driver", file=sys.stderr); sys.exit(77)
    print("4 checks, 0 failed")
if part == "bad": print("FAILED conv\n5 checks, 2 failed"); sys.exit(1)
if part == "hangs" and "PIDS" in os.environ: hang()
if part == "faults": os.kill(os.getpid(), 11)
'''
PYTORCH = r'''
import json, os, sys, time
def answer(**f): print(json.dumps(f), flush=True)
answer(torch="2.fake")
while line := sys.stdin.readline():
    request = json.loads(line)
    if request.get("network") == "peer-dies": sys.exit("out of memory")
    if request.get("network") == "peer-hangs": time.sleep(600)
    if "network" in request: answer(layout="NCHW", step_s=0.008, bytes=2000000000)
    if "measure" in request: answer(step_s=0.008, steps=300, seconds=2.4)
'''
SMI = r'''
import os
print("name, driver_version, compute_cap, memory.total [MiB], memory.free [MiB]")
print(f"Fake H200, 580.1, {os.environ.get('CAPABILITY', '9.0')}, 143771 MiB, 140000 MiB")
'''
# A cmake whose build makes what WORK/built holds, and fails.
CMAKE = r'''
import os, shutil, sys
open(os.environ["CMAKE_LOG"], "a").write(" ".join(sys.argv[1:]) + "\n")
if sys.argv[1] == "--build":
    shutil.copytree(os.environ["BUILT"], sys.argv[2] + "/bin")
    print("FAILED: good-tf32\nkernel.cu(3): error: no such thing"); sys.exit(1)
'''
# Starts run.py with a shorter limit for programs that hang.
START = ("import sys; sys.path.insert(0, sys.argv[1]); import checks, speed, run; "
         "checks.LONGEST = speed.LONGEST = {longest}; run.SHARES.update({shares}); "
         "sys.argv = ['run.py'] + sys.argv[2:]; sys.exit(run.main())")
LOSSES = ["good", "good-tf32", "hangs", "crashes", "wrong", "random", "short",
          "devices"]


def script(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(f"#!{sys.executable} -S\n{text}")
    os.chmod(path, 0o755)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def files_below(folder):
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs)


class GpuBundle(unittest.TestCase):
    def setUp(self):
        self.work = os.path.join(WORK, self.id().split(".")[-1])
        shutil.rmtree(self.work, ignore_errors=True)
        self.bundle, self.out = self.at("bundle"), self.at("out")
        shutil.copytree(BUNDLE, self.bundle,
                        ignore=shutil.ignore_patterns("__pycache__"))
        script(f"{self.bundle}/pytorch.py", PYTORCH)
        script(self.at("tools/nvidia-smi"), SMI)
        script(self.at("tools/cmake"), CMAKE)
        os.makedirs(f"{self.bundle}/expected")
        for name in LOSSES:
            expected = dict(steps=3, lr=0.1, momentum=0.9, weight_decay=0, seed=1,
                            precision="tf32" if "tf32" in name else "fp32",
                            devices=3 if name == "devices" else 1, cpu=[2.0] * 3,
                            double=[2.0] * 3, single=[2.0] * 3, tf32=[2.0] * 3)
            with open(f"{self.bundle}/expected/{name}.json", "w") as file:
                json.dump(expected, file)
        speeds = [("good", "net", True), ("good-tf32", "peer-dies", False),
                  ("crashes", "net", True), ("random", "peer-hangs", False),
                  ("wrong", "net", False)]
        with open(f"{self.bundle}/speed.json", "w") as file:
            json.dump([dict(program=p, network=n, batch=8, precision="fp32",
                            model="m.onnx", trace=t) for p, n, t in speeds], file)
        script(self.at("programs/ops-check-cuda"), OPS_CHECK)
        for name in LOSSES:
            script(self.at(f"programs/{name}"), TRAINER)
        self.environment = dict(
            os.environ, PATH=self.at("tools"), OUT=self.out, PIDS=self.at("pids"),
            CMAKE_LOG=self.at("cmake.log"), BUILT=self.at("programs"),
            TMPDIR=self.at("tmp"))
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)
        os.makedirs(self.at("tmp"))

    def tearDown(self):
        with open(self.at("pids.over"), "w"):
            pass

    def at(self, path):
        return os.path.join(self.work, path)

    def carry(self):
        with tarfile.open(f"{self.bundle}/binaries.tar.xz", "w:xz") as tar:
            tar.add(self.at("programs"), ".")
        with open(f"{self.bundle}/binaries.json", "w") as file:
            json.dump({"architecture": 90}, file)

    def start(self, *flags, shares="", longest=10, **environment):
        self.before = files_below(self.bundle)
        return subprocess.Popen(
            [sys.executable, "-B", "-c", START.format(shares=shares, longest=longest),
             self.bundle, "--seconds=400", *flags], cwd=self.work, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(self.environment, **environment))

    def run_it(self, *flags, **options):
        process = self.start(*flags, **options)
        self.text = process.communicate()[0]
        self.check_traces_left()
        return process.returncode

    def check_traces_left(self):
        """No process is left, and no file in the bundle or in /tmp."""
        self.assertEqual(files_below(self.bundle), self.before)
        self.assertEqual(os.listdir(self.at("tmp")), [])
        self.assertFalse([p for p in self.pids() if is_alive(p)])

    def pids(self):
        if not os.path.exists(self.at("pids")):
            return []
        with open(self.at("pids")) as file:
            return file.read().split()

    def records(self, part=None):
        with open(f"{self.out}/results.jsonl") as file:
            entries = [json.loads(line) for line in file]
        return [e for e in entries if part in (None, e["part"])]

    def last_line(self):
        with open(f"{self.out}/results.txt") as file:
            written = file.read()
        self.assertTrue(written.endswith(self.text))
        return self.text.strip().splitlines()[-1]

    def test_everything_goes_on(self):
        self.carry()
        self.assertEqual(self.run_it(), 1, self.text)
        good = {r["name"]: r["good"] for r in self.records("losses")}
        self.assertEqual(good, {name: name in ("good", "good-tf32", "devices")
                                for name in LOSSES})
        parts = {r["name"]: (r["checks"], r["failed"])
                 for r in self.records("operators")}
        self.assertEqual(parts, {"machine": (4, 0), "bad": (5, 2), "hangs": (1, 1),
                                 "faults": (1, 1)})
        errors = {r["name"]: r["error"] for r in self.records("losses")
                  if "error" in r}
        self.assertIn("still running after", errors["hangs"])
        self.assertEqual(errors["crashes"], "ended by signal 11")
        self.assertEqual(errors["short"], "2 losses, not 3")
        # The sides take turns, and each runs long enough.
        speeds = self.records("speed")
        sides = [r["side"] for r in speeds if r["name"] == "good"]
        self.assertEqual(sides, ["lwcc", "PyTorch"] * 2)
        for record in speeds:
            if record.get("side") == "lwcc":
                self.assertGreaterEqual(record["benchmark"] * 0.004, 1)
        self.assertIn("| good | 2,000 2,000 | 1,000 1,000 | NCHW | 2.00 | 1.00 | 2.00 |",
                      self.text)
        self.assertIn("2.00 |\n    note  no graph\n", self.text)
        # Without PyTorch the row has lwcc's half; the next program has PyTorch again.
        self.assertIn("PyTorch's process ended: out of memory", self.text)
        self.assertIn("PyTorch: no answer within", self.text)
        self.assertIn("| wrong | 2,000 2,000 | 1,000 1,000 |", self.text)
        self.assertEqual([r["file"] for r in self.records("trace") if "file" in r],
                         ["good.trace.json"])
        self.assertTrue(os.path.exists(f"{self.out}/good.trace.json"))
        # 4 + 3 of operators, 3 losses, 1 trace, 4 speeds; 2 + 1 + 1, 5, 1, 1.
        self.assertEqual(self.last_line(), "15 passed, 11 failed")
        self.assertFalse(os.path.exists(self.at("cmake.log")))

    def test_a_second_run_appends(self):
        self.carry()
        self.run_it("--only=traces")
        first = self.records()
        self.run_it("--only=traces")
        self.assertEqual(len(self.records()), 2 * len(first))
        self.assertEqual(self.last_line(), "1 passed, 1 failed")

    def test_no_gpu(self):
        self.carry()
        self.assertEqual(self.run_it(GPU="no"), 77)
        self.assertEqual(self.last_line(), "run.py: no GPU here, nothing was tested: "
                         "ops-check: no NVIDIA driver")
        self.assertIn("unpacked 9 programs", self.text)

    def test_what_cannot_be_built(self):
        os.remove(self.at("programs/good-tf32"))
        del self.environment["PIDS"]  # nothing hangs
        for tool, generator, go_on in (("make", "Unix Makefiles", "-- -k"),
                                       ("ninja", "Ninja", "-- -k 0")):
            script(self.at(f"tools/{tool}"), "")
            self.assertEqual(self.run_it("--only=checks"), 1)
            with open(self.at("cmake.log")) as file:
                configure, build = file.read().splitlines()
            self.assertIn(f"-G {generator}", configure)
            self.assertIn("-DLWCC_CUDA_ARCHITECTURES=90", configure)
            self.assertTrue(build.endswith(go_on), build)
            os.remove(self.at("cmake.log"))
            self.assertIn("kernel.cu(3): error: no such thing", self.text)
            self.assertIn("**FAIL** good-tf32: was not built", self.text)
            self.assertIn("| good | fp32 | 0.0e+00 |", self.text)

    def test_carried_programs_that_are_of_no_use(self):
        self.carry()
        script(self.at("programs/ops-check-cuda"), OPS_CHECK.replace("STARTS", "X"))
        self.run_it("--only=traces", STARTS="no")
        self.assertIn("do not start here (libcudnn.so.9: cannot open", self.text)
        self.assertEqual(self.last_line(), "1 passed, 1 failed")
        self.run_it("--only=traces", CAPABILITY="8.0")
        self.assertIn("for sm_90 and newer, this GPU is sm_80", self.text)
        self.assertEqual(self.last_line(), "1 passed, 1 failed")
        with open(f"{self.bundle}/binaries.tar.xz", "r+b") as file:
            file.truncate(200)
        self.run_it("--only=traces")
        self.assertIn("binaries.tar.xz cannot be unpacked", self.text)
        self.assertEqual(self.last_line(), "1 passed, 1 failed")

    def test_time_that_is_over(self):
        self.carry()
        self.assertEqual(self.run_it(shares="checks=0, speed=0"), 1)
        left_out = self.records("end")[-1]["left_out"]
        self.assertEqual(sorted(left_out), sorted(
            [f"operators {part}" for part in ("machine", "bad", "hangs", "faults")]
            + [f"losses {name}" for name in LOSSES]
            + [f"speed {name}" for name in ("good", "good-tf32", "crashes",
                                            "random", "wrong")]))
        self.assertIn("no time was left for: " + ", ".join(left_out), self.text)
        self.assertEqual(self.last_line(), "1 passed, 1 failed")

    def test_what_the_time_cuts_off(self):
        """What is stopped before its own time limit counts as neither passed nor failed."""
        script(self.at("programs/ops-check-cuda"),
               OPS_CHECK.replace("machine\\nbad\\nhangs\\nfaults", "hangs"))
        for name in LOSSES:
            if name != "hangs":
                os.remove(f"{self.bundle}/expected/{name}.json")
        with open(f"{self.bundle}/speed.json", "w") as file:
            json.dump([dict(program="hangs", network="net", batch=8, trace=True,
                            precision="fp32", model="m.onnx")], file)
        self.carry()
        self.assertEqual(self.run_it(
            longest=300, shares="checks=10/400, traces=6/390, speed=12/380"), 1)
        self.assertEqual(sorted(self.records("end")[-1]["left_out"]), [
            "losses hangs", "operators hangs", "speed hangs", "trace hangs"])
        self.assertEqual(self.last_line(), "0 passed, 0 failed")

    def interrupt(self, number):
        self.carry()
        process = self.start()
        deadline = time.time() + 120
        while time.time() < deadline and not (
                os.path.exists(f"{self.out}/results.jsonl")
                and any(r["name"] == "good" for r in self.records("losses"))
                and self.pids()):
            time.sleep(0.05)
        process.send_signal(number)
        self.text = process.communicate()[0]
        self.assertTrue(any(r["name"] == "good" for r in self.records("losses")))
        return process.returncode

    def test_terminated(self):
        self.assertEqual(self.interrupt(signal.SIGTERM), 128 + signal.SIGTERM)
        self.assertEqual(self.last_line(), "run.py: ended by signal 15; what is "
                         "above was measured")
        self.check_traces_left()

    def test_killed(self):
        self.assertEqual(self.interrupt(signal.SIGKILL), -signal.SIGKILL)
        # Everything printed is in the file; its last line may not be printed yet.
        with open(f"{self.out}/results.txt") as file:
            self.assertIn(self.text, file.read())

    def test_nobody_reads_the_output(self):
        self.carry()
        process = self.start("--only=traces")
        process.stdout.close()
        self.assertEqual(process.wait(), 1)
        self.assertEqual(self.records("end")[-1]["passed"], 1)

    def test_results_cannot_be_written(self):
        self.carry()
        with open(self.out, "w"):
            pass
        self.assertEqual(self.run_it(), 1)
        self.assertEqual(self.text.count("\n"), 1, self.text)
        self.assertIn("run.py: [Errno 17] File exists", self.text)


def main():
    """Runs the tests side by side, each by this script in a process of its own: most of
    their time they wait."""
    if len(sys.argv) > 3:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
    names = unittest.TestLoader().getTestCaseNames(GpuBundle)
    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(lambda name: subprocess.run(
            [sys.executable, __file__, BUNDLE, WORK, f"GpuBundle.{name}"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT), names))
    for name, result in zip(names, ran):
        print(name, result.stdout, sep="\n")
    return any(result.returncode for result in ran)


if __name__ == "__main__":
    sys.exit(main())
