// Attention of ai.onnx without a past, and that which stands for a decomposed one.
#include "vernier/ops/support/attention/attention.h"

#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/shared/pointwise/program.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

using P = AttentionParameters;
enum Input : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kValidKeys };

// What a row gives where nothing may be attended: zeros, NaN, or zeros for every row that has no weights.
enum Without : int { kZerosIfForbidden, kNan, kZeros };

// [batch, heads, rows, size], or [batch, rows, heads * size]; nothing where it cannot be divided.
std::optional<ops::HeadsLayout> heads_of(const Operand& operand, int64_t heads) {
  const Dims& dims = operand.dims;
  if (dims.size() == 4) return ops::HeadsLayout::separate(dims[0], dims[1], dims[2], dims[3]);
  if (dims.size() != 3 || heads < 1 || dims[2] % heads != 0) return std::nullopt;
  return ops::HeadsLayout::packed(dims[0], dims[1], heads, dims[2] / heads);
}

bool fits(const ops::HeadsLayout& q, const ops::HeadsLayout& k, const ops::HeadsLayout& v) {
  return q.batch == k.batch && q.batch == v.batch && q.size == k.size && k.rows == v.rows &&
         k.heads == v.heads && k.heads > 0 && q.heads % k.heads == 0 && q.count() * k.count() * v.count() > 0;
}

// Sets the steps of a mask that broadcasts to [batch, heads, rows, keys]. Since 24 it may end before the keys
// do.
bool place_mask(const KernelRequest& request, const Dims& scores, P& parameters) {
  if (!request.has(kMask)) return true;
  const Operand& mask = request.in(kMask);
  Dims target = scores;
  if (request.node.version >= 24 && !mask.dims.empty() && mask.dims.back() < target[3])
    target[3] = mask.dims.back();
  if (mask.rank() > 4 || device_type(mask.element).empty() ||
      (!is_float(mask.element) && mask.element != ElementType::kBool))
    return false;
  for (size_t i = 0; i < mask.dims.size(); ++i) {
    const int64_t size = mask.dims[mask.dims.size() - 1 - i];
    if (size != 1 && size != target[3 - i]) return false;
  }
  const auto steps = ops::broadcast_strides(mask.dims, target);
  parameters.mask_batch = steps[0];
  parameters.mask_head = steps[1];
  parameters.mask_row = steps[2];
  parameters.mask_column = steps[3];
  parameters.mask_keys = static_cast<int>(target[3]);
  return true;
}

void place_heads(const ops::HeadsLayout& q, const ops::HeadsLayout& k, const ops::HeadsLayout& v,
                 bool separate, P& p) {
  p.batch = static_cast<int>(q.batch);
  p.heads = static_cast<int>(q.heads);
  p.kv_heads = static_cast<int>(k.heads);
  p.queries = static_cast<int>(q.rows);
  p.keys = static_cast<int>(k.rows);
  p.head_size = static_cast<int>(q.size);
  p.value_size = static_cast<int>(v.size);
  const auto y = separate ? ops::HeadsLayout::separate(q.batch, q.heads, q.rows, v.size)
                          : ops::HeadsLayout::packed(q.batch, q.rows, q.heads, v.size);
  p.q_batch = q.batch_stride, p.q_head = q.head_stride, p.q_row = q.row_stride;
  p.k_batch = k.batch_stride, p.k_head = k.head_stride, p.k_row = k.row_stride;
  p.v_batch = v.batch_stride, p.v_head = v.head_stride, p.v_row = v.row_stride;
  p.y_batch = y.batch_stride, p.y_head = y.head_stride, p.y_row = y.row_stride;
}

std::unique_ptr<CudaKernel> refuse(const KernelRequest& request, std::string& reason) {
  reason = fmt::format("no {} of such inputs", request.node.op);
  return nullptr;
}

// Where the operands of an attention lie among the inputs of its kernel.
struct Operands {
  std::array<size_t, 4> inputs = {kQ, kK, kV, kMask};
  std::array<int64_t, 3> offsets = {};  // of queries, keys and values, in elements
  int64_t columns = 0;                  // of the rows that all three are parts of; 0: they lie apart
};

// The heads of queries, keys and values; nothing where the kernel does not serve them.
std::optional<std::array<ops::HeadsLayout, 3>> heads_of(const KernelRequest& request) {
  const Node& node = request.node;
  const ElementType type = request.in(kQ).element;
  const auto kv_heads = ops::integer_attribute(node, "kv_num_heads");
  const auto q = heads_of(request.in(kQ), ops::integer_attribute(node, "q_num_heads")),
             k = heads_of(request.in(kK), kv_heads), v = heads_of(request.in(kV), kv_heads);
  const bool alone = !request.has(kPastKey) && !request.has(kPastValue) && !request.has(kValidKeys) &&
                     !request.wants(1) && !request.wants(2) && !request.wants(3);
  if (!q || !k || !v || !alone || !fits(*q, *k, *v) || device_type(type).empty() ||
      pointwise::register_type(type) != ElementType::kFloat || request.in(kK).element != type ||
      request.in(kV).element != type)
    return std::nullopt;
  return std::array{*q, *k, *v};
}

void set_attributes(const Node& node, int64_t head_size, P& parameters) {
  parameters.causal = static_cast<int>(ops::integer_attribute(node, "is_causal"));
  parameters.left = static_cast<int>(ops::integer_attribute(node, "left_window_size"));
  parameters.right = static_cast<int>(ops::integer_attribute(node, "right_window_size"));
  parameters.scale = ops::attention_scale(node, head_size);
  parameters.cap = static_cast<double>(ops::real_attribute(node, "softcap"));
  if (node.domain == ops::kInternalDomain)
    parameters.without = ops::integer_attribute(node, "guarded") != 0 ? kZeros : kNan;
}

struct Program {
  ProgramSource source;
  Grid grid;
};

// Whether all that threads read of queries, keys and values, and write, lies in packs of so many elements.
bool lies_in_packs(const P& p, const Operands& operands, int64_t size) {
  const auto in_packs = [size](auto... each) { return ((each % size == 0) && ...); };
  return in_packs(operands.offsets[0], operands.offsets[1], operands.offsets[2], p.head_size, p.value_size) &&
         in_packs(p.q_batch, p.q_head, p.q_row, p.k_batch, p.k_head, p.k_row) &&
         in_packs(p.v_batch, p.v_head, p.v_row, p.y_batch, p.y_head, p.y_row);
}

bool suits_matrix_units(const P& p, ElementType type, const Operands& operands) {
  constexpr int64_t kPack = 8, kLargestHead = 128;
  return (type == ElementType::kFloat16 || type == ElementType::kBFloat16) && p.head_size <= kLargestHead &&
         p.value_size <= kLargestHead && lies_in_packs(p, operands, kPack);
}

// Blocks take 16 queries, or 32 where there are enough of them for a large GPU, and their warps share the
// keys.
std::optional<Program> matrix_program(const P& p, Definitions definitions) {
  constexpr int64_t kQueryChunk = 32, kValueBlock = 64, kRows = 16, kKeys = 32, kEnoughBlocks = 264;
  const int64_t value_blocks = tiles_of(p.value_size, kValueBlock), heads = int64_t{p.batch} * p.heads;
  // Twice 16 queries with values of two blocks are more than registers hold.
  const int64_t rows = value_blocks == 1 && heads * tiles_of(p.queries, 2 * kRows) >= kEnoughBlocks ? 2 : 1;
  // As many as have room for their parts in the shared memory that every program has.
  const int64_t warps = std::min(tiles_of(p.keys, kKeys), 8 / (rows * value_blocks));
  definitions.insert(definitions.end(), {{"Q_CHUNKS", std::to_string(tiles_of(p.head_size, kQueryChunk))},
                                         {"V_BLOCKS", std::to_string(value_blocks)},
                                         {"ROWS", std::to_string(rows)},
                                         {"WARPS", std::to_string(warps)}});
  constexpr int64_t kPadding = 4, kStats = 2;
  Grid grid = grid_of_blocks(heads * tiles_of(p.queries, rows * kRows), 1);
  grid.threads = static_cast<unsigned>(warps * 32);
  grid.shared =
      static_cast<unsigned>(warps * rows * kRows * (value_blocks * kValueBlock + kPadding + kStats) *
                            static_cast<int64_t>(sizeof(float)));
  return Program{kernel_source("matrix_attention", definitions, {"attention_scores"}), grid};
}

// Blocks take up to 16 queries: as many as there are, and have room for their scores. Nothing where one has
// none.
std::optional<Program> plain_program(const P& p, const Operands& operands, Definitions definitions) {
  constexpr int64_t kSharedMemory = 48000;
  const int64_t row = (int64_t{p.keys} + p.head_size + kThreads) * static_cast<int64_t>(sizeof(float));
  int64_t queries = 16;
  while (queries > 1 && (queries / 2 >= p.queries || queries * row > kSharedMemory)) queries /= 2;
  if (queries * row > kSharedMemory) return std::nullopt;
  definitions.insert(definitions.end(), {{"QUERIES", std::to_string(queries)},
                                         {"PACK", lies_in_packs(p, operands, 4) ? "4" : "1"}});
  Grid grid = grid_of_blocks(int64_t{p.batch} * p.heads * tiles_of(p.queries, queries), kThreads);
  grid.shared = static_cast<unsigned>(queries * row);
  return Program{kernel_source("attention", definitions, {"attention_scores"}), grid};
}

// `request` is that of the attention, `outer` that of the step.
std::unique_ptr<CudaKernel> make_with(const KernelRequest& request, const KernelRequest& outer,
                                      const Operands& operands, std::string& reason) {
  auto heads = heads_of(request);
  if (!heads) return refuse(request, reason);
  auto& [q, k, v] = *heads;
  if (operands.columns > 0) {
    for (ops::HeadsLayout* part : {&q, &k, &v}) {
      part->row_stride = operands.columns;
      part->batch_stride = part->rows * operands.columns;
    }
  }
  P parameters{};
  const Operand& queries = request.in(kQ);
  place_heads(q, k, v, queries.rank() == 4, parameters);
  if (!place_mask(request, {q.batch, q.heads, q.rows, k.rows}, parameters)) return refuse(request, reason);
  set_attributes(request.node, q.size, parameters);
  auto kernel = std::make_unique<CudaKernel>(outer, "attention");
  kernel->contract = blocked_contract(ElementType::kFloat, queries.element);
  kernel->contract.approximate = true;
  const bool masked = request.has(kMask);
  const ElementType mask = masked ? request.in(kMask).element : ElementType::kFloat;
  const Definitions definitions = {{"T", std::string(device_type(queries.element))},
                                   {"MASK", std::string(device_type(mask))},
                                   {"MASKED", !masked                      ? "0"
                                              : mask == ElementType::kBool ? "2"
                                                                           : "1"},
                                   {"CAP", parameters.cap != 0 ? "1" : "0"}};
  const bool by_matrix_units = suits_matrix_units(parameters, queries.element, operands);
  auto program = by_matrix_units ? matrix_program(parameters, definitions)
                                 : plain_program(parameters, operands, definitions);
  if (!program) return refuse(request, reason);
  if (by_matrix_units) kernel->contract.probabilities = queries.element;
  const auto part = [&](size_t which) {
    return CudaKernel::input(operands.inputs[which],
                             static_cast<size_t>(operands.offsets[which]) * element_size(queries.element));
  };
  kernel->launch(std::move(program->source), program->grid, parameters,
                 {{&P::q, part(kQ)}, {&P::k, part(kK)}, {&P::v, part(kV)}}, {{&P::y, CudaKernel::output()}});
  if (masked) kernel->add_pointer(offsetof(P, mask), CudaKernel::input(operands.inputs[kMask]));
  return kernel;
}

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  return make_with(request, request, Operands{}, reason);
}

// Split and Attention: the operands are columns of the group's rows.
std::unique_ptr<CudaKernel> make_packed(const KernelRequest& request, std::string& reason) {
  const Graph& body = ops::body(request.node);
  const Node &split = *body.nodes().front(), &attention = *body.nodes().back();
  const auto place_of = [&](const Value* value) {
    return static_cast<size_t>(std::find(body.inputs.begin(), body.inputs.end(), value) -
                               body.inputs.begin());
  };
  KernelRequest inner{attention, {}, request.outputs};
  Operands operands;
  for (size_t i = 0; i < attention.inputs.size(); ++i) {
    const Value* input = attention.input(i);
    const bool is_part = input != nullptr && input->producer() == &split;
    const size_t place = input == nullptr ? 0 : place_of(is_part ? split.input(0) : input);
    inner.inputs.push_back(input == nullptr ? std::nullopt : request.inputs.at(place));
    if (i < operands.inputs.size()) operands.inputs[i] = place;
    if (!is_part) continue;
    operands.columns = request.in(place).dims.back();
    inner.inputs.back()->dims = *to_dims(*input->type.tensor.shape);
    for (const Value* part : split.outputs) {
      if (part == input) break;
      operands.offsets.at(i) += to_dims(*part->type.tensor.shape)->back();
    }
  }
  return make_with(inner, request, operands, reason);
}

}  // namespace

void register_attention(KernelRegistry& registry) {
  registry.add("", "Attention", make);
  registry.add(ops::kInternalDomain, "Attention", make);
  registry.add(ops::kInternalDomain, "Group/attention", make_packed);
}

}  // namespace vernier::cuda
