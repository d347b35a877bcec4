"""Four reports of people who met a wrong engine, told on a GPU: what each command has to end with, and to say.

The models are those of examples/stories, whose pages tell where they come from.
"""

# Folder, words after `vernier`, exit status, what the output holds, and variables of the environment.
TOLD = (
    # A convolution and a Clip, wrong on one card: TF32 was suspected. It is named where it is used, and is gone where the user forbids it.
    ("conv-clip", ["diagnose", "model.onnx", "--cuda"], 0, "is healthy", {}),
    ("conv-clip", ["diagnose", "model.onnx", "--cuda", "--inject-fault", "tf32:filtered"], 1, "TF32", {}),
    ("conv-clip", ["diagnose", "model.onnx", "--cuda", "--inject-fault", "clip-bound:y"], 1, "the upper bound is lost (B32", {}),
    ("attention-scale", ["run", "model.onnx", "--rtol", "1e-5", "--atol", "1e-5", "--reference", "--cuda", "--tf32"], 1, "verdict: fail", {}),
    ("attention-scale", ["run", "model.onnx", "--rtol", "1e-5", "--atol", "1e-5", "--reference", "--cuda", "--tf32"], 0, "verdict: pass", {"NVIDIA_TF32_OVERRIDE": "0"}),
    # A tracker whose program did not wait for its copies: the engine alone is sound, and one that does not wait gives the values of the frame before.
    ("tracker-sync", ["diagnose", "model.onnx", "--cuda"], 0, "is healthy", {}),
    ("tracker-sync", ["diagnose", "model.onnx", "--cuda", "--inject-fault", "missed-sync:tokens"], 1, "(B44, missing synchronisation)", {}),
    # Norms by Pow and ReduceSum: fp16 overflows, the mixed model is right, and so is one in fp16 whose norms are kept.
    ("norm-in-fp16", ["diagnose", "fp16.onnx", "--cuda"], 1, "(B1, overflow in the statistics of a normalisation)", {}),
    ("norm-in-fp16", ["diagnose", "mixed.onnx", "--cuda"], 0, "is healthy", {}),
    ("norm-in-fp16", ["diagnose", "fp32.onnx", "--cuda", "--fp16"], 1, "(B5, an epsilon that is lost)", {}),
    ("norm-in-fp16", ["run", "fp32.onnx", "--layers", "--reference=planned", "--cuda", "--fp16", "--keep-fp32", "layers.*/norm/*"], 0, "verdict: pass", {}),
    # Attention of Open-CLIP, whose scale stands at one place or at two, is right in each precision.
    *(("attention-scale", ["run", model, "--layers", "--reference=planned", "--cuda", *precision], 0, "verdict: pass", {})
      for model in ("model.onnx", "one-scale.onnx") for precision in ([], ["--fp16"], ["--tf32"])),
)  # fmt: skip


def stories(suite):
    for story, words, status, said, variables in TOLD:
        folder = suite.arguments.stories / story
        given = [f"{name}={value}" for name, value in variables.items()]
        verb, model, *options = words
        command = ["env", *given, suite.program("vernier"), verb, folder / model, "--data", folder / "data.npz", *options]
        ended, output, took = suite.run(command, 120)
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        told = lines[0] if verb == "diagnose" and lines else next((line for line in lines if said in line), f"exit {ended}: {' / '.join(lines[-2:])}")
        suite.row("OK" if ended == status and said in output else "FAIL", f"story {story}", f"{' '.join([*given, *words])}: {told[:200]} ({took:.1f} s)")
