"""Prints what TensorBoard's event files of a folder hold: read_events.py FOLDER.

Reads frames and fields by their published formats, with checksums computed bit by bit.
Names of files follow each other in time.
"""

import os
import struct
import sys


def checksum(data):
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
    rest ^= 0xFFFFFFFF
    return ((rest >> 15 | rest << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frames(data):
    while data:
        head, (size,) = data[:8], struct.unpack("<Q", data[:8])
        body = data[12:12 + size]
        sums = struct.unpack("<I", data[8:12]) + struct.unpack("<I", data[12 + size:16 + size])
        assert sums == (checksum(head), checksum(body)), "a checksum is wrong"
        yield body
        data = data[16 + size:]


def fields(data):
    """The fields of a message: number and value."""
    at = 0

    def variable():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        tag = variable()
        if tag & 7 == 0:
            value = variable()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or variable()
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def main():
    folder = sys.argv[1]
    for name in sorted(os.listdir(folder)):
        assert name.startswith("events.out.tfevents."), name
        print("file")
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        for frame in frames(data):
            event = dict(fields(frame))
            assert struct.unpack("<d", event[1])[0] > 1.6e9  # seconds
            if 3 in event:
                print("  version", event[3].decode())
            if 7 in event:
                print("  session", dict(fields(event[7]))[1], "from step", event[2])
            if 5 in event:
                values = []
                for number, value in fields(event[5]):
                    assert number == 1
                    scalar = dict(fields(value))
                    values.append(f"{scalar[1].decode()} {struct.unpack('<f', scalar[2])[0]:.4f}")
                print("  step", event[2], ", ".join(values))


if __name__ == "__main__":
    main()
