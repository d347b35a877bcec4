#include "vernier/data/formats/json_text.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "vernier/base/error.h"

namespace vernier {

using nlohmann::json;

namespace {

constexpr int kDeepest = 64;

const json& field_of(const json& object, const std::string& field) {
  if (!object.is_object())
    throw bad_input("has {} where an object with '{}' is needed", object.type_name(), field);
  const auto found = object.find(field);
  if (found == object.end()) throw bad_input("lacks the field '{}'", field);
  return *found;
}

// How many bytes follow a lead byte of UTF-8, or -1.
int followers(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xC2 && lead <= 0xDF) return 1;
  if (lead >= 0xE0 && lead <= 0xEF) return 2;
  return lead >= 0xF0 && lead <= 0xF4 ? 3 : -1;
}

}  // namespace

json parse_json(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kDeepest) throw bad_input("nests deeper than {} levels", kDeepest);
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw bad_input("names '{}' twice", parsed.get<std::string>());
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& error) {
    throw bad_input("is not JSON: {}", error.what());
  }
}

std::string json_text(const json& value) {
  try {
    return value.dump();
  } catch (const json::exception&) {
    throw bad_input("a name or text is not UTF-8, which JSON requires");
  }
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int count = followers(lead);
    if (count < 0 || i + static_cast<size_t>(count) >= text.size()) return false;
    for (int k = 1; k <= count; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + static_cast<size_t>(k)]);
      if ((byte & 0xC0) != 0x80) return false;
      // Overlong forms, surrogates, and code points above U+10FFFF.
      const bool outside = (lead == 0xE0 && byte < 0xA0) || (lead == 0xED && byte > 0x9F) ||
                           (lead == 0xF0 && byte < 0x90) || (lead == 0xF4 && byte > 0x8F);
      if (k == 1 && outside) return false;
    }
    i += static_cast<size_t>(count) + 1;
  }
  return true;
}

const json& json_array(const json& object, const std::string& field) {
  const json& value = field_of(object, field);
  if (!value.is_array())
    throw bad_input("has a field '{}' that is no array but {}", field, value.type_name());
  return value;
}

const std::string& json_string(const json& object, const std::string& field) {
  const json& value = field_of(object, field);
  if (!value.is_string())
    throw bad_input("has a field '{}' that is no string but {}", field, value.type_name());
  return value.get_ref<const std::string&>();
}

int64_t json_size(const json& value, const std::string& what) {
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{INT64_MAX};
  if (!fits)
    throw bad_input("has {} where {} needs an integer from 0 up", json_text(value).substr(0, 40), what);
  return value.get<int64_t>();
}

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto kValues = [] {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  return values;
}();

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) text += at + i > bytes.size() ? '=' : kDigits[group >> (18 - 6 * i) & 63];
  }
  return text;
}

std::string decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) throw bad_input("a base64 text of {} characters is incomplete", text.size());
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    uint32_t group = 0;
    for (size_t i = at; i < at + 4; ++i) {
      const int8_t value = i >= text.size() - padding ? 0 : kValues[static_cast<uint8_t>(text[i])];
      if (value < 0) throw bad_input("a base64 text has a wrong character at {}", i);
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(group >> shift & 0xff);
  }
  const size_t size = bytes.size() - padding;
  if (bytes.find_first_not_of('\0', size) != std::string::npos)
    throw bad_input("a base64 text has bits behind its end");
  bytes.erase(size);
  return bytes;
}

}  // namespace vernier
