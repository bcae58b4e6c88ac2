# SPDX-License-Identifier: Apache-2.0
"""A fork server that forks nothing: it answers as the first argument of the command says.

The run files it writes are real, so that everything on the parent's side is.
"""

import json
import os
import socket
import struct
import sys
import time
from pathlib import Path


def section(kind, size, payload):
    padding = bytes(-len(payload) % 8)
    return struct.pack("<IIQ", kind, size, len(payload)) + payload + padding


def run_file(notes, threads=3, controlled=None, edges=()):
    """The bytes of a run file (native/include/unsnarl/format.h)."""
    controlled = threads if controlled is None else controlled
    text = "".join(json.dumps(note) + "\n" for note in notes).encode()
    records = b"".join(
        struct.pack(
            "<IIIIQ48s64s",
            index, 0, int(index < controlled), 0, 10,
            b"0" if index == 0 else b"0.%d" % index, b"thread",
        )
        for index in range(threads)
    )  # fmt: skip
    edge_records = b"".join(
        struct.pack("<IIHHHHQQQII", source, sink, 0, 0, 1, 2, 10, 20, 77, 1, 0)
        for source, sink in edges
    )
    counts = b"".join(
        struct.pack("<IIIIII", thread, site, 4, site, 0, 0)
        for thread in range(1, threads)
        for site in (3, 9)
    )
    counters = struct.pack("<16Q", 100, 60, *([0] * 14))
    sections = [
        section(1, 1, text),
        section(2, 136, records),
        section(3, 48, edge_records),
        section(5, 24, counts),
        section(6, 4, struct.pack("<II", 3, 9)),
        section(7, 8, counters),
    ]
    body = b"".join(sections)
    header = struct.pack("<8sIIQQ", b"UNSNARL\x1a", 2, len(sections), 32 + len(body), 0)
    return header + body


def failure(file, kind="exception"):
    frames = [[file, 3, "work"]]
    return {
        "failure": {
            "kind": kind, "type": "ValueError", "message": "boom 7", "thread": "0.1",
            "frames": frames, "text": "Traceback: boom",
        }
    }  # fmt: skip


def behave(mode, plan, root):
    """(status, notes, threads, controlled) of one run."""
    fails = {
        "mixed": plan["seed"] % 2 == 1,
        "fail": True,
        "rarely": plan["seed"] % 8 == 1,
        "early": True,
        "latent": plan["switch"] == "free" and plan["seed"] % 2 == 1,
        "seldom": plan["seed"] % 2 == 1 and (plan["switch"] == "free" or plan["number"] > 60),
    }.get(mode, False)
    notes = [failure(root + "/program.py")] if fails else []
    threads = 1 if mode in ("alone", "early") else 3
    controlled = 2 if mode == "uncontrolled" else threads
    return int(fails), notes, threads, controlled


class FakeServer:
    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)
        self.lines = self.socket.makefile("rb")
        setup = json.loads(self.lines.readline())["setup"]
        self.mode = setup["command"]["args"][1]
        self.root = setup["root"]
        self.codes = setup["codes"]

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def serve(self):
        if self.mode == "refuse":
            message = {"slug": "target-import-failed", "message": "no module x", "output": "tb"}
            self.send({"error": message})
            return
        if self.mode in ("full", "says-full"):
            message = {"slug": "server-failed", "message": "[Errno 28] No space left on device"}
            self.send({"error": message | {"errno": 28 if self.mode == "full" else 0}})
            return
        site = [3, "attr_read", "x", 3, 3, 0, 1], [9, "attr_write", "x", 4, 4, 0, 1]
        code = {"base": 0, "size": 20, "file": self.root + "/program.py", "function": "work"}
        codes = {"version": 1, "watermark": 20, "codes": [{**code, "line": 1, "sites": site}]}
        Path(self.codes).write_text(json.dumps(codes))
        self.send({"ready": {"modules": 1, "probes": 2, "python": "3.11.7", "seconds": 0.1}})
        for line in self.lines:
            message = json.loads(line)
            if "cancel" in message:
                Path(self.codes + ".cancelled").write_text(json.dumps(message["cancel"]))
            else:
                self.run(message["run"])

    def run(self, plan):
        if self.mode == "dead":
            os._exit(1)
        once = Path(self.codes + ".once")
        if self.mode == "dies-once" and not once.exists():
            once.touch()
            os._exit(1)
        if self.mode == "stuck":
            time.sleep(60)
        if self.mode == "slow":
            time.sleep(0.1)
        status, notes, threads, controlled = behave(self.mode, plan, self.root)
        edges = [(3 << 4, 9 << 4 | 1)] if notes else [(9 << 4 | 1, 3 << 4)]
        data = run_file(notes, threads, controlled, edges if threads > 2 else ())
        if self.mode == "cut" and plan["number"] == 2:
            data = data[:-5]
        if self.mode != "fileless":
            Path(plan["file"]).write_bytes(data)
        Path(plan["output"]).write_text(f"seed {plan['seed']} says hello\n")
        done = {"number": plan["number"], "status": status, "signal": 0, "seconds": 0.01}
        self.send({"done": {**done, "timed_out": False}})


if __name__ == "__main__":
    FakeServer(int(sys.argv[1])).serve()
