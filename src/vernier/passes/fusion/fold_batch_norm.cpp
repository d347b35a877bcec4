// BatchNormalization after a Conv, ConvTranspose or Gemm with constant weights becomes part of weights and
// bias. The products of scales are made in double and rounded once.
#include "vernier/base/threads.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

// Exporters hold weights in initializers or in Constant nodes.
std::optional<Tensor> content(const Value* value) {
  return value != nullptr && value->is_constant() ? value->constant : known_content(value);
}

// y = x * scale + shift for each channel.
struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> affine_of(const Node& norm) {
  if (ops::integer_attribute(norm, "training_mode") != 0 || norm.outputs.size() > 1) return std::nullopt;
  const auto gamma = content(norm.input(1)), beta = content(norm.input(2)), mean = content(norm.input(3)),
             variance = content(norm.input(4));
  if (!gamma || !beta || !mean || !variance) return std::nullopt;
  const double epsilon = ops::real_attribute(norm, "epsilon");
  Affine result;
  const auto gammas = gamma->to_doubles(), betas = beta->to_doubles(), means = mean->to_doubles(),
             variances = variance->to_doubles();
  for (size_t c = 0; c < gammas.size(); ++c) {
    result.scale.push_back(gammas[c] / std::sqrt(variances[c] + epsilon));
    result.shift.push_back(betas[c] - means[c] * result.scale[c]);
  }
  return result;
}

// Along which axis of the weights the output's channels lie, and how many groups share them; nothing if it
// cannot be folded.
std::optional<size_t> channel_axis(const Node& node) {
  if (!ops::has_trait(node, ops::kProducts) || !ops::input_of(node, ops::Role::kBias)) return std::nullopt;
  if (node.op == "ConvTranspose" && ops::integer_attribute(node, "group") != 1) return std::nullopt;
  if (node.op == "Gemm" &&
      (ops::real_attribute(node, "alpha") != 1 || ops::real_attribute(node, "beta") != 1))
    return std::nullopt;
  constexpr int64_t kMatrix = 2;
  return static_cast<size_t>(*ops::output_channel_axis(node, kMatrix));
}

// The tensor times the scale of each channel, `inner` elements of which lie together.
Tensor scaled(const Tensor& tensor, const std::vector<double>& scale, size_t inner) {
  constexpr int64_t kGrain = 1 << 16;
  constexpr size_t kBlock = 2048;  // doubles that stay in the first cache
  Tensor result(tensor.type(), tensor.dims());
  result.mutable_raw();
  parallel_for(tensor.size(), kGrain, [&](int64_t begin, int64_t end) {
    std::vector<double> values(kBlock);
    for (auto at = static_cast<size_t>(begin); at < static_cast<size_t>(end); at += kBlock) {
      const std::span block(values.data(), std::min(kBlock, static_cast<size_t>(end) - at));
      tensor.read_doubles(static_cast<int64_t>(at), block);
      size_t channel = at / inner % scale.size(), left = inner - at % inner;
      for (double& value : block) {
        value *= scale[channel];
        if (--left > 0) continue;
        channel = channel + 1 == scale.size() ? 0 : channel + 1;
        left = inner;
      }
      result.write_doubles(static_cast<int64_t>(at), block);
    }
  });
  return result;
}

bool fold(Graph& graph, Node* node, Node* norm) {
  const auto axis = channel_axis(*node);
  const auto affine = affine_of(*norm);
  const auto weights = content(node->input(1)), given_bias = content(node->input(2));
  if (!axis || !affine || !weights || !is_float(weights->type()) ||
      (node->input(2) != nullptr && !given_bias))
    return false;
  const Tensor& old = *weights;
  const auto channels = affine->scale.size();
  if (old.rank() <= static_cast<int64_t>(*axis) || old.dims()[*axis] != static_cast<int64_t>(channels))
    return false;
  size_t inner = 1;
  for (size_t i = *axis + 1; i < old.dims().size(); ++i) inner *= static_cast<size_t>(old.dims()[i]);
  std::vector<double> bias(channels);
  if (given_bias) bias = given_bias->to_doubles();
  if (bias.size() != channels) return false;
  for (size_t c = 0; c < channels; ++c) bias[c] = bias[c] * affine->scale[c] + affine->shift[c];

  ValueMap same;
  auto folded = clone(*node, same, &graph);
  folded->inputs.resize(3);
  folded->inputs[1] = graph.add_constant(free_name(graph, norm->output(0)->name + "/weights"),
                                         scaled(old, affine->scale, inner));
  folded->inputs[2] =
      graph.add_constant(free_name(graph, norm->output(0)->name + "/bias"),
                         Tensor::from_doubles(old.type(), {static_cast<int64_t>(channels)}, bias));
  folded->outputs = {norm->output(0)};
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(folded));
  Rewriter(graph).replace({node, norm}, std::move(replacement));
  return true;
}

int fold_in(Graph& graph, const std::function<bool(const Node&)>& into) {
  const Uses uses(graph);
  std::vector<std::pair<Node*, Node*>> pairs;
  for (const auto& node : graph.nodes()) {
    if (!channel_axis(*node) || (into && !into(*node))) continue;
    Node* next = uses.only_reader(node->output(0));
    if (next != nullptr && next->domain.empty() && next->op == "BatchNormalization" &&
        next->input(0) == node->output(0))
      pairs.emplace_back(node.get(), next);
  }
  int folded = 0;
  for (const auto& [node, norm] : pairs) folded += fold(graph, node, norm) ? 1 : 0;
  return folded;
}

}  // namespace

Pass fold_batch_norm(std::function<bool(const Node&)> into) {
  return {"fold-batch-norm", NumericalClass::kReassociating, [into = std::move(into)](Graph& graph) {
            int folded = 0;
            for_each_graph(graph, [&](Graph& inner) { folded += fold_in(inner, into); });
            return folded;
          }};
}

}  // namespace vernier
