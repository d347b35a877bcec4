#include "vernier/diagnose/experiments/narrowing.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/under_test/partial_models.h"
#include "vernier/diagnose/under_test/unshown_regions.h"
#include "vernier/ops/group.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

namespace {

// Later experiments need time, too.
constexpr double kPartOfBudget = 0.6;
// So often in a row an engine may refuse before it is not asked that way any more.
constexpr int kRefusals = 3;
// A model of so few nodes is judged as it is.
constexpr size_t kFewNodes = 24;

std::set<std::string> names_of(const ShownRun& shown) {
  std::set<std::string> names;
  for (const auto& [name, datum] : shown.values) names.insert(name);
  for (const auto& batch : shown.batches) names.insert(batch.begin(), batch.end());
  return names;
}

class Narrowing {
 public:
  Narrowing(const NarrowingJob& job, ShownRun start, Stopwatch& watch)
      : job_(job), watch_(watch), borders_(*job.model->graph) {
    const auto values = job.tested->intrusive_values();
    intrusive_.insert(values.begin(), values.end());
    view_.shown = std::move(start);
  }

  View run() && {
    const bool shows_nothing = view_.shown.values.size() <= job_.plain->size() && view_.shown.batches.empty();
    if (shows_nothing && !intrusive_.empty() && borders_.nodes() > kFewNodes) halve();
    view_.check = check();
    show_more();
    if (!interest_.empty() && !watch_.is_past(kPartOfBudget)) {  // other faults may lie elsewhere
      interest_.clear();
      SameInputCheck whole = check();
      if (whole.is_whole || view_.check.flagged_nodes.empty()) view_.check = std::move(whole);
      show_more();
    }
    return std::move(view_);
  }

 private:
  void show_more() {
    while (!watch_.is_past(kPartOfBudget)) {
      const auto value = next();
      if (!value) break;
      std::vector<std::string> values = candidates(borders_.behind(*value));
      if (values.empty() || !show(values)) {
        if (tried_.contains(*value) || !show({*value})) continue;
      }
      const ShownRun before = view_.shown;
      group();
      SameInputCheck checked = check();
      if (!checked.is_whole) {  // half a check is worth less than the last whole one
        view_.shown = before;
        break;
      }
      view_.check = std::move(checked);
    }
  }

  void group() { view_.shown.graph = group_unshown(*job_.model->graph, names_of(view_.shown)); }

  SameInputCheck check() {
    SameInputOptions options;
    options.is_over = [this] { return watch_.is_over(); };
    options.leaves_out = [this](const Node& node) {
      return sound_.contains(key_of(node)) || !is_of_interest(node);
    };
    options.nan_may_vanish = !job_.fails;
    options.most_bytes = job_.most_bytes;
    options.is_sound = [this](const Node& node) { sound_.insert(key_of(node)); };
    SameInputCheck checked = watch_.time("same inputs", 1, [&] {
      return check_on_own_inputs(*job_.tested, view_.shown, *job_.inputs, options);
    });
    nodes_ += checked.nodes;
    checked.nodes = nodes_;
    return checked;
  }

  // A node that was sound between the same shown values stays so.
  static std::string key_of(const Node& node) {
    std::string key = fmt::format("{} ->", fmt::join(onnx_nodes_of(node), ","));
    for (const Value* value : node.outputs) key += value == nullptr ? "," : value->name + ",";
    return key;
  }

  bool is_of_interest(const Node& node) const {
    if (interest_.empty()) return true;
    const auto names = onnx_nodes_of(node);
    return std::any_of(names.begin(), names.end(),
                       [this](const std::string& name) { return interest_.contains(name); });
  }

  // The value in the middle of those that lie unseen inside of the worst flagged node that has some.
  std::optional<std::string> next() const {
    std::optional<std::string> value;
    double worst = 0;
    for (const FlaggedNode& flagged : view_.check.flagged_nodes) {
      if (!ops::is_group(*flagged.node) || flagged.worst.worst <= worst) continue;
      std::vector<std::string> inside;
      for (const auto& member : ops::body(*flagged.node).nodes()) {
        for (const Value* output : member->outputs) {
          if (output != nullptr) inside.push_back(output->name);
        }
      }
      inside = candidates(inside);
      if (inside.empty()) continue;
      value = inside[inside.size() / 2];
      worst = flagged.worst.worst;
    }
    return value;
  }

  // Lists the values that are not seen yet, and may be asked for.
  std::vector<std::string> candidates(const std::vector<std::string>& values) const {
    const auto seen = names_of(view_.shown);
    std::vector<std::string> result;
    for (const std::string& value : values) {
      if (intrusive_.contains(value) && !tried_.contains(value) && !seen.contains(value))
        result.push_back(value);
    }
    return result;
  }

  // Binary search for the first nodes, in execution order, behind which a value differs from that of the
  // reference. It takes no analysis of errors, which is much work where few values are shown.
  void halve() {
    NamedData right = reference_values();
    size_t sound = 0, wrong = borders_.nodes();
    while (wrong - sound > 1 && !watch_.is_past(kPartOfBudget / 2)) {
      const auto tried = show_near(sound, wrong);
      if (!tried) break;
      const auto values = borders_.at(*tried);
      const bool differs = std::any_of(values.begin(), values.end(), [&](const std::string& value) {
        const auto made = view_.shown.values.find(value), known = right.find(value);
        return made != view_.shown.values.end() && known != right.end() &&
               !is_alike(made->second, known->second);
      });
      (differs ? wrong : sound) = *tried;
    }
    group();
    for (size_t i = sound; i < wrong; ++i) {
      for (const std::string& name : onnx_nodes_of(*job_.model->graph->nodes()[i])) interest_.insert(name);
    }
  }

  // Shows all values between the first nodes and the others, where the first are about half of those between
  // two numbers. Gives their number; nothing if there is no such place where all can be shown.
  std::optional<size_t> show_near(size_t begin, size_t end) {
    const size_t middle = begin + (end - begin) / 2;
    constexpr size_t kMostTried = 8;
    for (size_t k = 0, tried = 0; k < 2 * (end - begin) && tried < kMostTried; ++k) {
      const size_t place = k % 2 == 0 ? middle + k / 2 : middle - (k + 1) / 2;
      if (place <= begin || place >= end) continue;
      const auto values = candidates(borders_.at(place));
      if (!values.empty()) {
        ++tried;
        show(values);
      }
      const auto seen = names_of(view_.shown);
      const auto border = borders_.at(place);
      if (!border.empty() && std::all_of(border.begin(), border.end(),
                                         [&](const std::string& value) { return seen.contains(value); }))
        return place;
    }
    return std::nullopt;
  }

  // Whether there is more in the view. Where all together cannot be shown, each is tried by itself.
  bool show(const std::vector<std::string>& values) {
    if (values.size() > 1) {
      if (refusals_ < kRefusals && shown_with_outputs(values).value_or(false)) return true;
      size_t more = 0;
      for (const std::string& value : values) more += show({value}) ? 1 : 0;
      return more > 0;
    }
    tried_.insert(values.begin(), values.end());
    if (refusals_ < kRefusals) {
      if (const auto answer = shown_with_outputs(values)) return *answer;
    }
    return cut_refusals_ < kRefusals && shown_by_cutting(values.at(0));
  }

  // Nothing if the engine does not show them; false if it then gives another answer.
  std::optional<bool> shown_with_outputs(const std::vector<std::string>& values) {
    job_.tested->limit_time(watch_.left());
    NamedData shown;
    try {
      ShowOptions options;
      options.values = values;
      shown = watch_.time("showing few values", 1,
                          [&] { return job_.tested->show(*job_.inputs, options).values; });
    } catch (const Error&) {
      shown.clear();
    }
    const auto is_missing = [&](const std::string& value) { return !shown.contains(value); };
    if (std::any_of(values.begin(), values.end(), is_missing)) {
      refusals_ += values.size() == 1 ? 1 : 0;
      return std::nullopt;
    }
    refusals_ = 0;
    const double changed = bounded_distance(shown, *job_.plain, *job_.right);
    if (!(changed <= job_.allowed)) {
      if (values.size() == 1)
        view_.changing.push_back({values[0], bounded_distance(shown, *job_.right, *job_.right),
                                  bounded_distance(*job_.plain, *job_.right, *job_.right)});
      return false;
    }
    for (const std::string& value : values) view_.shown.values[value] = std::move(shown.at(value));
    return true;
  }

  // By a model that ends with it.
  bool shown_by_cutting(const std::string& value) {
    job_.tested->limit_time(watch_.left());
    try {
      auto made = watch_.time("models cut off", 1, [&] {
        return job_.tested->run_other(up_to(*job_.model, value), *job_.inputs);
      });
      if (made && made->contains(value)) {
        view_.shown.values[value] = std::move(made->at(value));
        cut_refusals_ = 0;
        return true;
      }
    } catch (const Error& error) {
      if (cut_refusals_ == 0)
        view_.shown.notes.push_back(
            fmt::format("a model cut off behind '{}' does not run: {}", value, error.message()));
    }
    ++cut_refusals_;
    return false;
  }

  NamedData reference_values() {
    NamedData values;
    const NamedData given = view_.shown.given(*job_.inputs);
    InterpreterOptions options;
    options.observe = [&](const Value& value, const Datum& datum) {
      if (!datum.is_tensor() || !datum.tensor.is_defined() || !is_float(datum.tensor.type())) return;
      values[value.name] = set_aside(datum.tensor);
    };
    watch_.time("reference", 1, [&] { return run_reference(*job_.model, given, options); });
    return values;
  }

  // Next to the error of the outputs.
  bool is_alike(const Datum& made, const Datum& right) const {
    if (!made.is_tensor() || made.tensor.dims() != right.tensor.dims()) return false;
    constexpr double kPart = 0.02, kRounding = 1e-5;
    const double error = bounded_distance(*job_.plain, *job_.right, *job_.right);
    return bounded_distance(Tensors{made.tensor}, {right.tensor}, {right.tensor}) <=
           std::max(kPart * error, kRounding);
  }

  const NarrowingJob& job_;
  Stopwatch& watch_;
  Borders borders_;
  std::set<std::string> intrusive_, tried_, sound_;
  std::set<std::string> interest_;  // nodes to be judged first; empty: all are
  size_t nodes_ = 0;                // that were judged
  int refusals_ = 0, cut_refusals_ = 0;
  View view_;
};

}  // namespace

View narrow(const NarrowingJob& job, ShownRun start, Stopwatch& watch) {
  return Narrowing(job, std::move(start), watch).run();
}

}  // namespace vernier
