// B31: operands in each other's place, and factors of a product that lie the other way round.
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/diagnose/hypotheses/products/products.h"
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

// Two axes of a factor are taken for each other: they are as long, or the factor lies in memory in the other
// order, whichever of the two the kernel wants.
void propose_axes(const Variations& variations, size_t factor, size_t a, size_t b) {
  const Dims& dims = variations.member().in(factor).dims();
  if (dims[a] < 2 || dims[b] < 2) return;
  const std::string which = a + 2 == dims.size() ? "" : fmt::format(" along axes {} and {}", a, b);
  if (dims[a] == dims[b]) {
    variations.add_operand(fmt::format("factor {} is taken transposed{}", factor, which), factor,
                           [a, b](const Tensor& each) { return exchanged(each, a, b); });
    return;
  }
  variations.add_operand(
      fmt::format("factor {} is read column by column, and lies row by row{}", factor, which), factor,
      [a, b](const Tensor& each) { return exchanged(each, a, b).reshaped(each.dims()); });
  variations.add_operand(
      fmt::format("factor {} is read row by row, and lies column by column{}", factor, which), factor,
      [a, b](const Tensor& each) {
        Dims turned = each.dims();
        std::swap(turned[a], turned[b]);
        return exchanged(each.reshaped(turned), a, b);
      });
}

void propose_factor(const Variations& variations, size_t factor) {
  const Member& member = variations.member();
  if (!member.has(factor)) return;
  const size_t rank = member.in(factor).dims().size();
  for (size_t b = rank; b-- > 1;) {
    for (size_t a = b; a-- > 0;) {
      if (member.is_constant(factor) || a + 2 == rank) propose_axes(variations, factor, a, b);
    }
  }
}

// The matrices of a factor that has several, as where heads are taken for others. Where the other factor has
// one for all of them, that is an exchange of rows of the result (batch_rows.cpp).
void propose_matrices(const Variations& variations, size_t factor) {
  const Member& member = variations.member();
  if (!member.has(0) || !member.has(1)) return;
  const Dims &dims = member.in(factor).dims(), &others = member.in(1 - factor).dims();
  for (size_t axis = 0; axis + 2 < dims.size(); ++axis) {
    const size_t behind = dims.size() - axis;
    if (dims[axis] < 2 || others.size() < behind || others[others.size() - behind] < 2) continue;
    const auto add = [&](const char* what, const std::function<Tensor(const Tensor&)>& change) {
      variations.add_operand(fmt::format("every matrix of factor {} is {} along axis {}", factor, what, axis),
                             factor, change);
    };
    add("the next one", [axis](const Tensor& each) { return rolled(each, axis, 1); });
    add("the first one", [axis](const Tensor& each) {
      return taken(each, axis, std::vector<int64_t>(static_cast<size_t>(each.dims()[axis]), 0));
    });
    if (dims[axis] > 2) {
      add("the one before", [axis](const Tensor& each) { return rolled(each, axis, -1); });
      add("that of the other end", [axis](const Tensor& each) { return reversed(each, axis); });
    }
    if (member.is_constant(factor)) continue;  // any two of its axes are exchanged already
    for (size_t other = axis + 1; other + 2 < dims.size(); ++other)
      propose_axes(variations, factor, axis, other);
  }
}

// The places of a kernel, from the last one to the first, along each axis and along all.
void propose_mirrored(const Variations& convolution, size_t weights) {
  constexpr size_t kFirstSpatial = 2;
  if (!convolution.member().has(weights)) return;
  const Dims& dims = convolution.member().in(weights).dims();
  std::vector<size_t> axes;
  for (size_t axis = kFirstSpatial; axis < dims.size(); ++axis) {
    if (dims[axis] > 1) axes.push_back(axis);
  }
  const auto add = [&](std::string what, const std::vector<size_t>& which) {
    convolution.add_operand(std::move(what), weights, [which](const Tensor& kernel) {
      Tensor mirrored = kernel;
      for (const size_t axis : which) mirrored = reversed(mirrored, axis);
      return mirrored;
    });
  };
  if (!axes.empty()) add("the kernel is mirrored", axes);
  for (const size_t axis : axes) {
    if (axes.size() > 1) add(fmt::format("the kernel is mirrored along axis {}", axis), {axis});
  }
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

void propose_operand_order(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                           std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  for (const char* op : {"Sub", "Div", "Pow", "Mod", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}) {
    if (member.is(op)) propose_exchange(variations, 0, 1, "its operands are exchanged");
  }
  const bool is_product =
      member.is("MatMul") || member.is("Gemm") || member.is("MatMulInteger") || member.op() == "FusedMatMul";
  if (is_product) {
    propose_exchange(variations, 0, 1, "its factors are exchanged");
    for (const size_t factor : {size_t{1}, size_t{0}}) {
      propose_factor(variations, factor);
      propose_matrices(variations, factor);
    }
  } else if (member.op().find("Conv") != std::string::npos) {
    const Variations convolution = variations.of(member.is("ConvTranspose") ? 35 : kClass);
    const auto factors = factors_of(member.node());
    const size_t weights = factors ? factors->second : 1;
    propose_factor(convolution, weights);
    propose_mirrored(convolution, weights);
  }
  if (member.is("Where")) propose_choice(variations);
}

}  // namespace vernier
