#include "vernier/diagnose/hazards/healed_runs.h"

#include <cmath>

namespace vernier {

namespace {

std::vector<Tensor> tensors_of(std::vector<Datum> outputs) {
  std::vector<Tensor> tensors;
  tensors.reserve(outputs.size());
  for (Datum& output : outputs) tensors.push_back(output.is_tensor() ? std::move(output.tensor) : Tensor());
  return tensors;
}

void widen(std::pair<double, double>& range, const Tensor& tensor) {
  for (const double value : tensor.to_doubles()) {
    if (!std::isfinite(value)) continue;
    range.first = std::min(range.first, value);
    range.second = std::max(range.second, value);
  }
}

}  // namespace

HealedRuns::HealedRuns(const Graph& graph) : graph_(graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op != "QuantizeLinear") continue;
    auto site = site_of(*node);
    if (!site) continue;
    for (const auto& reader : graph.nodes()) {
      if (reader->op != "DequantizeLinear" || reader->input(0) != node->outputs[0]) continue;
      site->dequantize.push_back(reader.get());
      quantize_of_[reader.get()] = node.get();
    }
    if (!site->dequantize.empty()) sites_.push_back(std::move(*site));
  }
}

std::vector<Tensor> HealedRuns::run(const NamedData& inputs, const Cures& cures) const {
  std::map<const Node*, const QuantizationSite*> by_node;
  for (const QuantizationSite& site : sites_) by_node[site.quantize] = &site;
  std::map<const Node*, Tensor> reals;
  InterpreterOptions options;
  options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                       std::vector<Datum>& results) {
    if (const auto cure = cures.find(&node); cure != cures.end())
      reals[&node] = cured(*by_node.at(&node), operands[0]->tensor, cure->second);
    const auto found = quantize_of_.find(&node);
    if (found == quantize_of_.end() || !cures.contains(found->second)) return;
    const Tensor& real = reals.at(found->second);
    Tensor& result = results[0].tensor;
    result = real.type() == result.type()
                 ? real
                 : Tensor::from_doubles(result.type(), real.dims(), real.to_doubles());
  };
  return tensors_of(run_reference(graph_, inputs, options).outputs);
}

HealedRuns::Observed HealedRuns::observe(const NamedData& inputs, Ranges* ranges) const {
  Observed seen;
  seen.uses.resize(sites_.size());
  std::map<const Node*, size_t> by_node;
  for (size_t i = 0; i < sites_.size(); ++i) by_node[sites_[i].quantize] = i;
  std::map<const Node*, Tensor> reals;
  InterpreterOptions options;
  options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                       std::vector<Datum>& results) {
    if (const auto site = by_node.find(&node); site != by_node.end()) {
      reals[&node] = operands[0]->tensor;
      seen.uses[site->second] = use_of(sites_[site->second], operands[0]->tensor);
    } else if (const auto found = quantize_of_.find(&node); found != quantize_of_.end()) {
      const Tensor& real = reals.at(found->second);
      results[0].tensor = Tensor::from_doubles(results[0].tensor.type(), real.dims(), real.to_doubles());
    }
    for (size_t i = 0; ranges != nullptr && i < results.size(); ++i) {
      if (node.outputs[i] == nullptr || !results[i].is_tensor() || !is_float(results[i].tensor.type()))
        continue;
      widen((*ranges)[node.outputs[i]], results[i].tensor);
    }
  };
  seen.outputs = tensors_of(run_reference(graph_, inputs, options).outputs);
  return seen;
}

std::vector<Tensor> HealedRuns::measure(const NamedData& inputs) {
  Observed seen = observe(inputs, &ranges_);
  for (size_t i = 0; i < sites_.size(); ++i) {
    if (!sites_[i].is_weight || sites_[i].uses.empty()) sites_[i].uses.push_back(seen.uses[i]);
  }
  return std::move(seen.outputs);
}

}  // namespace vernier
