#include "vernier/base/error.h"

#include "vernier/base/error_advice.h"

namespace vernier {

Error& Error::in_file(const std::string& file) {
  if (file_.empty()) file_ = file;
  compose();
  return *this;
}

Error& Error::at_node(const std::string& node) {
  if (node_.empty()) node_ = node;
  compose();
  return *this;
}

Error& Error::advise(const std::string& advice) {
  if (advice_.empty()) advice_ = advice;
  compose();
  return *this;
}

std::string advice_of(const Error& error) {
  Error without(error.code(), error.message());
  without.in_file(error.file()).at_node(error.node());
  const std::string_view text = error.what(), head = without.what();
  // compose() puts this behind the rest: " (advice)".
  return text.size() == head.size()
             ? ""
             : std::string(text.substr(head.size() + 2, text.size() - head.size() - 3));
}

void Error::compose() {
  text_.clear();
  if (!file_.empty()) text_ += file_ + ": ";
  if (!node_.empty()) text_ += "node '" + node_ + "': ";
  text_ += message_;
  if (!advice_.empty()) text_ += " (" + advice_ + ")";
}

}  // namespace vernier
