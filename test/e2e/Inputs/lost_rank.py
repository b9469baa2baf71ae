"""lost_rank.py CHECKPOINTS COMMAND...: kills rank 1 of 3 behind the second checkpoint."""

import os
import socket
import subprocess
import sys
import time

checkpoints, *command = sys.argv[1:]
with socket.socket() as probe:  # a port that is free
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
said = {**os.environ, "LWCC_RANKS": "3", "LWCC_SECRET": "lit",
        "LWCC_ADDRESS": f"127.0.0.1:{port}"}
ranks = [subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env={**said, "LWCC_RANK": str(rank)})
         for rank in range(3)]
deadline = time.time() + 60
saved = 0  # of the second, rank 0 has told the others the first
while time.time() < deadline and saved < 2:
    time.sleep(0.02)
    if os.path.isdir(checkpoints):
        saved = sum(entry.startswith("step-") for entry in os.listdir(checkpoints))
ranks[1].kill()
for number, rank in enumerate(ranks):
    _, text = rank.communicate(timeout=30)
    last = text.splitlines()[-1] if text else ""
    print(f"rank {number}: exit code {rank.returncode}, {last}")
