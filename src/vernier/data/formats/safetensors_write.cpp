#include <bit>
#include <list>
#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/data/formats/json_text.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/tensor/packing.h"

namespace vernier {

using nlohmann::json;

namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

std::string strings_as_json(const Tensor& tensor) {
  json list = json::array();
  for (const std::string& text : tensor.values<std::string>()) {
    if (is_utf8(text)) {
      list.push_back(text);
    } else {
      list.push_back(std::vector<uint8_t>(text.begin(), text.end()));
    }
  }
  return json_text(list);
}

class Layout {
 public:
  explicit Layout(const std::map<std::string, Datum>& values) {
    for (const auto& [name, datum] : values) taken_.insert(name);
    for (const auto& [name, datum] : values) add(name, datum);
  }

  void write(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata) {
    // Wide elements first: every tensor is then aligned for its type, as each size divides the ones before.
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.alignment > b.alignment; });
    SafetensorsHeader header;
    header.metadata = metadata;
    if (!description_.empty()) header.metadata[kDescriptionKey] = json_text(description_);
    size_t end = 0;
    std::vector<std::string_view> parts(1);
    for (const Piece& piece : pieces_) {
      const size_t begin = end;
      end += piece.bytes.size();
      header.tensors[piece.name] = {piece.type, piece.dims, begin, end};
      parts.push_back(piece.bytes);
    }
    const std::string head = safetensors_header_bytes(header);
    parts[0] = head;
    write_file(path, parts);
  }

 private:
  struct Piece {
    std::string name;
    ElementType type;
    Dims dims;
    std::string_view bytes;
    size_t alignment;
  };

  void add(const std::string& name, const Datum& datum) {
    if (datum.kind == Datum::Kind::kNone) {
      description_[name] = {{"none", true}};
    } else if (datum.kind == Datum::Kind::kSequence) {
      json elements = json::array();
      const auto& sequence = datum.as_sequence();
      for (size_t i = 0; i < sequence.size(); ++i) {
        const std::string element = unused_name(fmt::format("{}/{}", name, i));
        elements.push_back(element);
        add(element, sequence[i]);
      }
      description_[name] = {{"sequence", std::move(elements)}};
    } else {
      add_tensor(name, datum.as_tensor());
    }
  }

  void add_tensor(const std::string& name, const Tensor& tensor) {
    if (!tensor.is_defined()) throw internal_error("value '{}' has no type", name);
    if (is_classic_safetensors_type(tensor.type())) {
      const auto bytes = tensor.bytes();
      pieces_.push_back({name,
                         tensor.type(),
                         tensor.dims(),
                         {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                         element_size(tensor.type())});
      return;
    }
    const bool text = tensor.type() == ElementType::kString;
    const std::string& bytes = made_.emplace_back(text ? strings_as_json(tensor) : pack(tensor));
    pieces_.push_back({name,
                       ElementType::kUint8,
                       {static_cast<int64_t>(bytes.size())},
                       bytes,
                       text ? 1 : element_size(tensor.type())});
    description_[name] = {{"type", element_type_name(tensor.type())}, {"shape", tensor.dims()}};
  }

  std::string unused_name(std::string name) {
    while (!taken_.insert(name).second) name += '\'';
    return name;
  }

  std::vector<Piece> pieces_;
  std::list<std::string> made_;  // bytes that no tensor holds; a list, so that they stay where they are
  std::set<std::string> taken_;
  json description_ = json::object();
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Datum>& values,
                       const std::map<std::string, std::string>& metadata) {
  Layout(values).write(path, metadata);
}

}  // namespace vernier
