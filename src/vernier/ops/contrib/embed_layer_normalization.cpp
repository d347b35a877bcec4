// com.microsoft EmbedLayerNormalization: the sum of word, position and (optional) segment embeddings of each
// token, normalised; and the number of tokens that a mask leaves of each sequence.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/normalise.h"

namespace vernier::ops {

namespace {

enum Input : size_t {
  kWords,
  kSegments,
  kWordTable,
  kPositionTable,
  kSegmentTable,
  kGamma,
  kBeta,
  kMask,
  kPositions
};
enum Output : size_t { kOut, kMaskIndex, kSum };

void infer(InferContext& context) {
  const auto &words = context.shape(kWords), &table = context.shape(kWordTable);
  if (words && words->size() != 2) throw bad_input("input_ids {} must be of rank 2", shape_text(*words));
  if (table && table->size() != 2) throw bad_input("word_embedding {} must be of rank 2", shape_text(*table));
  std::optional<Shape> sum;
  if (words && table) sum = Shape{(*words)[0], (*words)[1], (*table)[1]};
  context.set_output(kOut, context.element(kWordTable), sum);
  context.set_output(kSum, context.element(kWordTable), sum);
  context.set_output(kMaskIndex, ElementType::kInt32,
                     words ? std::optional(Shape{(*words)[0]}) : std::nullopt);
}

// Adds the row `ids[token]` of a table to every token.
void add_embedding(const ReferenceContext& context, size_t table_input, const std::vector<int64_t>& ids,
                   int64_t hidden, std::vector<double>& sum) {
  const Dims& dims = context.dims(table_input);
  if (dims.size() != 2 || dims[1] != hidden)
    throw bad_input("a table {} for a hidden size of {}", dims_text(dims), hidden);
  const auto table = context.reals(table_input);
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

std::vector<int64_t> positions_of(const ReferenceContext& context) {
  if (context.has(kPositions)) return ids_of(context, kPositions);
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

void reference(ReferenceContext& context) {
  const Dims dims = context.out_dims(kOut);
  const int64_t hidden = dims[2];
  std::vector<double> sum(static_cast<size_t>(element_count(dims)));
  if (!sum.empty()) {
    add_embedding(context, kWordTable, context.int_list(kWords), hidden, sum);
    add_embedding(context, kPositionTable, positions_of(context), hidden, sum);
    if (context.has(kSegments) && context.has(kSegmentTable))
      add_embedding(context, kSegmentTable, ids_of(context, kSegments), hidden, sum);
  }
  context.store(kSum, sum);
  store_mask_index(context);
  const auto gamma = context.reals(kGamma), beta = context.reals(kBeta);
  normalise_values(sum,
                   {.dims = dims,
                    .axis = 2,
                    .epsilon = static_cast<double>(context.attribute<float>("epsilon", 1e-12F)),
                    .scale_dims = context.dims(kGamma),
                    .bias_dims = context.dims(kBeta)},
                   gamma.span(), beta.span());
  context.store(kOut, sum);
}

}  // namespace

void register_embed_layer_normalization(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "EmbedLayerNormalization",
                .min_inputs = 7,
                .max_inputs = 9,
                .max_outputs = 3,
                .attributes = {{"epsilon", "FLOAT"}, {"mask_index_type", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kNeverLower,
                .infer = infer,
                .reference = reference});
}

}  // namespace vernier::ops
