// Zeros that Pad puts around an image become pads of the Conv, or of the AveragePool that counts its pads,
// where the sums have the same addends.
#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/padding.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

using Pads = ops::Pads<int64_t>;

bool is_zero(const Tensor& tensor) {
  return tensor.size() == 1 && is_float(tensor.type()) && tensor.to_doubles()[0] == 0;
}

std::optional<std::vector<int64_t>> known_ints(const Value* value) {
  if (value == nullptr || !value->is_constant()) return std::nullopt;
  return value->constant->to_ints();
}

// The pads of a Pad of zeros that adds elements along the axes of images only.
std::optional<Pads> zero_pads(const Node& pad) {
  const auto rank = known_rank(*pad.input(0));
  if (!rank || *rank < 3 || ops::pad_mode(pad) != "constant") return std::nullopt;
  std::optional<Pads> pads;
  if (!ops::pads_are_inputs(pad)) {
    if (ops::real_attribute(pad, "value") != 0) return std::nullopt;
    pads = ops::pads_by_axis<int64_t>(*rank, ops::attribute_pads(pad), std::nullopt);
  } else {
    const auto list = known_ints(pad.input(1)), axes = known_ints(pad.input(3));
    const Value* value = pad.input(2);
    const bool zeros = value == nullptr || (value->is_constant() && is_zero(*value->constant));
    if (!list || !zeros || (pad.input(3) != nullptr && !axes)) return std::nullopt;
    pads = ops::pads_by_axis<int64_t>(*rank, *list, axes);
  }
  for (size_t i = 0; i < *rank; ++i) {
    if (pads->before[i] < 0 || pads->after[i] < 0) return std::nullopt;
    if (i < 2 && (pads->before[i] != 0 || pads->after[i] != 0)) return std::nullopt;
  }
  return pads;
}

bool takes_pads(const Node& node, const std::vector<int64_t>& own) {
  const auto automatic = ops::text_attribute(node, "auto_pad");
  if (automatic != "NOTSET" && automatic != "" && automatic != "VALID") return false;
  if (node.op == "Conv") return true;
  // Elements of the image are counted, pads only where the pool says so.
  const bool counts = ops::integer_attribute(node, "count_include_pad") != 0;
  const bool none = std::all_of(own.begin(), own.end(), [](int64_t pad) { return pad == 0; });
  return node.op == "AveragePool" && node.version >= 7 && (counts || none) &&
         ops::integer_attribute(node, "ceil_mode") == 0;
}

bool fold(Graph& graph, Node* pad, Node* reader) {
  const auto pads = zero_pads(*pad);
  if (!pads) return false;
  const size_t spatial = pads->before.size() - 2;
  auto own = reader->attribute<std::vector<int64_t>>("pads", {});
  if (own.empty()) own.assign(2 * spatial, 0);
  if (own.size() != 2 * spatial || !takes_pads(*reader, own)) return false;
  for (size_t i = 0; i < spatial; ++i) {
    own[i] += pads->before[i + 2];
    own[spatial + i] += pads->after[i + 2];
  }
  if (reader->op == "AveragePool") {
    // Some runtimes, and oneDNN, refuse a window that lies in the pads alone.
    const auto kernel = reader->attribute<std::vector<int64_t>>("kernel_shape", {});
    for (size_t i = 0; i < spatial; ++i) {
      if (kernel.size() != spatial || own[i] >= kernel[i] || own[spatial + i] >= kernel[i]) return false;
    }
  }
  ValueMap same;
  auto padded = clone(*reader, same, &graph);
  padded->inputs[0] = pad->input(0);
  padded->attributes.erase("auto_pad");
  padded->attributes.insert_or_assign("pads", own);
  if (reader->op == "AveragePool") padded->attributes.insert_or_assign("count_include_pad", int64_t{1});
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(padded));
  Rewriter(graph).replace({pad, reader}, std::move(replacement));
  return true;
}

int fold_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::pair<Node*, Node*>> pairs;
  for (const auto& node : graph.nodes()) {
    if (node->op != "Pad") continue;
    Node* reader = uses.only_reader(node->output(0));
    if (reader != nullptr && reader->domain.empty() && reader->input(0) == node->output(0))
      pairs.emplace_back(node.get(), reader);
  }
  int folded = 0;
  for (const auto& [pad, reader] : pairs) folded += fold(graph, pad, reader) ? 1 : 0;
  return folded;
}

}  // namespace

Pass fold_pad() {
  return {"fold-pad", NumericalClass::kExact, [](Graph& graph) {
            int folded = 0;
            for_each_graph(graph, [&](Graph& inner) { folded += fold_in(inner); });
            return folded;
          }};
}

}  // namespace vernier
