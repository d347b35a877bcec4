#include "vernier/ops/support/attention/rotary.h"

namespace vernier::ops {

RotaryCache::RotaryCache(const ReferenceContext& context, size_t cosine_input, size_t sine_input)
    : cosines(context.reals(cosine_input)), sines(context.reals(sine_input)) {
  const Dims& dims = context.dims(cosine_input);
  if (dims.size() < 2 || dims != context.dims(sine_input)) {
    throw bad_input("caches of cosines {} and sines {}", dims_text(dims),
                    dims_text(context.dims(sine_input)));
  }
  half = dims.back();
  positions = half == 0 ? 0 : cosines.size() / half;
}

void rotate_row(const RotaryCache& cache, int64_t position, bool interleaved, const double* row, int64_t size,
                double* result) {
  if (position < 0 || position >= cache.positions)
    throw bad_input("position {} is not among the {} of the cache", position, cache.positions);
  if (2 * cache.half > size) throw bad_input("{} angles for heads of size {}", cache.half, size);
  const double *cosine = cache.cosines.data() + position * cache.half,
               *sine = cache.sines.data() + position * cache.half;
  for (int64_t i = 0; i < cache.half; ++i) {
    const int64_t real = interleaved ? 2 * i : i, imaginary = interleaved ? 2 * i + 1 : cache.half + i;
    const double x = row[real], y = row[imaginary];
    result[real] = cosine[i] * x - sine[i] * y;
    result[imaginary] = sine[i] * x + cosine[i] * y;
  }
  std::copy(row + 2 * cache.half, row + size, result + 2 * cache.half);
}

std::vector<double> rotate_heads(const RotaryCache& cache, const std::vector<int64_t>& positions,
                                 bool interleaved, const Heads& heads, const HeadsLayout& out) {
  const HeadsLayout& in = heads.layout;
  if (static_cast<int64_t>(positions.size()) != in.batch * in.rows) {
    throw bad_input("{} positions for {} x {} rows", positions.size(), in.batch, in.rows);
  }
  std::vector<double> result(static_cast<size_t>(out.count()));
  for (int64_t entry = 0; entry < in.batch; ++entry) {
    for (int64_t head = 0; head < in.heads; ++head) {
      for (int64_t row = 0; row < in.rows; ++row) {
        rotate_row(cache, positions[static_cast<size_t>(entry * in.rows + row)], interleaved,
                   heads.at(entry, head) + row * in.row_stride, in.size,
                   result.data() + out.at(entry, head) + row * out.row_stride);
      }
    }
  }
  return result;
}

}  // namespace vernier::ops
