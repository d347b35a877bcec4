// JSON from outside as a tree that allocates nothing when it dies, so that it can be read where memory may
// run out at any point.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vernier {

// Every function that asks for a kind that the value does not have throws bad_input.
class JsonValue {
 public:
  using Items = std::vector<JsonValue>;
  using Members = std::vector<std::pair<std::string, JsonValue>>;  // in the order of the text

  JsonValue() = default;  // null
  // Throws bad_input for what is not JSON in UTF-8, nests deeper than 64 levels, or names a key of an object
  // twice.
  static JsonValue parse(std::string_view text);
  // One line, which parses to the same.
  std::string text() const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_array() const { return std::holds_alternative<Items>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool boolean() const;
  int64_t integer() const;
  size_t size() const;  // an integer from 0 up
  int count() const;    // one that fits an int
  double real() const;  // integers, too
  const std::string& string() const;
  const Items& items() const;
  const Members& members() const;
  // Looks up a member of an object. Null if it has no such member; at() throws bad_input then.
  const JsonValue* find(std::string_view key) const;
  const JsonValue& at(std::string_view key) const;

 private:
  friend class JsonReader;
  template <class T>
  explicit JsonValue(T value) : value_(std::move(value)) {}
  template <class T>
  const T& as(const char* kind) const;
  void print(std::string& to) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Items, Members> value_;
};

}  // namespace vernier
