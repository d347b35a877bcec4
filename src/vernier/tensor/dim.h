// A dimension: an integer, or a symbolic expression over named symbols.
//
// An expression is kept as a polynomial with integer coefficients over atoms; an atom is a symbol or one of
// floordiv, min, max, mod of two expressions. Equal polynomials are one object (interned), so == is exact for
// everything that expansion can prove equal. Symbols stand for unknown sizes, which are never negative.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace vernier {

using SymbolValues = std::map<std::string, int64_t, std::less<>>;

class Dim {
 public:
  Dim() = default;                       // zero
  Dim(int64_t value) : value_(value) {}  // NOLINT: an integer is a dimension
  Dim(int value) : value_(value) {}      // NOLINT
  // A symbol of the model, e.g. "batch_size". The same name is the same symbol.
  static Dim symbol(std::string_view name);
  // A symbol that occurs nowhere else, for sizes that only running can tell. Printed as "hint?k".
  static Dim fresh(std::string_view hint);
  // The expression that `text()` printed. Throws bad_input with the position of the fault.
  static Dim parse(std::string_view text);

  bool is_constant() const { return expression_ == nullptr; }
  // The integer, if this is one.
  std::optional<int64_t> constant() const;
  // True for a lone symbol.
  bool is_symbol() const;
  // True if data-dependent, that is, if a fresh symbol occurs in it.
  bool has_fresh() const;
  std::set<std::string> symbols() const;

  // The value under an assignment of the symbols; nothing if one is missing or a division by zero occurs.
  std::optional<int64_t> evaluate(const SymbolValues& values) const;
  // The expression with some symbols replaced by others' expressions or integers.
  Dim substitute(const std::map<std::string, Dim, std::less<>>& values) const;

  // Known bounds when every symbol is at least 1.
  std::optional<int64_t> lower_bound() const;

  std::string text() const;
  bool operator==(const Dim& other) const {
    return value_ == other.value_ && expression_ == other.expression_;
  }
  // False only for two integers that differ; of symbols nothing is known.
  bool may_equal(const Dim& other) const {
    return !is_constant() || !other.is_constant() || value_ == other.value_;
  }

  struct Expression;
  const Expression* expression() const { return expression_.get(); }

 private:
  friend struct DimBuilder;
  int64_t value_ = 0;  // when expression_ is null
  std::shared_ptr<const Expression> expression_;
};

// Constant arithmetic that would leave 64 bits throws bad_input.
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
// Rounds towards minus infinity; the divisor must not be zero.
Dim floordiv(const Dim& a, const Dim& b);
Dim ceildiv(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);  // a - b * floordiv(a, b)
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);

// `a / b` if the division is proven exact, else nothing.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b);

}  // namespace vernier
