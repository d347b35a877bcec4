// B31, B35: the groups of a convolution are taken for others.
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// Axis 1 of images, in which the groups lie one behind the other, or element by element.
Tensor interleaved(const Tensor& tensor, size_t axis, int64_t groups) {
  const int64_t channels = tensor.dims().at(axis), each = channels / groups;
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < channels; ++i) indices.push_back(i % groups * each + i / groups);
  return taken(tensor, axis, indices);
}

}  // namespace

void propose_convolution_groups(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                                std::vector<Proposal>& proposals) {
  const bool transposed = member.is("ConvTranspose");
  const bool convolves = transposed || member.op() == "Conv" || member.op() == "ConvInteger" ||
                         member.op() == "FusedConv" || member.op() == "QLinearConv";
  if (!convolves || member.in(0).rank() < 3) return;
  const size_t weights = member.op() == "QLinearConv" ? 3 : 1;
  const Variations convolution(member, flagged, transposed ? 35 : 31, proposals);
  const int64_t groups = ops::integer_attribute(member.node(), "group");
  const int64_t rows = member.in(weights).dims()[0];
  if (groups < 2 || rows % groups != 0) return;
  const int64_t each = rows / groups;
  const auto reorder = [&](const char* what, const std::function<int64_t(int64_t)>& from) {
    convolution.add_operand(what, weights, [=](const Tensor& kernel) {
      std::vector<int64_t> indices;
      for (int64_t i = 0; i < rows; ++i) indices.push_back(from(i / each) * each + i % each);
      return taken(kernel, 0, indices);
    });
  };
  reorder("every group has the weights of the next one",
          [groups](int64_t group) { return (group + 1) % groups; });
  reorder("every group has the weights of the one before",
          [groups](int64_t group) { return (group + groups - 1) % groups; });
  reorder("the weights of the groups lie in reverse", [groups](int64_t group) { return groups - 1 - group; });
  reorder("all groups have the weights of the first one", [](int64_t) { return int64_t{0}; });
  const int64_t channels = member.in(0).dims()[1] / groups;
  for (const int64_t by : {channels, -channels})
    convolution.add_operand(
        fmt::format("every group reads the channels of the one {}", by > 0 ? "behind" : "before"), 0,
        [by](const Tensor& x) { return rolled(x, 1, by); });
  if (channels == 1) return;
  convolution.add_operand("the groups take every so many channels instead of neighbours", 0,
                          [groups](const Tensor& x) { return interleaved(x, 1, x.dims()[1] / groups); });
  convolution.add_result("the groups' results lie channel by channel instead of group by group",
                         [groups](const Tensor& y) { return interleaved(y, 1, groups); });
}

}  // namespace vernier
