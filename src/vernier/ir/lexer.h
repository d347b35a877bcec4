// Tokens of the IR text. Internal to the room.
#pragma once

#include <string>
#include <string_view>

#include "vernier/base/error.h"

namespace vernier {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool at_end();
  // Takes `token` if it comes next; a word must end where it ends.
  bool accept(std::string_view token);
  void expect(std::string_view token);
  std::string word();    // letters, digits, '_', '.', '/', ':', '-', '?'
  std::string quoted();  // "..." with \" \\ \xhh
  bool next_is(char c);
  int64_t integer();
  float real();  // decimal, or the bits as 0x????????
  // The characters up to the closing bracket that matches an opening one just taken; takes the bracket.
  std::string_view bracketed();
  // Everything up to, not with, the first of these characters outside of brackets.
  std::string_view until_any(std::string_view stops);
  Error fault(std::string_view what) const;
  void enter();  // counts nesting; throws when it is too deep
  void leave() { --depth_; }

 private:
  void skip();
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace vernier
