// B31, B38, B39: Attention with other operands, heads, masks or scales, and rotary embeddings of other
// angles.
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 31, kMasks = 38, kIndices = 39;
constexpr size_t kQuery = 0, kKey = 1, kValue = 2, kMask = 3;

void propose_exchange(const Variations& variations, size_t a, size_t b, const char* what) {
  const Member& member = variations.member();
  if (!member.has(a) || !member.has(b)) return;
  variations.add(what, [&member, a, b] {
    Tensors inputs = member.inputs();
    std::swap(inputs[a], inputs[b]);
    return member.with_inputs(std::move(inputs));
  });
}

// Where several heads of queries share one of keys: the heads count round instead of in groups.
void propose_shared_heads(const Variations& variations) {
  const Member& member = variations.member();
  if (member.in(kQuery).rank() != 4 || member.in(kKey).rank() != 4) return;
  const int64_t queries = member.in(kQuery).dims()[1], keys = member.in(kKey).dims()[1];
  if (keys == queries || keys < 2) return;
  variations.add("heads of queries take the heads of keys in turn, and not in groups",
                 [&member, queries, keys] {
                   std::vector<int64_t> heads;
                   for (int64_t head = 0; head < queries; ++head) heads.push_back(head % keys);
                   Tensors inputs = member.inputs();
                   for (const size_t operand : {kKey, kValue})
                     inputs[operand] = taken(inputs[operand], 1, heads);
                   return member.with_inputs(std::move(inputs));
                 });
}

void propose_scales(const Variations& variations) {
  const Member& member = variations.member();
  const int64_t rank = member.in(kQuery).rank();
  if (rank != 4) return;
  const auto size = static_cast<double>(member.in(kQuery).dims()[3]);
  const Attribute* given = member.node().find_attribute("scale");
  for (const auto& [what, scale] :
       {std::pair("scores are not scaled", 1.0),
        {"scores are scaled twice", 1 / size},
        {"scores are scaled by half of the root", 1 / std::sqrt(std::sqrt(size))},
        {"scores are scaled as where nothing is said of it", 1 / std::sqrt(size)}}) {
    const auto value = static_cast<float>(scale);
    if (given != nullptr && given->get<float>() == value) continue;
    variations.add_node(what, [value](Node& node) { node.attributes["scale"] = value; });
  }
}

// The exponentials of all scores, [batch, heads, queries, keys]. A key of zeros, which is added, has the
// score zero; values that are one for one key and zero for all others show what each key counts beside it.
Tensor exponentials_of(const Member& member) {
  const Dims& key = member.in(kKey).dims();
  const int64_t keys = key[2] + 1;
  Tensors inputs = member.inputs();
  inputs[kKey] = fitted(inputs[kKey], {key[0], key[1], keys, key[3]});
  std::vector<double> marks(static_cast<size_t>(key[0] * key[1] * keys * keys));
  const auto row = static_cast<size_t>(keys);
  for (size_t i = 0; i < marks.size(); ++i) marks[i] = i / row % row == i % row ? 1 : 0;
  inputs[kValue] = Tensor::from_doubles(ElementType::kDouble, {key[0], key[1], keys, keys}, marks);
  const Tensor counts = member.with_inputs(std::move(inputs)).at(0);
  auto values = counts.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] /= values[i / row * row + row - 1];
  Dims dims = counts.dims();
  const Tensor all = Tensor::from_doubles(ElementType::kDouble, dims, values);
  --dims[3];
  return fitted(all, dims);
}

// Every element by the sum of those that differ from it in the place along one axis alone.
std::vector<double> divided_along(const Tensor& tensor, size_t axis) {
  const Dims& dims = tensor.dims();
  size_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
  const size_t whole = inner * static_cast<size_t>(dims[axis]);
  auto values = tensor.to_doubles();
  std::vector<double> sums(values.size() / static_cast<size_t>(dims[axis]), 0);
  const auto sum_of = [&](size_t i) -> double& { return sums[i / whole * inner + i % inner]; };
  for (size_t i = 0; i < values.size(); ++i) sum_of(i) += values[i];
  for (size_t i = 0; i < values.size(); ++i) values[i] /= sum_of(i);
  return values;
}

// Attention whose scores add up to one over another axis than that of keys.
Tensors with_softmax_along(const Member& member, size_t axis) {
  const Tensor scores = exponentials_of(member);
  const auto weights = divided_along(scores, axis), values = member.in(kValue).to_doubles();
  const Dims &by = scores.dims(), &value = member.in(kValue).dims();
  Dims dims{by[0], by[1], by[2], value[3]};
  std::vector<double> sums(static_cast<size_t>(element_count(dims)), 0);
  for (int64_t row = 0; row < by[0] * by[1] * by[2]; ++row) {
    const int64_t head = row / by[2] % by[1], entry = row / by[2] / by[1];
    const int64_t matrix = (entry * value[1] + head * value[1] / by[1]) * value[2];
    for (int64_t key = 0; key < value[2]; ++key) {
      const double weight = weights[static_cast<size_t>(row * value[2] + key)];
      for (int64_t i = 0; i < value[3]; ++i)
        sums[static_cast<size_t>(row * value[3] + i)] +=
            weight * values[static_cast<size_t>((matrix + key) * value[3] + i)];
    }
  }
  Tensors results = member.outputs();
  results[0] = Tensor::from_doubles(ElementType::kDouble, std::move(dims), sums);
  return results;
}

void propose_axes_of_softmax(const Variations& variations) {
  const Member& member = variations.member();
  for (const size_t operand : {kQuery, kKey, kValue}) {
    if (member.in(operand).rank() != 4) return;
  }
  for (size_t i = kMask; i < member.input_count(); ++i) {
    if (member.has(i)) return;  // a mask or cached keys, which a key more would not fit
  }
  if (ops::integer_attribute(member.node(), "is_causal") != 0) return;
  const Dims& queries = member.in(kQuery).dims();
  if (queries[2] > 1)
    variations.add("scores are normalised over queries instead of keys",
                   [&member] { return with_softmax_along(member, 2); });
  if (queries[1] > 1)
    variations.add("scores are normalised over heads instead of keys",
                   [&member] { return with_softmax_along(member, 1); });
}

void propose_attention(const Variations& variations) {
  const Member& member = variations.member();
  propose_exchange(variations, kQuery, kKey, "queries and keys are exchanged");
  propose_exchange(variations, kKey, kValue, "keys and values are exchanged");
  propose_shared_heads(variations);
  propose_scales(variations);
  propose_axes_of_softmax(variations);
  if (member.has(kMask))
    variations.of(kMasks).add("its mask is not read", [&member] { return member.with_input(kMask, {}); });
}

// Cosines and sines lie along the axis before the last one by position.
void propose_rotary(const Variations& variations) {
  const Member& member = variations.member();
  constexpr size_t kCosines = 1, kSines = 2;
  propose_exchange(variations, kCosines, kSines, "cosines and sines are exchanged");
  variations.add_operand("it turns the other way", kSines, [](const Tensor& sines) {
    return mapped(sines, [](double sine) { return -sine; });
  });
  variations.add_result("it turns nothing", [&member](const Tensor&) { return member.in(0); });
  for (const int64_t by : {1, -1}) {
    variations.of(kIndices).add(
        fmt::format("it turns by the angles of the position {}", by > 0 ? "behind" : "before"),
        [&member, by] {
          Tensors inputs = member.inputs();
          for (const size_t operand : {kCosines, kSines})
            inputs[operand] = rolled(inputs[operand], inputs[operand].dims().size() - 2, by);
          return member.with_inputs(std::move(inputs));
        });
  }
}

}  // namespace

void propose_attentions(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                        std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (member.is("Attention")) propose_attention(variations);
  if (member.is("RotaryEmbedding") && member.has(2)) propose_rotary(variations);
}

}  // namespace vernier
