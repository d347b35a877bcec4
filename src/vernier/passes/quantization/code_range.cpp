#include "vernier/passes/quantization/code_range.h"

#include <algorithm>

#include "vernier/passes/match.h"

namespace vernier {

CodeRange CodeRange::of(const Quantisation& from) {
  const auto first = static_cast<double>(integer_min(from.type)),
             last = static_cast<double>(static_cast<int64_t>(integer_max(from.type)));
  return {(first - from.zero_points[0]) * from.scales[0], (last - from.zero_points[0]) * from.scales[0]};
}

double CodeRange::symmetric_scale() const {
  constexpr double kInt8Max = 127;
  return std::max(-low, high) / kInt8Max;
}

bool is_never_negative(const Value* value) {
  static const std::set<std::string_view> positive = {"Abs",     "HardSigmoid", "Relu",
                                                      "Sigmoid", "Softmax",     "Sqrt"};
  const Node* node = value->producer();
  if (node == nullptr || !node->domain.empty()) return false;
  if (positive.contains(node->op)) return true;
  if (node->op == "Clip") {
    const auto least = scalar_of(node->input(1));
    return least && *least >= 0;
  }
  const bool keeps = node->op == "AveragePool" || node->op == "GlobalAveragePool" || moved_inputs(*node) == 1;
  return keeps && node->op != "Pad" && is_never_negative(node->input(0));
}

}  // namespace vernier
