"""Returns its inputs as its outputs, through the helper for runners in Python; with taps, an error."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../python/vernier_runners"))
from protocol import Failure, serve


class Echo:
    def hello(self):
        print("this line must not disturb the conversation")
        return {"engine": "echo", "version": "1", "capabilities": ["taps"]}

    def load(self, model, options, threads):
        return {"description": {**options, "model": os.path.basename(model)}}

    def run(self, inputs, taps):
        if "fail" in taps:
            raise Failure("cannot tap", node="n")
        if "raise" in taps:
            raise ZeroDivisionError("oops")
        return inputs, ["echoed"], 0.25


serve(Echo())
