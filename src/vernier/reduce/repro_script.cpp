#include <nlohmann/json.hpp>

#include "vernier/reduce/repro_folder.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBeginning = R"PY(import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
)PY";

constexpr const char* kProtocol = R"PY(
DTYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
          "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?", "BF16": "V2", "F8_E4M3": "V1", "F8_E5M2": "V1"}
STORED = {"BFLOAT16": "BF16", "FLOAT8E4M3FN": "F8_E4M3", "FLOAT8E5M2": "F8_E5M2"}  # types that numpy lacks


def write_safetensors(path, tensors):
    names, header, data = {np.dtype(text): name for name, text in DTYPES.items()}, {}, b""
    for name, tensor in tensors.items():
        content = np.ascontiguousarray(tensor).tobytes()
        stored = STORED[TYPES[name]] if name in TYPES else names[tensor.dtype]
        header[name] = {"dtype": stored, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def read_safetensors(path):
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header.pop("__metadata__", None)
    return {name: np.ndarray(entry["shape"], DTYPES[entry["dtype"]], content, end + entry["data_offsets"][0]) for name, entry in header.items()}


def run_engine(inputs):
    """The outputs of the engine, which answers JSON lines with JSON lines."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        process = subprocess.Popen(ENGINE["command"], shell=True, cwd=ENGINE["folder"] or None, text=True, start_new_session=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        late = threading.Event()

        def end():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        timer = threading.Timer(ENGINE["timeout"], lambda: (late.set(), end()))
        timer.start()

        def ask(stage, request):
            try:
                print(json.dumps(request), file=process.stdin, flush=True)
                line = process.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not line:
                end()
                how = f"no answer within {ENGINE['timeout']} s" if late.is_set() else f"it ended with status {process.wait()}"
                raise RuntimeError(f"stage {stage}: {how}")
            answer = json.loads(line)
            if "error" in answer:
                raise RuntimeError(f"stage {stage}: {answer['error']['message']}")

        try:
            ask("start", {"id": 1, "request": "hello", "protocol": "vernier-runner/1"})
            ask("load", {"id": 2, "request": "load", "model": str(HERE / "model.onnx"), "options": ENGINE["options"], "threads": ENGINE["threads"]})
            write_safetensors(folder / "inputs.safetensors", inputs)
            ask("run", {"id": 3, "request": "run", "inputs": str(folder / "inputs.safetensors"), "outputs": str(folder / "outputs.safetensors"), "taps": []})
            return read_safetensors(folder / "outputs.safetensors")
        finally:
            timer.cancel()
            end()
            process.wait()
)PY";

constexpr const char* kOnnxRuntime = R"PY(
LEVELS = {"disable": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}
PROVIDERS = {"cpu": ["CPUExecutionProvider"], "cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"]}


def run_onnxruntime(inputs):
    """The outputs of ONNX Runtime."""
    import onnxruntime as ort

    if TYPES:
        sys.exit("numpy lacks types of this model, so that this script cannot run it: see command.sh")
    settings = ort.SessionOptions()
    settings.graph_optimization_level = getattr(ort.GraphOptimizationLevel, LEVELS[ENGINE["options"].get("optimisation", "all")])
    settings.intra_op_num_threads = ENGINE["threads"]
    for key, value in ENGINE["options"].items():
        if "." in key:
            settings.add_session_config_entry(key, value)
    provider = ENGINE["options"].get("provider", "cpu")
    session = ort.InferenceSession(str(HERE / "model.onnx"), settings, providers=PROVIDERS[provider])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))
)PY";

constexpr const char* kRunsOnnxRuntime = R"PY(

run_engine = run_onnxruntime
)PY";

constexpr const char* kRecorded = R"PY(

def run_engine(inputs):
    """Gives what the engine of Vernier made, as it was recorded; ONNX Runtime is asked for a second opinion."""
    try:
        report("onnxruntime", run_onnxruntime(inputs))
    except ImportError:
        print("onnxruntime is not installed: no second opinion")
    except Exception as error:
        print("onnxruntime:", error)
    if not (HERE / "actual.npz").exists():
        raise RuntimeError(RECORDED)
    return dict(np.load(HERE / "actual.npz"))
)PY";

constexpr const char* kEnd = R"PY(

def numbers(name, array):
    """In double; types that numpy lacks by way of ml_dtypes."""
    if name in TYPES:
        import ml_dtypes

        array = array.view({"BFLOAT16": ml_dtypes.bfloat16, "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E5M2": ml_dtypes.float8_e5m2}[TYPES[name]])
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def report(engine, outputs):
    """Prints the difference of each output from what is expected; whether one is beyond its tolerance."""
    wrong = False
    for name, right in np.load(HERE / "expected.npz").items():
        made = outputs.get(name)
        if made is None or made.shape != right.shape or made.dtype != right.dtype:
            print(f"{engine}: '{name}' is {None if made is None else (made.dtype, made.shape)}, expected {(right.dtype, right.shape)}")
            wrong = True
            continue
        if right.dtype.kind in "US":
            differ = made != right
        else:
            a, b = numbers(name, made), numbers(name, right)
            atol, rtol = TOLERANCES.get(name, (0, 0))
            with np.errstate(all="ignore"):
                differ = ~((np.abs(a - b) <= atol + rtol * np.abs(b)) | (a == b) | (np.isnan(a) & np.isnan(b)))
                norm = np.linalg.norm(b)
                relative = np.linalg.norm(a - b) / norm if norm else np.linalg.norm(a - b)
            print(f"{engine}: '{name}': {differ.sum()} of {differ.size} elements beyond atol {atol:g}, rtol {rtol:g}; relative L2 {relative:.3g}")
        for place in np.argwhere(differ)[:5].tolist():
            print(f"    {place}: {made[tuple(place)]}, expected {right[tuple(place)]}")
        wrong |= bool(differ.any())
    return wrong


if __name__ == "__main__":
    try:
        found = report(ENGINE["name"], run_engine(dict(np.load(HERE / "inputs.npz"))))
    except Exception as error:
        print(f"{ENGINE['name']}: {error}")
        found = True
    print("it goes wrong" if found else "it is right")
    sys.exit(1 if found else 0)
)PY";

std::string python(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json engine_json(const ReproEngine& engine) {
  Json result{{"name", engine.name}, {"options", engine.options}, {"threads", engine.threads}};
  if (engine.options.empty()) result["options"] = Json::object();
  if (engine.kind != ReproEngine::Kind::kProtocol) return result;
  result["command"] = engine.command;
  result["folder"] = engine.folder;
  result["timeout"] = engine.timeout;
  return result;
}

// The types that numpy lacks, by the names of inputs and outputs.
Json foreign_types(const ReproFiles& files) {
  Json types = Json::object();
  for (const NamedData* data : {&files.inputs, &files.expected}) {
    for (const auto& [name, datum] : *data) {
      const ElementType type = datum.tensor.type();
      const bool is_numpys = type == ElementType::kBool || type == ElementType::kString || is_complex(type) ||
                             (is_integer(type) && element_bits(type) >= 8) || type == ElementType::kFloat ||
                             type == ElementType::kDouble || type == ElementType::kFloat16;
      if (!is_numpys) types[name] = element_type_name(type);
    }
  }
  return types;
}

Json tolerances_json(const ReproFiles& files) {
  Json result = Json::object();
  for (const auto& [name, tolerance] : files.tolerances) result[name] = {tolerance.atol, tolerance.rtol};
  return result;
}

}  // namespace

std::string repro_script(const ReproFiles& files) {
  using Kind = ReproEngine::Kind;
  const Kind kind = files.engine.kind;
  std::string text = "#!/usr/bin/env python3\n";
  text +=
      "\"\"\"Runs model.onnx on inputs.npz and prints how what the engine makes differs from "
      "expected.npz.\n\n";
  text += kind == Kind::kProtocol ? "Needs numpy and what the command of the engine needs"
                                  : "Needs numpy and onnxruntime";
  text += ", but not Vernier. Exit status 1: it goes wrong; 0: it does not.\n\"\"\"\n\n";
  text += kBeginning;
  text += "ENGINE = " + python(engine_json(files.engine)) + "\n";
  text += "TOLERANCES = " + python(tolerances_json(files)) + "  # |made - right| <= atol + rtol * |right|\n";
  text += "TYPES = " + python(foreign_types(files)) + "  # of values, where numpy lacks them\n";
  if (kind == Kind::kVernier) text += "RECORDED = " + python(files.symptom.sentence) + "\n";
  text += "\n";
  if (kind == Kind::kProtocol) {
    text += kProtocol;
  } else {
    text += kOnnxRuntime;
    text += kind == Kind::kOnnxRuntime ? kRunsOnnxRuntime : kRecorded;
  }
  return text + kEnd;
}

}  // namespace vernier
