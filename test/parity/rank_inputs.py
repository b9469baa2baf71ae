"""Starts ranks that cannot train together: each says why, and all end.

  rank_inputs.py [NAME ..] [--messages=100000] [--jobs=4]

NAME is one of the cases that it prints. Each has a message, as a pattern, that some
rank writes, and the exit code 1 of all; nothing is left running, nothing hangs, and no
stack trace is shown. Three more send bytes to the port of rank 0 while it waits:
garbage, half a message, and --messages random ones. It then still trains with the ranks
that come. Prints a table, and `N of N as they should be`.
"""

import argparse
import os
import random
import re
import socket
import struct
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from rank_team import (MARK, RankError, Ranks, compiled, free_port, model_file, table)

BATCH, GPUS, PATIENCE, TRAINED = 32, 4, 20, "done in"
CRASHES = re.compile(r"terminate called|Segmentation|core dumped|Sanitizer|backtrace|"
                     r"caught signal|what\(\):|assertion", re.I)

# What takes from root the right to the system's ports.
WITHOUT_PORTS = ["setpriv", "--bounding-set=-net_bind_service", "--"]


class Case:
    """What is started, and what is expected of it."""
    def __init__(self, programs, folder):
        self.program, self.other, self.folder = *programs, folder
        self.synthetic = [self.program, "--data=synthetic", "--steps=3"]
        self.whole = self.numbers("whole", 96, 1)

    def team(self, count=GPUS, command=None, start=True, **variables):
        return Ranks(command or self.synthetic, count, start=start,
                     **{"LWCC_START_SECONDS": "4", **variables})

    def numbers(self, name, count, seed):
        """A folder of images, written without numpy."""
        folder = f"{self.folder}/{name}"
        os.makedirs(folder, exist_ok=True)
        rng = random.Random(seed)
        write_array(f"{folder}/images.npy", "|u1", (count, 28, 28),
                    rng.randbytes(count * 784))
        write_array(f"{folder}/labels.npy", "<i8", (count,), struct.pack(
            f"<{count}q", *(rng.randrange(10) for _ in range(count))))
        return folder

    # Each starts ranks, and returns them with the pattern of what they say.

    def missing_one(self):
        team = self.team(start=False)
        for rank in (0, 1, 3):
            team.start(rank)
        return team, r"of 4 ranks these did not come to \S+ within 4 s: 2\b"

    def missing_all(self):
        team = self.team(start=False)
        team.start(0)
        return team, r"within 4 s: 1, 2, 3\b"

    def missing_rank_0(self):
        team = self.team(start=False)
        for rank in (1, 2):
            team.start(rank)
        return team, r"rank 0 is not at 127\.0\.0\.1:\d+ after 4 s"

    def two_of_one_number(self):
        team = self.team(start=False)
        for rank in (0, 1, 2):  # the last one does not come, so that rank 0 waits
            team.start(rank)
        team.start(1, "again")
        return team, r"two processes are rank 1 \("

    def another_binary(self):
        team = self.team(start=False)
        for rank in range(GPUS):
            team.start(rank, command=[self.other, *self.synthetic[1:]] if rank == 2
                       else None)
        return team, r"all ranks must run the same program(.|\n)*rank 2 \("

    def other_samples(self):
        return self.data_of_rank_3(self.numbers("small", 70, 1)), (
            r"rank 3 \([^)]*\): its training data are others: 70 samples, 96 for rank 0")

    def other_labels(self):
        return self.data_of_rank_3(self.numbers("odd", 96, 2)), (
            r"rank 3 \([^)]*\): its training data are others: .*with other labels")

    def no_data(self):
        return self.data_of_rank_3(None), r"rank 3 \([^)]*\): [^\n]*data"

    def data_of_rank_3(self, data):
        """Rank 3 finds other data under the same name: it runs in a folder of its
        own, which env -C enters."""
        team = self.team(start=False)
        for rank in range(GPUS):
            here = f"{team.folder}/{rank}"
            os.makedirs(here)
            source = data if rank == 3 else self.whole
            if source:
                os.symlink(source, f"{here}/data")
            team.start(rank, command=["env", "-C", here, self.program, "--data=data",
                                      "--steps=3"])
        return team

    def port_of_the_system(self):
        if not are_ports_kept():
            return None, "ports below 1024 are free for all here"
        team = self.team(start=False, LWCC_ADDRESS="127.0.0.1:81")
        team.start(0, command=[*WITHOUT_PORTS, *self.synthetic] if os.getuid() == 0
                   else None)
        return team, r"cannot listen at 127\.0\.0\.1:81: Permission denied; ports below"

    def port_in_use(self):
        port = free_port()
        team = self.team(start=False, LWCC_ADDRESS=f"127.0.0.1:{port}")
        team.listener = socket.create_server(("127.0.0.1", port))
        team.start(0)
        return team, rf"cannot listen at 127\.0\.0\.1:{port}: Address already in use"

    def address_of_another_machine(self):
        team = self.team(start=False, LWCC_ADDRESS="192.0.2.1:29500")
        team.start(0)
        return team, r"cannot listen at 192\.0\.2\.1:29500.*an address of this machine"

    def unknown_host(self):
        return self.team(2, LWCC_ADDRESS="no.such.host.invalid:29500"), (
            r"no\.such\.host\.invalid: ")

    def another_secret(self):
        team = self.team(start=False)
        for rank in range(GPUS):
            team.start(rank, **({"LWCC_SECRET": "guessed"} if rank == 3 else {}))
        return team, r"did not come(.|\n)*turned away: rank 3 \(.*another LWCC_SECRET"

    def another_count(self):
        team = self.team(3, start=False)
        for rank in range(3):
            team.start(rank, **({"LWCC_RANKS": "4"} if rank == 2 else {}))
        return team, r"turned away: rank 2 \(.*it is one of 4 ranks, not of 3"

    def more_ranks_than_devices(self):
        return self.team(5), r"5 ranks: this program is for 4 devices"

    def more_by_ranks(self):
        return self.alone("--ranks=5"), r"5 ranks: this program is for 4 devices"

    def no_secret(self):
        return self.team(LWCC_SECRET=""), r"LWCC_SECRET is not set"

    def no_address(self):
        return self.team(LWCC_ADDRESS=""), r"does not say where rank 0 is: set LWCC_ADDRESS"

    def address_without_port(self):
        return self.team(LWCC_ADDRESS="127.0.0.1"), r"LWCC_ADDRESS=127.0.0.1: expected HOST"

    def address_with_a_word(self):
        return self.team(LWCC_ADDRESS="localhost:http"), r"LWCC_ADDRESS=localhost:http: exp"

    def address_with_port_0(self):
        return self.team(LWCC_ADDRESS="127.0.0.1:0"), r"LWCC_ADDRESS=127.0.0.1:0: expected"

    def address_with_a_large_port(self):
        return self.team(LWCC_ADDRESS="127.0.0.1:70000"), r"127.0.0.1:70000: expected HOST"

    def rank_too_large(self):
        team = self.team(start=False)
        team.start(4)
        return team, r"LWCC_RANK=4, but LWCC_RANKS=4: ranks are counted from 0"

    def rank_no_number(self):
        team = self.team(start=False)
        team.start("-1")
        return team, r"LWCC_RANK=-1: expected a number from 0"

    def no_ranks(self):
        team = self.team(start=False, LWCC_RANKS="0")
        team.start(0)
        return team, r"LWCC_RANKS"

    def ranks_beside_a_launcher(self):
        return self.team(command=[*self.synthetic, "--ranks=3"]), (
            r"--ranks=3: LWCC_RANK has started 4; leave the flag out")

    def ranks_of_a_word(self):
        return self.alone("--ranks=some"), r"--ranks"

    def wrong_flag(self):
        return self.team(command=[*self.synthetic, "--lr=fast"]), r"--lr"

    def wrong_data_by_ranks(self):
        return self.alone("--ranks=4", "--data=/no/such/folder"), r"/no/such/folder"

    def alone(self, *flags):
        """By --ranks: without what a launcher says."""
        team = self.team(start=False, LWCC_RANKS=None, LWCC_ADDRESS=None, LWCC_SECRET=None)
        team.start(0, command=[*self.synthetic, *flags], LWCC_RANK=None)
        return team


def are_ports_kept():
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start") as file:
        return int(file.read()) > 81


def write_array(path, kind, shape, data):
    """As numpy's .npy."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


def crashes(team):
    """What looks like a stack trace, or None."""
    text = team.everything()
    return CRASHES.search(text) and f"crashed:\n{text}"


def check(case, name):
    """What is wrong with a case, "" if nothing, and how it ended."""
    team, pattern = getattr(case, name)()
    if team is None:
        return "", f"left out: {pattern}"
    with team:
        start = time.monotonic()
        codes = team.wait(PATIENCE)
        seconds = time.monotonic() - start
        said = "\n".join(team.said(each) for each in codes)
        found = re.search(pattern, said)
        how = f"{seconds:.1f} s: {found[0].splitlines()[0] if found else ''}"
        if hasattr(team, "listener"):
            team.listener.close()
        if set(codes.values()) != {1}:
            return f"exit codes {codes}\n{team.everything()}", how
        if not found:
            return f"nothing like {pattern!r}:\n{team.everything()}", how
        if team.left():
            return f"{len(team.left())} processes are left", how
        return crashes(team) or "", how


#  What comes to the port of rank 0

def message(kind, contents, size=None):
    return struct.pack("<BQ", kind, len(contents) if size is None else size) + contents


def deliver(address, data, closes=True, patience=0.1):
    """Sends bytes from a connection of its own, and waits a little for an answer."""
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=5)
    try:
        connection.sendall(data)
        if closes:
            connection.settimeout(patience)
            connection.recv(100)
    except OSError:
        pass  # it was turned away
    if closes:
        connection.close()
    return connection


def garbage(address, rng, _):
    for size in (0, 1, 8, 9, 10, 1000, 100000):
        deliver(address, rng.randbytes(size))
    deliver(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    deliver(address, message(0, b"", 1 << 63))
    deliver(address, message(0, struct.pack("<Q", 1 << 63) + b"x" * 100))


def half_a_message(address, rng, _):
    """Connections that stay open with half a message in them."""
    return [deliver(address, message(0, rng.randbytes(20), 100)[:size], closes=False)
            for size in (0, 5, 9, 20)]


def many_messages(address, rng, count):
    """Mostly of the first kind, by as many connections as the system takes."""
    host, port = address.rsplit(":", 1)
    for _ in range(count):
        kind = rng.choice([0] * 6 + [rng.randrange(256)])
        data = message(kind, rng.randbytes(rng.randrange(80)))
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            # Closed with a reset: else the system runs out of ports.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack("ii", 1, 0))
            try:
                connection.sendall(data)
                connection.recv(1)
            except OSError:
                continue


def check_port(case, attack, count):
    """What is wrong with a rank 0 that got this, "" if nothing, and how it ended."""
    with case.team(2, start=False, LWCC_START_SECONDS="250") as team:
        leader = team.start(0)
        address = team.variables["LWCC_ADDRESS"]
        wait_for_port(address)
        start = time.monotonic()
        kept = attack(address, random.Random(1), count)
        attacked = time.monotonic() - start
        if leader.poll() is not None:
            return f"rank 0 has ended\n{team.everything()}", ""
        team.start(1)
        start = time.monotonic()
        codes = team.wait(2 * PATIENCE)
        how = (f"{attacked:.1f} s of it; trained {time.monotonic() - start:.1f} s behind "
               "the last rank's start")
        for connection in kept or ():
            connection.close()
        if set(codes.values()) != {0} or TRAINED not in team.said(0, "out"):
            return f"exit codes {codes}\n{team.everything()}", how
        return crashes(team) or "", how


def wait_for_port(address):
    """Until rank 0 listens, and without a connection to it."""
    port = f":{int(address.rsplit(':', 1)[1]):04X} 00000000:0000 0A"
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with open("/proc/net/tcp") as file:
            if port in file.read():
                return
        time.sleep(0.02)
    raise RankError(f"nobody listens at {address}")


def turned_away(case):
    """Rank 0 does not list all that it has turned away."""
    with case.team(2, start=False, LWCC_START_SECONDS="4") as team:
        team.start(0)
        wait_for_port(team.variables["LWCC_ADDRESS"])
        many_messages(team.variables["LWCC_ADDRESS"], random.Random(2), 500)
        codes, said = team.wait(PATIENCE), team.said(0)
        wrong = codes != {0: 1} or not re.search(r"turned away: \d+ more$", said.strip())
        return wrong and f"exit codes {codes}\n{said}", f"{said.count(chr(10))} lines"


PORT_CASES = {"garbage": garbage, "half_a_message": half_a_message,
              "many_messages": many_messages}


def check_all(args, folder):
    model = model_file("lenet5", folder)
    programs = [compiled(model, batch, f"{folder}/of-{batch}", "--strategy=data",
                         gpus=GPUS)[0] for batch in (BATCH, BATCH // 2)]
    case, rows, failed = Case(programs, folder), [], 0
    own = [name for name in vars(Case) if not name.startswith("_")
           and name not in ("team", "numbers", "alone", "data_of_rank_3")]

    def judge(name):
        try:
            return (turned_away(case) if name == "turned_away" else
                    check_port(case, PORT_CASES[name], args.messages)
                    if name in PORT_CASES else check(case, name))
        except RankError as error:
            return str(error), ""
    names = args.names or [*own, *PORT_CASES, "turned_away"]
    with ThreadPoolExecutor(args.jobs) as pool:
        for name, (wrong, how) in zip(names, pool.map(judge, names)):
            failed += bool(wrong)
            rows.append((name.replace("_", " "), "WRONG" if wrong else "as it should be",
                         how))
            if wrong:
                print(f"FAIL {name}: {wrong}", flush=True)
    print(table(("case", "", "all had ended after, and one said"), rows))
    print(f"{len(rows) - failed} of {len(rows)} as they should be")
    return failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--messages", type=int, default=100000)
    parser.add_argument("--jobs", type=int, default=4,
                        help="cases at a time; mostly they wait")
    args = parser.parse_args()
    os.environ.pop(MARK, None)
    with tempfile.TemporaryDirectory(prefix="lwcc-inputs-") as folder:
        return check_all(args, folder)


if __name__ == "__main__":
    sys.exit(main())
