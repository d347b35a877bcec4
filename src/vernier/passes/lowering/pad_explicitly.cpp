// A Conv with padding by weights of which one is NaN or infinite, or that are not known -> Pad, and the Conv
// without padding.
//
// ONNX's padding is of zeros that are multiplied like all else, and 0 * Inf is NaN. Kernels of convolutions
// skip taps that lie in the padding, which is the same for numbers alone. So such weights, of which no useful
// model is made, get zeros that no kernel can tell from an image; they cost a copy.
//
// Weights that only running tells may be such weights. Few models have any, and a copy of the image takes
// less time than the convolution.
#include <cmath>

#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kPadOpset = 13;

bool is_finite(const Tensor& tensor) {
  const auto values = tensor.to_doubles();
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

bool may_be_infinite(const Value& weights) {
  return is_float(weights.type.tensor.element) && (!weights.is_constant() || !is_finite(*weights.constant));
}

// Sizes of the image that has the padding of this one: where every window is counted, it does not follow from
// the size, and any will do for one that is not known.
std::optional<Dims> as_padded(const Node& conv) {
  const Shape& image = *conv.input(0)->type.tensor.shape;
  const auto strides = conv.attribute<std::vector<int64_t>>("strides", {});
  const bool counts_all =
      std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 1; });
  Dims dims;
  for (const Dim& size : image) {
    if (!size.is_constant() && !counts_all) return std::nullopt;
    dims.push_back(size.constant().value_or(1));
  }
  return dims;
}

// As Pad has them: of all axes at their beginning, then at their end. None if there is no padding, if it
// follows from sizes that are not known, or if the image is empty: no window lies in it, however wide its
// padding.
std::vector<int64_t> pads_of(const Node& conv) {
  const auto rank = known_rank(*conv.input(0));
  if (!rank || *rank < 3) return {};
  const Shape& image = *conv.input(0)->type.tensor.shape;
  if (std::find(image.begin() + 2, image.end(), Dim(0)) != image.end()) return {};
  const size_t spatial = *rank - 2;
  std::vector<int64_t> own = conv.attribute<std::vector<int64_t>>("pads", {});
  const auto automatic = ops::text_attribute(conv, "auto_pad");
  if (automatic == "VALID") return {};
  if (automatic != "NOTSET" && !automatic.empty()) {
    const auto x = as_padded(conv), w = known_dims(*conv.input(1));
    if (!x || !w) return {};
    own.assign(2 * spatial, 0);
    const auto axes = ops::Convolution::of(conv, *x, *w).axes;
    for (size_t i = 0; i < spatial; ++i) {
      own[i] = axes[i].pad_begin;
      own[spatial + i] = axes[i].pad_end;
    }
  }
  const bool pads = std::all_of(own.begin(), own.end(), [](int64_t pad) { return pad >= 0; }) &&
                    std::any_of(own.begin(), own.end(), [](int64_t pad) { return pad > 0; });
  if (own.size() != 2 * spatial || !pads) return {};
  std::vector<int64_t> all(2 * *rank, 0);
  std::copy_n(own.begin(), spatial, all.begin() + 2);
  std::copy_n(own.begin() + static_cast<ptrdiff_t>(spatial), spatial,
              all.begin() + static_cast<ptrdiff_t>(*rank) + 2);
  return all;
}

bool pad(Graph& graph, Node* conv) {
  const auto pads = pads_of(*conv);
  if (pads.empty()) return false;
  const Value* x = conv->input(0);
  const std::string name = conv->output(0)->name;
  Shape wider = x->type.tensor.shape.value();
  for (size_t i = 0; i < wider.size(); ++i) wider[i] = wider[i] + pads[i] + pads[wider.size() + i];
  Value* padded = graph.add_value(free_name(graph, name + "/padded"),
                                  ValueType::of(x->type.tensor.element, std::move(wider)));
  Tensor sizes(ElementType::kInt64, {static_cast<int64_t>(pads.size())});
  std::copy(pads.begin(), pads.end(), static_cast<int64_t*>(sizes.mutable_raw()));
  Value* constant = graph.add_constant(free_name(graph, name + "/pads"), std::move(sizes));
  std::vector<std::unique_ptr<Node>> made;
  made.push_back(make_node("Pad", kPadOpset, {conv->input(0), constant}, padded));
  ValueMap same;
  made.push_back(clone(*conv, same, &graph));
  made.back()->inputs[0] = padded;
  made.back()->attributes.erase("auto_pad");
  made.back()->attributes.erase("pads");
  Rewriter(graph).replace({conv}, std::move(made));
  return true;
}

// Bodies of groups are left alone: they are computed already.
int pad_in(Graph& graph) {
  std::vector<Node*> found;
  int padded = 0;
  for (const auto& node : graph.nodes()) {
    if (ops::is_group(*node)) continue;
    for (const auto& [name, region] : node->regions) padded += pad_in(*region);
    if (node->op == "Conv" && node->domain.empty() && may_be_infinite(*node->input(1)))
      found.push_back(node.get());
  }
  for (Node* conv : found) padded += pad(graph, conv) ? 1 : 0;
  return padded;
}

}  // namespace

Pass pad_explicitly() {
  return {"pad-explicitly", NumericalClass::kExact, pad_in};
}

}  // namespace vernier
