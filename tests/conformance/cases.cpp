#include "conformance/cases.h"

#include <cmath>

#include "conformance/resident_run.h"
#include "vernier/exec/bind_inputs.h"
#include "vernier/onnx/data_file.h"

namespace fs = std::filesystem;

namespace vernier {

namespace {

// The tolerances of ONNX's own runner (onnx.backend.test.case.test_case): |a - b| <= atol + rtol * |b|.
constexpr double kRtol = 1e-3, kAtol = 1e-7;

std::string run_data_set(const Model& model, const Run& run, const fs::path& folder) {
  const auto outputs = run(read_inputs(model, folder));
  size_t compared = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path file = folder / fmt::format("output_{}.pb", i);
    if (!fs::exists(file)) return fmt::format("output {} has no expected file", i);
    const auto why = compare(outputs[i], read_pb_file(file, model.graph->outputs[i]->type.kind));
    if (!why.empty()) return fmt::format("output {}: {}", i, why);
    ++compared;
  }
  return compared == 0 ? "nothing to compare" : "";
}

}  // namespace

std::string compare(const Datum& actual, const Datum& expected) {
  if (actual.kind != expected.kind) return "another kind of value";
  if (actual.kind == Datum::Kind::kNone) return "";
  if (actual.kind == Datum::Kind::kSequence) {
    if (actual.sequence->size() != expected.sequence->size()) return "another length of sequence";
    for (size_t i = 0; i < actual.sequence->size(); ++i) {
      if (auto why = compare((*actual.sequence)[i], (*expected.sequence)[i]); !why.empty()) return why;
    }
    return "";
  }
  const Tensor &a = actual.tensor, &b = expected.tensor;
  if (a.type() != b.type())
    return fmt::format("type {} instead of {}", element_type_name(a.type()), element_type_name(b.type()));
  if (a.dims() != b.dims())
    return fmt::format("sizes {} instead of {}", dims_text(a.dims()), dims_text(b.dims()));
  if (a.type() == ElementType::kString || is_complex(a.type())) return a.identical(b) ? "" : "other values";
  const auto x = a.to_doubles(), y = b.to_doubles();
  for (size_t i = 0; i < x.size(); ++i) {
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                      std::abs(x[i] - y[i]) <= kAtol + kRtol * std::abs(y[i]);
    if (!same) return fmt::format("element {} is {} instead of {}", i, x[i], y[i]);
  }
  return "";
}

std::vector<Datum> outputs_of(const Model& model, const NamedData& results) {
  std::vector<Datum> outputs;
  for (const Value* output : model.graph->outputs) outputs.push_back(results.at(output->name));
  return outputs;
}

Run run_of(const Model& model, const std::shared_ptr<EngineOnDemand>& source) {
  return [&model, source](const NamedData& inputs) {
    const auto engine = source->engine_for(inputs);
    Session session(engine);
    // The second run captures, if there is a device that does, and the third replays.
    const int times = engine->options().accelerators.empty() ? 1 : 3;
    for (int i = 1; i < times; ++i) session.run(inputs);
    auto outputs = outputs_of(model, session.run(inputs));
    if (times > 1) expect_the_same_on_the_device(session, bind_inputs(engine->graph(), inputs), outputs);
    return outputs;
  };
}

BuildOptions build_options(const std::string& forced) {
  BuildOptions options;
  options.tune.level = 2;  // thousands of small models
  options.tune.forced = forced;
  return options;
}

NamedData read_inputs(const Model& model, const fs::path& folder) {
  NamedData inputs;
  size_t index = 0;
  for (const Value* input : model.graph->inputs) {
    const fs::path file = folder / fmt::format("input_{}.pb", index++);
    if (!fs::exists(file)) break;
    inputs[input->name] = read_pb_file(file, input->type.kind);
  }
  return inputs;
}

std::vector<fs::path> data_sets_of(const fs::path& folder) {
  std::vector<fs::path> data_sets;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) data_sets.push_back(entry.path());
  }
  std::sort(data_sets.begin(), data_sets.end());
  return data_sets;
}

std::string run_data_sets(const Model& model, const Run& run, const fs::path& folder) {
  const auto data_sets = data_sets_of(folder);
  for (const fs::path& data_set : data_sets) {
    if (auto why = run_data_set(model, run, data_set); !why.empty()) return why;
  }
  return data_sets.empty() ? "no data set" : "";
}

}  // namespace vernier
