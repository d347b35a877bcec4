#include "vernier/cli/options/engine_options.h"

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/cuda/driver.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/cli/options/precision_options.h"

namespace vernier {

namespace {

bool is_allowed(const std::string& option, const RunnerSpec& spec) {
  static const std::set<std::string> general = {kFaultOption, kDeterministicOption, kForceTacticOption,
                                                kIsolateTrialsOption, kIsaOption};
  static const std::set<std::string> simulated = {kLacksOption, kStreamsOption, kNoCaptureOption},
                                     cuda = {kLacksOption, kCudaPathOption, kNoCaptureOption};
  return general.contains(option) || precision_option_names().contains(option) ||
         (spec.kind == kSimulated && simulated.contains(option)) ||
         (spec.kind == kCuda && cuda.contains(option));
}

}  // namespace

BuildOptions engine_options(const RunnerSpec& spec) {
  for (const auto& [name, value] : spec.options) {
    if (!is_allowed(name, spec))
      throw usage_error("--{} does not apply to --{}", name, spec.kind)
          .advise("runner options belong to the runner before them");
  }
  const auto given = [&](const char* name) { return spec.options.contains(name); };
  BuildOptions options;
  options.precision = parse_precision_options(spec);
  options.deterministic = given(kDeterministicOption);
  options.tune.isolate = given(kIsolateTrialsOption);
  if (spec.kind == kSimulated)
    options.accelerators = {simulated_driver(spec)};
  else if (spec.kind == kCuda)
    options.accelerators = {cuda_driver(spec)};
  const bool by_host = options.accelerators.empty();
  if (given(kFaultOption) && (by_host || !options.accelerators[0]->is_faulty())) {
    const auto& tactics = by_host ? cpu::tactic_names() : options.accelerators[0]->tactic_names();
    options.fault = parse_fault(spec.options.at(kFaultOption), tactics);
  }
  if (given(kForceTacticOption)) options.tune.forced = spec.options.at(kForceTacticOption);
  return options;
}

namespace {

std::string no_capture_help() {
  return "  --no-capture                                enqueues each step at each run, and replays "
         "nothing\n";
}

// Nothing where the fault, if there is one, goes into a kernel.
std::optional<DeviceFault> device_fault(const RunnerSpec& spec, const std::set<DeviceFault::Kind>& kinds) {
  const auto found = spec.options.find(kFaultOption);
  return found == spec.options.end() ? std::nullopt : parse_device_fault(found->second, kinds);
}

void set_captures(const RunnerSpec& spec, std::map<std::string, std::string>& texts) {
  if (spec.options.contains(kNoCaptureOption)) texts["captures"] = "no";
}

}  // namespace

std::string cuda_help() {
  return "Of a GPU (--cuda), beside those of engines:\n"
         "  --cuda-path FOLDER                          where the libraries of CUDA are looked for first: a "
         "toolkit, or "
         "a\n"
         "                                              folder of Python packages (then: those of the first "
         "python3 or "
         "of\n"
         "                                              VERNIER_PYTHON, CUDA_PATH, /usr/local/cuda, the "
         "system's)\n"
         "  --lacks OPERATOR,…                          what is left to the CPU though the GPU could compute "
         "it;\n"
         "                                              cuBLASLt, cuDNN: their products and convolutions are "
         "left\n"
         "                                              to kernels of Vernier\n"
         "  --inject-fault drop-wait:K|drop-copy:K|stale-replay:K\n"
         "                                              its K-th wait or copy, from 0, is left out, or its "
         "K-th "
         "replay\n"
         "                                              is an old one; see docs/fault-injection.md\n" +
         no_capture_help();
}

std::shared_ptr<const Driver> cuda_driver(const RunnerSpec& spec) {
  std::map<std::string, std::string> texts;
  if (!spec.argument.empty()) texts["device"] = spec.argument;
  const std::pair<const char*, const char*> names[] = {{kLacksOption, "lacks"}, {kCudaPathOption, "path"}};
  for (const auto& [option, name] : names) {
    if (const auto found = spec.options.find(option); found != spec.options.end())
      texts[name] = found->second;
  }
  set_captures(spec, texts);
  cuda::CudaOptions options = cuda::parse_options(texts);
  options.fault = device_fault(spec, cuda::kDeviceFaults);
  return cuda::make_driver(options);
}

std::string simulated_help() {
  return "Of a simulated accelerator (--simulated), beside those of engines:\n"
         "  --lacks OPERATOR,…                          what it leaves to the CPU\n"
         "  --streams N                                 how many queues it has (default: 2)\n"
         "  --inject-fault drop-wait:K|drop-copy:K|stale-replay:K\n"
         "                                              its K-th wait or copy, from 0, is left out, or its "
         "K-th "
         "replay\n"
         "                                              is an old one; see docs/fault-injection.md\n"
         "  --inject-fault wrong-tactic:K               contractions can be computed twice, and the K-th "
         "kernel "
         "that\n"
         "                                              does so is wrong\n" +
         no_capture_help();
}

std::shared_ptr<const Driver> simulated_driver(const RunnerSpec& spec) {
  std::map<std::string, std::string> texts;
  if (!spec.argument.empty()) texts["seed"] = spec.argument;
  for (const char* name : {kStreamsOption, kLacksOption}) {
    if (const auto found = spec.options.find(name); found != spec.options.end()) texts.insert(*found);
  }
  set_captures(spec, texts);
  simulated::SimulatedOptions options = simulated::parse_options(texts);
  options.fault = device_fault(spec, simulated::kDeviceFaults);
  return simulated::make_driver(options);
}

}  // namespace vernier
