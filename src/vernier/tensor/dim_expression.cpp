#include "vernier/tensor/dim_expression.h"

#include "vernier/base/error.h"

namespace vernier {

namespace {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    throw bad_input("dimension arithmetic leaves 64 bits: {} + {}", a, b);
  return result;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    throw bad_input("dimension arithmetic leaves 64 bits: {} * {}", a, b);
  return result;
}

// Nothing if there is a remainder.
std::optional<int64_t> exact_integer_quotient(int64_t a, int64_t b) {
  if (b == -1) return checked_multiply(a, -1);  // the smallest integer has no opposite
  return a % b == 0 ? std::optional(a / b) : std::nullopt;
}

std::optional<Monomial> divide(const Monomial& a, const Monomial& b) {
  Monomial quotient = a;
  for (const auto& [atom, power] : b) {
    const auto found = quotient.find(atom);
    if (found == quotient.end() || found->second < power) return std::nullopt;
    if ((found->second -= power) == 0) quotient.erase(found);
  }
  return quotient;
}

int degree(const Monomial& monomial) {
  int sum = 0;
  for (const auto& [atom, power] : monomial) sum += power;
  return sum;
}

// Leading term in a degree-first order, which the multiplication of monomials respects.
Polynomial::const_iterator leading(const Polynomial& polynomial) {
  auto best = polynomial.begin();
  for (auto term = polynomial.begin(); term != polynomial.end(); ++term) {
    if (degree(term->first) > degree(best->first)) best = term;
  }
  return best;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || (!std::isalpha(static_cast<unsigned char>(name[0])) && name[0] != '_')) return false;
  for (const char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '?' && c != ':' &&
        c != '/')
      return false;
  }
  return name != "min" && name != "max" && name != "floordiv";
}

std::string print(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::kSymbol: return is_identifier(atom.name) ? atom.name : "`" + atom.name + "`";
    case AtomKind::kFloorDiv: return fmt::format("floordiv({}, {})", print(*atom.left), print(*atom.right));
    case AtomKind::kMin: return fmt::format("min({}, {})", print(*atom.left), print(*atom.right));
    case AtomKind::kMax: return fmt::format("max({}, {})", print(*atom.left), print(*atom.right));
  }
  return {};
}

}  // namespace

bool Atom::operator<(const Atom& other) const {
  if (kind != other.kind) return kind < other.kind;
  if (kind == AtomKind::kSymbol) return name < other.name;
  if (*left != *other.left) return *left < *other.left;
  return *right < *other.right;
}

static bool operator==(const Atom& a, const Atom& b) {
  return !(a < b) && !(b < a);
}

Polynomial polynomial_of(const Dim& dim) {
  if (!dim.is_constant()) return dim.expression()->polynomial;
  if (*dim.constant() == 0) return {};
  return {{Monomial{}, *dim.constant()}};
}

Polynomial add(const Polynomial& a, const Polynomial& b, int64_t factor) {
  Polynomial sum = a;
  for (const auto& [monomial, coefficient] : b) {
    const auto [slot, inserted] = sum.try_emplace(monomial, 0);
    slot->second = checked_add(slot->second, checked_multiply(coefficient, factor));
    if (slot->second == 0) sum.erase(slot);
  }
  return sum;
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [left, left_coefficient] : a) {
    for (const auto& [right, right_coefficient] : b) {
      Monomial monomial = left;
      for (const auto& [atom, power] : right) monomial[atom] += power;
      product =
          add(product, {{std::move(monomial), checked_multiply(left_coefficient, right_coefficient)}}, 1);
    }
  }
  return product;
}

std::optional<Polynomial> divide_exactly(Polynomial a, const Polynomial& b) {
  if (b.empty()) return std::nullopt;
  const auto divisor = leading(b);
  Polynomial quotient;
  // Each step removes a leading term; a remainder that keeps growing is no exact quotient.
  for (int step = 0; !a.empty(); ++step) {
    const auto term = leading(a);
    const auto monomial = divide(term->first, divisor->first);
    const auto coefficient = exact_integer_quotient(term->second, divisor->second);
    if (!monomial || !coefficient || step > 64) return std::nullopt;
    const Polynomial part{{*monomial, *coefficient}};
    quotient = add(quotient, part, 1);
    a = add(a, multiply(part, b), -1);
  }
  return quotient;
}

std::optional<Atom> single_atom(const Polynomial& polynomial) {
  if (polynomial.size() != 1 || polynomial.begin()->second != 1) return std::nullopt;
  const Monomial& monomial = polynomial.begin()->first;
  if (monomial.size() != 1 || monomial.begin()->second != 1) return std::nullopt;
  return monomial.begin()->first;
}

static std::optional<int64_t> evaluate(const Atom& atom, const SymbolValues& values) {
  if (atom.kind == AtomKind::kSymbol) {
    const auto found = values.find(atom.name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  const auto left = evaluate(*atom.left, values), right = evaluate(*atom.right, values);
  if (!left || !right) return std::nullopt;
  if (atom.kind == AtomKind::kMin) return std::min(*left, *right);
  if (atom.kind == AtomKind::kMax) return std::max(*left, *right);
  if (*right == 0) return std::nullopt;
  return floordiv(Dim(*left), Dim(*right)).constant();
}

std::optional<int64_t> evaluate(const Polynomial& polynomial, const SymbolValues& values) {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : polynomial) {
    int64_t product = coefficient;
    for (const auto& [atom, power] : monomial) {
      const auto value = evaluate(atom, values);
      if (!value) return std::nullopt;
      for (int i = 0; i < power; ++i) product = checked_multiply(product, *value);
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

static Dim substitute(const Atom& atom, const std::map<std::string, Dim, std::less<>>& values) {
  if (atom.kind == AtomKind::kSymbol) {
    const auto found = values.find(atom.name);
    return found == values.end() ? Dim::symbol(atom.name) : found->second;
  }
  const Dim left = substitute(*atom.left, values), right = substitute(*atom.right, values);
  if (atom.kind == AtomKind::kMin) return min(left, right);
  return atom.kind == AtomKind::kMax ? max(left, right) : floordiv(left, right);
}

Dim substitute(const Polynomial& polynomial, const std::map<std::string, Dim, std::less<>>& values) {
  Dim sum;
  for (const auto& [monomial, coefficient] : polynomial) {
    Dim product = coefficient;
    for (const auto& [atom, power] : monomial) {
      for (int i = 0; i < power; ++i) product = product * substitute(atom, values);
    }
    sum = sum + product;
  }
  return sum;
}

static std::optional<int64_t> lower_bound(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::kSymbol: return atom.name.find('?') == std::string::npos ? 1 : 0;
    case AtomKind::kFloorDiv: {
      const auto left = lower_bound(*atom.left);
      const auto right = DimBuilder::make(*atom.right).constant();
      if (!left || !right || *right <= 0) return std::nullopt;
      return floordiv(Dim(*left), Dim(*right)).constant();
    }
    case AtomKind::kMin: {
      const auto left = lower_bound(*atom.left), right = lower_bound(*atom.right);
      return left && right ? std::optional(std::min(*left, *right)) : std::nullopt;
    }
    case AtomKind::kMax: {
      const auto left = lower_bound(*atom.left), right = lower_bound(*atom.right);
      return left && right ? std::optional(std::max(*left, *right)) : left ? left : right;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> lower_bound(const Polynomial& polynomial) {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : polynomial) {
    if (coefficient < 0 && !monomial.empty()) return std::nullopt;
    int64_t product = coefficient;
    for (const auto& [atom, power] : monomial) {
      const auto bound = lower_bound(atom);
      if (!bound || *bound < 0) return std::nullopt;
      for (int i = 0; i < power; ++i) {
        if (__builtin_mul_overflow(product, *bound, &product)) return std::nullopt;
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

void collect_symbols(const Polynomial& polynomial, std::set<std::string>& names) {
  for (const auto& [monomial, coefficient] : polynomial) {
    for (const auto& [atom, power] : monomial) {
      if (atom.kind == AtomKind::kSymbol) {
        names.insert(atom.name);
      } else {
        collect_symbols(*atom.left, names);
        collect_symbols(*atom.right, names);
      }
    }
  }
}

std::string print(const Polynomial& polynomial) {
  if (polynomial.empty()) return "0";
  std::string text;
  const auto append = [&](const Monomial& monomial, int64_t coefficient) {
    const bool negative = coefficient < 0;
    if (!text.empty())
      text += negative ? " - " : " + ";
    else if (negative)
      text += "-";
    const uint64_t magnitude =
        negative ? uint64_t{0} - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    bool first = true;
    if (magnitude != 1 || monomial.empty()) {
      text += fmt::format("{}", magnitude);
      first = false;
    }
    for (const auto& [atom, power] : monomial) {
      for (int i = 0; i < power; ++i) {
        if (!first) text += "*";
        text += print(atom);
        first = false;
      }
    }
  };
  for (const auto& [monomial, coefficient] : polynomial) {
    if (!monomial.empty()) append(monomial, coefficient);
  }
  if (const auto constant = polynomial.find(Monomial{}); constant != polynomial.end())
    append({}, constant->second);
  return text;
}

}  // namespace vernier
