#include <cctype>

#include "vernier/base/error.h"
#include "vernier/tensor/dim.h"

namespace vernier {

namespace {

// Recursive descent over: sum := product (('+' | '-') product)*, product := factor ('*' factor)*,
// factor := integer | symbol | `quoted symbol` | function '(' sum ',' sum ')' | '(' sum ')' | '-' factor
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Dim parse() {
    const Dim result = sum();
    skip_spaces();
    if (at_ != text_.size()) throw fault("unexpected text");
    return result;
  }

 private:
  Error fault(const char* what) const {
    return bad_input("dimension '{}': {} at position {}", text_, what, at_);
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw fault(fmt::format("expected '{}'", c).c_str());
  }

  Dim sum() {
    Dim result = product();
    for (;;) {
      if (accept('+'))
        result = result + product();
      else if (accept('-'))
        result = result - product();
      else
        return result;
    }
  }

  Dim product() {
    Dim result = factor();
    while (accept('*')) result = result * factor();
    return result;
  }

  Dim factor() {
    if (++depth_ > 200) throw fault("nesting is too deep");
    const Dim result = primary();
    --depth_;
    return result;
  }

  Dim primary() {
    if (accept('-')) return Dim(0) - factor();
    if (accept('(')) {
      const Dim inside = sum();
      expect(')');
      return inside;
    }
    if (accept('`')) {
      const size_t end = text_.find('`', at_);
      if (end == std::string_view::npos) throw fault("unterminated `");
      const Dim result = Dim::symbol(text_.substr(at_, end - at_));
      at_ = end + 1;
      return result;
    }
    skip_spaces();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return integer();
    return name();
  }

  Dim integer() {
    int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        throw fault("integer is too large");
      }
      ++at_;
    }
    return value;
  }

  Dim name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view("_.?:/").find(text_[at_]) != std::string_view::npos)) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) throw fault("expected a dimension");
    if (word != "min" && word != "max" && word != "floordiv") return Dim::symbol(word);
    expect('(');
    const Dim left = sum();
    expect(',');
    const Dim right = sum();
    expect(')');
    if (word == "min") return min(left, right);
    return word == "max" ? max(left, right) : floordiv(left, right);
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dim Dim::parse(std::string_view text) {
  return DimParser(text).parse();
}

}  // namespace vernier
