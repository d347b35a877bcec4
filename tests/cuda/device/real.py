"""Real models on their recorded data, judged as tests/zoo/engine_checks.py judges engines (suite.py)."""
import concurrent.futures
import os
import pathlib
import tempfile


def judge(checks, model, precision, data, work):
    """Empty or a remark; `FAIL …`; None where the precision is not for this model."""
    if precision == "fp32":
        return checks.verdicts(model, "--reference", ["--cuda"], data, work, judged="cuda")
    if checks.is_quantized(model):
        return None
    verdict = checks.verdicts(model, "--reference=planned", ["--cuda", f"--{precision}"], data, work, judged="cuda")
    if verdict.startswith("FAIL") and precision == "fp16" and "NaN" in verdict:
        return "fp16 overflows"
    if verdict.startswith("FAIL") and "ill-conditioned" in checks.verdicts(model, "--reference", ["--cuda"], data, work, judged="cuda"):
        return f"{precision} determines as little as f32 does"
    return verdict


def real(suite):
    import engine_checks as checks  # lies beside this where scripts/gpu packs it; needs the Python package onnx
    checks.VERNIER = suite.program("vernier")
    os.environ["LD_LIBRARY_PATH"] = str(suite.arguments.programs / "lib")

    def one(case):
        folder, precision = case
        with tempfile.TemporaryDirectory() as work:
            try:
                return folder, precision, judge(checks, folder / "model.onnx", precision, ["--data", str(folder)], pathlib.Path(work))
            except Exception as error:  # of one model; the others are judged
                return folder, precision, f"FAIL {error!r}"[:300]

    cases = [(folder, precision) for folder in sorted(suite.arguments.real) for precision in suite.arguments.precisions]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        results = list(pool.map(one, cases))
    for precision in suite.arguments.precisions:
        verdicts = {folder.name: verdict for folder, of, verdict in results if of == precision and verdict is not None}
        failed = {name: verdict for name, verdict in verdicts.items() if verdict.startswith("FAIL")}
        suite.row("FAIL" if failed else "OK", f"real models {precision}", f"{len(verdicts) - len(failed)}/{len(verdicts)} agree with the reference")
        for name, verdict in verdicts.items():
            if verdict:
                suite.row("FAIL" if name in failed else "INFO", f"{name} {precision}"[:28], verdict[:220])
