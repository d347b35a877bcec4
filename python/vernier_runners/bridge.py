"""A runner that forwards to a process that waits at a socket: bridge.py ADDRESS

So a function of a program in Python is a runner like any other (vernier_engine.callable). Needs nothing but Python.
"""

import os
import shutil
import socket
import sys
import threading


def main(address):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    requests = connection.makefile("wb", buffering=0)

    def forward():
        shutil.copyfileobj(sys.stdin.buffer.raw, requests)
        connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=forward, daemon=True).start()
    with os.fdopen(os.dup(1), "wb", buffering=0) as answers:
        for line in connection.makefile("rb"):
            answers.write(line)


main(sys.argv[1])
