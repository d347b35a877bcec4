#include "vernier/diagnose/hypotheses/precision/partial_sums.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/threads.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/math/reduce_axes.h"

namespace vernier {

namespace {

using Terms = std::span<const double>;

double exact_sum(Terms terms) {
  double sum = 0;
  for (const double term : terms) sum += term;
  return sum;
}

double sequential_sum(Terms terms, const NarrowFormat& format) {
  double sum = 0;
  for (const double term : terms) sum = format.round(sum + term);
  return sum;
}

double pairwise_sum(Terms terms, const NarrowFormat& format) {
  if (terms.size() <= 1) return terms.empty() ? 0 : format.round(terms[0]);
  const size_t half = (terms.size() + 1) / 2;
  return format.round(pairwise_sum(terms.first(half), format) + pairwise_sum(terms.subspan(half), format));
}

// For each axis of the first operand, whether the node sums over it.
std::vector<bool> summed_axes(const Member& member) {
  const auto rank = static_cast<size_t>(member.in(0).rank());
  if (member.is("GlobalAveragePool")) {
    std::vector<bool> axes(rank, true);
    for (size_t i = 0; i < std::min<size_t>(2, rank); ++i) axes[i] = false;
    return axes;
  }
  const auto given = !ops::axes_are_input(member.node())
                         ? member.node().attribute<std::vector<int64_t>>("axes", {})
                     : member.has(1) ? member.in(1).to_ints()
                                     : std::vector<int64_t>{};
  return ops::reduced_axes(member.node(), given, rank);
}

}  // namespace

double Accumulator::sum(Terms terms) const {
  if (order == Order::kSequential) return sequential_sum(terms, format);
  if (order == Order::kPairwise) return pairwise_sum(terms, format);
  const bool inside = order == Order::kNarrowBlocks || order == Order::kBlocks,
             stored = order == Order::kStoredBlocks || order == Order::kAddedBlocks,
             outside = order != Order::kNarrowBlocks && order != Order::kStoredBlocks;
  double sum = 0;
  for (size_t first = 0; first < terms.size(); first += static_cast<size_t>(block)) {
    const Terms part = terms.subspan(first, std::min(static_cast<size_t>(block), terms.size() - first));
    const double of_part = inside ? sequential_sum(part, format) : exact_sum(part);
    sum += stored ? format.round(of_part) : of_part;
    if (outside) sum = format.round(sum);
  }
  return sum;
}

std::string Accumulator::text() const {
  std::string text = format.text();
  switch (order) {
    case Order::kSequential: text += ", one term after the other"; break;
    case Order::kPairwise: text += ", in pairs"; break;
    case Order::kExactBlocks: text += fmt::format(", {} terms at a time", block); break;
    case Order::kNarrowBlocks: text += fmt::format(" in blocks of {} terms", block); break;
    case Order::kBlocks: text += fmt::format(", in blocks of {} terms and over these", block); break;
    case Order::kStoredBlocks: text += fmt::format(", which stores sums of {} terms", block); break;
    case Order::kAddedBlocks:
      text += fmt::format(", which stores sums of {} terms, and theirs", block);
      break;
  }
  if (rounds_operands) text += fmt::format(", of operands in {}", format.text());
  return text;
}

std::optional<PartialSums> PartialSums::of(const Member& member) {
  PartialSums sums(member);
  if (!member.has(0) || !is_real(member.in(0)) || !is_real(member.out())) return std::nullopt;
  if (!sums.set_products() && !sums.set_reduction()) return std::nullopt;
  return sums;
}

bool PartialSums::set_products() {
  if (!member_.has(1) || !is_real(member_.in(1))) return false;
  std::vector<Dims> sizes;
  for (const Tensor& input : member_.inputs()) sizes.push_back(input.dims());
  products_ = ops::ProductTerms::of(member_.node(), sizes, member_.out().dims());
  if (!products_) return false;
  count_ = products_->sums();
  terms_ = products_->terms();
  a_ = member_.in(0).to_doubles();
  b_ = member_.in(1).to_doubles();
  if (member_.has(2)) third_ = member_.in(2).to_doubles();
  return true;
}

bool PartialSums::set_reduction() {
  const Node& node = member_.node();
  const bool mean = has_op(node, {"ReduceMean", "GlobalAveragePool"});
  if (!mean && !has_op(node, {"ReduceSum", "ReduceSumSquare", "ReduceL2"})) return false;
  squares_ = has_op(node, {"ReduceSumSquare", "ReduceL2"});
  takes_root_ = has_op(node, {"ReduceL2"});
  const auto axes = summed_axes(member_);
  starts_ = offsets_ = {0};
  int64_t stride = 1;
  for (size_t axis = axes.size(); axis-- > 0;) {
    const int64_t size = member_.in(0).dims()[axis];
    std::vector<int64_t>& places = axes[axis] ? offsets_ : starts_;
    std::vector<int64_t> more;
    for (int64_t i = 0; i < size; ++i) {
      for (const int64_t place : places) more.push_back(i * stride + place);
    }
    places = std::move(more);
    stride *= size;
  }
  count_ = static_cast<int64_t>(starts_.size());
  terms_ = static_cast<int64_t>(offsets_.size());
  if (count_ != member_.out().size()) return false;
  divisor_ = mean ? static_cast<double>(terms_) : 1;
  a_ = member_.in(0).to_doubles();
  return true;
}

void PartialSums::collect(int64_t sum, const Operands& operands, const NarrowFormat* format,
                          std::vector<double>& terms) const {
  terms.clear();
  const std::span<const double> a = operands[0].empty() ? a_ : operands[0],
                                b = operands[1].empty() ? b_ : operands[1];
  const auto read = [&](std::span<const double> from, int64_t place) {
    const double value = from[static_cast<size_t>(place)];
    return format == nullptr ? value : format->round(value);
  };
  if (products_) {
    // Padding, of which windows are told nothing, is zeros: so that blocks of terms begin where they should.
    const bool convolves = member_.is("Conv");
    products_->visit(sum, [&](int64_t i, int64_t k) {
      if (convolves) terms.resize(static_cast<size_t>(k % terms_), 0);
      terms.push_back(read(a, i) * read(b, k));
    });
    return;
  }
  for (const int64_t offset : offsets_) {
    const double value = read(a, starts_[static_cast<size_t>(sum)] + offset);
    terms.push_back(squares_ ? value * value : value);
  }
}

double PartialSums::finished(int64_t sum, double value, std::span<const double> third) const {
  if (products_) return products_->finished(sum, value, third.empty() ? nullptr : third.data());
  return takes_root_ ? std::sqrt(value) : value / divisor_;
}

double PartialSums::result(int64_t sum, const Accumulator& accumulator) const {
  std::vector<double> terms;
  terms.reserve(static_cast<size_t>(terms_));
  const NarrowFormat* format = accumulator.rounds_operands ? &accumulator.format : nullptr;
  collect(sum, {}, format, terms);
  if (accumulator.rounds_products) {
    for (double& term : terms) term = accumulator.format.round(term);
  }
  return finished(sum, accumulator.sum(terms), third_);
}

double PartialSums::exact_result(int64_t sum, const Operands& operands) const {
  std::vector<double> terms;
  collect(sum, operands, nullptr, terms);
  return finished(sum, exact_sum(terms), operands[2].empty() ? third_ : operands[2]);
}

Tensor PartialSums::results(const Accumulator& accumulator) const {
  std::vector<double> values(static_cast<size_t>(count_));
  parallel_for(count_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] = result(i, accumulator);
  });
  return Tensor::from_doubles(ElementType::kDouble, member_.out().dims(), values);
}

double PartialSums::float_rounding(int64_t sum) const {
  std::vector<double> terms;
  collect(sum, {}, nullptr, terms);
  double partial = 0, squares = 0;
  for (const double term : terms) {
    partial += term;
    squares += partial * partial;
  }
  return rounding_error(ElementType::kFloat, 1.0) * std::sqrt(squares) / divisor_;
}

namespace {

// Gives the sums of the one member that makes some, if there are as many as elements in the result of the
// flagged node.
class SumsOfFlagged {
 public:
  SumsOfFlagged(const FlaggedNode& flagged, int64_t count) : members_(flagged) {
    for (const Member& member : members_.all()) {
      auto sums = PartialSums::of(member);
      if (!sums || sums->count() != count) continue;
      if (sums_) throw unsupported("sums of sums");
      sums_.emplace(std::move(*sums));
    }
    if (!sums_) throw unsupported("no sums");
  }
  const PartialSums& operator*() const { return *sums_; }
  const PartialSums* operator->() const { return &*sums_; }

 private:
  Members members_;
  std::optional<PartialSums> sums_;
};

bool sums_anything(const Node& node) {
  if (ops::is_group(node)) {
    const auto& members = ops::body(node).nodes();
    return std::any_of(members.begin(), members.end(),
                       [](const auto& member) { return sums_anything(*member); });
  }
  return has_op(node, {"MatMul", "Gemm", "Conv", "ReduceSum", "ReduceMean", "GlobalAveragePool"});
}

}  // namespace

bool only_rounds_partial_sums(const FlaggedNode& flagged) {
  const ElementErrors& expected = flagged.expected.at(flagged.output);
  const Tensor& made = flagged.made.at(flagged.output);
  if (!is_real(made) || expected.is_exact() || made.dims() != expected.value.dims()) return false;
  if (!sums_anything(*flagged.node)) return false;
  try {
    const SumsOfFlagged sums(flagged, made.size());
    const auto actual = made.to_doubles(), right = expected.value.to_doubles();
    for (size_t i = 0; i < actual.size(); ++i) {
      const double error = std::abs(actual[i] - right[i]), bound = kLargestDeviation * expected.at(i);
      if (error <= bound || actual[i] == right[i]) continue;
      const double more = kLargestDeviation * sums->float_rounding(static_cast<int64_t>(i));
      if (!(error <= bound + more)) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

double partial_sum_growth(const FlaggedNode& flagged) {
  if (flagged.expected.size() != 1 || flagged.expected[0].is_exact() || !sums_anything(*flagged.node))
    return 1;
  const ElementErrors& expected = flagged.expected[0];
  try {
    FlaggedNode alone = flagged;
    alone.made = {expected.value};
    const SumsOfFlagged sums(alone, expected.value.size());
    constexpr int64_t kSums = 64;
    const int64_t step = std::max<int64_t>(1, sums->count() / kSums);
    double made = 0, known = 0;
    for (int64_t i = 0; i < sums->count(); i += step) {
      const double error = expected.at(static_cast<size_t>(i)), rounding = sums->float_rounding(i);
      if (!std::isfinite(error)) continue;
      made += rounding * rounding;
      known += error * error;
    }
    return known > 0 ? std::max(1.0, std::sqrt(made / known)) : 1;
  } catch (const Error&) {
    return 1;
  }
}

}  // namespace vernier
