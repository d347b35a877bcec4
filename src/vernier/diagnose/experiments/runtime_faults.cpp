#include "vernier/diagnose/experiments/runtime_faults.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/diagnose/causes/repairs.h"
#include "vernier/diagnose/experiments/batch_check.h"
#include "vernier/diagnose/experiments/first_difference.h"
#include "vernier/diagnose/experiments/late_inputs.h"
#include "vernier/ops/randomness.h"

namespace vernier {

namespace {

Culprit culprit_at(int failure, std::vector<std::string> nodes, std::vector<std::string> values,
                   const std::string& sentence, const Evidence& evidence) {
  Culprit made;
  made.nodes = std::move(nodes);
  made.values = std::move(values);
  made.failure = FailureClass(failure);
  made.sentence = sentence;
  made.confidence = 0.9;
  made.share = 1;
  made.evidence = {evidence};
  made.repair = repair_of(made);
  return made;
}

// In front of all others, which say nothing better of the same nodes.
void put_first(Culprit culprit, std::vector<Culprit>& culprits) {
  std::erase_if(culprits, [&](const Culprit& other) {
    return !culprit.nodes.empty() && !other.nodes.empty() &&
           std::find(culprit.nodes.begin(), culprit.nodes.end(), other.nodes.front()) != culprit.nodes.end();
  });
  culprits.insert(culprits.begin(), std::move(culprit));
}

// Whether the content of a value reaches one of these outputs.
bool leads_to(const Node& node, const std::vector<std::string>& outputs) {
  std::set<const Value*> reached(node.outputs.begin(), node.outputs.end());
  for (const auto& each : node.graph().nodes()) {
    if (std::any_of(each->inputs.begin(), each->inputs.end(),
                    [&](const Value* input) { return input != nullptr && reached.contains(input); }))
      reached.insert(each->outputs.begin(), each->outputs.end());
  }
  return std::any_of(reached.begin(), reached.end(), [&](const Value* value) {
    return value != nullptr && std::find(outputs.begin(), outputs.end(), value->name) != outputs.end();
  });
}

// A random operator in the model draws other numbers at each run.
std::optional<Culprit> drawing_node(const RuntimeScene& scene) {
  for (const auto& node : scene.model.graph->nodes()) {
    if (!ops::draws_random_numbers(*node) || !leads_to(*node, scene.repeatability.outputs)) continue;
    const auto nodes = onnx_nodes_of(*node);
    return culprit_at(48, nodes, scene.repeatability.outputs,
                      fmt::format("'{}' draws other random numbers at each run", nodes.front()),
                      {"repeated runs", static_cast<double>(scene.repeatability.differ),
                       fmt::format("{} of {} runs on the same inputs differ, and {} draws at random",
                                   scene.repeatability.differ, scene.repeatability.runs, node->op)});
  }
  return std::nullopt;
}

bool same(const NamedData& a, const NamedData& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& each) {
    const auto found = b.find(each.first);
    return !each.second.is_tensor() || (found != b.end() && found->second.is_tensor() &&
                                        each.second.tensor.identical(found->second.tensor));
  });
}

// Whether engines that were started anew go through the same answers: then what a run leaves decides, and not
// time.
std::optional<bool> repeats_its_history(const RuntimeScene& scene) {
  constexpr size_t kRuns = 3;
  std::vector<NamedData> histories[2];
  for (auto& history : histories) {
    const auto engine = scene.subject.fresh();
    if (engine == nullptr) return std::nullopt;
    for (size_t i = 0; i < kRuns; ++i) history.push_back(engine->run(scene.inputs));
  }
  return std::equal(histories[0].begin(), histories[0].end(), histories[1].begin(), same);
}

// Whether each two of the tensors differ, always in the same elements: what was never written holds other
// rubbish each time, and what comes too late is right now and then.
bool differ_at_the_same_place(const std::vector<Tensor>& made) {
  std::set<std::vector<bool>> places;
  for (size_t i = 0; i < made.size(); ++i) {
    for (size_t k = i + 1; k < made.size(); ++k) {
      if (made[i].dims() != made[k].dims()) return false;
      const auto a = made[i].to_doubles(), b = made[k].to_doubles();
      std::vector<bool> place(a.size());
      for (size_t at = 0; at < a.size(); ++at) place[at] = !(a[at] == b[at]);
      if (std::none_of(place.begin(), place.end(), [](bool each) { return each; })) return false;
      places.insert(place);
    }
  }
  size_t fewest = SIZE_MAX, most = 0;
  for (const auto& place : places) {
    const auto count = static_cast<size_t>(std::count(place.begin(), place.end(), true));
    fewest = std::min(fewest, count);
    most = std::max(most, count);
  }
  return !places.empty() && most <= fewest + fewest / 4;
}

// Of the elements.
double share_that_differs(const Tensor& first, const Tensor& second) {
  if (first.dims() != second.dims() || first.size() == 0) return 1;
  const auto a = first.to_doubles(), b = second.to_doubles();
  double count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count / static_cast<double>(a.size());
}

class Repeats {
 public:
  Repeats(const RuntimeScene& scene, Stopwatch& watch) : scene_(scene), watch_(watch) {}

  std::optional<Culprit> find() {
    const Repeatability& seen = scene_.repeatability;
    // What is left over is zeros at first, and right in equal runs: only other inputs show it.
    if (seen.depends_on_before && (seen.differ == 0 || seen.only_first)) return of_run_before();
    return seen.only_first ? of_first_run() : of_equal_runs();
  }

 private:
  ShownRun show(Subject& subject, const NamedData& inputs) const {
    return watch_.time("inner values again", 1, [&] { return subject.show(inputs); });
  }

  std::string outputs() const { return fmt::format("'{}'", fmt::join(scene_.repeatability.outputs, "', '")); }

  Culprit at(int failure, const std::optional<FirstDifference>& place, const std::string& what) const {
    if (!place)
      return culprit_at(failure, {}, scene_.repeatability.outputs, outputs() + ": " + what,
                        {"repeated runs", static_cast<double>(scene_.repeatability.differ), what});
    const auto nodes = onnx_nodes_of(*place->node);
    return culprit_at(
        failure, nodes, {place->value}, fmt::format("'{}': {}", nodes.front(), what),
        {"repeated runs", static_cast<double>(scene_.repeatability.differ),
         fmt::format("'{}' is the first value that differs between runs on the same inputs, and all "
                     "that its node reads does not",
                     place->value)});
  }

  Culprit of_first_run() {
    const auto engine = scene_.subject.fresh();
    std::optional<FirstDifference> place;
    if (engine != nullptr) {
      const ShownRun first = show(*engine, scene_.inputs), second = show(*engine, scene_.inputs);
      place = first_difference(first, second);
    }
    return at(46, place, "the first run after a start alone differs: it reads what nobody has written yet");
  }

  Culprit of_run_before() {
    const ShownRun before = show(scene_.subject, scene_.inputs), steady = show(scene_.subject, scene_.inputs);
    scene_.subject.run(scene_.other);
    const ShownRun after = show(scene_.subject, scene_.inputs);
    const auto place = first_difference(after, steady);
    // A part of a buffer is read too early; all of one is what nobody has filled.
    constexpr double kWhole = 0.9;
    if (place && share_that_differs(place->first, place->second) < kWhole)
      return at(44, place, "a part of it is read before it is written: it is that of the run before");
    return at(46, place, "what a run on other inputs leaves gets into the next one");
  }

  Culprit of_equal_runs() {
    constexpr size_t kRuns = 4;
    std::vector<ShownRun> runs;
    for (size_t i = 0; i < kRuns; ++i) {
      if (i % 2 == 1) scene_.subject.run(scene_.other);  // so that what is left over is wrong
      runs.push_back(show(scene_.subject, scene_.inputs));
    }
    if (const auto late = late_inputs(runs, scene_.inputs); !late.empty())
      return culprit_at(
          44, {}, late,
          fmt::format("between equal runs, what reads input '{}' differs, and all that follows from it: "
                      "it is read before it is written",
                      fmt::join(late, "', '")),
          {"repeated runs", static_cast<double>(scene_.repeatability.differ),
           "all first values that differ between runs on the same inputs are made of these inputs alone"});
    std::optional<FirstDifference> place;
    for (size_t i = 1; i < kRuns; ++i) {
      const auto found = first_difference(runs[0], runs[i]);
      const auto order = [&](const Node* node) {
        const auto& nodes = runs[0].graph->nodes();
        return std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == node; });
      };
      if (found && (!place || order(found->node) < order(place->node))) place = found;
    }
    if (repeats_its_history(scene_).value_or(false))
      return at(46, place, "each run adds to what the runs before have left: a fresh engine begins anew");
    std::vector<Tensor> made;
    for (const ShownRun& run : runs) {
      const auto found = place ? run.values.find(place->value) : run.values.end();
      if (found != run.values.end() && found->second.is_tensor()) made.push_back(found->second.tensor);
    }
    if (made.size() == kRuns && differ_at_the_same_place(made))
      return at(46, place, "the same elements hold something else at each run: they were never written");
    return at(44, place, "equal runs differ by chance: something is read before it is written");
  }

  const RuntimeScene& scene_;
  Stopwatch& watch_;
};

// The class that a node's own error has got, if it tells of state or time.
bool is_told(const std::vector<Culprit>& culprits) {
  return std::any_of(culprits.begin(), culprits.end(), [](const Culprit& culprit) {
    return culprit.failure == FailureClass(44) || culprit.failure == FailureClass(46);
  });
}

std::set<std::string> nodes_of(const SameInputCheck& check) {
  std::set<std::string> nodes;
  for (const Suspect& suspect : check.suspects) {
    for (const std::string& node : suspect.onnx_nodes()) nodes.insert(node);
  }
  return nodes;
}

// A node that is wrong after one start of the engine and sound after another.
std::optional<Culprit> start_dependent(const RuntimeScene& scene, Stopwatch& watch) {
  constexpr size_t kStarts = 2;
  const auto wrong = nodes_of(scene.check);
  for (size_t i = 0; i < kStarts && !watch.is_over(); ++i) {
    const auto engine = watch.time("fresh starts", 1, [&] { return scene.subject.fresh(); });
    if (engine == nullptr) return std::nullopt;
    if (same(scene.outputs, watch.time("fresh starts", 1, [&] { return engine->run(scene.inputs); })))
      continue;
    const ShownRun shown = engine->show(scene.inputs);
    const SameInputCheck check =
        watch.time("same inputs", 1, [&] { return check_on_own_inputs(*engine, shown, scene.inputs); });
    const auto other = nodes_of(check);
    for (const auto* suspects : {&scene.check.suspects, &check.suspects}) {
      for (const Suspect& suspect : *suspects) {
        const auto nodes = suspect.onnx_nodes();
        if (wrong.contains(nodes.front()) == other.contains(nodes.front())) continue;
        const Value* value = suspect.node->output(suspect.output);
        return culprit_at(
            42, nodes, {value == nullptr ? "" : value->name},
            fmt::format("'{}' is wrong after one start of the engine and sound after another: it gets "
                        "another kernel",
                        nodes.front()),
            {"fresh starts", static_cast<double>(i + 1),
             "the same model and the same inputs give another answer when the engine is started again"});
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void find_runtime_faults(const RuntimeScene& scene, std::vector<Culprit>& culprits, Stopwatch& watch) {
  if (!scene.repeatability.is_repeatable()) {
    if (auto drawing = drawing_node(scene)) {
      put_first(std::move(*drawing), culprits);
      return;
    }
    const Repeatability& seen = scene.repeatability;
    const bool before_alone = seen.depends_on_before && (seen.differ == 0 || seen.only_first);
    if (before_alone && is_told(culprits)) return;
    if (auto found = Repeats(scene, watch).find()) put_first(std::move(*found), culprits);
    return;
  }
  if (auto found = start_dependent(scene, watch)) {
    put_first(std::move(*found), culprits);
    return;
  }
  const bool explained = std::any_of(culprits.begin(), culprits.end(),
                                     [](const Culprit& culprit) { return culprit.failure.is_explained(); });
  if (explained) return;
  if (auto place = rows_that_differ(scene.model, scene.subject, scene.inputs, watch)) {
    const auto nodes = onnx_nodes_of(*place->node);
    put_first(
        culprit_at(43, nodes, {place->value},
                   fmt::format("'{}': equal rows of a batch get different answers", nodes.front()),
                   {"equal rows", place->largest,
                    fmt::format("of {} equal rows, row {} of '{}' differs from the first by {:.3g} of it",
                                place->rows, place->row, place->value, place->largest)}),
        culprits);
  }
}

}  // namespace vernier
