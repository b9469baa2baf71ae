"""PyTorch's side of the comparison of speed, a server for speed.py.

Reads requests from standard input and answers each with a line, both JSON:
  {"network", "batch", "precision"}  a process of its own for this network, which
      tries both memory layouts and keeps the quicker one; its layout, seconds a
      step and peak memory
  {"measure": SECONDS}               of that process: so long, behind a second of
      warm-up; the median time from the end of a step to the end of the next
  {"close": true}                    ends that process
PyTorch is loaded once, before the GPU is touched; a process per network begins
with an empty GPU, so that no network's memory counts for another. The first line
tells the versions.
"""

import json
import math
import os
import statistics
import sys
import time

WARM_UP, TRIAL = 1.0, 0.3  # seconds


class Training:
    def __init__(self, torch, request, layout):
        from networks import build
        self.torch = torch
        tf32 = request["precision"] == "tf32"
        torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = True
        network, shape = build(request["network"], "full")
        self.network = network.cuda().to(memory_format=layout)
        images = torch.randn(request["batch"], *shape, device="cuda")
        self.images = images.to(memory_format=layout)
        self.labels = torch.zeros(request["batch"], dtype=torch.int64,
                                  device="cuda")
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=1e-4, momentum=0.9, weight_decay=5e-4,
            fused=True)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        outputs = self.network(self.images)
        self.torch.nn.functional.cross_entropy(outputs, self.labels).backward()
        self.optimizer.step()

    def warm_up(self, seconds):
        """Seconds a step, roughly."""
        self.step()  # chooses algorithms
        self.torch.cuda.synchronize()
        start, steps = time.monotonic(), 0
        while steps < 2 or time.monotonic() - start < seconds:
            self.step()
            self.torch.cuda.synchronize()
            steps += 1
        return (time.monotonic() - start) / steps

    def measure(self, seconds):
        expected = self.warm_up(WARM_UP)
        while True:
            steps = max(10, math.ceil(1.1 * seconds / expected))
            events = [self.torch.cuda.Event(enable_timing=True)
                      for _ in range(steps + 1)]
            events[0].record()
            for event in events[1:]:
                self.step()
                event.record()
            self.torch.cuda.synchronize()
            total = events[0].elapsed_time(events[-1]) * 1e-3
            if total >= seconds:
                break
            expected = total / steps
        times = [a.elapsed_time(b) * 1e-3 for a, b in zip(events, events[1:])]
        return dict(step_s=statistics.median(times), steps=steps, seconds=total)


def serve(torch, request, answer):
    """The whole life of a network's process."""
    tried = {}
    for name in ("NCHW", "channels-last"):
        layout = (torch.contiguous_format if name == "NCHW"
                  else torch.channels_last)
        torch.cuda.reset_peak_memory_stats()
        training = Training(torch, request, layout)
        seconds = training.warm_up(TRIAL)
        tried[name] = dict(step_s=seconds, layout=layout,
                           bytes=torch.cuda.max_memory_reserved())
        del training
        torch.cuda.empty_cache()
    name = min(tried, key=lambda each: tried[each]["step_s"])
    training = Training(torch, request, tried[name].pop("layout"))
    answer(layout=name, **tried[name])
    while True:
        request = json.loads(sys.stdin.readline() or '{"close": true}')
        if "measure" not in request:
            return
        answer(**training.measure(request["measure"]))


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    root = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(root, "models"))
    try:
        import torch
        __import__("networks")  # with torchvision, once
        # Not cuDNN's: to ask for it touches the GPU, which no child can then.
        answer(torch=torch.__version__, cuda=torch.version.cuda)
    except Exception as error:
        return answer(error=f"{type(error).__name__}: {error}")
    # One line at a time: what was read ahead would be lost to the process.
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "network" not in request:
            continue  # meant for a process that has ended
        child = os.fork()
        if child == 0:
            code = 0
            try:
                serve(torch, request, answer)
            except BaseException as error:
                answer(error=f"{type(error).__name__}: {error}")
                code = 1
            os._exit(code)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            answer(error=f"ended by signal {os.WTERMSIG(status)}")


if __name__ == "__main__":
    main()
