// LSTM, GRU and RNN: what all inputs contribute comes from one product, what the state contributes from one
// product a step; the weights are packed once. On tiles (tactics), the state's products are where enough
// sequences walk side by side.
#include "vernier/ops/support/recurrent.h"

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/recurrent_run.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/tiles/tile_contraction.h"

namespace vernier::cpu {

namespace {

enum Input : size_t { kX, kW, kR, kBias, kLengths, kInitialHidden, kInitialCell, kPeepholes };

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

struct Cell {
  CellKind kind;
  int64_t gates;
  std::vector<std::string> activations;
};

Cell cell_of(const Node& node) {
  if (node.op == "LSTM") return {CellKind::kLstm, 4, {"Sigmoid", "Tanh", "Tanh"}};
  if (node.op == "GRU") return {CellKind::kGru, 3, {"Sigmoid", "Tanh"}};
  return {CellKind::kRnn, 1, {"Tanh"}};
}

// Every operand as large as the sizes say, and of the input's type.
bool fits(const KernelRequest& request, const RecurrentPlan& plan) {
  const int64_t d = plan.directions(), width = plan.gates * plan.hidden, h = plan.hidden;
  const std::pair<size_t, Dims> wanted[] = {
      {kW, {d, width, plan.inputs}}, {kR, {d, width, h}}, {kBias, {d, 2 * width}}, {kPeepholes, {d, 3 * h}}};
  for (const auto& [input, dims] : wanted) {
    if (request.has(input) && request.in(input).dims != dims) return false;
  }
  for (const size_t input : {kInitialHidden, kInitialCell}) {
    if (request.has(input) && request.in(input).size() != d * plan.batch * h) return false;
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i)) continue;
    if (i == kLengths) {
      if (request.in(i).element != ElementType::kInt32 || request.in(i).size() != plan.batch) return false;
    } else if (request.in(i).element != plan.element) {
      return false;
    }
  }
  return true;
}

const Tensor* content(const KernelRequest& request, size_t input) {
  return request.has(input) ? request.in(input).constant : nullptr;
}

// Whether products may be on tiles: of floats, by weights that are known.
bool has_tiles(const KernelRequest& request) {
  return request.in(kX).element == ElementType::kFloat && request.in(kX).size() > 0 &&
         content(request, kW) != nullptr && content(request, kR) != nullptr &&
         (!request.has(kBias) || content(request, kBias) != nullptr);
}

RecurrentTiles tiles_of(const KernelRequest& request, const RecurrentPlan& plan, const TileFormat& format) {
  // With fewer sequences most of a tile is empty.
  constexpr int64_t kLeastSequences = 8;
  // Rows that are multiplied at a time: what they are split into stays in the second cache.
  constexpr int64_t kRowsAtOnce = 256;
  RecurrentTiles tiles{std::string(request.tactic), {}, {}, {}};
  const int64_t h = plan.hidden, width = plan.gates * h,
                rows = (plan.steps * plan.batch + omp_get_max_threads() - 1) / omp_get_max_threads();
  const bool reset_early = plan.kind == CellKind::kGru && !plan.linear_before_reset;
  for (int64_t d = 0; d < plan.directions(); ++d) {
    tiles.input.emplace_back(request, *content(request, kW), d * width * plan.inputs, width, plan.inputs,
                             std::min(rows, kRowsAtOnce), format);
    if (plan.batch < kLeastSequences) continue;
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
  while (plan.directions() * chunks % omp_get_max_threads() != 0 &&
         plan.batch / (chunks + 1) >= kLeastSequences)
    ++chunks;
  return chunks;
}

std::vector<std::string> tactics(const KernelRequest& request) {
  if (!has_tiles(request) || request.in(kW).rank() != 3) return {};
  const Operand& x = request.in(kX);
  const auto& weights = request.in(kW).dims;
  return tile_tactics(ElementType::kFloat, x.size() / std::max<int64_t>(1, x.dims.back()),
                      {weights[1], weights[2], 1, 0, 0, 0});
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  const Node& node = request.node;
  const Operand& x = request.in(kX);
  const Cell cell = cell_of(node);
  RecurrentPlan plan;
  plan.node = node.name;
  plan.kind = cell.kind;
  plan.element = x.element;
  plan.gates = cell.gates;
  plan.batch_first = ops::is_batch_first(node);
  plan.backward = ops::directions_of(node);
  if (!is_float_storage(x.element) || x.rank() != 3 || request.in(kR).rank() != 3) {
    reason = fmt::format("no {} of {}", node.op, element_type_short_name(x.element));
    return nullptr;
  }
  plan.steps = x.dims[plan.batch_first ? 1 : 0];
  plan.batch = x.dims[plan.batch_first ? 0 : 1];
  plan.inputs = x.dims[2];
  plan.hidden = request.in(kR).dims[2];
  if (!fits(request, plan)) {
    reason = fmt::format("operands that do not fit the {}'s input", node.op);
    return nullptr;
  }
  for (const auto& direction : ops::activations_of(node, cell.activations)) {
    auto& activations = plan.activations.emplace_back();
    for (const auto& each : direction) activations.push_back(activation(each));
  }
  plan.linear_before_reset = node.attribute<int64_t>("linear_before_reset", 0) != 0;
  plan.input_forget = node.attribute<int64_t>("input_forget", 0) != 0;
  const auto place = [&](size_t input) { return request.has(input) ? static_cast<int>(input) : -1; };
  plan.bias = place(kBias);
  plan.lengths = place(kLengths);
  plan.initial_hidden = place(kInitialHidden);
  if (cell.kind == CellKind::kLstm) {
    plan.initial_cell = place(kInitialCell);
    plan.peepholes = place(kPeepholes);
  }
  for (size_t i = 0; i < 3; ++i) plan.outputs[i] = request.wants(i) ? static_cast<int>(i) : -1;
  RecurrentTiles tiles;
  if (!request.tactic.empty()) {
    const auto format = tile_format(request, ElementType::kFloat);
    if (!format || !has_tiles(request)) {
      reason = fmt::format("the tactic '{}' does not apply", request.tactic);
      return nullptr;
    }
    tiles = tiles_of(request, plan, *format);
  }
  plan.chunks = chunks_of(plan, !tiles.recurrent.empty());
  return make_recurrent(std::move(plan),
                        {content(request, kW), content(request, kR), content(request, kBias)},
                        std::move(tiles));
}

}  // namespace

void register_recurrent(KernelRegistry& registry) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) registry.add({"", op, LayoutRule::kPlain, make, tactics});
}

}  // namespace vernier::cpu
