"""interrupt.py INT|TERM|HUP CHECKPOINTS COMMAND...: a signal to a trainer after its first steps."""

import os
import signal
import subprocess
import sys
import tempfile
import time

name, checkpoints, *command = sys.argv[1:]
# Children inherit ignored signals; nohup ignores SIGHUP.
signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)
with tempfile.TemporaryDirectory() as folder:
    log = os.path.join(folder, "log")
    trainer = subprocess.Popen(command + [f"--log={log}"])
    deadline = time.time() + 60
    while time.time() < deadline and trainer.poll() is None:
        if os.path.exists(log) and os.path.getsize(log):
            break
        time.sleep(0.02)
    trainer.send_signal(getattr(signal, "SIG" + name))
    code = trainer.wait(timeout=60)
written = [entry for entry in os.listdir(checkpoints)
           if os.path.exists(os.path.join(checkpoints, entry, "model.safetensors"))]
print(f"exit code {code}, {len(written)} checkpoint" + "s" * (len(written) != 1))
