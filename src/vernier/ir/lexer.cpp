#include "vernier/ir/lexer.h"

#include <bit>
#include <cctype>
#include <charconv>

namespace vernier {

namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("_./:-?").find(c) != std::string_view::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void Lexer::skip() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
}

Error Lexer::fault(std::string_view what) const {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < std::min(at_, text_.size()); ++i) {
    ++column;
    if (text_[i] == '\n') ++line, column = 1;
  }
  return bad_input("line {}, column {}: {}", line, column, what);
}

bool Lexer::at_end() {
  skip();
  return at_ == text_.size();
}

bool Lexer::next_is(char c) {
  skip();
  return at_ < text_.size() && text_[at_] == c;
}

bool Lexer::accept(std::string_view token) {
  skip();
  if (text_.substr(at_, token.size()) != token) return false;
  const size_t end = at_ + token.size();
  if (in_word(token.back()) && end < text_.size() && in_word(text_[end])) return false;
  at_ = end;
  return true;
}

void Lexer::expect(std::string_view token) {
  if (!accept(token)) throw fault(fmt::format("expected '{}'", token));
}

std::string Lexer::word() {
  skip();
  const size_t begin = at_;
  while (at_ < text_.size() && in_word(text_[at_])) ++at_;
  if (at_ == begin) throw fault("expected a word");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Lexer::quoted() {
  expect("\"");
  std::string result;
  for (;;) {
    if (at_ >= text_.size()) throw fault("unterminated text");
    const char c = text_[at_++];
    if (c == '"') return result;
    if (c != '\\') {
      result += c;
      continue;
    }
    const char kind = at_ < text_.size() ? text_[at_++] : '\0';
    if (kind == '"' || kind == '\\') {
      result += kind;
    } else if (kind == 'x' && at_ + 2 <= text_.size() && hex_digit(text_[at_]) >= 0 &&
               hex_digit(text_[at_ + 1]) >= 0) {
      result += static_cast<char>(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1]));
      at_ += 2;
    } else {
      throw fault("unknown escape");
    }
  }
}

int64_t Lexer::integer() {
  skip();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) throw fault("expected an integer of 64 bits");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

float Lexer::real() {
  skip();
  if (text_.substr(at_, 2) == "0x") {
    uint32_t bits = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_ + 2, text_.data() + text_.size(), bits, 16);
    if (error != std::errc()) throw fault("expected the bits of a float");
    at_ = static_cast<size_t>(end - text_.data());
    return std::bit_cast<float>(bits);
  }
  float value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) throw fault("expected a float");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

std::string_view Lexer::bracketed() {
  const size_t begin = at_;
  int open = 1;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '[' || text_[at_] == '(') ++open;
    if (text_[at_] == ']' || text_[at_] == ')') --open;
    if (open == 0) return text_.substr(begin, at_++ - begin);
  }
  throw fault("unterminated bracket");
}

std::string_view Lexer::until_any(std::string_view stops) {
  skip();
  const size_t begin = at_;
  int open = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (open == 0 && stops.find(c) != std::string_view::npos) break;
    if (c == '[' || c == '(') ++open;
    if (c == ']' || c == ')') --open;
  }
  return text_.substr(begin, at_ - begin);
}

void Lexer::enter() {
  if (++depth_ > 100) throw fault("nesting is too deep");
}

}  // namespace vernier
