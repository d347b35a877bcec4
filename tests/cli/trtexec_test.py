"""Command lines of trtexec: trtexec_test.py VERNIER SOURCE_DIR"""
import json
import re

import judging
import numpy as np
from judging import INT64, Case, info, node

QUICK = ("--duration=0", "--iterations=12", "--warmUp=0")
LINE = re.compile(r"^\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[([IWE])\] (.*)$", re.MULTILINE)
NUMBER = r"[\d.e+-]+"

# All options of trtexec, by the versions of TensorRT.
OPTIONS_OF_11 = """
    accuracyAlgorithm accuracyThreshold adjustForDLA allocationStrategy allowGPUFallback allowWeightStreaming asyncFileReader atol avgRuns
    avgTiming buildDLAStandalone builderOptimizationLevel consistency continue cpuOnly decomposableAttentions device directIO
    distributiveIndependence dryRun dumpKernelText dumpLayerInfo dumpOptimizationProfile dumpOutput dumpProfile dumpRawBindingsToFile
    dumpRefit duration dynamicPlugins enablePluginOverride errorOnTimingCacheMiss excludeLeanRuntime exportLayerInfo exportOutput
    exportProfile exportTimes exposeDMA getPlanVersionOnly hardwareCompatibilityLevel helpBuildRoute idleTime ignoreParsedPluginLibs
    includeDataTransfers infStreams inputIOFormats int8 iterations l2LimitForTiling layerDeviceTypes leanDLLPath loadEngine loadInputs
    loadRefOutputs markDebug markUnfusedTensorsAsDebugTensors maxAuxStreams maxShapes maxTactics memPoolSize minShapes monitorMemory
    noBuilderCache noCompilationCache noCudaGraph noDataTransfers noSpinWait noTF32 onnx optShapes outputIOFormats percentile
    persistentCacheRatio pi pluginInstanceNorm plugins preview profile profilingVerbosity refPair refit refitFromOnnx remoteAutoTuningConfig
    reportCapabilityDLA rtol runtimePlatform safe safetyPlugins saveAllDebugTensors saveAllEngines saveDebugTensors saveEngine
    separateProfileRun setBuildRoute setPluginsToSerialize shapes skipInference sleepTime sparsity staticPlugins streams stripAllWeights
    stripWeights stronglyTyped tacticSources tempdir tempfileControls threads tilingOptimizationLevel timeDeserialize timeRefit
    timingCacheFile tuneBuildRouteFile tuneBuildRoutes tuningCacheFile tuningResultFile tuningSearch tuningTimeOut
    uint8AsymmetricQuantizationDLA useCudaGraph useDLACore useManagedMemory useProfile useRuntime useSpinWait vc verbose versionCompatible
    warmUp weightStreamingBudget
""".split()
OPTIONS_OF_8_TO_10 = """
    deploy model uff uffInput uffNHWC output explicitBatch batch maxBatch workspace fp16 bf16 fp8 int4 best calib calibProfile minShapesCalib
    optShapesCalib maxShapesCalib precisionConstraints layerPrecisions layerOutputTypes minTiming nvtxMode buildOnly weightless heuristic
    restricted
""".split()

# Values that are good where a plain word is not.
VALUES = {
    "onnx": "m.onnx", "loadEngine": "m.engine", "shapes": "x:1", "minShapes": "x:1", "optShapes": "x:1", "maxShapes": "x:1", "percentile": "90",
    "layerPrecisions": "a:fp32", "layerOutputTypes": "a:fp32", "memPoolSize": "workspace:64", "loadInputs": "x:x.bin", "precisionConstraints": "obey",
    "sparsity": "enable", "inputIOFormats": "fp32:chw", "outputIOFormats": "fp32:chw", "batch": "1", "maxBatch": "1", "iterations": "3",
    "duration": "3", "warmUp": "3", "avgRuns": "3", "streams": "3", "infStreams": "3", "idleTime": "0", "sleepTime": "0", "profile": "0",
    "useProfile": "0",
}  # fmt: skip


def trtexec(*arguments):
    return judging.vernier("trtexec", *arguments)


class Trtexec(Case):
    def setUp(self):
        super().setUp()
        weights = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)}
        nodes = [node("MatMul", "x w", "product"), node("Softmax", "product", "y")]
        self.path = self.model("small", nodes, [info("x", ["n", 3])], [info("y", ["n", 4])], weights)

    def equivalent(self, *arguments):
        status, out, err = trtexec("--print-only", *arguments)
        self.assertEqual(status, 0, err)
        [line] = [line for line in out.splitlines() if line.startswith("equivalent: ")]
        return line.removeprefix("equivalent: "), out

    def test_scripts_find_the_lines_that_they_look_for(self):
        status, out, err = trtexec(f"--onnx={self.path}", "--shapes=x:2x3", "--avgRuns=4", "--percentile=50,99", *QUICK)
        self.assertEqual(status, 0, out + err)
        lines = [text for _, text in LINE.findall(out)]
        self.assertIn("=== Performance summary ===", lines)
        self.assertTrue(any((found := re.fullmatch(f"Throughput: ({NUMBER}) qps", line)) and float(found[1]) > 0 for line in lines), out)
        statistics = rf"min = ({NUMBER}) ms, max = {NUMBER} ms, mean = {NUMBER} ms, median = ({NUMBER}) ms, " \
                     rf"percentile\(50%\) = {NUMBER} ms, percentile\(99%\) = ({NUMBER}) ms"  # fmt: skip
        for name in ("Latency", "GPU Compute Time"):
            [found] = [match for line in lines if (match := re.fullmatch(f"{name}: {statistics}", line))]
            low, middle, high = map(float, found.groups())
            self.assertTrue(0 < low <= middle <= high)
        self.assertEqual(sum(line.startswith("Average on 4 runs - GPU latency: ") for line in lines), 18 // 4, "9 rounds of 2 runs")
        first, last = out.splitlines()[0], out.splitlines()[-1]
        self.assertRegex(first, r"^&&&& RUNNING TensorRT\.trtexec \[Vernier v[\d.]+\] # vernier trtexec --onnx=")
        self.assertRegex(last, r"^&&&& PASSED TensorRT\.trtexec \[Vernier v[\d.]+\] # ")
        self.assertIn("device: the CPU", out)
        self.assertIn("Accuracy against the reference: pass", out)

    def test_its_json_files(self):
        files = {name: self.folder / f"{name}.json" for name in ("Times", "Profile", "LayerInfo", "Output")}
        exports = [f"--export{name}={path}" for name, path in files.items()]
        status, out, err = trtexec(f"--onnx={self.path}", "--shapes=x:2x3", "--profilingVerbosity=detailed", "--dumpProfile", "--dumpOutput",
                                   *exports, *QUICK)
        self.assertEqual(status, 0, out + err)
        times, profile, layers, outputs = (json.loads(path.read_text()) for path in files.values())
        self.assertGreaterEqual(len(times), 12)
        self.assertEqual(times[1]["startComputeMs"], times[0]["endComputeMs"])
        self.assertAlmostEqual(times[0]["latencyMs"], times[0]["endComputeMs"] - times[0]["startComputeMs"])
        self.assertEqual(set(profile[0]), {"count"})
        self.assertEqual(set(profile[1]), {"name", "timeMs", "averageMs", "medianMs", "percentage"})
        self.assertAlmostEqual(sum(layer["percentage"] for layer in profile[1:]), 100)
        self.assertIn("the_MatMul_product", " ".join(layer["Name"] for layer in layers["Layers"]))
        self.assertEqual(layers["Bindings"], ["x", "y"])
        [output] = outputs
        self.assertEqual((output["name"], output["dimensions"], len(output["values"])), ("y", "2x4", 8))
        np.testing.assert_allclose(np.reshape(output["values"], (2, 4)).sum(1), 1, rtol=1e-5)
        self.assertIn("y: (2x4)", out)
        self.assertIn("=== Profile (20 iterations ) ===", out)

    def test_an_engine_is_saved_and_loaded(self):
        engine = self.folder / "small.engine"
        line, _ = self.equivalent(f"--onnx={self.path}", f"--saveEngine={engine}", "--skipInference")
        self.assertEqual(line, f"vernier build {self.path} -o {engine} --cpu")
        profile = ("--minShapes=x:1x3", "--optShapes=x:4x3", "--maxShapes=x:8x3")
        status, out, err = trtexec(f"--onnx={self.path}", f"--saveEngine={engine}", *profile, *QUICK)
        self.assertEqual(status, 0, out + err)
        self.assertIn("Throughput: ", out)
        status, out, err = trtexec(f"--loadEngine={engine}", "--shapes=x:8x3", "--streams=2", *QUICK)
        self.assertEqual(status, 0, out + err)
        self.assertIn("&&&& PASSED", out)
        status, out, err = trtexec(f"--loadEngine={engine}", "--shapes=x:9x3", *QUICK)
        self.assertEqual(status, 3, out)
        self.assertIn("allowed are 1 to 8", err)
        self.assertIn("&&&& FAILED", out)

    def test_what_options_become(self):
        whole = ["--onnx=m.onnx", "--saveEngine=m.engine", "--minShapes='a,b':1x3,x:0:4", "--maxShapes='a,b':2x3,x:0:8", "--fp16", "--int8",
                 "--calib=ranges", "--layerPrecisions='conv':fp32,*:fp16", "--memPoolSize=workspace:2G,dlaSRAM:1", "--timingCacheFile=t",
                 "--builderOptimizationLevel=4", "--warmUp=50", "--duration=7", "--iterations=20", "--infStreams=3", "--loadInputs=x:0:x.bin"]  # fmt: skip
        line, _ = self.equivalent(*whole)
        self.assertEqual(line, "vernier build m.onnx -o m.engine --min-shapes a,b:1x3,x:0:4 --opt-shapes a,b:2x3,x:0:8 --max-shapes a,b:2x3,x:0:8 "
                               "--workspace 2GiB --timing-cache t --opt-level 4 --cpu --fp16 --int8 --calibration ranges "
                               "--layer-precisions '*:fp16,conv:fp32' --precision-constraints prefer && "
                               "vernier bench m.engine --shapes a,b:2x3,x:0:8 --data x:0=x.bin --warmup 0.05 --duration 7 --runs 20 --sessions 3")
        line, _ = self.equivalent("--onnx=m.onnx", "--best", "--fp16", "--precisionConstraints=obey", "--", "--threads", "1")
        self.assertTrue(line.endswith("--cpu --best --precision-constraints obey --threads 1"), line)
        line, out = self.equivalent("--onnx=m.onnx", "--int8")
        self.assertTrue(line.endswith("--cpu"), line)
        self.assertIn("note: without ranges nothing is quantized", out)
        _, out = self.equivalent("--loadEngine=m.engine", "--fp16")
        self.assertIn("note: an engine file computes in the types", out)
        line, _ = self.equivalent("--onnx=m.onnx", "--profile=0", "--optShapes=x:1", "--profile=1", "--optShapes=x:5", "--useProfile=1")
        self.assertIn("--shapes x:5", line)
        self.assertEqual(line.count("--opt-shapes"), 2)

    def test_what_ran_in_another_type_is_listed(self):
        engine = self.folder / "small.engine"
        for more in ([], [f"--saveEngine={engine}"]):
            status, out, err = trtexec(f"--onnx={self.path}", "--shapes=x:2x3", "--fp16", *more, *QUICK)
            self.assertEqual(status, 0, out + err)
            self.assertIn("precision: ", out)
            self.assertIn("the_MatMul_product", out)
            self.assertIn("&&&& PASSED", out.splitlines()[-1])

    def test_what_changes_nothing_is_said(self):
        _, out = self.equivalent("--onnx=m.onnx", "--useCudaGraph", "--noTF32", "--device=1", "--useCudaGraph")
        notes = [line for line in out.splitlines() if line.startswith("note: ")]
        self.assertEqual(len(notes), 3)
        self.assertIn("--useCudaGraph is ignored: ", notes[0])

    def test_every_option_of_trtexec_becomes_something_or_is_refused_with_a_reason(self):
        _, told, _ = trtexec("--help")
        for name in OPTIONS_OF_11 + OPTIONS_OF_8_TO_10:
            with self.subTest(option=name):
                [row] = [line for line in told.splitlines() if re.match(rf"  (--\w+, )*--{name}[, ]", line)]
                base = ["--onnx=m.onnx", "--shapes=x:1"] if name not in ("onnx", "loadEngine") else []
                for word in (f"--{name}", f"--{name}={VALUES.get(name, 'word')}"):
                    status, out, err = trtexec("--print-only", *base, word)
                    if status != 2:
                        break
                if "refused: " in row:
                    self.assertEqual(status, 4, err)
                    self.assertRegex(err, rf"--{name} \((\S+ ){{3,}}")
                else:
                    self.assertEqual(status, 0, err)
                    self.assertNotEqual("ignored: " in row, f"note: --{name} is ignored: " not in out)
        self.assertEqual(trtexec("--onnx=m.onnx", "--brandNew")[0], 2)

    def test_integers_are_exported_as_integers(self):
        large = 2**53 + 1  # no double holds it
        path = self.model("same", [node("Identity", "x", "y")], [info("x", [1], INT64)], [info("y", [1], INT64)])
        raw, exported = self.folder / "x.bin", self.folder / "y.json"
        np.array([large]).tofile(raw)
        status, out, err = trtexec(f"--onnx={path}", f"--loadInputs=x:{raw}", f"--exportOutput={exported}", *QUICK)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(json.loads(exported.read_text())[0]["values"], [large])

    def test_an_unknown_option_names_the_nearest(self):
        status, out, err = trtexec("--onnx=m.onnx", "--saveEngin=m.engine")
        self.assertEqual(status, 2)
        self.assertIn("the nearest is --saveEngine", err)
        self.assertIn("&&&& FAILED TensorRT.trtexec", out)
        for words, what in ((["--onnx=m.onnx", "--iterations=many"], "--iterations"), (["--onnx"], "write --onnx=VALUE"), (["--fp16"], "no model"),
                            (["--onnx=m.onnx", "--fp16=yes"], "takes no value"), (["--onnx=m.onnx", "--shapes=x"], "--shapes"),
                            (["m.onnx"], "'m.onnx'"), (["--onnx=m.onnx", "--percentile=101"], "above 100")):
            status, _, err = trtexec(*words)
            self.assertEqual(status, 2, err)
            self.assertIn(what, err)

    def test_what_has_no_counterpart_is_refused_with_all_reasons(self):
        status, _, err = trtexec("--onnx=m.onnx", "--useDLACore=0", "--plugins=libmine.so", "--fp8")
        self.assertEqual(status, 4)
        for reason in ("--useDLACore (there is no DLA)", "--plugins (", "--fp8 ("):
            self.assertIn(reason, err)
        for words in (["--batch=8"], ["--sparsity=force"], ["--idleTime=5"], ["--fp16", "--bf16"], ["--inputIOFormats=int8:chw32"], ["--outputIOFormats=fp32:chw,fp23:chw"]):
            status, _, err = trtexec("--onnx=m.onnx", *words)
            self.assertEqual(status, 4, err)

    def test_a_file_of_another_size_is_refused(self):
        # trtexec takes a file of twice the size, and reads its first half.
        raw = self.folder / "x.bin"
        np.ones((4, 3), np.float32).tofile(raw)
        status, out, err = trtexec(f"--onnx={self.path}", "--shapes=x:2x3", f"--loadInputs=x:{raw}", *QUICK)
        self.assertEqual(status, 3, out)
        self.assertIn("x.bin", err)
        np.ones((2, 3), np.float32).tofile(raw)
        status, out, err = trtexec(f"--onnx={self.path}", "--shapes=x:2x3", f"--loadInputs=x:{raw}", *QUICK)
        self.assertEqual(status, 0, out + err)
        raw.rename(raw.with_suffix(".dat"))
        status, out, err = trtexec(f"--onnx={self.path}", "--shapes=x:2x3", f"--loadInputs='x':{raw.with_suffix('.dat')}", *QUICK)
        self.assertEqual(status, 0, out + err)

    def test_fast_but_wrong_is_no_pass(self):
        fault = ("--", "--inject-fault", "swapped-axis")
        status, out, err = trtexec(f"--onnx={self.path}", "--shapes=x:2x3", *QUICK, *fault)
        self.assertEqual(status, 1, out + err)
        self.assertIn("[E] Accuracy against the reference: fail", out)
        self.assertIn("&&&& FAILED", out.splitlines()[-1])

    def test_a_plan_of_tensorrt_is_no_engine_of_ours(self):
        plan = self.folder / "other.plan"
        plan.write_bytes(b"ftrt" + bytes(64))
        status, _, err = trtexec(f"--loadEngine={plan}")
        self.assertEqual(status, 3)
        self.assertIn("no engine file of Vernier", err)

    def test_inputs_are_drawn_to_suit_the_graph(self):
        # trtexec draws integers from -128 to 127, which no embedding has rows for.
        table = {"table": np.arange(20, dtype=np.float32).reshape(5, 4)}
        path = self.model("embedding", [node("Gather", "table ids", "rows")], [info("ids", [2, 3], INT64)], [info("rows", [2, 3, 4])], table)
        status, out, err = trtexec(f"--onnx={path}", *QUICK)
        self.assertEqual(status, 0, out + err)

    def test_help_lists_every_option_and_what_it_becomes(self):
        status, out, err = trtexec("--help")
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"--useDLACore +refused: there is no DLA")
        self.assertRegex(out, r"--saveEngine +build -o")
        _, out, _ = judging.vernier("--help")
        self.assertRegex(out, r"(?s)trtexec .*polygraphy ")


if __name__ == "__main__":
    judging.main()
