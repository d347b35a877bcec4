// The inside of Dim: polynomials over atoms. Used by dim.cpp and dim_parse.cpp only.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "vernier/tensor/dim.h"

namespace vernier {

enum class AtomKind : uint8_t { kSymbol, kFloorDiv, kMin, kMax };

struct Atom;
using Monomial = std::map<Atom, int>;            // atom -> positive power; empty is the constant 1
using Polynomial = std::map<Monomial, int64_t>;  // monomial -> coefficient, none zero

struct Atom {
  AtomKind kind;
  std::string name;                               // kSymbol
  std::shared_ptr<const Polynomial> left, right;  // the others
  bool operator<(const Atom& other) const;
};

struct Dim::Expression {
  Polynomial polynomial;
  std::string text;
};

struct DimBuilder {
  static Dim make(Polynomial polynomial);
};

Polynomial polynomial_of(const Dim& dim);
// a + factor * b
Polynomial add(const Polynomial& a, const Polynomial& b, int64_t factor);
Polynomial multiply(const Polynomial& a, const Polynomial& b);
std::optional<Polynomial> divide_exactly(Polynomial a, const Polynomial& b);
// The atom, if the polynomial is one atom to the power one with coefficient one.
std::optional<Atom> single_atom(const Polynomial& polynomial);

std::optional<int64_t> evaluate(const Polynomial& polynomial, const SymbolValues& values);
Dim substitute(const Polynomial& polynomial, const std::map<std::string, Dim, std::less<>>& values);
std::optional<int64_t> lower_bound(const Polynomial& polynomial);
// Whether it is proven to be 0 or more, by cases of the min and max in it.
bool is_never_negative(const Polynomial& polynomial);
void collect_symbols(const Polynomial& polynomial, std::set<std::string>& names);
std::string print(const Polynomial& polynomial);

}  // namespace vernier
