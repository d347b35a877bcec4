// B31, B38, B39: Attention with other operands, heads, masks or scales, and rotary embeddings of other
// angles.
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/variations.h"

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

void propose_attention(const Variations& variations) {
  const Member& member = variations.member();
  propose_exchange(variations, kQuery, kKey, "queries and keys are exchanged");
  propose_exchange(variations, kKey, kValue, "keys and values are exchanged");
  propose_shared_heads(variations);
  propose_scales(variations);
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
