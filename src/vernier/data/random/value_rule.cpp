#include "vernier/data/random/value_rule.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "vernier/data/random/lower_case.h"

namespace vernier {

namespace {

// A value whose elements are scale * x + offset for elements x of the input.
struct Flow {
  const Value* value;
  double scale = 1, offset = 0;
  bool added = false;                  // something unknown was added as well
  std::optional<size_t> element = {};  // of a list: the one element that the value is
};

// Lists with more elements are not taken apart.
constexpr int64_t kMostElements = 64;

// This is subtracted from scores that a mask hides; half precision allows no more than 65504.
constexpr double kHiding = 9e3;

bool is_integral(const Value& input) {
  const ElementType type = input.type.tensor.element;
  return is_integer(type) || type == ElementType::kBool;
}

// Follows an input through everything that keeps its elements, and gathers what their readers demand.
class Tracer {
 public:
  Tracer(const Value& input, const GraphUses& uses) : input_(input), uses_(uses) {
    const auto& shape = input.type.tensor.shape;
    const auto size = shape && shape->size() == 1 ? (*shape)[0].constant() : std::nullopt;
    if (size && *size >= 2 && *size <= kMostElements) elements_.resize(static_cast<size_t>(*size));
  }

  ValueRule trace() {
    reach({&input_});
    while (!pending_.empty()) {
      const Flow flow = pending_.front();
      pending_.pop_front();
      for (const Value* next : uses_.handed_on(flow.value))
        reach({next, flow.scale, flow.offset, flow.added, flow.element});
      for (const Use& use : uses_.of(flow.value)) {
        element_ = flow.element;
        visit(flow, use);
      }
    }
    const bool taken_apart = std::any_of(elements_.begin(), elements_.end(),
                                         [](const ValueRule& rule) { return rule.kind != RuleKind::kFree; });
    if (taken_apart && rule_.kind == RuleKind::kFree) rule_.elements = std::move(elements_);
    return std::move(rule_);
  }

 private:
  void reach(const Flow& flow) {
    if (flow.value != nullptr && reached_.insert(flow.value).second) pending_.push_back(flow);
  }
  void reach_outputs(const Node& node, Flow flow) {
    const size_t count = node.op == "Split" ? node.outputs.size() : std::min<size_t>(node.outputs.size(), 1);
    for (size_t i = 0; i < count; ++i) {
      flow.value = node.outputs[i];
      flow.element = element_;
      reach(flow);
    }
  }

  // The element of the list that a Slice or Gather with constant places takes out of it.
  std::optional<size_t> element_taken(const Flow& flow, const Node& node) const {
    if (elements_.empty() || flow.element || !is_whole_list(flow.value)) return flow.element;
    const auto first = constant_number(node.input(1));
    const auto end = node.op == "Slice" ? constant_number(node.input(2)) : first;
    if (!first || !end || (node.op == "Slice" && *end - *first != 1)) return std::nullopt;
    if (*first < 0 || *first >= static_cast<double>(elements_.size())) return std::nullopt;
    return static_cast<size_t>(*first);
  }
  bool is_whole_list(const Value* value) const {
    const auto& shape = value->type.tensor.shape;
    return shape && shape->size() == 1 && (*shape)[0] == Dim(static_cast<int64_t>(elements_.size()));
  }

  void merge(ValueRule rule) { (element_ ? elements_[*element_] : rule_).merge(std::move(rule)); }

  void visit(const Flow& flow, const Use& use) {
    const Node& node = *use.node;
    const bool takes = (node.op == "Slice" || node.op == "Gather") && use.input == 0 && node.domain.empty();
    if (takes) element_ = element_taken(flow, node);
    if (flow.added) {
      if (node.op == "Softmax") add_mask("added before Softmax '" + node.name + "'", false);
    } else if (auto rule = rule_of_use(use)) {
      demand(flow, std::move(*rule));
    } else if (node.op == "Where" && use.input == 0) {
      visit_condition(flow, node);
    } else if (node.domain.empty() && node.inputs.size() <= 2) {
      visit_arithmetic(flow, use);
    }
    if (copies_elements(node, use.input)) reach_outputs(node, flow);
  }

  // Turns a demand on scale * x + offset into one on x.
  void demand(const Flow& flow, ValueRule rule) {
    if (rule.kind == RuleKind::kInterval) {
      const double a = (rule.low - flow.offset) / flow.scale, b = (rule.high - flow.offset) / flow.scale;
      if (!std::isfinite(a) || !std::isfinite(b)) return;
      rule.low = std::min(a, b), rule.high = std::max(a, b);
    } else if (!rule.bounds.empty()) {
      if (flow.scale != 1 || std::abs(flow.offset) > 1e6) return;
      const Dim offset(static_cast<int64_t>(flow.offset));
      for (auto& [low, high] : rule.bounds) {
        // Less than the smallest sensible size is no size, whatever is added to it later.
        if (rule.kind != RuleKind::kSizes) low = low - offset;
        if (high) high = rule.kind == RuleKind::kSizes ? max(low, *high - offset) : *high - offset;
      }
    } else if (rule.kind == RuleKind::kMask) {
      rule.one_hides = flow.scale < 0;
    }
    merge(std::move(rule));
  }

  void add_mask(std::string why, bool one_hides) {
    ValueRule rule;
    rule.kind = RuleKind::kMask;
    rule.one_hides = one_hides;
    rule.why = {std::move(why)};
    merge(std::move(rule));
  }

  void visit_condition(const Flow& flow, const Node& node) {
    const auto hides = [&](size_t branch) {
      const auto number = constant_number(node.input(branch));
      return number && *number <= -kHiding;
    };
    const bool one_hides = hides(1) ? flow.scale > 0 : hides(2) && flow.scale < 0;
    add_mask("condition of Where '" + node.name + "'", one_hides);
  }

  void visit_arithmetic(const Flow& flow, const Use& use) {
    const Node& node = *use.node;
    const auto continue_with = [&](double scale, double offset) {
      const bool hiding = std::abs(scale) >= kHiding && std::abs(flow.scale) < kHiding;
      if (hiding) add_mask("weight of a large number in '" + node.name + "'", scale < 0);
      if (scale != 0) reach_outputs(node, {nullptr, scale, offset, false});
    };
    if (node.op == "Neg") return continue_with(-flow.scale, -flow.offset);
    if (node.op == "Not") return continue_with(-flow.scale, 1 - flow.offset);
    if (node.inputs.size() != 2) return;
    const auto other = constant_number(node.inputs[1 - use.input]);
    if (!other) return visit_unknown(flow, use);
    const double c = *other;
    if (node.op == "Add")
      continue_with(flow.scale, flow.offset + c);
    else if (node.op == "Sub" && use.input == 0)
      continue_with(flow.scale, flow.offset - c);
    else if (node.op == "Sub")
      continue_with(-flow.scale, c - flow.offset);
    else if (node.op == "Mul")
      continue_with(flow.scale * c, flow.offset * c);
    else if (node.op == "Div" && use.input == 0 && c != 0)
      continue_with(flow.scale / c, flow.offset / c);
    else if (is_integral(input_))
      visit_comparison(flow, use, c);
  }

  void add_choices(const Flow& flow, const Node& node, const std::vector<double>& compared) {
    ValueRule rule;
    rule.kind = RuleKind::kChoices;
    for (const double c : compared) rule.choices.push_back((c - flow.offset) / flow.scale);
    rule.why = {"compared by Equal '" + node.name + "'"};
    merge(std::move(rule));
  }

  // Integers compared with 0 or 1 are flags: the result is x or 1 - x.
  void visit_comparison(const Flow& flow, const Use& use, double c) {
    const std::string& op = use.node->op;
    const bool mirrored = use.input == 1;
    const bool above =
        mirrored ? op == "Less" || op == "LessOrEqual" : op == "Greater" || op == "GreaterOrEqual";
    const bool below =
        mirrored ? op == "Greater" || op == "GreaterOrEqual" : op == "Less" || op == "LessOrEqual";
    if (op == "Equal" && c != 0 && c != 1) {
      add_choices(flow, *use.node, {c});
    } else if ((op == "Equal" && c == 1) || (above && c >= 0 && c <= 1)) {
      reach_outputs(*use.node, flow);
    } else if (op == "Equal" || (below && c >= 0 && c <= 1)) {
      reach_outputs(*use.node, {nullptr, -flow.scale, 1 - flow.offset, false});
    }
  }

  // The other operand is no single number: scores to which a mask is added, the codes of a one-hot encoding,
  // or positions compared with lengths.
  void visit_unknown(const Flow& flow, const Use& use) {
    const Node& node = *use.node;
    if (node.op == "Equal" && is_integral(input_)) {
      const auto codes = constant_elements(node.inputs[1 - use.input]);
      if (!codes.empty()) add_choices(flow, node, codes);
    }
    if (node.op == "Add" && !is_integral(input_))
      reach_outputs(node, {nullptr, flow.scale, flow.offset, true});
    constexpr std::string_view kOrders[] = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
    if (!is_integral(input_) ||
        std::find(std::begin(kOrders), std::end(kOrders), node.op) == std::end(kOrders))
      return;
    const Value* positions = node.inputs[1 - use.input];
    while (positions != nullptr && positions->producer() != nullptr &&
           copies_elements(*positions->producer(), 0)) {
      positions = positions->producer()->input(0);
    }
    if (positions == nullptr || positions->producer() == nullptr || positions->producer()->op != "Range")
      return;
    ValueRule rule;
    rule.kind = RuleKind::kLengths;
    const auto& shape = positions->type.tensor.shape;
    rule.bounds = {{1, shape && shape->size() == 1 ? std::optional((*shape)[0]) : std::nullopt}};
    rule.why = {"compared with the positions of Range '" + positions->producer()->name + "'"};
    demand(flow, std::move(rule));
  }

  const Value& input_;
  const GraphUses& uses_;
  std::set<const Value*> reached_;
  std::deque<Flow> pending_;
  ValueRule rule_;
  std::vector<ValueRule> elements_;  // of a short list: what is demanded of one element alone
  std::optional<size_t> element_;    // the one that the use at hand is about
};

// Names are a convention only, so they decide where the graph says nothing stronger.
void apply_name(const Value& input, const Model& model, ValueRule& rule) {
  const std::string name = lower_case(input.name);
  const auto contains = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (rule.kind < RuleKind::kMask && contains("mask")) {
    ValueRule mask;
    mask.kind = RuleKind::kMask;
    mask.why = {"named so"};
    rule.merge(std::move(mask));
  }
  const auto& shape = input.type.tensor.shape;
  const bool may_be_lengths = is_integral(input) && shape && shape->size() <= 1 &&
                              (contains("length") || contains("_len") || contains("lens"));
  const bool lengths = rule.kind == RuleKind::kLengths || (may_be_lengths && rule.kind < RuleKind::kIndices);
  const bool bounded = std::any_of(rule.bounds.begin(), rule.bounds.end(), [](const IntegerBounds& bounds) {
    return bounds.high && !bounds.high->has_fresh();
  });
  if (!lengths || (rule.kind == RuleKind::kLengths && bounded)) return;
  for (const Value* other : model.graph->inputs) {
    const auto& sizes = other->type.tensor.shape;
    const bool has_steps = other != &input && !other->is_constant() && sizes && sizes->size() >= 2;
    if (!has_steps || (shape && !shape->empty() && (*sizes)[0] != (*shape)[0])) continue;
    ValueRule by_name;
    by_name.kind = RuleKind::kLengths;
    by_name.bounds = {{1, (*sizes)[1]}};
    by_name.why = {fmt::format("up to axis 1 of '{}'", other->name)};
    rule.merge(std::move(by_name));
    return;
  }
}

}  // namespace

void ValueRule::merge(ValueRule other) {
  const auto with_bounds = [](RuleKind kind) {
    return kind == RuleKind::kIndices || kind == RuleKind::kLengths;
  };
  const bool adds_up = kind == other.kind || (with_bounds(kind) && with_bounds(other.kind));
  if (!adds_up) {
    if (other.kind > kind) *this = std::move(other);
    return;
  }
  const bool narrows = std::max(low, other.low) < std::min(high, other.high);
  if (kind == RuleKind::kInterval && narrows)
    low = std::max(low, other.low), high = std::min(high, other.high);
  kind = std::max(kind, other.kind);
  bounds.insert(bounds.end(), other.bounds.begin(), other.bounds.end());
  choices.insert(choices.end(), other.choices.begin(), other.choices.end());
  one_hides = one_hides || other.one_hides;
  for (std::string& reason : other.why) {
    if (std::find(why.begin(), why.end(), reason) == why.end()) why.push_back(std::move(reason));
  }
}

std::map<const Value*, ValueRule> value_rules(const Model& model) {
  const GraphUses uses(*model.graph);
  std::map<const Value*, ValueRule> rules;
  for (const Value* input : model.graph->inputs) {
    if (input->is_constant() || !input->type.is_tensor()) continue;
    ValueRule rule = Tracer(*input, uses).trace();
    apply_name(*input, model, rule);
    rules.emplace(input, std::move(rule));
  }
  return rules;
}

}  // namespace vernier
