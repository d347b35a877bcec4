// B6, B38: masks that are ignored, or whose sentinels become other numbers; padding that is counted.
#include <cmath>
#include <limits>

#include "vernier/diagnose/hypotheses/operators/mask_content.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kSentinel = 6, kPadding = 38;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFar = kLargestSentinel;

// A mask that depends on the data is about padding; one that the model holds is its own matter.
int class_of_ignoring(const Member& member, size_t mask) {
  return member.is_constant(mask) ? kSentinel : kPadding;
}

void propose_sentinels(const Variations& variations, size_t mask) {
  const auto held = [&](const char* what, double lowest) {
    variations.add_operand(what, mask, [lowest](const Tensor& values) {
      return mapped(values,
                    [lowest](double value) { return value <= kFar ? std::max(value, lowest) : value; });
    });
  };
  held("its sentinel is held at the end of float16, -65504", -65504);
  held("its sentinel is taken for -10000", -10000);
  held("its sentinel is taken for -1000", -1000);
  const auto become = [&](const std::string& what, double other) {
    variations.add_operand(what, mask, [other](const Tensor& values) {
      return mapped(values, [other](double value) { return value <= kFar ? other : value; });
    });
  };
  become("its sentinel becomes minus infinity", -kInfinity);
  become("its sentinel becomes NaN", std::numeric_limits<double>::quiet_NaN());
  become("its sentinel becomes plus infinity", kInfinity);
  become("its sentinel is held at the end of float", -static_cast<double>(std::numeric_limits<float>::max()));
}

void propose_sum(const Member& member, const FlaggedNode& flagged, std::vector<Proposal>& proposals) {
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (!member.has(i) || !is_additive_mask(member.in(i))) continue;
    Variations(member, flagged, class_of_ignoring(member, i), proposals)
        .add_operand("the mask is ignored", i,
                     [](const Tensor& mask) { return mapped(mask, [](double) { return 0; }); });
    propose_sentinels(Variations(member, flagged, kSentinel, proposals), i);
  }
}

void propose_product(const Member& member, const FlaggedNode& flagged, std::vector<Proposal>& proposals) {
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (!member.has(i) || member.is_constant(i) || !is_factor_mask(member.in(i))) continue;
    Variations(member, flagged, kPadding, proposals)
        .add_operand("the mask is ignored: what it excludes is counted", i,
                     [](const Tensor& mask) { return mapped(mask, [](double) { return 1; }); });
  }
}

bool is_sentinel(const Tensor& tensor) {
  if (!tensor.is_defined() || !is_float(tensor.type()) || tensor.size() == 0) return false;
  const auto values = tensor.to_doubles();
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return value <= kFar || std::isnan(value); });
}

bool is_same(const Tensor& tensor, double value) {
  const auto values = tensor.to_doubles();
  return std::all_of(values.begin(), values.end(), [value](double each) { return each == value; });
}

void propose_choice(const Member& member, const FlaggedNode& flagged, std::vector<Proposal>& proposals) {
  for (const size_t masked : {size_t{1}, size_t{2}}) {
    const Tensor& filling = member.in(masked);
    const bool sentinel = is_sentinel(filling);
    const bool zero =
        filling.is_defined() && is_float(filling.type()) && filling.size() > 0 && is_same(filling, 0);
    if (!sentinel && !zero) continue;
    Variations(member, flagged, class_of_ignoring(member, 0), proposals)
        .add_operand("the mask is ignored: nothing is excluded", 0, [masked](const Tensor& condition) {
          return mapped(condition, [masked](double) { return masked == 1 ? 0 : 1; });
        });
    if (sentinel) propose_sentinels(Variations(member, flagged, kSentinel, proposals), masked);
  }
}

// ---- Padding behind the end of an axis, up to a multiple of what a kernel works on at once

constexpr int64_t kMultiples[] = {4, 8, 16, 32, 64, 128};

int64_t rounded_up(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// The lengths to which kernels pad so many elements.
std::vector<int64_t> padded_lengths(int64_t size) {
  std::vector<int64_t> lengths;
  int64_t tried = size;
  for (const int64_t multiple : kMultiples) {
    const int64_t longer = rounded_up(size, multiple);
    if (longer == tried) continue;
    tried = longer;
    lengths.push_back(longer);
  }
  return lengths;
}

Tensors padded_softmax(const Member& member, size_t axis, int64_t size) {
  Dims dims = member.in(0).dims();
  const Dims right = dims;
  dims[axis] = size;
  Tensors results = member.with_input(0, fitted(member.in(0), dims));
  results.at(0) = fitted(results.at(0), right);
  return results;
}

void propose_padded_softmax(const Variations& variations) {
  const Member& member = variations.member();
  const size_t axis = axis_of(ops::softmax_axis(member.node()), member.in(0));
  const int64_t size = member.in(0).dims()[axis];
  for (const int64_t longer : padded_lengths(size))
    variations.add(fmt::format("zeros behind its {} elements, up to {}, are counted", size, longer),
                   [&member, axis, longer] { return padded_softmax(member, axis, longer); });
}

std::vector<size_t> reduced_axes(const Member& member) {
  std::vector<int64_t> axes = member.node().attribute<std::vector<int64_t>>("axes", {});
  if (member.has(1)) axes = member.in(1).to_ints();
  std::vector<size_t> counted;
  counted.reserve(member.in(0).dims().size());
  for (const int64_t axis : axes) counted.push_back(axis_of(axis, member.in(0)));
  for (size_t i = 0; axes.empty() && i < member.in(0).dims().size(); ++i) counted.push_back(i);
  return counted;
}

void propose_padded_reduction(const Variations& variations) {
  const Member& member = variations.member();
  for (const size_t axis : reduced_axes(member)) {
    const int64_t size = member.in(0).dims()[axis];
    for (const int64_t longer : padded_lengths(size)) {
      variations.add_operand(
          fmt::format("zeros behind the {} elements of axis {}, up to {}, are counted", size, axis, longer),
          0, [axis, longer](const Tensor& x) {
            Dims dims = x.dims();
            dims[axis] = longer;
            return fitted(x, dims);
          });
    }
  }
}

// A row of which nothing is left has no softmax; engines differ.
void propose_masked_rows(const Variations& variations) {
  const Member& member = variations.member();
  const auto values = member.out().to_doubles();
  if (std::none_of(values.begin(), values.end(), [](double value) { return std::isnan(value); })) return;
  const auto length =
      static_cast<double>(member.in(0).dims()[axis_of(ops::softmax_axis(member.node()), member.in(0))]);
  for (const double instead : {0.0, 1 / length})
    variations.add_result(
        fmt::format("rows of which everything is excluded become {:.3g}", instead),
        [instead](const Tensor& right) {
          return mapped(right, [instead](double value) { return std::isnan(value) ? instead : value; });
        });
}

// The sizes that it gives are not those of what it reads.
void propose_sizes(const Variations& variations, const FlaggedNode& flagged) {
  const Member& member = variations.member();
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr) return;
  const auto sizes = made->to_ints();
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) return;
  variations.add("it gives the sizes of other inputs, for which the engine was built or which it saw before",
                 [made] { return Tensors{*made}; });
}

}  // namespace

void propose_masks(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                   std::vector<Proposal>& proposals) {
  if (member.outputs().empty() || !member.out().is_defined()) return;
  if (member.is("Add") || member.is("Sum")) propose_sum(member, flagged, proposals);
  if (member.is("Mul")) propose_product(member, flagged, proposals);
  if (member.is("Where")) propose_choice(member, flagged, proposals);
  const Variations padding(member, flagged, kPadding, proposals);
  if (member.is("Softmax") || member.is("LogSoftmax")) {
    propose_padded_softmax(padding);
    propose_masked_rows(Variations(member, flagged, kSentinel, proposals));
  }
  if (member.op().compare(0, 6, "Reduce") == 0 && member.node().domain.empty())
    propose_padded_reduction(padding);
  if (member.is("Shape") || member.is("Size")) propose_sizes(padding, flagged);
}

}  // namespace vernier
