#include "vernier/tensor/dim.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "vernier/base/error.h"
#include "vernier/tensor/dim_expression.h"

namespace vernier {

namespace {

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == -1 && a == std::numeric_limits<int64_t>::min())
    throw bad_input("dimension {} divided by {} leaves 64 bits", a, b);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

Dim dim_of(Polynomial polynomial) {
  return DimBuilder::make(std::move(polynomial));
}

Dim atom(AtomKind kind, const Dim& a, const Dim& b) {
  Atom result{kind,
              {},
              std::make_shared<const Polynomial>(polynomial_of(a)),
              std::make_shared<const Polynomial>(polynomial_of(b))};
  return dim_of({{Monomial{{std::move(result), 1}}, 1}});
}

}  // namespace

Dim Dim::symbol(std::string_view name) {
  Atom atom{AtomKind::kSymbol, std::string(name), nullptr, nullptr};
  return dim_of({{Monomial{{std::move(atom), 1}}, 1}});
}

Dim Dim::fresh(std::string_view hint) {
  static std::atomic<int64_t> next{0};
  return symbol(fmt::format("{}?{}", hint, next++));
}

std::optional<int64_t> Dim::constant() const {
  return is_constant() ? std::optional(value_) : std::nullopt;
}

bool Dim::is_symbol() const {
  if (is_constant()) return false;
  const auto& terms = expression_->polynomial;
  if (terms.size() != 1 || terms.begin()->second != 1) return false;
  const Monomial& monomial = terms.begin()->first;
  return monomial.size() == 1 && monomial.begin()->second == 1 &&
         monomial.begin()->first.kind == AtomKind::kSymbol;
}

std::set<std::string> Dim::symbols() const {
  std::set<std::string> names;
  if (!is_constant()) collect_symbols(expression_->polynomial, names);
  return names;
}

bool Dim::has_fresh() const {
  const auto names = symbols();
  return std::any_of(names.begin(), names.end(),
                     [](const auto& name) { return name.find('?') != std::string::npos; });
}

std::optional<int64_t> Dim::evaluate(const SymbolValues& values) const {
  return is_constant() ? constant() : vernier::evaluate(expression_->polynomial, values);
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& values) const {
  return is_constant() ? *this : vernier::substitute(expression_->polynomial, values);
}

std::optional<int64_t> Dim::lower_bound() const {
  return is_constant() ? constant() : vernier::lower_bound(expression_->polynomial);
}

std::string Dim::text() const {
  return is_constant() ? fmt::format("{}", value_) : expression_->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  return dim_of(add(polynomial_of(a), polynomial_of(b), 1));
}
Dim operator-(const Dim& a, const Dim& b) {
  return dim_of(add(polynomial_of(a), polynomial_of(b), -1));
}
Dim operator*(const Dim& a, const Dim& b) {
  return dim_of(multiply(polynomial_of(a), polynomial_of(b)));
}

std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  auto quotient = divide_exactly(polynomial_of(a), polynomial_of(b));
  if (!quotient) return std::nullopt;
  return dim_of(std::move(*quotient));
}

Dim floordiv(const Dim& a, const Dim& b) {
  if (b == Dim(0)) throw bad_input("division of dimension {} by zero", a.text());
  if (a.is_constant() && b.is_constant()) return floor_divide(*a.constant(), *b.constant());
  if (auto exact = exact_quotient(a, b)) return *exact;
  // Whole multiples of the divisor leave the fraction: floordiv(6*n + m + 7, 3) = 2*n + 2 + floordiv(m + 1,
  // 3).
  Polynomial whole, rest;
  const Polynomial divisor = polynomial_of(b);
  for (const auto& [monomial, coefficient] : polynomial_of(a)) {
    if (b.is_constant()) {
      const int64_t quotient = floor_divide(coefficient, *b.constant());
      if (quotient != 0 && (monomial.empty() || coefficient == quotient * *b.constant())) {
        whole[monomial] += quotient;
        if (coefficient != quotient * *b.constant()) rest[monomial] += coefficient - quotient * *b.constant();
        continue;
      }
    } else if (auto quotient = divide_exactly({{monomial, coefficient}}, divisor)) {
      whole = add(whole, *quotient, 1);
      continue;
    }
    rest[monomial] += coefficient;
  }
  const Dim remainder = dim_of(rest);
  if (remainder == Dim(0)) return dim_of(whole);
  if (remainder.is_constant() && b.is_constant()) {
    return dim_of(whole) + floor_divide(*remainder.constant(), *b.constant());
  }
  // floordiv(floordiv(x, p), q) = floordiv(x, p * q) for positive constants.
  if (const auto inner = single_atom(rest); inner && inner->kind == AtomKind::kFloorDiv && b.is_constant()) {
    const Dim inner_divisor = dim_of(*inner->right);
    if (inner_divisor.is_constant() && *inner_divisor.constant() > 0 && *b.constant() > 0) {
      return dim_of(whole) + floordiv(dim_of(*inner->left), inner_divisor * b);
    }
  }
  return dim_of(whole) + atom(AtomKind::kFloorDiv, remainder, b);
}

Dim ceildiv(const Dim& a, const Dim& b) {
  return Dim(0) - floordiv(Dim(0) - a, b);
}
Dim mod(const Dim& a, const Dim& b) {
  return a - b * floordiv(a, b);
}

namespace {

// Decides a <= b where the difference is bounded; symbols are at least 1.
bool proven_at_most(const Dim& a, const Dim& b) {
  const Dim difference = b - a;
  const auto bound = difference.lower_bound();
  return (bound && *bound >= 0) || is_never_negative(polynomial_of(difference));
}

Dim extremum(AtomKind kind, const Dim& a, const Dim& b) {
  if (proven_at_most(a, b)) return kind == AtomKind::kMin ? a : b;
  if (proven_at_most(b, a)) return kind == AtomKind::kMin ? b : a;
  // max(x, max(x, y)) = max(x, y)
  for (const auto& [outer, inner] : {std::pair(a, b), std::pair(b, a)}) {
    const auto nested = single_atom(polynomial_of(inner));
    if (nested && nested->kind == kind && (dim_of(*nested->left) == outer || dim_of(*nested->right) == outer))
      return inner;
  }
  const bool swap = b.text() < a.text();  // commutative: one order
  return swap ? atom(kind, b, a) : atom(kind, a, b);
}

}  // namespace

Dim min(const Dim& a, const Dim& b) {
  return extremum(AtomKind::kMin, a, b);
}
Dim max(const Dim& a, const Dim& b) {
  return extremum(AtomKind::kMax, a, b);
}

namespace {

// The expressions that are in use. Never destroyed: expressions of other static objects may outlive it.
struct Interned {
  std::recursive_mutex mutex;  // an expression that cannot be kept is released at once
  std::unordered_map<std::string, std::weak_ptr<const Dim::Expression>> by_text;
};

Interned& interned() {
  static auto* const all = new Interned;
  return *all;
}

// Takes an expression that nobody uses any more out of the table; fresh symbols would fill it otherwise.
void release(const Dim::Expression* expression) {
  {
    Interned& all = interned();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_text.find(expression->text);
    if (found != all.by_text.end() && found->second.expired()) all.by_text.erase(found);
  }
  delete expression;  // which may release others
}

}  // namespace

Dim DimBuilder::make(Polynomial polynomial) {
  std::erase_if(polynomial, [](const auto& term) { return term.second == 0; });
  Dim dim;
  if (polynomial.empty()) return dim;
  if (polynomial.size() == 1 && polynomial.begin()->first.empty()) return Dim(polynomial.begin()->second);
  std::string key = print(polynomial);
  Interned& all = interned();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_text.find(key);
  if (found != all.by_text.end()) dim.expression_ = found->second.lock();
  if (!dim.expression_) {
    dim.expression_ = std::shared_ptr<const Dim::Expression>(
        new Dim::Expression{std::move(polynomial), std::move(key)}, release);
    all.by_text[dim.expression_->text] = dim.expression_;
  }
  return dim;
}

}  // namespace vernier
