#include "vernier/ops/support/attention/attention.h"

#include "vernier/base/threads.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/gemm.h"

namespace vernier::ops {

HeadsLayout HeadsLayout::separate(int64_t batch, int64_t heads, int64_t rows, int64_t size) {
  return {batch, heads, rows, size, heads * rows * size, rows * size, size};
}

HeadsLayout HeadsLayout::packed(int64_t batch, int64_t rows, int64_t heads, int64_t size) {
  return {batch, heads, rows, size, rows * heads * size, size, heads * size};
}

Heads heads_of(const ReferenceContext& context, size_t input, int64_t heads) {
  const Dims& dims = context.dims(input);
  if (dims.size() == 4)
    return {HeadsLayout::separate(dims[0], dims[1], dims[2], dims[3]), context.reals(input)};
  if (dims.size() != 3) throw bad_input("input {} must be of rank 3 or 4, not {}", input, dims_text(dims));
  if (heads < 1 || dims[2] % heads != 0)
    throw bad_input("{} cannot be divided into {} heads", dims_text(dims), heads);
  return {HeadsLayout::packed(dims[0], dims[1], heads, dims[2] / heads), context.reals(input)};
}

int64_t head_count(const Node& node) {
  const auto heads = integer_attribute(node, "num_heads");
  if (heads < 1) throw bad_input("num_heads is {}", heads);
  return heads;
}

HeadCounts::HeadCounts(const Node& node, const char* query_attribute)
    : query(node.attribute<int64_t>(query_attribute, 0)), shared(integer_attribute(node, "kv_num_heads")) {
  if (shared < 1 || query < 1 || query % shared != 0)
    throw bad_input("{} query heads cannot share {} key heads", query, shared);
}

Heads append_rows(const Heads& past, const Heads& current) {
  const HeadsLayout &old = past.layout, &added = current.layout;
  if (old.batch != added.batch || old.heads != added.heads || old.size != added.size) {
    throw bad_input("a past of {} x {} heads of size {} does not fit {} x {} heads of size {}", old.batch,
                    old.heads, old.size, added.batch, added.heads, added.size);
  }
  const auto joined = HeadsLayout::separate(added.batch, added.heads, old.rows + added.rows, added.size);
  std::vector<double> values(static_cast<size_t>(joined.count()));
  for (int64_t entry = 0; entry < joined.batch; ++entry) {
    for (int64_t head = 0; head < joined.heads; ++head) {
      double* target = values.data() + joined.at(entry, head);
      for (const Heads* part : {&past, &current}) {
        const double* source = part->at(entry, head);
        for (int64_t row = 0; row < part->layout.rows; ++row, target += joined.size) {
          std::copy_n(source + row * part->layout.row_stride, joined.size, target);
        }
      }
    }
  }
  return {joined, Elements<double>(std::move(values))};
}

std::vector<double> separate_heads(const Heads& heads) {
  const Heads none{HeadsLayout::separate(heads.layout.batch, heads.layout.heads, 0, heads.layout.size), {}};
  const Heads joined = append_rows(none, heads);
  return {joined.elements.span().begin(), joined.elements.span().end()};
}

Heads add_to_rows(const Heads& heads, const double* bias) {
  const HeadsLayout& in = heads.layout;
  auto values = separate_heads(heads);
  const auto layout = HeadsLayout::separate(in.batch, in.heads, in.rows, in.size);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    values[i] += bias[at / layout.head_stride % in.heads * in.size + at % in.size];
  }
  return {layout, Elements<double>(std::move(values))};
}

void require_compatible(const Heads& q, const Heads& k, const Heads& v) {
  const HeadsLayout &query = q.layout, &key = k.layout, &value = v.layout;
  if (query.batch != key.batch || key.batch != value.batch)
    throw bad_input("queries, keys and values differ in batch size");
  if (query.size != key.size)
    throw bad_input("queries of size {} do not fit keys of size {}", query.size, key.size);
  if (key.rows != value.rows) throw bad_input("{} keys for {} values", key.rows, value.rows);
  if (key.heads != value.heads) throw bad_input("{} heads of keys for {} of values", key.heads, value.heads);
  if (key.heads < 1 || query.heads % key.heads != 0)
    throw bad_input("{} query heads cannot share {} key heads", query.heads, key.heads);
}

void attention_scores(const Heads& q, const Heads& k, int64_t entry, int64_t head, double scale,
                      double* scores) {
  const int64_t shared = head / (q.layout.heads / k.layout.heads);
  gemm(false, true, q.layout.rows, k.layout.rows, q.layout.size, q.at(entry, head), q.layout.row_stride,
       k.at(entry, shared), k.layout.row_stride, scores, k.layout.rows);
  for (int64_t i = 0; i < q.layout.rows * k.layout.rows; ++i) scores[i] *= scale;
}

void attention_values(const double* weights, const Heads& v, int64_t entry, int64_t head,
                      const HeadsLayout& layout, double* out) {
  const int64_t shared = head / (layout.heads / v.layout.heads);
  gemm(false, false, layout.rows, v.layout.size, v.layout.rows, weights, v.layout.rows, v.at(entry, shared),
       v.layout.row_stride, out + layout.at(entry, head), layout.row_stride);
}

std::vector<double> attend(const ReferenceContext& context, const Heads& queries, const Heads& keys,
                           const Heads& values, double scale, const HeadsLayout& out,
                           const ScoresToWeights& edit) {
  require_compatible(queries, keys, values);
  const auto factor = [&](const Heads& heads) {
    return Heads{heads.layout, rounded(heads.elements, context.roundings().operands), heads.offset};
  };
  const Heads q = factor(queries), k = factor(keys), v = factor(values);
  std::vector<double> result(static_cast<size_t>(out.count()));
  std::vector<double> scores(static_cast<size_t>(q.layout.rows * k.layout.rows));
  for (int64_t entry = 0; entry < q.layout.batch; ++entry) {
    for (int64_t head = 0; head < q.layout.heads; ++head) {
      attention_scores(q, k, entry, head, scale, scores.data());
      edit(entry, head, scores.data());
      attention_values(scores.data(), v, entry, head, out, result.data());
    }
  }
  return result;
}

ShownScores::ShownScores(const ReferenceContext& context, size_t output, const HeadsLayout& q, int64_t keys,
                         int64_t columns)
    : output_(output), batch_(q.batch), heads_(q.heads), rows_(q.rows), keys_(keys), columns_(columns) {
  if (context.wants(output)) values_.resize(static_cast<size_t>(q.batch * q.heads * q.rows * columns));
}

void ShownScores::show(int64_t entry, int64_t head, const double* scores) {
  if (values_.empty()) return;
  double* shown = values_.data() + (entry * heads_ + head) * rows_ * columns_;
  for (int64_t row = 0; row < rows_; ++row)
    std::copy_n(scores + row * keys_, columns_, shown + row * columns_);
}

void ShownScores::store(ReferenceContext& context) const {
  if (!context.wants(output_)) return;
  context.store(output_, {batch_, heads_, rows_, columns_}, values_);
}

double attention_scale(const Node& node, int64_t head_size) {
  if (node.find_attribute("scale") != nullptr) return node.attribute<float>("scale", 0);
  return 1 / std::sqrt(static_cast<double>(head_size));
}

void soft_cap(double cap, int64_t count, double* scores) {
  if (cap == 0) return;
  for (int64_t i = 0; i < count; ++i) scores[i] = cap * std::tanh(scores[i] / cap);
}

void masked_softmax(int64_t rows, int64_t columns, double* scores, const InnerRoundings& roundings,
                    std::optional<double> sink) {
  constexpr double kMasked = -std::numeric_limits<double>::infinity();
  const auto factor = [&](double weight) {
    return roundings.operands.round(roundings.probabilities.round(weight));
  };
  parallel_for(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, columns)),
               [&](int64_t begin, int64_t end) {
                 for (double* row = scores + begin * columns; row != scores + end * columns; row += columns) {
                   double top = sink.value_or(kMasked);
                   for (int64_t i = 0; i < columns; ++i) {
                     if (row[i] > top || std::isnan(row[i])) top = row[i];
                   }
                   double sum = sink ? std::exp(*sink - top) : 0;
                   for (int64_t i = 0; i < columns; ++i)
                     sum += row[i] = top == kMasked ? 0 : std::exp(row[i] - top);
                   for (int64_t i = 0; i < columns && sum != 0; ++i) row[i] = factor(row[i]) / sum;
                 }
               });
}

}  // namespace vernier::ops
