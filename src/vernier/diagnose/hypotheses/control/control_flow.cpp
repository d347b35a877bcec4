// B41: a Loop or Scan that runs once more or less, or does not carry its states; the other branch of an If.
#include "vernier/diagnose/hypotheses/control/lone_node.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {

namespace {

constexpr int kClass = 41;
constexpr size_t kTripCount = 0, kCondition = 1, kFirstCarried = 2;

using Change = std::function<void(LoneNode&)>;

Tensors run_changed(const Member& member, const HypothesisContext& context, const Change& change) {
  LoneNode alone(member, context);
  change(alone);
  return alone.run();
}

// Repeats the last row of a scan output in place of what it lacks.
Tensor with_last_again(const Tensor& tensor, const Dims& dims) {
  if (tensor.dims().size() != dims.size() || dims.empty() || tensor.dims() == dims || tensor.dims()[0] == 0)
    return tensor;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < dims[0]; ++i) rows.push_back(std::min(i, tensor.dims()[0] - 1));
  return taken(tensor, 0, rows);
}

class Repetition {
 public:
  Repetition(Variations variations, const HypothesisContext& context)
      : variations_(variations), context_(context) {}

  void add(const std::string& what, const Change& change) const {
    const Member& member = variations_.member();
    const auto run = [&member, context = context_, change] { return run_changed(member, context, change); };
    variations_.add(what, run);
    variations_.add(what + ", and the last row of what it collects is there twice", [&member, run] {
      Tensors results = run();
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].is_defined() && member.out(i).is_defined())
          results[i] = with_last_again(results[i], member.out(i).dims());
      }
      return results;
    });
  }

 private:
  Variations variations_;
  HypothesisContext context_;
};

// Counts the trips: another scan output of the Loop collects their numbers.
int64_t trips_of(const Member& member, const HypothesisContext& context) {
  LoneNode alone(member, context);
  Graph& body = *alone.node().region("body");
  body.outputs.push_back(body.inputs.at(0));
  Value* numbers = alone.graph().add_value("numbers of trips");
  alone.node().outputs.push_back(numbers);
  alone.graph().outputs = {numbers};
  return run_reference(alone.graph(), alone.data()).outputs.at(0).tensor.dims().at(0);
}

// So many trips, whatever the condition says.
void set_trips(LoneNode& alone, int64_t trips) {
  if (trips < 0) throw unsupported("there is no trip to leave out");
  Value* count = alone.add_input("number of trips", Tensor::scalar(trips));
  auto& inputs = alone.node().inputs;
  inputs[kTripCount] = count;
  inputs[kCondition] = nullptr;
}

// Any other number of trips: few are tried one by one, of many those that a mistake makes likely.
void propose_counts(const Repetition& repetition, const Member& member, const HypothesisContext& context) {
  constexpr int64_t kFew = 24;
  const int64_t trips = trips_of(member, context);
  std::set<int64_t> counts{trips / 2, trips - 2, trips + 2, 2 * trips};
  for (int64_t count = 2; trips <= kFew && count < 2 * trips; ++count) counts.insert(count);
  for (const int64_t count : counts) {
    if (count < 2 || std::abs(count - trips) < 2) continue;
    repetition.add(fmt::format("it runs {} times instead of {}", count, trips),
                   [count](LoneNode& alone) { set_trips(alone, count); });
  }
}

void propose_loop(const Variations& variations, const HypothesisContext& context) {
  const Member& member = variations.member();
  const Repetition repetition(variations, context);
  const auto add = [&](const std::string& what, int64_t more) {
    repetition.add(what, [&member, context, more](LoneNode& alone) {
      set_trips(alone, trips_of(member, context) + more);
    });
  };
  add("it runs once too often", 1);
  add("it ends one trip too early", -1);
  propose_counts(repetition, member, context);
  repetition.add("it does not run at all", [](LoneNode& alone) { set_trips(alone, 0); });
  repetition.add("it runs once, whatever its condition says", [](LoneNode& alone) { set_trips(alone, 1); });
  repetition.add("its condition is not read", [](LoneNode& alone) {
    if (alone.node().inputs.at(kTripCount) == nullptr) throw unsupported("it would never end");
    alone.node().inputs.at(kCondition) = nullptr;
  });
  repetition.add("every trip begins with the first states", [&member, context](LoneNode& alone) {
    set_trips(alone, trips_of(member, context));  // its own condition might never come true
    Graph& body = *alone.node().region("body");
    for (size_t i = kFirstCarried; i < alone.node().inputs.size(); ++i)
      body.replace_uses(body.inputs.at(i), alone.node().inputs[i]);
  });
}

void propose_scan(const Variations& variations, const HypothesisContext& context) {
  const Member& member = variations.member();
  const Repetition repetition(variations, context);
  const auto scanned = static_cast<size_t>(member.node().attribute<int64_t>("num_scan_inputs", {}));
  if (scanned == 0 || scanned > member.input_count() || member.node().version < 9) return;
  const size_t first = member.input_count() - scanned;
  const auto axes = member.node().attribute<std::vector<int64_t>>("scan_input_axes", {});
  const auto shorten = [&](const std::string& what, int64_t from) {
    repetition.add(what, [=, &member](LoneNode& alone) {
      for (size_t i = 0; i < scanned; ++i) {
        const std::string& name = member.node().inputs[first + i]->name;
        const Tensor tensor = alone.data().at(name).tensor;
        const size_t axis = axis_of(i < axes.size() ? axes[i] : 0, tensor);
        std::vector<int64_t> places;
        for (int64_t place = 0; place + 1 < tensor.dims()[axis]; ++place) places.push_back(place + from);
        Value* shorter = alone.add_input(fmt::format("shorter {}", i), taken(tensor, axis, places));
        alone.node().inputs[first + i] = shorter;
      }
    });
  };
  shorten("it ends one element too early", 0);
  shorten("it begins one element too late", 1);
  const auto turn = [&](const std::string& what, const std::string& attribute, size_t count) {
    repetition.add(what, [=](LoneNode& alone) {
      auto directions = alone.node().attribute<std::vector<int64_t>>(attribute, {});
      directions.resize(count, 0);
      for (int64_t& direction : directions) direction = direction == 0 ? 1 : 0;
      alone.node().attributes[attribute] = directions;
    });
  };
  turn("it runs in the other direction", "scan_input_directions", scanned);
  turn("what it collects is in the other order", "scan_output_directions", member.outputs().size() - first);
  repetition.add("every element begins with the first states", [first](LoneNode& alone) {
    Graph& body = *alone.node().region("body");
    for (size_t i = 0; i < first; ++i) body.replace_uses(body.inputs.at(i), alone.node().inputs[i]);
  });
}

// Choices among the nodes of its regions, and of theirs.
std::vector<Node*> choices_inside(const Node& node) {
  std::vector<Node*> found;
  for (const auto& [name, region] : node.regions) {
    for_each_graph(*region, [&](const Graph& graph) {
      for (const auto& inner : graph.nodes()) {
        if (inner->op == "If" && inner->domain.empty()) found.push_back(inner.get());
      }
    });
  }
  return found;
}

void exchange_branches(Node& choice) {
  std::swap(choice.regions.at(0).second, choice.regions.at(1).second);
}

void propose_branches(const Variations& variations, const HypothesisContext& context) {
  const Member& member = variations.member();
  if (member.is("If"))
    variations.add("the other branch is taken", [&member, context] {
      return run_changed(member, context, [](LoneNode& alone) { exchange_branches(alone.node()); });
    });
  const auto inside = choices_inside(member.node());
  for (size_t i = 0; i < inside.size(); ++i)
    variations.add(fmt::format("'{}' inside of it takes the other branch", inside[i]->name),
                   [&member, context, i] {
                     return run_changed(member, context, [i](LoneNode& alone) {
                       exchange_branches(*choices_inside(alone.node()).at(i));
                     });
                   });
}

}  // namespace

void propose_control_flow(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                          std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  propose_branches(variations, context);
  if (member.is("Loop") && member.input_count() >= kFirstCarried) propose_loop(variations, context);
  if (member.is("Scan")) propose_scan(variations, context);
}

}  // namespace vernier
