#include "vernier/tune/repeated_entries.h"

#include <algorithm>
#include <cstring>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

// The operands of a request by the values of its node, or of the body of its group.
class Operands {
 public:
  Operands(const KernelRequest& request, int64_t entries)
      : request_(request),
        entries_(entries),
        values_(ops::is_group(request.node) ? ops::body(request.node).inputs : request.node.inputs) {}

  // Whether all that is drawn has an element for each entry of the batch along its first axis.
  bool have_entries() const {
    const auto has = [&](const std::optional<Operand>& operand) {
      return !operand || operand->constant != nullptr ||
             (operand->rank() >= 2 && operand->dims[0] == entries_ && operand->layout != Layout::kCache);
    };
    return std::all_of(request_.inputs.begin(), request_.inputs.end(), has) &&
           std::all_of(request_.outputs.begin(), request_.outputs.end(), has);
  }

  // Whether a node makes each entry of that entry alone.
  bool stay_apart(const Node& node) const {
    if (!node.domain.empty()) return false;
    if (node.op == "Conv") return !is_constant(node.input(0)) && is_constant(node.input(1));
    if (node.op == "MatMul")
      return is_constant(node.input(1)) ||
             (rank(node.input(0)) >= 3 && rank(node.input(0)) == rank(node.input(1)));
    if (node.op == "Gemm")
      return ops::integer_attribute(node, "transA") == 0 && is_constant(node.input(1)) &&
             is_for_all(node.input(2), 2);
    return ops::has_trait(node, ops::kPointwise) &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Value* input) { return is_for_all(input, request_.out().rank()); });
  }

 private:
  // Null for what lies between the nodes of a group.
  const Operand* operand(const Value* value) const {
    const auto found = std::find(values_.begin(), values_.end(), value);
    if (value == nullptr || found == values_.end()) return nullptr;
    const auto& operand = request_.inputs.at(static_cast<size_t>(found - values_.begin()));
    return operand ? &*operand : nullptr;
  }
  bool is_constant(const Value* value) const {
    const Operand* known = operand(value);
    return known != nullptr && known->constant != nullptr;
  }
  int64_t rank(const Value* value) const {
    const Operand* known = operand(value);
    return known == nullptr ? 0 : known->rank();
  }
  // Whether what a constant adds is the same for all entries of a result of this rank.
  bool is_for_all(const Value* value, int64_t rank_of_result) const {
    const Operand* known = operand(value);
    return known == nullptr || known->constant == nullptr || known->rank() < rank_of_result ||
           known->dims[0] == 1;
  }

  const KernelRequest& request_;
  const int64_t entries_;
  const std::vector<Value*>& values_;
};

size_t entry_bytes(const Tensor& tensor) {
  return tensor.byte_size() / static_cast<size_t>(tensor.dims()[0]);
}

}  // namespace

std::optional<int64_t> drawn_entries(const KernelRequest& request) {
  // An odd number: a kernel that takes one entry for another does so by a power of two.
  constexpr int64_t kDrawn = 7, kMany = 16, kLarge = int64_t{1} << 20;
  if (!request.wants(0) || request.out().dims.empty()) return std::nullopt;
  const int64_t entries = request.out().dims[0];
  if (entries < kMany || request.out().size() < kLarge) return std::nullopt;
  const Operands operands(request, entries);
  if (!operands.have_entries()) return std::nullopt;
  if (!ops::is_group(request.node))
    return operands.stay_apart(request.node) ? std::optional(kDrawn) : std::nullopt;
  const auto& members = ops::body(request.node).nodes();
  const bool apart = std::all_of(members.begin(), members.end(),
                                 [&](const auto& member) { return operands.stay_apart(*member); });
  return apart ? std::optional(kDrawn) : std::nullopt;
}

KernelRequest with_entries(const KernelRequest& request, int64_t entries) {
  KernelRequest result = request;
  for (auto* operands : {&result.inputs, &result.outputs}) {
    for (auto& operand : *operands) {
      if (operand && operand->constant == nullptr) operand->dims[0] = entries;
    }
  }
  return result;
}

Tensor repeated(const Tensor& tensor, int64_t entries) {
  Dims dims = tensor.dims();
  const auto count = static_cast<size_t>(std::exchange(dims[0], entries));
  Tensor result(tensor.type(), dims);
  const size_t bytes = entry_bytes(tensor);
  auto* to = static_cast<std::byte*>(result.mutable_raw());
  for (size_t i = 0; i < static_cast<size_t>(entries); ++i)
    std::memcpy(to + i * bytes, static_cast<const std::byte*>(tensor.raw()) + i % count * bytes, bytes);
  return result;
}

Tensor chunk_of(const Tensor& tensor, int64_t entries, int64_t chunk) {
  Dims dims = tensor.dims();
  const int64_t all = std::exchange(dims[0], entries), first = chunk * entries;
  Tensor result(tensor.type(), dims);
  const size_t bytes = entry_bytes(tensor);
  auto* to = static_cast<std::byte*>(result.mutable_raw());
  const auto* from = static_cast<const std::byte*>(tensor.raw());
  for (int64_t i = 0; i < entries; ++i)
    std::memcpy(to + static_cast<size_t>(i) * bytes,
                from + static_cast<size_t>(first + i < all ? first + i : i) * bytes, bytes);
  return result;
}

std::vector<int64_t> different_chunks(const std::vector<Tensor>& tensors, int64_t entries) {
  std::set<int64_t> found = {0};
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_defined()) continue;
    const size_t bytes = entry_bytes(tensor);
    const auto* from = static_cast<const std::byte*>(tensor.raw());
    for (int64_t i = entries; i < tensor.dims()[0]; ++i) {
      if (std::memcmp(from + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(i % entries) * bytes,
                      bytes) != 0)
        found.insert(i / entries);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace vernier
