// The core that all attention operators share: scores, their edits, softmax and weighted values, head by head
// in double.
#pragma once

#include <functional>

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// Where the rows of heads lie. Rows are contiguous; `heads` heads of `rows` rows of `size` elements for each
// batch entry.
struct HeadsLayout {
  int64_t batch = 0, heads = 0, rows = 0, size = 0;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;

  static HeadsLayout separate(int64_t batch, int64_t heads, int64_t rows,
                              int64_t size);  // [batch, heads, rows, size]
  static HeadsLayout packed(int64_t batch, int64_t rows, int64_t heads,
                            int64_t size);  // [batch, rows, heads * size]
  int64_t at(int64_t entry, int64_t head) const { return entry * batch_stride + head * head_stride; }
  int64_t count() const { return batch * heads * rows * size; }
};

// Queries, keys or values.
struct Heads {
  HeadsLayout layout;
  Elements<double> elements;
  int64_t offset = 0;  // of the first element, where several are packed in one tensor

  const double* at(int64_t entry, int64_t head) const {
    return elements.data() + offset + layout.at(entry, head);
  }
};

// An input [batch, heads, rows, size], or [batch, rows, heads * size] of that many heads.
// Throws bad_input for other ranks and for sizes that `heads` does not divide.
Heads heads_of(const ReferenceContext& context, size_t input, int64_t heads);
// The attribute `num_heads`; throws bad_input unless it is positive.
int64_t head_count(const Node& node);

// Numbers of query heads and of heads of keys and values, which several query heads share; from an attribute
// of the given name and from `kv_num_heads`. Throws bad_input where they do not fit.
struct HeadCounts {
  int64_t query, shared;

  HeadCounts(const Node& node, const char* query_attribute);
  int64_t packed() const { return query + 2 * shared; }
};

// The rows of `past` before those of `current`, as [batch, heads, rows, size].
Heads append_rows(const Heads& past, const Heads& current);
// The elements as [batch, heads, rows, size].
std::vector<double> separate_heads(const Heads& heads);

// Every row plus the vector `bias` [heads * size], as [batch, heads, rows, size].
Heads add_to_rows(const Heads& heads, const double* bias);

// Throws bad_input unless q, k and v fit together; several query heads may share one head of keys and values.
void require_compatible(const Heads& q, const Heads& k, const Heads& v);

// scores [q.rows, k.rows] = scale * q * k^T of one query head.
void attention_scores(const Heads& q, const Heads& k, int64_t entry, int64_t head, double scale,
                      double* scores);
// The rows of one head of `out`, laid out as told, = weights [rows, v.rows] * v.
void attention_values(const double* weights, const Heads& v, int64_t entry, int64_t head,
                      const HeadsLayout& layout, double* out);

// Turns the scores of one query head into the weights of the values, in place.
using ScoresToWeights = std::function<void(int64_t entry, int64_t head, double* scores)>;
// The whole attention; gives the elements in the layout `out`. Queries, keys and values are rounded as the
// context says; the weights are the business of `edit`, by masked_softmax().
std::vector<double> attend(const ReferenceContext& context, const Heads& q, const Heads& k, const Heads& v,
                           double scale, const HeadsLayout& out, const ScoresToWeights& edit);

// Writes what an optional output [batch, heads, query rows, columns] shows of the scores: the first columns
// of every row, as they are when they are shown.
class ShownScores {
 public:
  // `q` are the queries, `keys` the columns of the scores.
  ShownScores(const ReferenceContext& context, size_t output, const HeadsLayout& q, int64_t keys,
              int64_t columns);
  // Takes the scores [query rows, keys] of one head; nothing where the output is left out.
  void show(int64_t entry, int64_t head, const double* scores);
  std::vector<double>& values() { return values_; }
  void store(ReferenceContext& context) const;

 private:
  size_t output_;
  int64_t batch_, heads_, rows_, keys_, columns_;
  std::vector<double> values_;
};

// The attribute `scale`, or 1 / sqrt(head size) where it is left out.
double attention_scale(const Node& node, int64_t head_size);

// cap * tanh(score / cap); nothing for a cap of 0.
void soft_cap(double cap, int64_t count, double* scores);

// Softmax of every row, in place. A row of minus infinities, where nothing may be attended, becomes zeros. A
// sink is a further score that takes its share of the weights and gives no value. Before they are divided by
// their sum, weights are rounded as `roundings` says of probabilities, and as factors of the values.
void masked_softmax(int64_t rows, int64_t columns, double* scores, const InnerRoundings& roundings,
                    std::optional<double> sink = std::nullopt);

}  // namespace vernier::ops
