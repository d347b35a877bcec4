// B47: a layer has other weights than the model: those from before a refit, or of another model.
#include <cmath>

#include "vernier/diagnose/causes/least_squares.h"
#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/products/products.h"

namespace vernier {

namespace {

constexpr double kAnyNumber = HUGE_VAL;  // of terms: only some of the rows are taken

// Explains one column of results as sums of a row of factors.
struct Fit {
  std::vector<double> values;      // by element of the result
  size_t others = 0, columns = 0;  // how many are no multiples of what is right, and of how many
};

// Whether `made` is a multiple of `right`, and an offset.
bool is_multiple(const std::vector<double>& right, const std::vector<double>& made) {
  const double count = static_cast<double>(right.size());
  double mean_right = 0, mean_made = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    mean_right += right[i] / count;
    mean_made += made[i] / count;
  }
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    const double x = right[i] - mean_right, y = made[i] - mean_made;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  constexpr double kAlike = 1e-5;  // of the square that no multiple explains
  return yy == 0 || (xx > 0 && yy - xy * xy / xx <= kAlike * yy);
}

// Holds what a node read and made, in the run at hand first, and in further ones.
struct ProductRuns {
  std::vector<MatrixProduct> products;
  std::vector<std::vector<double>> made;  // by run

  const MatrixProduct& first() const { return products.front(); }
};

// How many rows say enough of the weights: clearly more than these have elements.
size_t rows_needed(const MatrixProduct& product) {
  constexpr double kMore = 1.25;
  return static_cast<size_t>(std::ceil(kMore * static_cast<double>(product.length + 1) + 8));
}

size_t runs_needed(const MatrixProduct& product) {
  const auto rows = static_cast<size_t>(product.rows);
  return (rows_needed(product) + rows - 1) / rows;
}

bool is_bearable(const MatrixProduct& product) {
  constexpr double kMostWork = 2e10, kMostTerms = 2e9;
  constexpr size_t kMostRuns = 1000;
  const double length = static_cast<double>(product.length + 1), groups = static_cast<double>(product.groups),
               rows = static_cast<double>(rows_needed(product)),
               terms = static_cast<double>(product.rows) * length * static_cast<double>(product.columns);
  return runs_needed(product) <= kMostRuns && groups * rows * length * length <= kMostWork &&
         groups * terms <= kMostTerms;
}

// Rows of several runs: their factors, with a one for the bias, and what was made of them by column.
struct ProductRows {
  std::vector<double> factors, made;
  size_t count = 0;
};

// About as many as are needed, from all over the runs.
ProductRows rows_of(const ProductRuns& runs, int64_t group) {
  const MatrixProduct& first = runs.first();
  constexpr size_t kEnough = 2;
  const auto all = static_cast<size_t>(first.rows) * runs.products.size();
  const size_t step = std::max<size_t>(1, all / (kEnough * rows_needed(first)));
  ProductRows rows;
  for (size_t at = 0; at < all; at += step, ++rows.count) {
    const size_t run = at / static_cast<size_t>(first.rows);
    const auto row = static_cast<int64_t>(at % static_cast<size_t>(first.rows));
    const MatrixProduct& product = runs.products[run];
    for (int64_t k = 0; k < product.length; ++k) rows.factors.push_back(product.left_at(group, row, k));
    rows.factors.push_back(1);
    for (int64_t column = 0; column < product.columns; ++column)
      rows.made.push_back(runs.made[run][product.result_at(group, row, column)]);
  }
  return rows;
}

// Tells whether what was made of the rows in a column is a multiple of what is right.
bool is_multiple(const MatrixProduct& product, const ProductRows& rows, int64_t group, int64_t column) {
  const auto length = static_cast<size_t>(product.length), columns = static_cast<size_t>(product.columns);
  std::vector<double> right(rows.count, 0), made(rows.count);
  for (size_t row = 0; row < rows.count; ++row) {
    for (size_t k = 0; k < length; ++k)
      right[row] +=
          rows.factors[row * (length + 1) + k] * product.right_at(group, static_cast<int64_t>(k), column);
    made[row] = rows.made[row * columns + static_cast<size_t>(column)];
  }
  return is_multiple(right, made);
}

Fit fitted(const ProductRuns& runs, const Tensor& right) {
  const MatrixProduct& product = runs.first();
  Fit fit{right.to_doubles()};
  const auto length = static_cast<size_t>(product.length), columns = static_cast<size_t>(product.columns);
  for (int64_t group = 0; group < product.groups; ++group) {
    const ProductRows rows = rows_of(runs, group);
    const auto weights = least_squares(rows.factors, rows.made, rows.count, length + 1, columns);
    for (int64_t column = 0; column < product.columns; ++column) {
      fit.others += is_multiple(product, rows, group, column) ? 0 : 1;
      for (int64_t row = 0; row < product.rows; ++row) {
        double sum = weights[length * columns + static_cast<size_t>(column)];
        for (size_t k = 0; k < length; ++k)
          sum += product.left_at(group, row, static_cast<int64_t>(k)) *
                 weights[k * columns + static_cast<size_t>(column)];
        fit.values[product.result_at(group, row, column)] = sum;
      }
    }
  }
  fit.columns = static_cast<size_t>(product.groups) * columns;
  return fit;
}

bool is_of_nearly_all(const Fit& fit) {
  constexpr double kNearlyAll = 0.8;
  return static_cast<double>(fit.others) >= kNearlyAll * static_cast<double>(fit.columns);
}

// Where in the flagged node a member reads the value of that operand; nothing if that lies inside of it.
std::optional<size_t> read_from(const Member& member, size_t operand, const FlaggedNode& flagged) {
  const Value* value = member.node().input(operand);
  for (size_t i = 0; value != nullptr && i < flagged.node->inputs.size(); ++i) {
    if (flagged.node->inputs[i] != nullptr && flagged.node->inputs[i]->name == value->name) return i;
  }
  return std::nullopt;
}

// As many as it takes. Throws unsupported where there are fewer.
ProductRuns runs_of(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                    size_t output) {
  const auto factors = factors_of(member.node());
  auto product = product_of(member, member.in(factors->first), member.in(factors->second), kAnyNumber);
  if (!product || !is_bearable(*product)) throw unsupported("the product is too large");
  const size_t needed = runs_needed(*product);
  ProductRuns runs;
  runs.products.push_back(std::move(*product));
  runs.made.push_back(flagged.made[output].to_doubles());
  const auto operand = read_from(member, factors->first, flagged);
  if (needed > 1 && operand && context.observe) {
    for (const Observation& each : context.observe(needed - 1)) {
      auto further = product_of(member, each.inputs.at(*operand), member.in(factors->second), kAnyNumber);
      if (!further) continue;
      runs.products.push_back(std::move(*further));
      runs.made.push_back(each.made.at(output).to_doubles());
    }
  }
  if (runs.products.size() < needed) throw unsupported("too few rows are known");
  return runs;
}

}  // namespace

void propose_refits(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                    std::vector<Proposal>& proposals) {
  const auto factors = factors_of(member.node());
  if (!factors || !member.is_constant(factors->second) || !is_float(member.out().type())) return;
  const auto output = stored_output(member, 0, flagged);
  if (made_in_place(member, 0, flagged) == nullptr) return;
  const auto actual = flagged.made[*output].to_doubles();
  if (!std::all_of(actual.begin(), actual.end(), [](double value) { return std::isfinite(value); })) return;
  // Many numbers are fitted: whatever is a sum of what the node reads looks like this.
  constexpr double kFitted = 0.15;
  // Weights of another training leave hardly any column as it was; where they do, another cause is likelier.
  const auto propose = [&](std::string what, double penalty, bool (*fits)(const Fit&)) {
    proposals.push_back({FailureClass(47),
                         std::move(what),
                         [&member, &flagged, &context, output = *output, fits] {
                           const Fit fit = fitted(runs_of(member, flagged, context, output), member.out());
                           if (!fits(fit))
                             throw unsupported("the weights are multiples of what they should be");
                           return Tensors{
                               Tensor::from_doubles(member.out().type(), member.out().dims(), fit.values)};
                         },
                         {},
                         penalty,
                         false,
                         true});
  };
  constexpr double kOfSome = 0.2;
  propose("it has other weights: those from before a refit, or of another model", kFitted, is_of_nearly_all);
  propose("some of its output channels have other weights", kOfSome,
          [](const Fit& fit) { return fit.others > 0 && !is_of_nearly_all(fit); });
}

}  // namespace vernier
