// LSTM, GRU and RNN: what all inputs contribute comes from one product, what the state contributes from one
// product a step; the weights are packed once. On tiles (tactics_recurrent), the state's products are where
// enough sequences walk side by side.
#include "vernier/ops/support/nn/recurrent.h"

#include <numeric>

#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/recurrent/recurrent_run.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"

namespace vernier::cpu {

namespace {

using namespace recurrent;

constexpr std::pair<std::string_view, CellFunction> kFunctions[] = {
    {"affine", CellFunction::kAffine},
    {"elu", CellFunction::kElu},
    {"hardsigmoid", CellFunction::kHardSigmoid},
    {"leakyrelu", CellFunction::kLeakyRelu},
    {"relu", CellFunction::kRelu},
    {"scaledtanh", CellFunction::kScaledTanh},
    {"sigmoid", CellFunction::kSigmoid},
    {"softplus", CellFunction::kSoftplus},
    {"softsign", CellFunction::kSoftsign},
    {"tanh", CellFunction::kTanh},
    {"thresholdedrelu", CellFunction::kThresholdedRelu},
};

CellActivation activation(const ops::Activation& from) {
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const auto& each) { return each.first == from.name(); });
  if (found == std::end(kFunctions)) throw internal_error("activation '{}'", from.name());
  return {found->second, static_cast<float>(from.alpha()), static_cast<float>(from.beta()),
          static_cast<float>(from.clip())};
}

// The operator's own request, alone or out of a group that also takes its input from a table.
struct Given {
  KernelRequest request;
  std::vector<int> inputs, outputs;  // where its operands are in the step; -1: nowhere
  int table = -1, ids = -1;
  bool swapped = false;

  bool has_table() const { return ids >= 0; }
};

Given given_of(const KernelRequest& step) {
  if (!ops::is_group(step.node)) {
    Given given{step, std::vector<int>(step.inputs.size()), std::vector<int>(step.outputs.size())};
    std::iota(given.inputs.begin(), given.inputs.end(), 0);
    std::iota(given.outputs.begin(), given.outputs.end(), 0);
    return given;
  }
  const Graph& body = ops::body(step.node);
  const Node &gather = *body.nodes().front(), &node = *body.nodes().back();
  const auto place = [](const std::vector<Value*>& all, const Value* value) {
    const auto found = std::find(all.begin(), all.end(), value);
    return value == nullptr || found == all.end() ? -1 : static_cast<int>(found - all.begin());
  };
  Given given{{node, {}, {}, step.packed, step.images, step.tactic},
              {},
              {},
              place(body.inputs, gather.input(0)),
              place(body.inputs, gather.input(1)),
              body.nodes().size() > 2};
  const Operand &table = step.in(static_cast<size_t>(given.table)),
                &ids = step.in(static_cast<size_t>(given.ids));
  const size_t first = given.swapped ? 1 : 0;
  for (const Value* input : node.inputs) {
    given.inputs.push_back(place(body.inputs, input));
    given.request.inputs.push_back(
        given.inputs.back() < 0 ? std::nullopt : step.inputs[static_cast<size_t>(given.inputs.back())]);
  }
  given.request.inputs[kX] =
      Operand{table.element, {ids.dims[first], ids.dims[1 - first], table.dims[1]}, Layout::kPlain, nullptr};
  for (const Value* output : node.outputs) {
    given.outputs.push_back(place(body.outputs, output));
    given.request.outputs.push_back(
        given.outputs.back() < 0 ? std::nullopt : step.outputs[static_cast<size_t>(given.outputs.back())]);
  }
  return given;
}

const Tensor* content(const KernelRequest& request, size_t input) {
  return request.has(input) ? request.in(input).constant : nullptr;
}

// Whether all is of floats, by weights that are known.
bool has_known_weights(const KernelRequest& request) {
  return request.in(kX).element == ElementType::kFloat && request.in(kX).size() > 0 &&
         content(request, kW) != nullptr && content(request, kR) != nullptr &&
         (!request.has(kBias) || content(request, kBias) != nullptr);
}

// With fewer sequences most of a tile is empty.
constexpr int64_t kLeastTileSequences = 8;

RecurrentTiles tiles_of(const KernelRequest& request, const RecurrentPlan& plan, const TileFormat& format) {
  // Rows that are multiplied at a time: what they are split into stays in the second cache.
  constexpr int64_t kRowsAtOnce = 256;
  RecurrentTiles tiles{std::string(request.tactic), {}, {}, {}};
  const int64_t h = plan.hidden, width = plan.gates * h,
                rows = (plan.steps * plan.batch + thread_count() - 1) / thread_count();
  const bool reset_early = plan.kind == CellKind::kGru && !plan.linear_before_reset;
  for (int64_t d = 0; d < plan.directions(); ++d) {
    if (plan.ids < 0)
      tiles.input.emplace_back(request, *content(request, kW), d * width * plan.inputs, width, plan.inputs,
                               std::min(rows, kRowsAtOnce), format);
    if (plan.batch < kLeastTileSequences) continue;
    const Tensor& r = *content(request, kR);
    const auto state = [&](int64_t first, int64_t columns) {
      return TileRows(request, r, (d * width + first) * h, columns, h, kTileSequences, format);
    };
    tiles.recurrent.push_back(state(0, reset_early ? 2 * h : width));
    if (reset_early) tiles.candidate.push_back(state(2 * h, h));
  }
  return tiles;
}

// As few chunks as there can be, or more, that keep all threads busy. None is so small that its products
// would be summed in another order (packed_product.h).
int64_t chunks_of(const RecurrentPlan& plan, bool on_tiles) {
  constexpr int64_t kLeastSequences = 4;
  int64_t chunks = std::max<int64_t>(1, (plan.batch + kTileSequences - 1) / kTileSequences);
  if (on_tiles) return chunks;
  while (plan.directions() * chunks % thread_count() != 0 && plan.batch / (chunks + 1) >= kLeastSequences)
    ++chunks;
  return chunks;
}

std::vector<std::string> tactics_recurrent(const KernelRequest& step) {
  const Given given = given_of(step);
  const KernelRequest& request = given.request;
  if (!has_known_weights(request) || request.in(kW).rank() != 3) return {};
  const Operand& x = request.in(kX);
  if (given.has_table() && x.dims[ops::is_batch_first(request.node) ? 0 : 1] < kLeastTileSequences) return {};
  const auto& weights = request.in(kW).dims;
  return tile_tactics(ElementType::kFloat, x.size() / std::max<int64_t>(1, x.dims.back()),
                      {weights[1], weights[2], 1, 0, 0, 0});
}

void place_operands(const Given& given, RecurrentPlan& plan) {
  const KernelRequest& request = given.request;
  const auto place = [&](size_t input) { return request.has(input) ? given.inputs[input] : -1; };
  plan.bias = place(kBias);
  plan.lengths = place(kLengths);
  plan.initial_hidden = place(kInitialHidden);
  if (plan.kind == CellKind::kLstm) {
    plan.initial_cell = place(kInitialCell);
    plan.peepholes = place(kPeepholes);
  }
  for (size_t i = 0; i < 3; ++i) plan.outputs[i] = request.wants(i) ? given.outputs[i] : -1;
}

std::unique_ptr<Kernel> make(const KernelRequest& step, std::string& reason) {
  const Given given = given_of(step);
  const KernelRequest& request = given.request;
  const Node& node = request.node;
  const Operand& x = request.in(kX);
  if (!is_float_storage(x.element)) {
    reason = fmt::format("no {} of {}", node.op, element_type_short_name(x.element));
    return nullptr;
  }
  const auto layer = recurrent_layer(request, reason);
  if (!layer) return nullptr;
  RecurrentPlan plan{*layer};
  plan.node = node.name;
  if (given.has_table()) {
    const Operand &table = step.in(static_cast<size_t>(given.table)),
                  &ids = step.in(static_cast<size_t>(given.ids));
    if (!has_known_weights(request) || table.constant == nullptr) {
      reason = fmt::format("no {} of rows of a table without weights that are known", node.op);
      return nullptr;
    }
    plan.ids = given.ids;
    plan.ids_type = ids.element;
    plan.ids_swapped = given.swapped;
    plan.words = table.dims[0];
  }
  for (const auto& direction : plan.activations) {
    auto& activations = plan.cell_activations.emplace_back();
    for (const auto& each : direction) activations.push_back(activation(each));
  }
  place_operands(given, plan);
  RecurrentTiles tiles;
  if (!request.tactic.empty()) {
    const auto format = tile_format(request, ElementType::kFloat);
    if (!format || !has_known_weights(request)) {
      reason = fmt::format("the tactic '{}' does not apply", request.tactic);
      return nullptr;
    }
    tiles = tiles_of(request, plan, *format);
  }
  plan.chunks = chunks_of(plan, !tiles.recurrent.empty());
  return make_recurrent(std::move(plan),
                        {content(request, kW), content(request, kR), content(request, kBias),
                         given.has_table() ? step.in(static_cast<size_t>(given.table)).constant : nullptr},
                        std::move(tiles));
}

}  // namespace

void register_recurrent(KernelRegistry& registry) {
  for (const char* op : {"LSTM", "GRU", "RNN"})
    registry.add({"", op, LayoutRule::kPlain, Priority::kOwn, make, tactics_recurrent});
  registry.add(
      {ops::kInternalDomain, "Group/recurrent", LayoutRule::kPlain, Priority::kOwn, make, tactics_recurrent});
}

}  // namespace vernier::cpu
