#include "vernier/data/random/random_inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "vernier/base/hash.h"
#include "vernier/data/random/random_values.h"
#include "vernier/data/random/shape_choices.h"
#include "vernier/tensor/working_memory.h"

namespace vernier {

namespace {

struct ShapeSet {
  SizeAttempts attempts;  // of which the first is in force
  InputShapes shapes;

  const SymbolValues& symbols() const { return attempts.front(); }
};

// "N=2, seq=7"
std::string symbols_text(const SymbolValues& symbols) {
  std::string text;
  for (const auto& [name, size] : symbols) text += fmt::format(", {}={}", name, size);
  return text;
}

// Sizes that the user leaves open are the usual ones.
std::vector<ShapeSet> shape_sets(const Model& model, const std::vector<InputShapes>& given) {
  const auto choices = shape_choices(model);
  std::vector<ShapeSet> sets;
  for (const InputShapes& shapes : given) {
    SymbolValues symbols = symbols_of(model, shapes);
    const SymbolValues& usual = choices[std::min<size_t>(1, choices.size() - 1)].front();
    symbols.insert(usual.begin(), usual.end());
    sets.push_back({{std::move(symbols)}, shapes});
  }
  if (given.empty()) {
    for (const SizeAttempts& attempts : choices) sets.push_back({attempts, {}});
  }
  return sets;
}

}  // namespace

struct RandomInputs::State {
  const Model& model;
  RandomOptions options;
  std::map<const Value*, ValueRule> rules;
  std::vector<ShapeSet> sets;
  size_t next = 0;

  std::optional<ValueRange> range_of(const Value& input) const {
    auto found = options.ranges.find(input.name);
    if (found == options.ranges.end() && input.type.tensor.element != ElementType::kString)
      found = options.ranges.find("");
    return found == options.ranges.end() ? std::nullopt : std::optional(found->second);
  }

  Datum draw(const Value& input, const ValueType& type, const ShapeSet& set, RandomStream& stream,
             std::string& text) const {
    if (type.kind == ValueType::Kind::kOptional) return draw(input, *type.element, set, stream, text);
    if (type.kind == ValueType::Kind::kMap) {
      throw unsupported("input '{}' is {}, for which no random data are made", input.name, type.text())
          .advise("give samples with --data");
    }
    if (type.kind == ValueType::Kind::kSequence) {
      constexpr size_t kElements = 2;
      std::vector<Datum> elements;
      for (size_t i = 0; i < kElements; ++i)
        elements.push_back(draw(input, *type.element, set, stream, text));
      return Datum::of_sequence(std::move(elements));
    }
    Value typed;
    typed.name = input.name;
    typed.type = type;
    const auto rule = rules.find(&input);
    const Dims dims = input_dims(typed, set.symbols(), set.shapes);
    require_workable(fmt::format("a random input '{}'", input.name), dims);
    auto drawn = draw_tensor(rule == rules.end() ? ValueRule{} : rule->second, type.tensor.element, dims,
                             set.symbols(), range_of(input), stream);
    text = std::move(drawn.text);
    return std::move(drawn.tensor);
  }
};

RandomInputs::RandomInputs(const Model& model, RandomOptions options) {
  for (const auto& [name, range] : options.ranges) {
    if (!name.empty()) find_input(model, name);
  }
  auto sets = shape_sets(model, options.shapes);
  state_ = std::make_unique<State>(State{model, std::move(options), value_rules(model), std::move(sets)});
}
RandomInputs::~RandomInputs() = default;

size_t RandomInputs::sample_count() const {
  return state_->sets.size() * state_->options.samples;
}

std::optional<Sample> RandomInputs::next() {
  if (state_->next == sample_count()) return std::nullopt;
  const size_t index = state_->next++;
  const ShapeSet& set = state_->sets[index / state_->options.samples];
  Sample sample;
  sample.origin =
      fmt::format("random, seed {}, sample {}{}", state_->options.seed, index, symbols_text(set.symbols()));
  for (const Value* input : required_inputs(state_->model)) {
    RandomStream stream(hash_combine(hash_text(input->name, state_->options.seed), index));
    sample.inputs[input->name] = state_->draw(*input, input->type, set, stream, sample.drawn[input->name]);
  }
  sample.notes = fit_inputs(state_->model, sample.inputs);
  return sample;
}

InputShapes RandomInputs::next_shapes() const {
  InputShapes shapes;
  if (state_->next == sample_count()) return shapes;
  const ShapeSet& set = state_->sets[state_->next / state_->options.samples];
  for (const Value* input : required_inputs(state_->model)) {
    if (input->type.is_tensor()) shapes[input->name] = input_dims(*input, set.symbols(), set.shapes);
  }
  return shapes;
}

void RandomInputs::skip(const Error& why) {
  ++state_->next;
  withdraw(why);
}

bool RandomInputs::withdraw(const Error& why) {
  if (state_->next == 0 || !state_->options.shapes.empty()) return false;
  auto& sets = state_->sets;
  const size_t index = state_->next - 1, set = index / state_->options.samples;
  const bool first_of_set = index % state_->options.samples == 0;
  if (!first_of_set || why.code() != ErrorCode::kBadInput || why.node().empty()) return false;
  const SymbolValues refused = sets[set].symbols();
  // Other choices need not try these sizes again.
  for (size_t i = set; i < sets.size(); ++i) std::erase(sets[i].attempts, refused);
  if (std::all_of(sets.begin(), sets.end(), [](const ShapeSet& each) { return each.attempts.empty(); })) {
    sets.resize(set + 1);
    sets[set].attempts = {refused};
    return false;
  }
  std::erase_if(sets, [](const ShapeSet& each) { return each.attempts.empty(); });
  --state_->next;
  return true;
}

std::map<std::string, ValueRange> parse_value_ranges(const std::vector<std::string>& arguments) {
  std::map<std::string, ValueRange> ranges;
  for (const std::string& argument : arguments) {
    const auto refuse = [&](const char* why) {
      return usage_error("'{}' {}", argument, why).advise("write INPUT:[LOW,HIGH], e.g. x:[-1,1]");
    };
    const size_t bracket = argument.rfind('[');
    if (bracket == std::string::npos || !argument.ends_with(']') ||
        (bracket > 0 && argument[bracket - 1] != ':'))
      throw refuse("is no range");
    const char *at = argument.data() + bracket + 1, *end = argument.data() + argument.size() - 1;
    const auto number = [&] {
      double value = 0;
      while (at != end && *at == ' ') ++at;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc() || !std::isfinite(value)) throw refuse("has an end that is no finite number");
      at = next;
      while (at != end && *at == ' ') ++at;
      return value;
    };
    ValueRange range;
    range.low = number();
    if (at == end || *at++ != ',') throw refuse("is no range");
    range.high = number();
    if (at != end) throw refuse("is no range");
    if (range.low > range.high) throw refuse("is empty: the first number is above the second");
    if (!ranges.emplace(argument.substr(0, bracket == 0 ? 0 : bracket - 1), range).second)
      throw refuse("names an input again");
  }
  return ranges;
}

}  // namespace vernier
