// Models whose data hold NaN and infinities, in every layout and by every tactic, against the reference.
#pragma once

#include "passes/rewriting.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier::nonfinite {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                        kInfinity = std::numeric_limits<double>::infinity();

inline std::vector<double> numbers(int64_t count, uint64_t seed, double deviation) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = normal(random);
  return values;
}

inline void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// Lines of nodes, each named by its result.
inline std::string named(const std::string& lines) {
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string line = lines.substr(at, end - at), name = line.substr(line.find('%') + 1, 1);
    text += line + " @\"" + name + "\" from [\"" + name + "\"]\n";
    at = end + 1;
  }
  return text;
}

inline double tolerance_of(ElementType element) {
  return element == ElementType::kBFloat16 ? 1e-1 : element == ElementType::kFloat16 ? 2e-2 : 2e-4;
}

// Which tactics the backend has for each node of a plan.
class Recorder : public Backend {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    for (const std::string& tactic : kernels_.tactics(request))
      found.emplace(request.node.output(0)->name, tactic);
    return kernels_.make(request, reason);
  }
  void choose_layouts(KernelRequest& request) const override { kernels_.choose_layouts(request); }
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override {
    return kernels_.reorder(from, to);
  }
  mutable std::set<std::pair<std::string, std::string>> found;

 private:
  cpu::CpuBackend kernels_;
};

inline std::vector<ValueType> types_of(const Model& model) {
  std::vector<ValueType> types;
  for (const Value* input : model.graph->inputs) types.push_back(input->type);
  return types;
}

// Sums of products of transformed tiles, where what is not finite reaches all of its tile; and of numbers
// that are split into terms, where infinities become NaN, also below a clamp.
inline bool mixes(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.kernel && (step.kernel->contract.winograd > 0 || step.kernel->contract.terms > 1);
  });
}

inline std::string kernels_of(const Plan& plan) {
  std::string names;
  for (const Step& step : plan.steps) names += (step.kernel ? step.kernel->name : "reference") + " ";
  return names;
}

// Empty, or the first element that is not what the reference has there.
inline std::string difference(const std::vector<double>& is, const std::vector<double>& wanted,
                              double tolerance, bool spreads) {
  for (size_t i = 0; i < is.size(); ++i) {
    const double a = is[i], b = wanted[i];
    const bool same = std::isfinite(b) ? std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b))
                      : std::isnan(b)  ? std::isnan(a)
                                       : a == b;
    if (same || (spreads && !std::isfinite(a))) continue;
    return fmt::format("element {}: {} instead of {}", i, a, b);
  }
  return "";
}

// Runs the model on each of the data, in every layout by every tactic.
inline void expect_as_reference(const Model& model, std::span<const NamedData> data, double tolerance) {
  std::vector<std::vector<double>> wanted;
  for (const NamedData& each : data)
    wanted.push_back(run_reference(model, each).outputs[0].as_tensor().to_doubles());
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
    Compiler compiler(model);
    const PlanChoices choices{layout, {}};
    compiler.prepare(types_of(model), choices);
    const auto engine = compiler.engine();
    Recorder recorder;
    PackedConstants packed;
    engine->planner().plan_again(*engine->prepared()[0].plan, recorder, packed);
    std::vector<PlanChoices> ways = {choices};
    for (const auto& tactic : recorder.found) ways.push_back({layout, {{tactic.first, tactic.second}}});
    for (const PlanChoices& way : ways) {
      Compiler compiler_again(model);
      compiler_again.prepare(types_of(model), way);
      const auto again = compiler_again.engine();
      const Plan& plan = *again->prepared()[0].plan;
      Session session(again);
      for (size_t i = 0; i < data.size(); ++i) {
        const auto is = session.run(data[i]).at("y").as_tensor().to_doubles();
        EXPECT_EQ(difference(is, wanted[i], tolerance, mixes(plan)), "")
            << "data " << i << ", layout " << static_cast<int>(layout) << " tactic "
            << (way.tactics.empty() ? "" : way.tactics.begin()->second) << ": " << kernels_of(plan);
      }
    }
  }
}

inline void expect_as_reference(const Model& model, const NamedData& data, double tolerance) {
  expect_as_reference(model, std::span(&data, 1), tolerance);
}

}  // namespace vernier::nonfinite
