// B48: the engine is sound, and gets or gives something else than it should: inputs in another layout, range
// or order, outputs in another order.
#include <fmt/ranges.h>

#include <cmath>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/causes/least_squares.h"
#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/operators/memory_orders.h"

namespace vernier {

namespace {

// Finds the model's input as the graph around the flagged node has it: what a member of a group reads comes
// from there under the same name.
const Value* model_input(const Value* value, const HypothesisContext& context) {
  for (const Value* input : context.graph.inputs) {
    if (value != nullptr && input->name == value->name && !input->is_constant()) return input;
  }
  return nullptr;
}

Tensor like(const Tensor& tensor, const std::vector<double>& values) {
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

// An input that a member reads, and how it may have come instead.
class Given {
 public:
  Given(const Member& member, size_t index, const Value& input, std::vector<Proposal>& proposals)
      : member_(member), index_(index), name_(input.name), proposals_(proposals) {}

  const Tensor& tensor() const { return member_.in(index_); }
  const Member& member() const { return member_; }
  size_t index() const { return index_; }

  void add(const std::string& what, const std::function<Tensor()>& other, double penalty = 0) {
    proposals_.push_back(
        {FailureClass(48),
         fmt::format("input '{}' is given otherwise: {}", name_, what),
         [&member = member_, index = index_, other] { return member.with_input(index, other()); },
         {name_},
         penalty});
  }

  // With another input, wherever the member reads either.
  void exchange(const Value& other, const Tensor& content) {
    proposals_.push_back({FailureClass(48),
                          fmt::format("inputs '{}' and '{}' are exchanged", name_, other.name),
                          [&member = member_, index = index_, name = other.name, content] {
                            Tensors inputs = member.inputs();
                            const Tensor own = inputs[index];
                            for (size_t i = 0; i < inputs.size(); ++i) {
                              const Value* value = member.node().inputs[i];
                              if (value == nullptr) continue;
                              if (value->name == name) inputs[i] = own;
                              if (value == member.node().inputs[index])
                                inputs[i] =
                                    Tensor::from_doubles(own.type(), content.dims(), content.to_doubles());
                            }
                            return member.with_inputs(std::move(inputs));
                          },
                          {name_, other.name}});
  }

 private:
  const Member& member_;
  size_t index_;
  std::string name_;
  std::vector<Proposal>& proposals_;
};

void propose_orders(Given& given) {
  const Tensor& tensor = given.tensor();
  const size_t rank = tensor.dims().size();
  std::set<std::vector<size_t>> tried{in_order(rank)};
  for (const MemoryOrder& order : usual_orders(rank)) {
    if (tried.insert(order.axes).second)
      given.add(order.what, [&tensor, axes = order.axes] { return misread(tensor, axes); });
  }
  if (rank < 2 || rank > 4) return;
  for (auto axes = in_order(rank); std::next_permutation(axes.begin(), axes.end());) {
    if (tried.insert(axes).second)
      given.add(fmt::format("its axes lie in memory in the order {}", fmt::join(axes, ", ")),
                [&tensor, axes] { return misread(tensor, axes); });
  }
}

// Channels of images: few, and not the only ones.
std::vector<size_t> channel_axes(const Tensor& tensor) {
  const size_t rank = tensor.dims().size();
  std::vector<size_t> axes;
  for (const size_t axis : {size_t{1}, rank - 1}) {
    if (rank >= 3 && tensor.dims()[axis] >= 3 && tensor.dims()[axis] <= 4) axes.push_back(axis);
  }
  return axes;
}

void propose_channels(Given& given) {
  const Tensor& tensor = given.tensor();
  for (const size_t axis : channel_axes(tensor)) {
    given.add("its channels come in reverse (BGR for RGB)",
              [&tensor, axis] { return reversed(tensor, axis); });
    for (const MemoryOrder& order : usual_orders(tensor.dims().size()))
      given.add("its channels come in reverse (BGR for RGB), and " + order.what,
                [&tensor, axis, axes = order.axes] { return misread(reversed(tensor, axis), axes); });
  }
  const size_t rank = tensor.dims().size();
  if (rank < 3) return;
  given.add("it is mirrored along its last axis", [&tensor, rank] { return reversed(tensor, rank - 1); });
  given.add("it is mirrored along its last axis but one",
            [&tensor, rank] { return reversed(tensor, rank - 2); });
}

void propose_types(Given& given) {
  const Tensor& tensor = given.tensor();
  const auto each = [&](const char* what, double (*change)(double)) {
    given.add(what, [&tensor, change] {
      auto values = tensor.to_doubles();
      for (double& value : values) value = change(value);
      return like(tensor, values);
    });
  };
  each("it went through unsigned bytes, which lose fractions and signs",
       [](double value) { return std::clamp(std::trunc(value), 0.0, 255.0); });
  each("it went through unsigned bytes, which wrap around", [](double value) {
    const double whole = std::trunc(value);
    return whole - 256 * std::floor(whole / 256);
  });
  each("it went through signed bytes",
       [](double value) { return std::clamp(std::trunc(value), -128.0, 127.0); });
  each("it went through integers", [](double value) { return std::trunc(value); });
  each("its sign is lost", [](double value) { return std::abs(value); });
  each("it is zero", [](double) { return 0.0; });
}

// Which part of an input one factor and one offset belong to.
std::vector<Tensor> masks(const Tensor& tensor) {
  const auto axes = channel_axes(tensor);
  if (axes.empty()) {
    return {like(tensor, std::vector<double>(static_cast<size_t>(tensor.size()), 1))};
  }
  const size_t axis = axes.front();
  const Dims& dims = tensor.dims();
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  std::vector<Tensor> found;
  for (int64_t channel = 0; channel < dims[axis]; ++channel) {
    std::vector<double> mask(static_cast<size_t>(tensor.size()), 0);
    for (int64_t i = 0; i < tensor.size(); ++i)
      mask[static_cast<size_t>(i)] = i / inner % dims[axis] == channel ? 1 : 0;
    found.push_back(like(tensor, mask));
  }
  return found;
}

Tensor times(const Tensor& a, const Tensor& b) {
  auto values = a.to_doubles();
  const auto factors = b.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i];
  return like(a, values);
}

// Finds the factor and the offset for each channel by which the member would make what was made, if it makes
// sums of what it reads: as many unknowns as the answers of the member to parts of its input.
std::vector<double> fitted(const Given& given, const std::vector<Tensor>& masks, const Tensor& made) {
  const Member& member = given.member();
  const auto answer = [&](const Tensor& input) {
    return member.with_input(given.index(), input).at(0).to_doubles();
  };
  const Tensor& tensor = given.tensor();
  const auto base = answer(like(tensor, std::vector<double>(static_cast<size_t>(tensor.size()), 0)));
  const auto actual = made.to_doubles();
  const size_t rows = actual.size(), columns = 2 * masks.size();
  std::vector<double> parts(rows * columns), rest(rows);
  for (size_t column = 0; column < columns; ++column) {
    const Tensor& mask = masks[column / 2];
    const auto part = answer(column % 2 == 0 ? times(tensor, mask) : mask);
    for (size_t i = 0; i < rows; ++i) parts[i * columns + column] = part[i] - base[i];
  }
  for (size_t i = 0; i < rows; ++i) rest[i] = actual[i] - base[i];
  return least_squares(parts, rest, rows, columns, 1);
}

Tensor scaled(const Tensor& tensor, const std::vector<Tensor>& masks, const std::vector<double>& factors) {
  const auto values = tensor.to_doubles();
  std::vector<double> changed(values.size(), 0);
  for (size_t channel = 0; channel < masks.size(); ++channel) {
    const auto mask = masks[channel].to_doubles();
    for (size_t i = 0; i < values.size(); ++i)
      changed[i] += mask[i] * (factors[2 * channel] * values[i] + factors[2 * channel + 1]);
  }
  return like(tensor, changed);
}

// Whether several channels have the same factor, and the same offset, which is none that rounding makes.
bool are_shifted_alike(const std::vector<double>& factors) {
  constexpr double kAlike = 0.01;
  const double factor = factors.at(0), offset = factors.at(1);
  const auto is_alike = [](double a, double b) { return std::abs(a - b) <= kAlike * std::abs(b); };
  for (size_t i = 0; i < factors.size(); i += 2) {
    if (!is_alike(factors[i], factor) || !is_alike(factors[i + 1], offset)) return false;
  }
  return factors.size() > 2 && std::abs(offset) > kAlike * std::abs(factor);
}

void propose_normalisation(Given& given, const FlaggedNode& flagged) {
  const Tensor* made = made_in_place(given.member(), 0, flagged);
  constexpr int64_t kMost = 1 << 22;
  if (made == nullptr || !is_float(given.tensor().type()) || made->size() < 8 || made->size() > kMost) return;
  const auto values = made->to_doubles();
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) return;
  const auto parts = masks(given.tensor());
  const auto factors = fitted(given, parts, *made);
  std::string text;
  for (size_t channel = 0; channel < parts.size(); ++channel)
    text += fmt::format("{}{:.4g} x + {:.4g}", channel == 0 ? "" : ", ", factors[2 * channel],
                        factors[2 * channel + 1]);
  // A factor for all explains what a node does that forgets a factor of its own as well. That each of several
  // channels has the same offset, too, is no chance.
  constexpr double kFitted = 0.1, kNoChance = 0.02;
  given.add(
      "mean, deviation or range is missing or applied twice: it came as " + text,
      [&tensor = given.tensor(), parts, factors] { return scaled(tensor, parts, factors); },
      are_shifted_alike(factors) ? kNoChance : kFitted);
}

// Two inputs are bound in the wrong order.
void propose_other_inputs(Given& given, const Value& input, const HypothesisContext& context) {
  for (const Value* other : context.graph.inputs) {
    if (other == &input || other->is_constant() || !context.value) continue;
    const Tensor* content = context.value(*other);
    if (content == nullptr || content->dims() != given.tensor().dims()) continue;
    given.exchange(*other, *content);
  }
}

// Outputs that are bound in the wrong order: another one is what this one should be.
void propose_other_outputs(const Member& member, size_t result, const FlaggedNode& flagged,
                           const HypothesisContext& context, std::vector<Proposal>& proposals) {
  const auto output = stored_output(member, result, flagged);
  if (!output || !context.value) return;
  const Value* own = flagged.node->outputs[*output];
  const auto& outputs = context.graph.outputs;
  if (std::find(outputs.begin(), outputs.end(), own) == outputs.end()) return;
  const Tensor& right = member.out(result);
  for (const Value* other : outputs) {
    const Tensor* content = other == own ? nullptr : context.value(*other);
    if (content == nullptr || content->dims() != right.dims() || content->size() < 2) continue;
    const Tensor zero(right.type(), right.dims());
    constexpr double kSame = 0.01;  // of its own size: but for the rounding of another node
    if (bounded_distance({*content}, {right}, {right}) > kSame * bounded_distance({zero}, {right}, {right}))
      continue;
    proposals.push_back({FailureClass(48),
                         fmt::format("outputs '{}' and '{}' are exchanged", own->name, other->name),
                         [&member, result, &made = flagged.made[*output]] {
                           Tensors results = member.outputs();
                           results[result] = made;
                           return results;
                         },
                         {own->name, other->name}});
  }
}

}  // namespace

void propose_caller(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                    std::vector<Proposal>& proposals) {
  for (size_t i = 0; i < member.input_count(); ++i) {
    const Value* input = member.has(i) ? model_input(member.node().inputs[i], context) : nullptr;
    if (input == nullptr || member.in(i).size() < 2 || member.in(i).type() == ElementType::kString) continue;
    Given given(member, i, *input, proposals);
    propose_orders(given);
    propose_channels(given);
    propose_types(given);
    propose_normalisation(given, flagged);
    propose_other_inputs(given, *input, context);
  }
  for (size_t result = 0; result < member.outputs().size(); ++result) {
    if (member.out(result).is_defined() && member.out(result).type() != ElementType::kString)
      propose_other_outputs(member, result, flagged, context, proposals);
  }
}

}  // namespace vernier
