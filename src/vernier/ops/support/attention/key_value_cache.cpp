#include "vernier/ops/support/attention/key_value_cache.h"

namespace vernier::ops {

std::optional<Dim> past_rows(const InferContext& context, size_t past, size_t rank) {
  if (!context.has(past)) return Dim(0);
  const auto& shape = context.shape(past);
  if (!shape) return std::nullopt;
  if (shape->size() != rank) throw bad_input("the past {} must be of rank {}", shape_text(*shape), rank);
  return (*shape)[rank - 2];
}

namespace {

// The rows of one head of `from` to the place of `to`.
void copy_rows(const Heads& from, int64_t entry, int64_t head, double* to) {
  for (int64_t row = 0; row < from.layout.rows; ++row, to += from.layout.size)
    std::copy_n(from.at(entry, head) + row * from.layout.row_stride, from.layout.size, to);
}

}  // namespace

Heads write_to_cache(ReferenceContext& context, size_t past, size_t present, const Heads& added,
                     int64_t first) {
  Heads all = heads_of(context, past, 0);
  const HeadsLayout &layout = all.layout, &in = added.layout;
  if (layout.batch != in.batch || layout.heads != in.heads || layout.size != in.size || first < 0 ||
      first > layout.rows - in.rows)
    throw bad_input("{} rows from {} on do not fit a cache {}", in.rows, first,
                    dims_text(context.dims(past)));
  std::vector<double> values(all.elements.span().begin(), all.elements.span().end());
  for (int64_t entry = 0; entry < in.batch; ++entry) {
    for (int64_t head = 0; head < in.heads; ++head)
      copy_rows(added, entry, head, values.data() + layout.at(entry, head) + first * layout.size);
  }
  context.store(present, values);
  all.elements = Elements<double>(std::move(values));
  return all;
}

Heads append_to_cache(ReferenceContext& context, size_t past, size_t present, const Heads& added) {
  Heads all = context.has(past) ? append_rows(heads_of(context, past, 0), added) : added;
  const HeadsLayout& layout = all.layout;
  if (context.wants(present))
    context.store(present, {layout.batch, layout.heads, layout.rows, layout.size}, separate_heads(all));
  return all;
}

CachePlacement::CachePlacement(const HeadsLayout& added, int64_t past_rows, std::vector<int64_t> last,
                               int64_t longest)
    : rows(added.rows), keys(std::max(past_rows, longest)), total(std::move(last)) {
  if (static_cast<int64_t>(total.size()) != added.batch)
    throw bad_input("lengths of {} entries for {}", total.size(), added.batch);
  if (longest > past_rows + rows)
    throw bad_input("{} rows cannot come of {} old and {} new ones", longest, past_rows, rows);
  const bool prompt = rows == longest;
  for (int64_t& count : total) {
    if (count < 0 || count >= longest)
      throw bad_input("the last of {} rows has the index {}", longest, count);
    ++count;
    past.push_back(prompt ? 0 : count - rows);
    if (past.back() < 0 || past.back() > past_rows || past.back() + rows > keys) {
      throw bad_input("{} rows behind {} old ones in a cache of {}", rows, past.back(), keys);
    }
  }
}

Heads CachePlacement::joined(const Heads& old, const Heads& added) const {
  const HeadsLayout& in = added.layout;
  if (in.rows != rows || in.batch != static_cast<int64_t>(past.size()))
    throw bad_input("{} x {} new rows instead of {} x {}", in.batch, in.rows, past.size(), rows);
  if (old.layout.batch != in.batch || old.layout.heads != in.heads || old.layout.size != in.size) {
    throw bad_input("a past of {} x {} heads of size {} does not fit", old.layout.batch, old.layout.heads,
                    old.layout.size);
  }
  const auto layout = HeadsLayout::separate(in.batch, in.heads, keys, in.size);
  std::vector<double> values(static_cast<size_t>(layout.count()));
  for (int64_t entry = 0; entry < in.batch; ++entry) {
    const int64_t start = past[static_cast<size_t>(entry)];
    if (start > old.layout.rows) throw bad_input("{} old rows in a past of {}", start, old.layout.rows);
    for (int64_t head = 0; head < in.heads; ++head) {
      double* target = values.data() + layout.at(entry, head);
      if (start > 0) std::copy_n(old.at(entry, head), start * in.size, target);
      copy_rows(added, entry, head, target + start * in.size);
    }
  }
  return {layout, Elements<double>(std::move(values))};
}

Heads CachePlacement::store_present(ReferenceContext& context, size_t past_input, size_t present,
                                    const Heads& added) const {
  const HeadsLayout& in = added.layout;
  const Heads none{HeadsLayout::separate(in.batch, in.heads, 0, in.size), {}};
  Heads all = joined(context.has(past_input) ? heads_of(context, past_input, 0) : none, added);
  context.store(present, all.elements.span());
  return all;
}

}  // namespace vernier::ops
