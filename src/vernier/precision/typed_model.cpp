#include "vernier/precision/typed_model.h"

#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/opset/raise_opset.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/quantization/expand_qlinear.h"
#include "vernier/precision/apply.h"
#include "vernier/precision/asked/retype_nodes.h"
#include "vernier/precision/known_values.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/ranged_values.h"
#include "vernier/precision/rules.h"

namespace vernier {

namespace {

constexpr int64_t kCastOpset = 6, kBrainCastOpset = 13, kChannelScalesOpset = 13, kBlockOpset = 21;
constexpr int64_t kConstantsAloneIr = 4;  // the first in which constants need not be inputs

// Files before IR version 4 had to list weights as inputs, and some exporters still do. Nobody gives them. In
// newer files, other types may be settings that somebody gives.
size_t drop_weights(Graph& graph, bool must_list_weights) {
  return std::erase_if(graph.inputs, [&](const Value* input) {
    return input->is_constant() && (must_list_weights || element_of(input) == ElementType::kFloat);
  });
}

int64_t opset_for(const Graph& graph, const PrecisionPlan& plan) {
  int64_t opset = 0;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      const auto layer = plan.strictest(*node);
      if (!layer) continue;
      const ElementType type = narrow_type(*node, plan);
      if (type != ElementType::kFloat) opset = std::max(opset, opset_of_type(*node, type).value_or(0));
      if (type != ElementType::kFloat || layer->store == ElementType::kFloat16)
        opset = std::max(opset, kCastOpset);
      if (type == ElementType::kBFloat16 || layer->store == ElementType::kBFloat16)
        opset = std::max(opset, kBrainCastOpset);
      if (!layer->quant.empty()) opset = std::max(opset, kChannelScalesOpset);
      if (layer->weight_block > 0) opset = std::max(opset, kBlockOpset);
    }
  });
  return opset;
}

// Plans of engines give all ONNX nodes behind a merged node the types of that node, which computes floats and
// stores its result alone. Node by node, what depends on range or rounding inside of it must stay wide.
void widen_inner_nodes(PrecisionPlan& plan, const Graph& graph) {
  for_each_graph(graph, [&](const Graph& inner) {
    const KnownValues half(inner, ElementType::kFloat16), brain(inner, ElementType::kBFloat16);
    for (const auto& node : inner.nodes()) {
      const auto found = plan.layers.find(node->name);
      if (found == plan.layers.end() || narrow_type(*node, plan) == ElementType::kFloat) continue;
      LayerPrecision& layer = found->second;
      const KnownValues& known = layer.store == ElementType::kFloat16 ? half : brain;
      const bool depends = class_of(*node).lowering == Lowering::kNever || known.meets_large_numbers(*node);
      if (!depends || layer.frozen || layer.by == LayerPrecision::By::kUser) continue;
      layer.compute = layer.accumulate = layer.store = ElementType::kFloat;
      layer.by = LayerPrecision::By::kRule, layer.why = "its range or its rounding matters";
    }
  });
}

// An engine merges them to one Attention, which computes floats.
std::set<std::string> attending_nodes(const Graph& graph) {
  std::set<std::string> names;
  const auto merged = clone(graph);
  run_passes(*merged, {fold_constants(), remove_identities(), recognise_softmax(), recognise_attention()},
             {});
  for_each_graph(*merged, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      if (node->op == "Attention") names.merge(onnx_nodes(*node));
    }
  });
  return names;
}

// Codes of weights are made of what an engine multiplies, so BatchNormalization goes into them first. Whether
// any did.
bool fold_into_quantized(Graph& graph, const PrecisionPlan& plan) {
  const auto is_quantized = [&](const Node& node) {
    const auto layer = plan.strictest(node);
    return layer && layer->compute == ElementType::kInt8;
  };
  return !run_passes(graph, {fold_batch_norm(is_quantized)}, {}).empty();
}

bool same_scales(const std::vector<InputScale>& a, const std::vector<InputScale>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const InputScale& one, const InputScale& other) {
                      return one.input == other.input && one.type == other.type && one.scale == other.scale &&
                             one.zero_point == other.zero_point;
                    });
}

// The same holds for what int8 quantizes: a BatchNormalization that was folded into a Conv has the scales of
// the Conv in such a plan, but what it reads is the result of the Conv. Where a node that multiplies nothing
// has the scales of the node that it reads from, they are not its own.
void keep_scales_of_contractions(PrecisionPlan& plan, const Graph& graph) {
  const PrecisionPlan given = plan;
  const auto quant_of = [&](const Node* node) {
    const LayerPrecision* layer = node == nullptr ? nullptr : given.find(node->name);
    return layer == nullptr ? std::vector<InputScale>() : layer->quant;
  };
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      const auto quant = quant_of(node.get());
      if (quant.empty() || class_of(*node).lowering == Lowering::kAlways) continue;
      const bool merged = std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Value* input) {
        return input != nullptr && same_scales(quant, quant_of(input->producer()));
      });
      if (!merged) continue;
      LayerPrecision& layer = plan.layers.at(node->name);
      layer.quant.clear();
      layer.compute = layer.accumulate = ElementType::kFloat;
    }
  });
}

void retype(Model& model, AskedTypes asked) {
  if (asked.empty()) return;
  ops::infer_types(*model.graph);
  if (model.opset("") < kCastOpset) raise_opset(model, kCastOpset);
  const int64_t opset = model.opset("");
  run_passes(*model.graph, {retype_nodes(std::move(asked), opset), remove_dead_code()}, {});
}

size_t count(const Graph& graph, std::string_view op) {
  size_t found = 0;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) found += node->op == op ? 1 : 0;
  });
  return found;
}

size_t quantizations(const Graph& graph) {
  return count(graph, "QuantizeLinear") + count(graph, "DequantizeLinear");
}

// Rewrites ONNX Runtime's operators in those of ai.onnx, and quantized values as INT8 around zero.
void rewrite_for_tensorrt(TypedModel& typed) {
  const auto records = run_passes(*typed.model.graph,
                                  {expand_fused_conv(), undo_dynamic_quantization(), expand_qlinear()}, {});
  for (const PassRecord& record : records) typed.expanded += static_cast<size_t>(record.rewrites);
  run_passes(*typed.model.graph, {symmetric_codes(typed.symmetric), remove_dead_code()}, {});
}

}  // namespace

TypedModel typed_model(const Model& model, const PrecisionOptions& options, int64_t least_opset) {
  TypedModel typed;
  typed.model = clone(model);
  Graph& graph = *typed.model.graph;
  typed.defaults = drop_weights(graph, model.ir_version < kConstantsAloneIr);
  if (options.symmetric) rewrite_for_tensorrt(typed);
  const size_t own_casts = count(graph, "Cast");
  const auto added_to = [&](size_t casts) {
    return count(graph, "Cast") - std::min(casts, count(graph, "Cast"));
  };
  retype(typed.model, AskedTypes(options, *model.graph));
  typed.casts = added_to(own_casts);
  const auto attending = options.int8 ? attending_nodes(graph) : std::set<std::string>();
  const auto make_plan = [&] { return make_precision_plan(graph, *model.graph, options, attending); };
  typed.plan = make_plan();
  if (fold_into_quantized(graph, typed.plan)) typed.plan = make_plan();
  if (!options.plan.empty()) {
    keep_scales_of_contractions(typed.plan, graph);
    widen_inner_nodes(typed.plan, graph);
  }
  if (options.int8 && options.calibration.empty() && options.plan.empty() && quantizations(graph) == 0)
    throw usage_error("--int8 needs the ranges of values").advise("give them with --calibration scales.json");
  raise_opset(typed.model, std::max(least_opset, opset_for(graph, typed.plan)));
  typed.model.ir_version = std::max(typed.model.ir_version, kConstantsAloneIr);
  typed.opset = typed.model.opset("");
  ops::infer_types(graph);
  const size_t casts = count(graph, "Cast"), quantized = quantizations(graph);
  run_passes(graph, {apply_precision(typed.plan, {typed.opset, true}), remove_dead_code()}, {});
  if (options.codes_between && !options.calibration.empty()) {
    const Ranges ranges = read_model_ranges(options.calibration, graph, *model.graph, typed.plan.notes);
    typed.between = keep_codes_between(graph, ranges.scales, typed.opset);
  }
  typed.casts += added_to(casts);
  typed.quantized = quantizations(graph) - std::min(quantized, quantizations(graph));
  return typed;
}

}  // namespace vernier
