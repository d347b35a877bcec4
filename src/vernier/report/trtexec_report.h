// Measurements as trtexec tells them, so that scripts which read its output read ours: its summary lines, and
// the JSON files of --exportTimes, --exportProfile, --exportLayerInfo and --exportOutput. There is no device:
// transfers take no time, and what trtexec calls GPU compute time is the time of the engine on the CPU.
#pragma once

#include <string>
#include <vector>

#include "vernier/compare/trace.h"
#include "vernier/report/bench_report.h"

namespace vernier {

// One line of its log, with the time of day: "[11/26/2026-13:05:10] [I] text".
std::string trtexec_line(char severity, const std::string& text);

// The ONNX nodes behind a step; of a change of layout, what makes it.
std::string trtexec_layer_name(const BenchReport::Step& step);
// The tensor of an output. Throws unsupported for one that is no tensor of numbers.
const Tensor& trtexec_output(const TraceEntry& entry);

// The summary and what leads to it, a line each. `seconds` of each run, in order; at least one. Percentiles
// are those of trtexec: of all runs but the slowest (100 - p) %, the slowest. 0 `average_runs`: no averages.
std::vector<std::string> trtexec_summary(const std::vector<double>& seconds, double throughput_per_s,
                                         const std::vector<double>& percentiles, size_t average_runs);
std::vector<std::string> trtexec_profile(const std::vector<BenchReport::Step>& steps, size_t runs);
std::vector<std::string> trtexec_layers(const std::vector<BenchReport::Step>& steps);
std::vector<std::string> trtexec_outputs(const Trace& trace);

// A list of objects, one for each run; runs follow each other, the first begins at 0.
std::string trtexec_times_json(const std::vector<double>& seconds);
// A list: the number of runs, then one object for each step. Steps are timed by the median, which stands for
// the average, too.
std::string trtexec_profile_json(const std::vector<BenchReport::Step>& steps, size_t runs);
// With `detailed` an object for each step, else its name.
std::string trtexec_layers_json(const std::vector<BenchReport::Step>& steps,
                                const std::vector<std::string>& bindings, bool detailed);
// A list of objects: name, dimensions, values; NaN and Inf are texts. Throws as trtexec_output does.
std::string trtexec_outputs_json(const Trace& trace);

}  // namespace vernier
