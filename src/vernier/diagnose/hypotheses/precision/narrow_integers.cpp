// B10: integers go through a float that does not hold them.
#include "vernier/diagnose/hypotheses/precision/narrow_format.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"

namespace vernier {

namespace {

bool is_wide_integer(const Tensor& tensor) {
  return tensor.is_defined() && is_integer(tensor.type()) && element_size(tensor.type()) > 1;
}

Tensor carried(const Tensor& tensor, const NarrowFormat& format) {
  if (!is_wide_integer(tensor) || tensor.type() == ElementType::kUint64) return tensor;
  auto values = tensor.to_ints();
  for (int64_t& value : values) {
    const double rounded = format.round(static_cast<double>(value));
    if (std::abs(rounded) < 0x1p63) value = static_cast<int64_t>(rounded);
  }
  return Tensor::from_ints(tensor.type(), tensor.dims(), values);
}

void propose(const Member& member, const NarrowFormat& format, std::vector<Proposal>& proposals) {
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (!member.has(i)) continue;
    Tensor other = carried(member.in(i), format);
    if (other.identical(member.in(i))) continue;
    proposals.push_back({FailureClass(10),
                         fmt::format("the integers of operand {} are carried in {}", i, format.text()),
                         [&member, i, other = std::move(other)] { return member.with_input(i, other); }});
  }
  Tensors results = member.outputs();
  bool changes = false;
  for (Tensor& result : results) {
    Tensor other = carried(result, format);
    changes = changes || (result.is_defined() && !other.identical(result));
    result = std::move(other);
  }
  if (!changes) return;
  proposals.push_back({FailureClass(10),
                       fmt::format("the integers that it makes are carried in {}", format.text()),
                       [results = std::move(results)] { return results; }});
}

}  // namespace

void propose_narrow_integers(const Member& member, const FlaggedNode&, const HypothesisContext&,
                             std::vector<Proposal>& proposals) {
  const NarrowFormat half = NarrowFormat::float16(), brain = NarrowFormat::bfloat16();
  for (const NarrowFormat& format :
       {half, brain, half.truncating(), brain.truncating(), NarrowFormat::float32()})
    propose(member, format, proposals);
}

}  // namespace vernier
