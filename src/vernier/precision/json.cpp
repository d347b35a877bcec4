#include "vernier/precision/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "vernier/base/error.h"

namespace vernier {

// Takes the events of the library's reader, whose own tree allocates in its destructor.
class JsonReader {
 public:
  using Json = nlohmann::json;
  static constexpr size_t kDeepest = 64;

  explicit JsonReader(JsonValue& root) : root_(root) {}

  bool null() { return add(JsonValue()); }
  bool boolean(bool value) { return add(JsonValue(value)); }
  bool number_integer(int64_t value) { return add(JsonValue(value)); }
  bool number_unsigned(uint64_t value) { return add(JsonValue(value)); }
  bool number_float(double value, const std::string& /*text*/) { return add(JsonValue(value)); }
  bool string(std::string& value) { return add(JsonValue(std::move(value))); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // there is none in texts
  bool start_object(size_t /*members*/) { return open(JsonValue(JsonValue::Members())); }
  bool start_array(size_t /*items*/) { return open(JsonValue(JsonValue::Items())); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    std::get<JsonValue::Members>(open_.back()->value_).emplace_back().first = std::move(name);
    return true;
  }

  bool end_object() {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : std::get<JsonValue::Members>(open_.back()->value_))
      names.push_back(name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) throw bad_input("names '{}' twice", *twice);
    return close();
  }

  bool parse_error(size_t /*position*/, const std::string& /*token*/, const Json::exception& error) {
    throw bad_input("is not JSON: {}", error.what());
  }

 private:
  JsonValue& place() {
    if (open_.empty()) return root_;
    auto& around = open_.back()->value_;
    if (auto* items = std::get_if<JsonValue::Items>(&around)) return items->emplace_back();
    return std::get<JsonValue::Members>(around).back().second;
  }

  bool add(JsonValue value) {
    place() = std::move(value);
    return true;
  }

  bool open(JsonValue value) {
    if (open_.size() >= kDeepest) throw bad_input("nests deeper than {} levels", kDeepest);
    JsonValue& made = place();
    made = std::move(value);
    open_.push_back(&made);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonValue& root_;
  // Open values further out do not move while one in them is open.
  std::vector<JsonValue*> open_;
};

namespace {

void print_string(const std::string& text, std::string& to) {
  to += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') to += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      to += c;
  }
  to += '"';
}

// With a point or an exponent, so that it stays a real.
void print_real(double value, std::string& to) {
  const std::string digits = fmt::format("{}", value);
  to += digits;
  if (digits.find_first_of(".e") == std::string::npos) to += ".0";
}

}  // namespace

JsonValue JsonValue::parse(std::string_view text) {
  JsonValue root;
  JsonReader reader(root);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return root;
}

std::string JsonValue::text() const {
  std::string result;
  print(result);
  return result;
}

void JsonValue::print(std::string& to) const {
  auto separate = [&to, first = true]() mutable {
    if (!std::exchange(first, false)) to += ',';
  };
  if (const auto* value = std::get_if<bool>(&value_)) {
    to += *value ? "true" : "false";
  } else if (const auto* integer = std::get_if<int64_t>(&value_)) {
    to += std::to_string(*integer);
  } else if (const auto* natural = std::get_if<uint64_t>(&value_)) {
    to += std::to_string(*natural);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    print_real(*number, to);
  } else if (const auto* string = std::get_if<std::string>(&value_)) {
    print_string(*string, to);
  } else if (const auto* items = std::get_if<Items>(&value_)) {
    to += '[';
    for (const JsonValue& item : *items) {
      separate();
      item.print(to);
    }
    to += ']';
  } else if (const auto* members = std::get_if<Members>(&value_)) {
    to += '{';
    for (const auto& [name, member] : *members) {
      separate();
      print_string(name, to);
      to += ':';
      member.print(to);
    }
    to += '}';
  } else {
    to += "null";
  }
}

template <class T>
const T& JsonValue::as(const char* kind) const {
  if (const T* value = std::get_if<T>(&value_)) return *value;
  throw bad_input("has {} where {} is needed", text().substr(0, 40), kind);
}

bool JsonValue::boolean() const {
  return as<bool>("true or false");
}

int64_t JsonValue::integer() const {
  const auto* natural = std::get_if<uint64_t>(&value_);
  if (natural == nullptr) return as<int64_t>("an integer");
  if (*natural > uint64_t{INT64_MAX}) throw bad_input("has {}, which is too large", *natural);
  return static_cast<int64_t>(*natural);
}

size_t JsonValue::size() const {
  return as<uint64_t>("an integer from 0 up");
}

int JsonValue::count() const {
  const int64_t value = integer();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw bad_input("has {} where a smaller integer is needed", value);
  return static_cast<int>(value);
}

double JsonValue::real() const {
  if (const auto* integer = std::get_if<int64_t>(&value_)) return static_cast<double>(*integer);
  if (const auto* natural = std::get_if<uint64_t>(&value_)) return static_cast<double>(*natural);
  return as<double>("a number");
}

const std::string& JsonValue::string() const {
  return as<std::string>("a text");
}

const JsonValue::Items& JsonValue::items() const {
  return as<Items>("an array");
}

const JsonValue::Members& JsonValue::members() const {
  return as<Members>("an object");
}

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

const JsonValue& JsonValue::at(std::string_view key) const {
  if (const JsonValue* found = find(key)) return *found;
  throw bad_input("lacks '{}'", key);
}

}  // namespace vernier
