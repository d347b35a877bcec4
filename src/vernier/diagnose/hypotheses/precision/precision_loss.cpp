#include "vernier/diagnose/hypotheses/precision/precision_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "vernier/diagnose/hypotheses/precision/narrow_format.h"
#include "vernier/ops/op_def.h"

namespace vernier {

Tensors results_with(const Member& member, const PrecisionLoss& loss) {
  Tensors results = member.outputs();
  if (loss.operands != 0) {
    Tensors inputs = member.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (loss.holds(i)) inputs[i] = rounded(inputs[i], loss.format);
    }
    results = member.with_inputs(std::move(inputs));
  }
  return loss.results ? rounded(results, loss.format) : results;
}

namespace {

constexpr size_t kMostOperands = 32;

bool multiplies(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & ops::kContraction) != 0;
}

}  // namespace

uint32_t all_real_operands(const Member& member) {
  uint32_t all = 0;
  for (size_t i = 0; i < std::min(member.input_count(), kMostOperands); ++i) {
    if (member.has(i) && is_real(member.in(i))) all |= uint32_t{1} << i;
  }
  return all;
}

std::vector<uint32_t> operand_sets(const Member& member, bool is_seen) {
  constexpr size_t kFew = 3;
  const uint32_t all = all_real_operands(member);
  std::vector<uint32_t> single, sets;
  uint32_t constants = 0;
  for (size_t i = 0; i < kMostOperands; ++i) {
    const uint32_t one = all & (uint32_t{1} << i);
    if (one == 0) continue;
    single.push_back(one);
    if (member.is_constant(i)) constants |= one;
  }
  if (is_seen && single.size() <= kFew) {
    for (uint32_t set = 1; set < uint32_t{1} << kFew; ++set) {
      if ((set & ~all) == 0) sets.push_back(set);
    }
  } else {
    sets = std::move(single);
    sets.push_back(constants);
  }
  // The largest of sets that leave as much comes first, as few engines treat operands differently.
  sets.push_back(all);
  std::sort(sets.begin(), sets.end(), [](uint32_t a, uint32_t b) {
    return std::pair(std::popcount(b), a) < std::pair(std::popcount(a), b);
  });
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  std::erase(sets, 0u);
  return sets;
}

std::string operand_name(const Member& member, size_t operand) {
  const Value* value = member.node().input(operand);
  if (!multiplies(member.node()))
    return fmt::format("operand {} ('{}')", operand, value == nullptr ? "" : value->name);
  if (operand == 2) return "its bias";
  if (operand == 1 && member.is_constant(1)) return "its weights";
  return operand == 0 ? "its activations" : fmt::format("its operand {}", operand);
}

std::string text_of(const Member& member, uint32_t set) {
  std::string text;
  for (size_t i = 0; i < kMostOperands; ++i) {
    if ((set >> i & 1) == 0) continue;
    text += (text.empty() ? "" : " and ") + operand_name(member, i);
  }
  const bool is_one =
      std::popcount(set) == 1 && (text == "its bias" || text.find("operand") != std::string::npos);
  return text + (is_one ? " is" : " are");
}

}  // namespace vernier
