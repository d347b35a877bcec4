// com.microsoft EmbedLayerNormalization: the sum of word, position and (optional) segment embeddings of each
// token, normalised; and the number of tokens that a mask leaves of each sequence. QEmbedLayerNormalization:
// the same of 8-bit tables, scales and biases.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/contrib/operands.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/normalise.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

using namespace embed_layer_norm;

// Inputs 2 to 6 of the quantized operator have a scale and a zero point each, in the same order.
constexpr size_t kFirstScale = 8, kFirstZeroPoint = 13, kAbsent = 99;

// A table, scale or bias of the normalisation, as the operator gives it.
using Parameter = Elements<double> (*)(const ReferenceContext& context, size_t input);

Elements<double> real_parameter(const ReferenceContext& context, size_t input) {
  return context.reals(input);
}
Elements<double> quantized_parameter(const ReferenceContext& context, size_t input) {
  const size_t at = input - kWordTable;
  return Elements<double>(
      dequantize(context, input, affine_of(context, kFirstScale + at, kFirstZeroPoint + at)));
}

// Where no positions are given they are 0, 1, …, and each needs its row of the table.
void require_positions(const InferContext& context, size_t positions, const Shape& words) {
  const auto& table = context.shape(kPositionTable);
  const auto rows = table && table->size() == 2 ? (*table)[0].constant() : std::nullopt;
  const auto length = words[1].constant();
  if (!context.has(positions) && rows && length && *length > *rows)
    throw bad_input("{} tokens with a table of {} positions", *length, *rows);
}

// Throws unless the input, if it is there, may have an id for each token of the batch, or of one sequence.
void require_ids(const InferContext& context, size_t input, const Shape& words) {
  if (!context.has(input)) return;
  const auto& ids = context.shape(input);
  const bool fits = !ids || (ids->size() == 2 && (*ids)[1].may_equal(words[1]) &&
                             ((*ids)[0] == Dim(1) || (*ids)[0].may_equal(words[0])));
  if (!fits) throw bad_input("ids {} for words {}", shape_text(*ids), shape_text(words));
}

// The outputs have the type of input `typed`.
template <size_t typed, size_t positions>
void infer_embed_layer_normalization(InferContext& context) {
  const auto &words = context.shape(kWords), &table = context.shape(kWordTable);
  if (words && words->size() != 2) throw bad_input("input_ids {} must be of rank 2", shape_text(*words));
  if (table && table->size() != 2) throw bad_input("word_embedding {} must be of rank 2", shape_text(*table));
  if (words) {
    require_positions(context, positions, *words);
    if (context.has(kSegmentTable)) require_ids(context, kSegments, *words);
    require_ids(context, kMask, *words);
    require_ids(context, positions, *words);
  }
  std::optional<Shape> sum;
  if (words && table) sum = Shape{(*words)[0], (*words)[1], (*table)[1]};
  context.set_output(kOut, context.element(typed), sum);
  context.set_output(kSum, context.element(typed), sum);
  context.set_output(kMaskIndex, ElementType::kInt32,
                     words ? std::optional(Shape{(*words)[0]}) : std::nullopt);
}

// Adds the row `ids[token]` of a table to every token.
void add_embedding(const ReferenceContext& context, size_t table_input, const Elements<double>& table,
                   const std::vector<int64_t>& ids, int64_t hidden, std::vector<double>& sum) {
  const Dims& dims = context.dims(table_input);
  if (dims.size() != 2 || dims[1] != hidden)
    throw bad_input("a table {} for a hidden size of {}", dims_text(dims), hidden);
  for (size_t token = 0; token < sum.size() / static_cast<size_t>(hidden); ++token) {
    const int64_t id = ids[token % ids.size()];
    if (id < 0 || id >= dims[0]) throw bad_input("the id {} is not in a table of {}", id, dims[0]);
    for (int64_t i = 0; i < hidden; ++i)
      sum[token * static_cast<size_t>(hidden) + static_cast<size_t>(i)] += table[id * hidden + i];
  }
}

// One id for each token of the batch, or of one sequence that all share.
std::vector<int64_t> ids_of(const ReferenceContext& context, size_t input) {
  const Dims &dims = context.dims(input), &words = context.dims(kWords);
  if (dims != words && dims != Dims{1, words[1]})
    throw bad_input("ids {} for words {}", dims_text(dims), dims_text(words));
  return context.int_list(input);
}

std::vector<int64_t> positions_of(const ReferenceContext& context, size_t input) {
  if (context.has(input)) return ids_of(context, input);
  std::vector<int64_t> positions(static_cast<size_t>(context.dims(kWords)[1]));
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
  return positions;
}

void store_mask_index(ReferenceContext& context) {
  const Dims& words = context.dims(kWords);
  std::vector<int64_t> counts(static_cast<size_t>(words[0]));
  if (context.has(kMask)) {
    const auto mask = ids_of(context, kMask);
    for (size_t i = 0; i < mask.size(); ++i) counts[i / static_cast<size_t>(words[1])] += mask[i] == 1;
  }
  context.store_ints(kMaskIndex, {words[0]}, counts);
}

template <Parameter parameter, size_t positions>
void reference_embed_layer_normalization(ReferenceContext& context) {
  const Dims dims = context.out_dims(kOut);
  const int64_t hidden = dims[2];
  std::vector<double> sum(static_cast<size_t>(element_count(dims)));
  if (!sum.empty()) {
    const auto add = [&](size_t table, const std::vector<int64_t>& ids) {
      add_embedding(context, table, parameter(context, table), ids, hidden, sum);
    };
    add(kWordTable, context.int_list(kWords));
    add(kPositionTable, positions_of(context, positions));
    if (context.has(kSegments) && context.has(kSegmentTable)) add(kSegmentTable, ids_of(context, kSegments));
  }
  context.store(kSum, sum);
  store_mask_index(context);
  const auto gamma = parameter(context, kGamma), beta = parameter(context, kBeta);
  normalise_values(sum,
                   {.dims = dims,
                    .axis = 2,
                    .epsilon = static_cast<double>(real_attribute(context.node(), "epsilon")),
                    .scale_dims = context.dims(kGamma),
                    .bias_dims = context.dims(kBeta)},
                   gamma.span(), beta.span());
  context.store(kOut, sum);
}

}  // namespace

void register_embed_layer_normalization(OpRegistry& registry) {
  using enum Role;
  OpDef def{.domain = "com.microsoft",
            .op = "EmbedLayerNormalization",
            .operands = {kIndices, kIndices, kData, kData, kData, kGain, kBias, kMask, kIndices},
            .optional_inputs = 2,
            .max_outputs = 3,
            .attributes = {{"epsilon", "FLOAT"}, {"mask_index_type", "INT"}},
            .traits = kNormalisation,
            .precision = PrecisionClass::kNeverLower,
            .infer = infer_embed_layer_normalization<kWordTable, kPositions>,
            .reference = reference_embed_layer_normalization<real_parameter, kPositions>};
  registry.add(def);
  def.op = "QEmbedLayerNormalization";
  def.optional_inputs = 0;
  def.operands.pop_back();
  def.operands.insert(def.operands.end(), {kScale, kScale, kScale, kWeightScale, kWeightScale, kZeroPoint,
                                           kZeroPoint, kZeroPoint, kWeightZeroPoint, kWeightZeroPoint});
  def.max_outputs = 2;
  def.attributes = {{"epsilon", "FLOAT"}};
  def.infer = infer_embed_layer_normalization<kFirstScale, kAbsent>;
  def.reference = reference_embed_layer_normalization<quantized_parameter, kAbsent>;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
