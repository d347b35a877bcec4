#include "vernier/data/formats/safetensors.h"

#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/data/formats/json_text.h"
#include "vernier/tensor/packing.h"

namespace vernier {

using nlohmann::json;

namespace {

constexpr int kDeepestSequence = 32;

size_t alignment_of(ElementType type) {
  return visit_element_type(type, []<class T>(TypeTag<T>) { return alignof(T); });
}

// An element is text, or a list of bytes where those are no UTF-8.
std::string string_of(const json& element) {
  if (element.is_string()) return element.get<std::string>();
  std::string bytes;
  if (!element.is_array()) throw bad_input("has a string element that is neither text nor a list of bytes");
  for (const json& byte : element) {
    const int64_t code = json_size(byte, "a byte");
    if (code > 255) throw bad_input("has the byte {} in a string element", code);
    bytes.push_back(static_cast<char>(code));
  }
  return bytes;
}

DescribedValue described_value(const json& entry) {
  DescribedValue value;
  if (entry.contains("sequence")) {
    value.kind = Datum::Kind::kSequence;
    for (const json& element : json_array(entry, "sequence")) {
      if (!element.is_string()) throw bad_input("is a sequence of something that is no name");
      value.elements.push_back(element.get<std::string>());
    }
  } else if (entry.contains("none")) {
    value.kind = Datum::Kind::kNone;
  } else {
    const std::string& name = json_string(entry, "type");
    const auto type = parse_element_type(name);
    if (!type) throw unsupported("has the unknown type '{}'", name);
    value.type = *type;
    for (const json& dim : json_array(entry, "shape")) value.dims.push_back(json_size(dim, "a shape"));
  }
  return value;
}

// Runs `read` and says in its errors which value of which file they are about.
template <class Read>
auto about(const std::string& path, const std::string& name, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    Error located(error.code(), fmt::format("value '{}' {}", name, error.message()));
    throw path.empty() ? located : located.in_file(path);
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  try {
    const auto file = MappedFile::open(path);
    SafetensorsFile result(file->bytes(), file);
    result.path_ = path.string();
    return result;
  } catch (Error& error) {
    throw error.in_file(path.string());
  }
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> file, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), header_(parse_safetensors_header(file, data_)) {
  if (const auto found = header_.metadata.find(kDescriptionKey); found != header_.metadata.end()) {
    parse_description(found->second);
    header_.metadata.erase(found);
  }
  check_sequences();
}

void SafetensorsFile::parse_description(const std::string& text) {
  const json root = parse_json(text);
  if (!root.is_object()) throw bad_input("has a description of values that is no JSON object");
  for (const auto& [name, entry] : root.items()) {
    const DescribedValue& described = described_[name] =
        about("", name, [&, &entry = entry] { return described_value(entry); });
    for (const std::string& element : described.elements) ++element_uses_[element];
    if (header_.tensors.contains(name) != (described.kind == Datum::Kind::kTensor)) {
      throw bad_input("value '{}' is described and stored as different kinds", name);
    }
  }
}

// Every name belongs to one sequence or to none, and none to itself.
void SafetensorsFile::check_sequences() const {
  size_t reached = 0;
  const std::function<void(const std::string&, int)> visit = [&](const std::string& name, int depth) {
    if (depth > kDeepestSequence)
      throw bad_input("has sequences nested deeper than {} levels", kDeepestSequence);
    ++reached;
    const auto found = described_.find(name);
    if (found == described_.end()) return;
    for (const std::string& element : found->second.elements) {
      if (!header_.tensors.contains(element) && !described_.contains(element)) {
        throw bad_input("lacks '{}', an element of the sequence '{}'", element, name);
      }
      if (element_uses_.at(element) > 1) throw bad_input("uses '{}' as an element twice", element);
      visit(element, depth + 1);
    }
  };
  for (const std::string& name : names()) visit(name, 0);
  if (reached != all_names().size()) throw bad_input("has a sequence that contains itself");
}

std::set<std::string> SafetensorsFile::all_names() const {
  std::set<std::string> names;
  for (const auto& [name, stored] : header_.tensors) names.insert(name);
  for (const auto& [name, described] : described_) names.insert(name);
  return names;
}

std::vector<std::string> SafetensorsFile::names() const {
  std::set<std::string> names = all_names();
  std::erase_if(names, [&](const std::string& name) { return element_uses_.contains(name); });
  return {names.begin(), names.end()};
}

bool SafetensorsFile::contains(const std::string& name) const {
  return !element_uses_.contains(name) && (header_.tensors.contains(name) || described_.contains(name));
}

Datum SafetensorsFile::read(const std::string& name) const {
  return about(path_, name, [&]() -> Datum {
    if (!contains(name)) throw bad_input("is not in the file");
    return read_value(name);
  });
}

std::map<std::string, Datum> SafetensorsFile::read_all() const {
  std::map<std::string, Datum> values;
  for (const std::string& name : names()) values[name] = read(name);
  return values;
}

Datum SafetensorsFile::read_value(const std::string& name) const {
  const auto found = described_.find(name);
  if (found == described_.end()) return read_tensor(header_.tensors.at(name));
  switch (found->second.kind) {
    case Datum::Kind::kNone: return Datum::none();
    case Datum::Kind::kTensor: return read_bytes_as(header_.tensors.at(name), found->second);
    case Datum::Kind::kSequence: break;
  }
  std::vector<Datum> elements;
  for (const std::string& element : found->second.elements) elements.push_back(read_value(element));
  return Datum::of_sequence(std::move(elements));
}

Tensor SafetensorsFile::read_tensor(const StoredTensor& stored) const {
  const auto bytes = data_.subspan(stored.begin, stored.end - stored.begin);
  const bool as_in_memory = element_bits(stored.type) >= 8 && stored.type != ElementType::kBool;
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignment_of(stored.type) == 0;
  if (as_in_memory && aligned) return Tensor::borrow(stored.type, stored.dims, bytes.data(), owner_);
  return unpack(stored.type, stored.dims, bytes);
}

Tensor SafetensorsFile::read_bytes_as(const StoredTensor& stored, const DescribedValue& described) const {
  if (stored.type != ElementType::kUint8)
    throw bad_input("is stored as {}, not as bytes", element_type_name(stored.type));
  const auto bytes = data_.subspan(stored.begin, stored.end - stored.begin);
  if (described.type != ElementType::kString) return unpack(described.type, described.dims, bytes);
  const json list = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!list.is_array() || list.size() != static_cast<size_t>(element_count(described.dims))) {
    throw bad_input("holds no list of {} strings", element_count(described.dims));
  }
  Tensor tensor(ElementType::kString, described.dims);
  std::transform(list.begin(), list.end(), tensor.mutable_values<std::string>().begin(), string_of);
  return tensor;
}

}  // namespace vernier
