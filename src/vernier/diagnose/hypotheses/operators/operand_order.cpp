// B31: operands in each other's place, and factors of a product that lie the other way round.
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 31;

void propose_exchange(const Variations& variations, size_t a, size_t b, std::string what) {
  const Member& member = variations.member();
  if (!member.has(a) || !member.has(b)) return;
  variations.add(std::move(what), [&member, a, b] {
    Tensors inputs = member.inputs();
    std::swap(inputs[a], inputs[b]);
    return member.with_inputs(std::move(inputs));
  });
}

// The last two axes, of which only equal ones can be taken for each other.
void propose_transposed(const Variations& variations, size_t factor) {
  const Member& member = variations.member();
  if (!member.has(factor)) return;
  const Dims& dims = member.in(factor).dims();
  const size_t rank = dims.size();
  if (rank < 2 || dims[rank - 1] != dims[rank - 2] || dims[rank - 1] < 2) return;
  variations.add_operand(fmt::format("factor {} is taken transposed", factor), factor,
                         [rank](const Tensor& each) { return exchanged(each, rank - 1, rank - 2); });
}

// As it lies in memory, rows for columns.
void propose_misread(const Variations& variations, size_t factor) {
  const Member& member = variations.member();
  if (!member.has(factor)) return;
  const Dims& dims = member.in(factor).dims();
  const size_t rank = dims.size();
  if (rank < 2 || dims[rank - 1] == dims[rank - 2] || dims[rank - 1] < 2 || dims[rank - 2] < 2) return;
  variations.add_operand(
      fmt::format("factor {} is read column by column, and lies row by row", factor), factor,
      [rank](const Tensor& each) { return exchanged(each, rank - 1, rank - 2).reshaped(each.dims()); });
}

void propose_choice(const Variations& variations) {
  propose_exchange(variations, 1, 2, "what it chooses from is exchanged");
  for (const size_t kept : {size_t{1}, size_t{2}})
    variations.add_operand(fmt::format("it always takes operand {}", kept), 0,
                           [kept](const Tensor& condition) {
                             return mapped(condition, [kept](double) { return kept == 1 ? 1 : 0; });
                           });
}

}  // namespace

void propose_operand_order(const Member& member, const Suspect& suspect, const Scene&,
                           std::vector<Proposal>& proposals) {
  const Variations variations(member, suspect, kClass, proposals);
  for (const char* op : {"Sub", "Div", "Pow", "Mod", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}) {
    if (member.is(op)) propose_exchange(variations, 0, 1, "its operands are exchanged");
  }
  const bool product = member.is("MatMul") || member.is("Gemm") || member.is("MatMulInteger");
  if (product || member.op() == "FusedMatMul") {
    propose_exchange(variations, 0, 1, "its factors are exchanged");
    for (const size_t factor : {size_t{1}, size_t{0}}) {
      propose_transposed(variations, factor);
      propose_misread(variations, factor);
    }
  }
  if (member.is("Where")) propose_choice(variations);
}

}  // namespace vernier
