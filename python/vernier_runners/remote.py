"""A runner on another machine that shares no folder with this one: remote.py [--ssh 'ssh -p 22'] HOST COMMAND...

Starts COMMAND on HOST over ssh, hands every request on, and copies the files that requests name: the model with its
external data on load, inputs and outputs on run. Models with external data need the onnx package here.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys


class Host:
    def __init__(self, ssh, name):
        self.prefix = [*shlex.split(ssh), name]
        self.folder = self.output("mktemp -d").decode().strip()

    def output(self, command):
        return subprocess.run([*self.prefix, command], stdout=subprocess.PIPE, check=True).stdout

    def send(self, local, relative=None):
        remote = f"{self.folder}/{relative or os.path.basename(local)}"
        with open(local, "rb") as file:
            command = f"mkdir -p {shlex.quote(os.path.dirname(remote))} && cat > {shlex.quote(remote)}"
            subprocess.run([*self.prefix, command], stdin=file, check=True)
        return remote

    def fetch(self, remote, local):
        with open(local, "wb") as file:
            subprocess.run([*self.prefix, f"cat {shlex.quote(remote)}"], stdout=file, check=True)

    def remove(self, *paths):
        self.output("rm -rf " + " ".join(map(shlex.quote, paths)))


def external_files(model):
    try:
        import onnx
        from onnx.external_data_helper import _get_all_tensors, uses_external_data
    except ImportError:
        return set()
    tensors = filter(uses_external_data, _get_all_tensors(onnx.load(model, load_external_data=False)))
    return {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}


def names_outputs(answer):
    """Whether a run succeeded; what is no answer is for Vernier to judge."""
    try:
        return "outputs" in json.loads(answer)
    except ValueError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ssh", default="ssh -o BatchMode=yes")
    parser.add_argument("host")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    host = Host(arguments.ssh, arguments.host)
    runner = subprocess.Popen([*host.prefix, shlex.join(arguments.command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        for line in sys.stdin:
            request = json.loads(line)
            local = dict(request)
            if request["request"] == "load":
                for location in external_files(request["model"]):
                    host.send(os.path.join(os.path.dirname(request["model"]), location), location)
                request["model"] = host.send(request["model"])
            elif request["request"] == "run":
                request["inputs"] = host.send(request["inputs"])
                request["outputs"] = f"{host.folder}/{os.path.basename(request['outputs'])}"
            runner.stdin.write(json.dumps(request).encode() + b"\n")
            runner.stdin.flush()
            if request["request"] == "close":
                break
            answer = runner.stdout.readline()
            if request["request"] == "run":
                if names_outputs(answer):
                    host.fetch(request["outputs"], local["outputs"])
                host.remove(request["inputs"], request["outputs"])
            sys.stdout.buffer.write(answer)
            sys.stdout.flush()
            if not answer:  # the runner has ended: so do we, with its status
                break
    finally:
        host.remove(host.folder)
    runner.stdin.close()
    sys.exit(runner.wait())


if __name__ == "__main__":
    main()
