"""faulty.py MODE: does one thing wrong. The model it pretends to run has the outputs y (f32[3]) and z (f32[2])."""

import os
import signal
import subprocess
import sys
import time

from child import hello, reply, requests, send

Y, Z = ("F32", [3], bytes(12)), ("F32", [2], bytes(8))
GOOD = {"y": Y, "z": Z}


def first_request():
    import json

    return json.loads(sys.stdin.readline())


def exits_at_start():
    print("no such device", file=sys.stderr)
    sys.exit(3)


def prints_garbage():
    print("Hello, I am an engine!", flush=True)
    time.sleep(60)


def prints_half_a_line():
    sys.stdout.write('{"id": 1, "proto')


def prints_half_a_line_and_waits():
    sys.stdout.write('{"id": 1, "proto')
    sys.stdout.flush()
    time.sleep(60)


def prints_two_lines():
    request = first_request()
    sys.stdout.write("loading\n" + '{"id": 1}\n')
    sys.stdout.flush()
    time.sleep(60)


def sends_a_long_line():
    first_request()
    sys.stdout.write("x" * 100_000_000 + "\n")


def speaks_another_version():
    hello(first_request(), "vernier-runner/2")


def answers_another_request():
    reply({"id": 77}, protocol="vernier-runner/1")


def refuses_the_model():
    request = first_request()
    hello(request)
    request = first_request()
    reply(request, error={"code": "unsupported", "message": "no kernel", "node": "conv_3", "advice": "use opset 17"})
    sys.stdin.readline()


def closes_its_output():
    os.close(1)
    time.sleep(60)


def leaves_a_grandchild():
    subprocess.Popen(["sleep", "60"])  # holds the pipes open
    sys.exit(4)


def crashes(request):
    print("about to crash", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(request):
    print("thinking", file=sys.stderr, flush=True)
    time.sleep(60)


def is_rude_after_closing(request):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    send(request, GOOD)
    time.sleep(60)


RUNS = {
    "good": lambda request: send(request, GOOD),
    "wrong_shape": lambda request: send(request, {"y": ("F32", [4], bytes(16)), "z": Z}),
    "wrong_rank": lambda request: send(request, {"y": ("F32", [1, 3], bytes(12)), "z": Z}),
    "wrong_dtype": lambda request: send(request, {"y": ("F16", [3], bytes(6)), "z": Z}),
    "drops_an_output": lambda request: send(request, {"y": Y}),
    "adds_an_output": lambda request: send(request, {**GOOD, "w": Y}),
    "promises_more_than_it_writes": lambda request: send(request, {"y": Y}, names=["y", "z"]),
    "writes_more_than_it_says": lambda request: send(request, GOOD, names=["y"]),
    "truncated": lambda request: send(request, GOOD, cut=5),
    "writes_nothing": lambda request: reply(request, outputs=["y", "z"]),
    "names_an_output_twice": lambda request: send(request, GOOD, names=["y", "z", "y"]),
    "runs_backwards": lambda request: send(request, GOOD, seconds=-0.5),
    "runs_for_ever": lambda request: send(request, GOOD, seconds=10**400),
    "takes_nan": lambda request: send(request, GOOD, seconds=float("nan")),
    "says_nothing": lambda request: reply(request),
    "crashes": crashes,
    "hangs": hangs,
    "is_rude_after_closing": is_rude_after_closing,
}  # fmt: skip

if __name__ == "__main__":
    mode = sys.argv[1]
    if mode in RUNS:
        for run in requests():
            RUNS[mode](run)
    else:
        globals()[mode]()
