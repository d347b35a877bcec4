#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/repeats/first_difference.h"
#include "vernier/diagnose/repeats/runtime_faults.h"

namespace vernier {

namespace {

// Whether engines that were started anew go through the same answers: then what a run leaves decides, and not
// time.
std::optional<bool> repeats_its_history(const RuntimeContext& context) {
  const size_t runs = context.repeatability.by_chance ? 8 : 3;
  std::vector<NamedData> histories[2];
  for (auto& history : histories) {
    const auto engine = context.tested.fresh();
    if (engine == nullptr) return std::nullopt;
    for (size_t i = 0; i < runs; ++i) {
      if (context.repeatability.by_chance) engine->run(context.other);
      history.push_back(engine->run(context.inputs));
    }
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

// Gives the share of the elements.
double share_that_differs(const Tensor& first, const Tensor& second) {
  if (first.dims() != second.dims() || first.size() == 0) return 1;
  const auto a = first.to_doubles(), b = second.to_doubles();
  double count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count / static_cast<double>(a.size());
}

// Gives the share of the elements that are near neither of two others.
double share_of_neither(const Tensor& made, const Tensor& one, const Tensor& other) {
  if (made.dims() != one.dims() || made.dims() != other.dims() || made.size() == 0) return 0;
  const auto values = made.to_doubles(), a = one.to_doubles(), b = other.to_doubles();
  double squares = 0, count = 0;
  for (const double value : a) squares += std::isfinite(value) ? value * value : 0;
  constexpr double kNear = 1e-3;  // of the root mean square
  const double near = kNear * std::sqrt(squares / static_cast<double>(a.size()));
  for (size_t i = 0; i < values.size(); ++i)
    count += std::abs(values[i] - a[i]) > near && std::abs(values[i] - b[i]) > near ? 1 : 0;
  return count / static_cast<double>(values.size());
}

class Repeats {
 public:
  Repeats(const RuntimeContext& context, Stopwatch& watch) : context_(context), watch_(watch) {}

  std::optional<RootCause> find() {
    const Repeatability& seen = context_.repeatability;
    if (seen.by_chance && seen.differ <= 1) return of_chance();
    // A leftover is zero at first, and right in equal runs: only other inputs show it.
    if (seen.depends_on_before && (seen.differ == 0 || seen.only_first)) return of_run_before();
    return seen.only_first ? of_first_run() : of_equal_runs();
  }

  // Where it is known that the answer depends on the run before.
  std::optional<RootCause> find_late_input() {
    const ShownRun steady = steady_run(), after = run_after_others();
    const auto place = first_difference(after, steady);
    const auto input = late_input(place);
    return input ? std::optional(of_late_inputs({*input})) : std::nullopt;
  }

 private:
  ShownRun show(EngineUnderTest& tested, const NamedData& inputs) const {
    return watch_.time("inner values again", 1, [&] { return tested.show(inputs); });
  }

  std::string outputs() const {
    return fmt::format("'{}'", fmt::join(context_.repeatability.outputs, "', '"));
  }

  RootCause at(int failure, const std::optional<FirstDifference>& place, const std::string& what) const {
    if (!place)
      return root_cause_at(failure, {}, context_.repeatability.outputs, outputs() + ": " + what,
                           {"repeated runs", static_cast<double>(context_.repeatability.differ), what});
    const auto nodes = onnx_nodes_of(*place->node);
    return root_cause_at(
        failure, nodes, {place->value}, fmt::format("'{}': {}", nodes.front(), what),
        {"repeated runs", static_cast<double>(context_.repeatability.differ),
         fmt::format("'{}' is the first value that differs between runs on the same inputs, and all "
                     "that its node reads does not",
                     place->value)});
  }

  // Whether a run that follows others is unlike a sound one, too, now and then.
  bool differs_later(EngineUnderTest& engine, const ShownRun& sound) const {
    constexpr size_t kMost = 12;
    constexpr double kPartOfBudget = 0.6;
    for (size_t i = 0; i < kMost && !watch_.is_past(kPartOfBudget); ++i) {
      engine.run(context_.other);
      if (first_difference(sound, show(engine, context_.inputs))) return true;
    }
    return false;
  }

  RootCause of_first_run() {
    const auto engine = context_.tested.fresh();
    ShownRun first, second;  // that the place lies in
    std::optional<FirstDifference> place;
    if (engine != nullptr) {
      first = show(*engine, context_.inputs);
      second = show(*engine, context_.inputs);
      place = first_difference(first, second);
      if (place && differs_later(*engine, second)) return of_chance();
    }
    return at(46, place, "the first run after a start alone differs: it reads what nobody has written yet");
  }

  ShownRun steady_run() const {
    show(context_.tested, context_.inputs);
    return show(context_.tested, context_.inputs);
  }

  ShownRun run_after_others() const {
    context_.tested.run(context_.other);
    return show(context_.tested, context_.inputs);
  }

  RootCause of_run_before() {
    const ShownRun steady = steady_run(), after = run_after_others();
    const auto place = first_difference(after, steady);
    if (const auto input = late_input(place)) return of_late_inputs({*input});
    if (place && share_that_differs(place->first, place->second) < kWhole)
      return at(44, place, "a part of it is read before it is written: it is that of the run before");
    return at(46, place, "what a run on other inputs leaves gets into the next one");
  }

  // Where in the graph the run begins to differ, in execution order.
  static size_t place_of(const ShownRun& run, const Node* node) {
    const auto& nodes = run.graph->nodes();
    return static_cast<size_t>(
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == node; }) -
        nodes.begin());
  }

  // Runs on the same inputs, more of them until one differs from the first.
  std::vector<ShownRun> equal_runs() const {
    constexpr size_t kFewest = 4, kMost = 24;
    constexpr double kPartOfBudget = 0.6;
    std::vector<ShownRun> runs;
    bool differs = false;
    for (size_t i = 0; i < kMost; ++i) {
      if (i >= kFewest && (differs || watch_.is_past(kPartOfBudget))) break;
      if (i % 2 == 1 || context_.repeatability.by_chance)
        context_.tested.run(context_.other);  // what is left is wrong
      ShownRun run = show(context_.tested, context_.inputs);
      const bool other = i > 0 && first_difference(runs[0], run);
      differs = differs || other;
      if (i < kFewest || other) runs.push_back(std::move(run));
    }
    return runs;
  }

  static std::optional<FirstDifference> first_of(const std::vector<ShownRun>& runs) {
    std::optional<FirstDifference> place;
    for (size_t i = 1; i < runs.size(); ++i) {
      const auto found = first_difference(runs[0], runs[i]);
      if (found && (!place || place_of(runs[0], found->node) < place_of(runs[0], place->node))) place = found;
    }
    return place;
  }

  // Gives what a sound engine makes of a value.
  std::optional<Tensor> sound_value(const std::string& name, const NamedData& inputs) const {
    std::optional<Tensor> found;
    InterpreterOptions options;
    options.observe = [&](const Value& value, const Datum& datum) {
      if (value.name == name && datum.is_tensor()) found = datum.tensor;
    };
    run_reference(context_.model, inputs, options);
    return found;
  }

  // The input of which the first node that differs has read a part too early: then its elements are neither
  // those of this run nor those of the other, as they would be where its own result is late.
  std::optional<std::string> late_input(const std::optional<FirstDifference>& place) const {
    if (!place || !is_float(place->first.type())) return std::nullopt;
    const auto read = std::find_if(
        place->node->inputs.begin(), place->node->inputs.end(),
        [&](const Value* input) { return input != nullptr && context_.inputs.contains(input->name); });
    if (read == place->node->inputs.end()) return std::nullopt;
    const auto own = sound_value(place->value, context_.inputs),
               other = sound_value(place->value, context_.other);
    if (!own || !other) return std::nullopt;
    constexpr double kMixed = 0.5;
    const bool is_mixed = share_of_neither(place->first, *own, *other) > kMixed ||
                          share_of_neither(place->second, *own, *other) > kMixed;
    return is_mixed ? std::optional((*read)->name) : std::nullopt;
  }

  RootCause of_late_inputs(const std::vector<std::string>& late) const {
    return root_cause_at(
        44, {}, late,
        fmt::format("between equal runs, what reads input '{}' differs, and all that follows from it: it is "
                    "read before it is written",
                    fmt::join(late, "', '")),
        {"repeated runs", static_cast<double>(context_.repeatability.differ),
         "all first values that differ between runs on the same inputs are made of these inputs alone"});
  }

  // Leftovers of the run before get into some runs: by time, unless new engines go through the same.
  RootCause of_chance() {
    const auto runs = equal_runs();
    if (const auto late = late_inputs(runs, context_.inputs); !late.empty()) return of_late_inputs(late);
    const auto place = first_of(runs);
    if (const auto input = late_input(place)) return of_late_inputs({*input});
    const bool whole = place && share_that_differs(place->first, place->second) >= kWhole;
    if (whole && repeats_its_history(context_).value_or(false))
      return at(46, place,
                "what a run on other inputs leaves gets into some of the next ones, always the same");
    return at(44, place, "now and then it is read before it is written: then it is that of the run before");
  }

  RootCause of_equal_runs() {
    const auto runs = equal_runs();
    if (const auto late = late_inputs(runs, context_.inputs); !late.empty()) return of_late_inputs(late);
    const auto place = first_of(runs);
    if (repeats_its_history(context_).value_or(false))
      return at(46, place, "each run adds to what the runs before have left: a fresh engine begins anew");
    std::vector<Tensor> made;
    for (const ShownRun& run : runs) {
      const auto found = place ? run.values.find(place->value) : run.values.end();
      if (found != run.values.end() && found->second.is_tensor()) made.push_back(found->second.tensor);
    }
    if (made.size() == runs.size() && differ_at_the_same_place(made))
      return at(46, place, "the same elements hold something else at each run: they were never written");
    return at(44, place, "equal runs differ by chance: something is read before it is written");
  }

  // A part of a buffer is read too early; all of one is what nobody has filled.
  static constexpr double kWhole = 0.9;

  const RuntimeContext& context_;
  Stopwatch& watch_;
};

}  // namespace

RootCause root_cause_at(int failure, std::vector<std::string> nodes, std::vector<std::string> values,
                        const std::string& sentence, const Evidence& evidence) {
  RootCause made;
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

bool same(const NamedData& a, const NamedData& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& each) {
    const auto found = b.find(each.first);
    return !each.second.is_tensor() || (found != b.end() && found->second.is_tensor() &&
                                        each.second.tensor.identical(found->second.tensor));
  });
}

std::optional<RootCause> find_late_input(const RuntimeContext& context, Stopwatch& watch) {
  return Repeats(context, watch).find_late_input();
}

std::optional<RootCause> find_changing_runs(const RuntimeContext& context, Stopwatch& watch) {
  return Repeats(context, watch).find();
}

}  // namespace vernier
