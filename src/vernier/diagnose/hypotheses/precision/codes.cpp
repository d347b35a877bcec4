#include "vernier/diagnose/hypotheses/precision/codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vernier {

namespace {

// The numbers of a scale.
struct Range {
  double least = 0, largest = 0, step = 1, zero = 0;

  void add(double value) {
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  void set_step(const Codes& codes) {
    const double most = codes.from_least ? largest - least : std::max(largest, -least);
    step = most > 0 && std::isfinite(most) ? most / codes.format.largest : 1;
    zero = codes.from_least ? std::nearbyint(-least / step) : 0;
  }
  double held(double value, const Codes& codes) const {
    if (!codes.from_least) return codes.format.round(value / step) * step;
    const double code = std::nearbyint(value / step) + zero;
    return (std::clamp(code, 0.0, codes.format.largest) - zero) * step;
  }
};

// Which scale each element has.
class SharedScales {
 public:
  SharedScales(const Dims& dims, const ScaleReach& reach) : block_(reach.block) {
    if (!reach.axis) return;
    length_ = dims.at(*reach.axis);
    for (size_t i = *reach.axis + 1; i < dims.size(); ++i) inner_ *= dims[i];
    blocks_ = block_ > 0 ? (length_ + block_ - 1) / block_ : length_;
    for (size_t i = 0; block_ > 0 && i < *reach.axis; ++i) outer_ *= dims[i];
  }

  size_t count() const {
    return static_cast<size_t>(block_ > 0 ? outer_ * blocks_ * inner_ : length_ > 0 ? blocks_ : 1);
  }
  size_t of(size_t element) const {
    if (length_ == 0) return 0;
    const auto i = static_cast<int64_t>(element), index = i / inner_ % length_;
    if (block_ == 0) return static_cast<size_t>(index);
    return static_cast<size_t>((i / inner_ / length_ * blocks_ + index / block_) * inner_ + i % inner_);
  }

 private:
  int64_t block_ = 0, length_ = 0, inner_ = 1, outer_ = 1, blocks_ = 1;
};

NarrowFormat whole_numbers(const std::string& name, int digits, double largest) {
  NarrowFormat format;
  format.name = name;
  format.digits = digits;
  format.min_exponent = digits - 1;  // so that the step between all numbers is one
  format.largest = largest;
  format.saturates = true;
  return format;
}

}  // namespace

Codes Codes::integers(int bits) {
  return {whole_numbers(fmt::format("int{}", bits), bits, std::ldexp(1, bits - 1) - 1), false};
}

Codes Codes::unsigned_integers(int bits) {
  return {whole_numbers(fmt::format("uint{}", bits), bits + 1, std::ldexp(1, bits) - 1), true};
}

Codes Codes::float4() {
  NarrowFormat format;
  format.name = "float4 (e2m1)";
  format.digits = 2;
  format.min_exponent = 0;
  format.largest = 6;
  format.saturates = true;
  return {format, false};
}

std::string Codes::text() const {
  return format.name + (format.truncates ? " by cutting off" : "");
}

std::string ScaleReach::text() const {
  if (!axis) return "one scale";
  if (block == 0) return fmt::format("a scale for each index of axis {}", *axis);
  return fmt::format("a scale for each {} numbers along axis {}", block, *axis);
}

Tensor in_codes(const Tensor& tensor, const Codes& codes, const ScaleReach& reach) {
  auto values = tensor.to_doubles();
  const SharedScales scales(tensor.dims(), reach);
  std::vector<Range> ranges(scales.count());
  for (size_t i = 0; i < values.size(); ++i) ranges[scales.of(i)].add(values[i]);
  for (Range& range : ranges) range.set_step(codes);
  for (size_t i = 0; i < values.size(); ++i) values[i] = ranges[scales.of(i)].held(values[i], codes);
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

std::vector<Codes> usual_codes() {
  Codes int8 = Codes::integers(8), int4 = Codes::integers(4);
  std::vector<Codes> all{int8,
                         int4,
                         Codes::unsigned_integers(8),
                         Codes::unsigned_integers(4),
                         Codes::float4(),
                         {NarrowFormat::float8e4m3().saturating(), false},
                         {NarrowFormat::float8e5m2().saturating(), false}};
  for (Codes codes : {int8, int4}) {
    codes.format.truncates = true;
    all.push_back(codes);
  }
  return all;
}

std::vector<ScaleReach> usual_reaches(const Dims& dims) {
  std::vector<ScaleReach> all{{}};
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] > 1) all.push_back({axis, 0});
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    for (int64_t block = 4; block <= 256 && block < dims[axis]; block *= 2) all.push_back({axis, block});
    if (dims.size() > 1 && dims[axis] > 2) all.push_back({axis, dims[axis]});  // a row or a column as a whole
  }
  return all;
}

}  // namespace vernier
