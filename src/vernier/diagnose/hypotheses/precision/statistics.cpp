// B1, B5, B7, B12: how an engine computes the statistics of a normalisation or of a Softmax.
#include <algorithm>
#include <cmath>

#include "vernier/diagnose/hypotheses/precision/partial_sums.h"
#include "vernier/diagnose/hypotheses/precision/precision_class.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

using Order = Accumulator::Order;
using Row = std::span<const double>;

// The axis, and with some operators all from there on, that is one row; the axis 0 <= axis <= rank.
struct Rows {
  int64_t count = 0, size = 0, stride = 1;  // `stride` between the elements of a row

  // Where the element of the row lies.
  size_t at(int64_t row, int64_t i) const {
    return static_cast<size_t>(row / stride * size * stride + i * stride + row % stride);
  }
};

Rows rows_of(const Dims& dims, int64_t axis, bool all_behind) {
  const auto rank = static_cast<int64_t>(dims.size());
  if (axis < 0) axis += rank;
  Rows rows;
  if (axis < 0 || axis >= rank) return rows;
  rows.size = 1;
  int64_t all = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = dims[static_cast<size_t>(i)];
    all *= size;
    if (i == axis || (i > axis && all_behind)) rows.size *= size;
    if (i > axis && !all_behind) rows.stride *= size;
  }
  rows.count = rows.size == 0 ? 0 : all / rows.size;
  return rows;
}

std::optional<Rows> normalised_rows(const Member& member) {
  if (!member.has(0) || !is_real(member.in(0))) return std::nullopt;
  const Dims& dims = member.in(0).dims();
  if (member.is("InstanceNormalization")) return rows_of(dims, 2, true);
  if (member.is("LayerNormalization") || member.is("RMSNormalization"))
    return rows_of(dims, ops::integer_attribute(member.node(), "axis"), true);
  return std::nullopt;
}

// The variance of a row, or the mean of its squares, as an engine may compute it.
struct Variance {
  FailureClass failure;
  std::string what;
  std::function<double(Row)> of;
};

double mean_of(Row row, const Accumulator& accumulator) {
  return accumulator.format.round(accumulator.sum(row) / static_cast<double>(row.size()));
}

// Each square is stored before it is added.
double mean_square(Row row, double less, const Accumulator& accumulator) {
  std::vector<double> squares;
  for (const double each : row) {
    const double rest = accumulator.format.round(each - less);
    squares.push_back(accumulator.format.round(rest * rest));
  }
  return mean_of(squares, accumulator);
}

// As E[x^2] - E[x]^2.
double one_pass(Row row, const Accumulator& accumulator) {
  const double mean = mean_of(row, accumulator), square = accumulator.format.round(mean * mean);
  return std::max(0.0, accumulator.format.round(mean_square(row, 0, accumulator) - square));
}

std::vector<Accumulator> orders(const NarrowFormat& format) {
  std::vector<Accumulator> all{{format, Order::kSequential}, {format, Order::kPairwise}};
  for (const int64_t block : {4, 8, 16, 64}) all.push_back({format, Order::kNarrowBlocks, block});
  all.push_back({format, Order::kExactBlocks, int64_t{1} << 40});
  return all;
}

std::vector<Variance> variances(bool centred) {
  std::vector<Variance> all;
  for (const auto& format : {NarrowFormat::float16(), NarrowFormat::bfloat16()}) {
    for (const Accumulator& each : orders(format)) {
      all.push_back({FailureClass(format.name == "float16" ? 1 : 15),
                     fmt::format("its statistics are computed in {}", each.text()), [each, centred](Row row) {
                       return mean_square(row, centred ? mean_of(row, each) : 0, each);
                     }});
    }
  }
  for (const Accumulator& each : orders(NarrowFormat::float32())) {
    if (!centred) break;
    all.push_back(
        {FailureClass(12),
         fmt::format("its variance is the mean of squares less the square of the mean, in {}", each.text()),
         [each](Row row) { return one_pass(row, each); }});
  }
  return all;
}

std::vector<double> elements_of(const std::vector<double>& values, const Rows& rows, int64_t row) {
  std::vector<double> elements(static_cast<size_t>(rows.size));
  for (int64_t i = 0; i < rows.size; ++i) elements[static_cast<size_t>(i)] = values[rows.at(row, i)];
  return elements;
}

double exact_variance(Row row, bool centred) {
  double mean = 0, variance = 0;
  for (const double each : row) mean += each / static_cast<double>(row.size());
  for (const double each : row) {
    const double rest = each - (centred ? mean : 0);
    variance += rest * rest / static_cast<double>(row.size());
  }
  return variance;
}

// The result differs from the right one by the ratio of the two roots, but for the bias.
Tensors with_variance(const Member& member, const Rows& rows, bool centred,
                      const std::function<double(Row)>& variance) {
  const Tensor none = Tensor::from_doubles(member.in(1).type(), member.in(1).dims(),
                                           std::vector<double>(static_cast<size_t>(member.in(1).size()), 0));
  const auto bias = member.with_input(1, none).at(0).to_doubles();
  const auto read = member.in(0).to_doubles();
  auto made = member.out().to_doubles();
  const double epsilon = ops::real_attribute(member.node(), "epsilon");
  for (int64_t row = 0; row < rows.count; ++row) {
    const auto elements = elements_of(read, rows, row);
    const double ratio =
        std::sqrt((exact_variance(elements, centred) + epsilon) / (variance(elements) + epsilon));
    for (int64_t i = 0; i < rows.size; ++i) {
      const size_t at = rows.at(row, i);
      made[at] = bias[at] + (made[at] - bias[at]) * ratio;
    }
  }
  Tensors results = member.outputs();
  results[0] = Tensor::from_doubles(ElementType::kDouble, member.out().dims(), made);
  return results;
}

void propose_normalisation(const Member& member, std::vector<Proposal>& proposals) {
  const auto rows = normalised_rows(member);
  if (!rows || rows->count == 0 || !member.has(1)) return;
  const bool centred = !member.is("RMSNormalization");
  for (Variance& each : variances(centred)) {
    proposals.push_back({each.failure, std::move(each.what), [&member, rows, centred, of = each.of] {
                           return with_variance(member, *rows, centred, of);
                         }});
  }
  if (NarrowFormat::float16().round(ops::real_attribute(member.node(), "epsilon")) == 0)
    proposals.push_back({FailureClass(5), "its epsilon is zero in float16",
                         [&member] { return member.with_attribute("epsilon", Attribute(0.0F)); }});
}

// Whether errors are of the size that is left where two squares of a large mean cancel, in whatever order
// they were added up: what is made then, and else what is right.
Tensors with_cancelled_squares(const Member& member, const std::vector<double>& squares, const Tensor& made) {
  auto values = member.out().to_doubles();
  const auto right = values, actual = made.to_doubles();
  double errors = 0, units = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    constexpr double kMost = 32;
    const double unit = squares[i] * NarrowFormat::float32().unit_roundoff(),
                 error = std::abs(actual[i] - right[i]);
    if (!(error <= kMost * unit)) continue;
    errors += error * error;
    units += unit * unit;
    values[i] = actual[i];
  }
  constexpr double kLeast = 0.01;
  if (!(std::sqrt(errors) > kLeast * std::sqrt(units))) values = right;
  return {Tensor::from_doubles(ElementType::kDouble, member.out().dims(), values)};
}

// The mean of squared deviations of something that is shown.
void propose_one_pass(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                      std::vector<Proposal>& proposals) {
  if (!member.is("ReduceMean") || !context.value) return;
  const Surroundings around(context.graph);
  const Node* square = around.producer(member.node().input(0));
  const Node* less =
      square == nullptr || !is_square(*square, around) ? nullptr : around.producer(square->input(0));
  if (less == nullptr || !has_op(*less, {"Sub"})) return;
  const Value* value = around.resolved(less->input(0));
  const Tensor* whole = value == nullptr ? nullptr : context.value(*value);
  if (whole == nullptr || whole->dims() != member.in(0).dims()) return;
  const Tensor read = Tensor::from_doubles(ElementType::kDouble, whole->dims(), whole->to_doubles());
  const NarrowFormat format = NarrowFormat::float32();
  for (const Accumulator& each : orders(format)) {
    proposals.push_back(
        {FailureClass(12),
         fmt::format("it is the mean of squares less the square of the mean, in {}", each.text()),
         [&member, read, each, format] {
           const auto mean_with = [&](const Tensor& of) {
             const auto means = member.with_input(0, of);
             const Member other(member.node(), {of, member.input_count() > 1 ? member.in(1) : Tensor()},
                                means);
             return rounded(PartialSums::of(other).value().results(each), format).to_doubles();
           };
           auto squares = read.to_doubles();
           for (double& one : squares) one = format.round(one * one);
           auto values = mean_with(Tensor::from_doubles(ElementType::kDouble, read.dims(), squares));
           const auto means = mean_with(read);
           for (size_t i = 0; i < values.size(); ++i)
             values[i] = std::abs(format.round(values[i] - format.round(means[i] * means[i])));
           return Tensors{Tensor::from_doubles(ElementType::kDouble, member.out().dims(), values)};
         }});
  }
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr) return;
  auto squares = read.to_doubles();
  for (double& each : squares) each *= each;
  constexpr double kUnknown = 0.15;  // an error of that size has other causes, too
  proposals.push_back(
      {FailureClass(12),
       "it is the mean of squares less the square of the mean, in float",
       [&member, made = *made, of = Tensor::from_doubles(ElementType::kDouble, read.dims(), squares)] {
         const auto means = member.with_input(0, of).at(0).to_doubles();
         return with_cancelled_squares(member, means, made);
       },
       {},
       kUnknown});
}

// Exponentials of the logits as they are.
void propose_softmax(const Member& member, std::vector<Proposal>& proposals) {
  if (!member.is("Softmax") || !member.has(0)) return;
  const Rows rows =
      rows_of(member.in(0).dims(), ops::softmax_axis(member.node()), ops::softmax_flattens(member.node()));
  for (const auto& format : {NarrowFormat::float32(), NarrowFormat::float16(), NarrowFormat::bfloat16()}) {
    proposals.push_back(
        {FailureClass(7),
         fmt::format("the largest logit of a row is not taken off before exponentials, in {}", format.text()),
         [&member, rows, format] {
           auto values = member.in(0).to_doubles();
           for (double& value : values) value = format.round(std::exp(value));
           for (int64_t row = 0; row < rows.count; ++row) {
             double sum = 0;
             for (int64_t i = 0; i < rows.size; ++i) sum += values[rows.at(row, i)];
             sum = format.round(sum);
             for (int64_t i = 0; i < rows.size; ++i) values[rows.at(row, i)] /= sum;
           }
           return Tensors{Tensor::from_doubles(ElementType::kDouble, member.in(0).dims(), values)};
         }});
  }
}

}  // namespace

void propose_statistics(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                        std::vector<Proposal>& proposals) {
  propose_normalisation(member, proposals);
  propose_one_pass(member, flagged, context, proposals);
  propose_softmax(member, proposals);
}

}  // namespace vernier
