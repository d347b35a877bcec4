// Decides whether an expression of sizes is never negative, also where it holds min and max.
#include "vernier/base/error.h"
#include "vernier/tensor/dim_expression.h"

namespace vernier {

namespace {

// Each min or max is followed along both operands: 2^kDepth polynomials at most.
constexpr int kDepth = 6;

struct Term {
  Monomial monomial;
  int64_t coefficient = 0;

  const Atom& atom() const { return monomial.begin()->first; }
  // -max(a, b) and min(a, b) are as small as the worse of both operands; max(a, b) and -min(a, b) as large as
  // the better.
  bool needs_both() const { return (atom().kind == AtomKind::kMin) == (coefficient > 0); }
};

bool is_extremum(const Monomial& monomial) {
  if (monomial.size() != 1 || monomial.begin()->second != 1) return false;
  const AtomKind kind = monomial.begin()->first.kind;
  return kind == AtomKind::kMin || kind == AtomKind::kMax;
}

// A min or max that stands by itself, first one that needs both of its operands.
std::optional<Term> next_extremum(const Polynomial& polynomial) {
  std::optional<Term> found;
  for (const auto& [monomial, coefficient] : polynomial) {
    if (!is_extremum(monomial)) continue;
    Term term{monomial, coefficient};
    if (term.needs_both()) return term;
    if (!found) found = std::move(term);
  }
  return found;
}

bool has_no_negative_part(const Polynomial& polynomial) {
  return std::all_of(polynomial.begin(), polynomial.end(), [](const auto& term) {
    const auto bound = lower_bound(Polynomial{{term.first, 1}});
    return term.second > 0 && bound && *bound >= 0;
  });
}

bool is_never_negative(const Polynomial& polynomial, int depth) {
  if (has_no_negative_part(polynomial)) return true;
  const auto term = depth == 0 ? std::nullopt : next_extremum(polynomial);
  if (!term) return false;
  const Polynomial rest = add(polynomial, {{term->monomial, term->coefficient}}, -1);
  const auto holds_with = [&](const Polynomial& operand) {
    return is_never_negative(add(rest, operand, term->coefficient), depth - 1);
  };
  const Polynomial &left = *term->atom().left, &right = *term->atom().right;
  return term->needs_both() ? holds_with(left) && holds_with(right) : holds_with(left) || holds_with(right);
}

}  // namespace

bool is_never_negative(const Polynomial& polynomial) {
  try {
    return is_never_negative(polynomial, kDepth);
  } catch (const Error&) {
    return false;  // numbers that leave 64 bits prove nothing
  }
}

}  // namespace vernier
