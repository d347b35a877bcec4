#include "vernier/backends/shared/recurrent/recurrent_layer.h"

#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

using namespace recurrent;

struct Cell {
  CellKind kind;
  int64_t gates;
  std::vector<std::string> activations;
};

std::optional<Cell> cell_of(const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "LSTM") return Cell{CellKind::kLstm, 4, {"Sigmoid", "Tanh", "Tanh"}};
  if (node.op == "GRU") return Cell{CellKind::kGru, 3, {"Sigmoid", "Tanh"}};
  if (node.op == "RNN") return Cell{CellKind::kRnn, 1, {"Tanh"}};
  return std::nullopt;
}

bool fits(const KernelRequest& request, const RecurrentLayer& layer) {
  const int64_t d = layer.directions(), width = layer.width(), h = layer.hidden;
  const std::pair<size_t, Dims> wanted[] = {
      {kW, {d, width, layer.inputs}}, {kR, {d, width, h}}, {kBias, {d, 2 * width}}, {kPeepholes, {d, 3 * h}}};
  for (const auto& [input, dims] : wanted) {
    if (request.has(input) && request.in(input).dims != dims) return false;
  }
  for (const size_t input : {kInitialHidden, kInitialCell}) {
    if (request.has(input) && request.in(input).size() != d * layer.batch * h) return false;
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i)) continue;
    if (i == kLengths) {
      if (request.in(i).element != ElementType::kInt32 || request.in(i).size() != layer.batch) return false;
    } else if (request.in(i).element != layer.element) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<RecurrentLayer> recurrent_layer(const KernelRequest& request, std::string& reason) {
  const Node& node = request.node;
  const auto cell = cell_of(node);
  if (!cell) return std::nullopt;
  reason = fmt::format("operands that do not fit the {}'s input", node.op);
  const Operand &x = request.in(kX), &r = request.in(kR);
  if (x.rank() != 3 || r.rank() != 3) return std::nullopt;
  RecurrentLayer layer;
  layer.kind = cell->kind;
  layer.element = x.element;
  layer.gates = cell->gates;
  layer.batch_first = ops::is_batch_first(node);
  layer.backward = ops::directions_of(node);
  layer.steps = x.dims[layer.batch_first ? 1 : 0];
  layer.batch = x.dims[layer.batch_first ? 0 : 1];
  layer.inputs = x.dims[2];
  layer.hidden = r.dims[2];
  if (!fits(request, layer)) return std::nullopt;
  layer.activations = ops::activations_of(node, cell->activations);
  layer.linear_before_reset = ops::integer_attribute(node, "linear_before_reset") != 0;
  layer.input_forget = ops::integer_attribute(node, "input_forget") != 0;
  reason.clear();
  return layer;
}

}  // namespace vernier
