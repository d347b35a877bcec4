#include <algorithm>
#include <array>

#include "vernier/backends/cpu/int8_gemm/pair_lines.h"

namespace vernier::cpu {

namespace {

template <class Element>
std::array<const Element*, kMostSegments> elements_of(const LineRows& rows) {
  std::array<const Element*, kMostSegments> x;
  std::transform(rows.segments.begin(), rows.segments.end(), x.begin(),
                 [](const std::byte* at) { return reinterpret_cast<const Element*>(at); });
  return x;
}

class PairLineProduct : public LineProduct {
 public:
  explicit PairLineProduct(const PairWeights& order)
      : segment_pairs_(pairs_of(order.segment_depth())), pairs_(order.pairs()), columns_(order.columns) {}

  int64_t element_size() const override { return sizeof(int16_t); }
  void lay_out(const PairLine& line, const Int8Source& image, std::byte* to) const override {
    widen_line(line, image, reinterpret_cast<int16_t*>(to));
  }
  void multiply(const LineRows& rows, const std::byte* weights, int64_t column, const BlockEpilogue& epilogue,
                int32_t* sums) const override {
    const auto x = elements_of<int16_t>(rows);
    multiply_pairs({x.data(), std::ssize(rows.segments), rows.stride, rows.count, segment_pairs_,
                    reinterpret_cast<const int16_t*>(weights) + column * 2 * pairs_,
                    static_cast<const int32_t*>(epilogue.initial(column)),
                    std::min(kPairColumns, columns_ - column), sums});
  }

 private:
  int64_t segment_pairs_, pairs_, columns_;
};

// Where an image of int8 is laid out, 128 is added to each, and to its zero point.
class QuadLineProduct : public LineProduct {
 public:
  QuadLineProduct(QuadWeights weights, const PairRows& rows, int64_t columns, const BlockEpilogue& epilogue)
      : weights_(std::move(weights)),
        flip_(rows.is_signed ? 0x80 : 0),
        zero_(static_cast<uint8_t>(static_cast<uint8_t>(rows.zero_point) ^ flip_)),
        columns_(columns) {
    weights_.content = {};  // packed, they are elsewhere
    initial_.resize(static_cast<size_t>((columns + kPairColumns - 1) / kPairColumns * kPairColumns));
    for (int64_t i = 0; i < columns; ++i) {
      const auto* block = static_cast<const int32_t*>(epilogue.initial(i / kPairColumns * kPairColumns));
      const auto initial = static_cast<uint32_t>(block == nullptr ? 0 : block[i % kPairColumns]),
                 sum = static_cast<uint32_t>(weights_.sums[static_cast<size_t>(i)]);
      initial_[static_cast<size_t>(i)] = static_cast<int32_t>(initial - zero_ * sum);
    }
  }

  int64_t element_size() const override { return 1; }
  void lay_out(const PairLine& line, const Int8Source& /*image*/, std::byte* to) const override {
    const std::byte zero{zero_}, flip{flip_};
    std::fill_n(to, line.before, zero);
    const auto* from = reinterpret_cast<const std::byte*>(line.from);
    std::transform(from, from + line.count, to + line.before, [&](std::byte each) { return each ^ flip; });
    std::fill_n(to + line.before + line.count, line.after, zero);
  }
  void multiply(const LineRows& rows, const std::byte* weights, int64_t column,
                const BlockEpilogue& /*epilogue*/, int32_t* sums) const override {
    const auto x = elements_of<uint8_t>(rows);
    const int64_t segments = std::ssize(rows.segments);
    multiply_quads({x.data(), segments, rows.stride, rows.count,
                    weights_.first.data() + column / kPanelColumns * segments, weights_.offsets.data(),
                    reinterpret_cast<const int8_t*>(weights), initial_.data() + column,
                    std::min(kPairColumns, columns_ - column), sums});
  }

 private:
  QuadWeights weights_;
  uint8_t flip_, zero_;
  int64_t columns_;
  std::vector<int32_t> initial_;
};

}  // namespace

std::unique_ptr<const LineProduct> make_pair_line_product(const PairWeights& order) {
  return std::make_unique<PairLineProduct>(order);
}

std::unique_ptr<const LineProduct> make_quad_line_product(QuadWeights weights, const PairRows& rows,
                                                          int64_t columns, const BlockEpilogue& epilogue) {
  return std::make_unique<QuadLineProduct>(std::move(weights), rows, columns, epilogue);
}

}  // namespace vernier::cpu
