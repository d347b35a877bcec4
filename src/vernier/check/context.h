// Rules look at this: uses, constants and effective types of values. Internal to the room.
#pragma once

#include <unordered_map>

#include "vernier/check/check.h"

namespace vernier {

// The ends of FP16: the largest number, the smallest one with all digits, the smallest but zero.
inline constexpr double kHalfMax = 65504, kHalfMinNormal = 0x1p-14, kHalfMin = 0x1p-24;

// "FP16", "BF16", "FP32": what people call the types that activations have.
const char* precision_name(ElementType type);

class CheckContext {
 public:
  CheckContext(const Model& model, const CheckOptions& options);

  const Model& model() const { return model_; }
  // All nodes, those of regions included.
  const std::vector<const Node*>& nodes() const { return nodes_; }
  const std::vector<const Node*>& users(const Value* value) const;
  bool is_model_output(const Value* value) const;
  // The value's content if it is an initializer or a Constant node, seen through Identity; null otherwise.
  const Tensor* constant(const Value* value) const;
  // The one element of a constant; nothing for larger tensors and text.
  std::optional<double> scalar(const Value* value) const;
  // The element type of a tensor, f32 taken for the assumed type; kUndefined for other values.
  ElementType type(const Value* value) const;
  bool is_half(const Value* value) const { return type(value) == ElementType::kFloat16; }
  bool is_narrow(const Value* value) const { return is_half(value) || type(value) == ElementType::kBFloat16; }
  // The producer, if it is of this operator in the ONNX domain; null otherwise.
  const Node* made_by(const Value* value, std::string_view op) const;
  // x, if the value is x*x or x^2; null otherwise.
  const Value* square_root_of(const Value* value) const;
  // Elements that a reduction node sums into one; nothing if sizes or axes are unknown.
  std::optional<int64_t> reduced_elements(const Node& node) const;

 private:
  const Model& model_;
  CheckOptions options_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Value*, std::vector<const Node*>> users_;
  mutable std::unordered_map<const Node*, Tensor> constants_;
};

// Adds one finding for many nodes: the first is named, the others are counted.
class Collector {
 public:
  explicit Collector(std::vector<Finding>& findings) : findings_(findings) {}
  ~Collector();
  void add(Finding finding);

 private:
  std::vector<Finding>& findings_;
  std::vector<Finding> own_;
};

// Largest and smallest non-zero magnitude of each slice along `axis` of a constant.
struct Range {
  double largest = 0, smallest = 0;
};
std::vector<Range> channel_ranges(const Tensor& tensor, int64_t axis);

// The rules, by file.
void float_range_rules(std::vector<Rule>& rules);
void float_rounding_rules(std::vector<Rule>& rules);
void quantization_rules(std::vector<Rule>& rules);
void operator_rules(std::vector<Rule>& rules);
void shape_rules(std::vector<Rule>& rules);
void structure_rules(std::vector<Rule>& rules);

}  // namespace vernier
