// Named values in a safetensors file. Types that the format lacks (strings, 2- and 4-bit numbers, sequences,
// …) are stored as bytes and described in the metadata: docs/safetensors.md.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vernier/data/formats/safetensors_header.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// A value that is more than a stored tensor.
struct DescribedValue {
  Datum::Kind kind = Datum::Kind::kTensor;
  ElementType type = ElementType::kUndefined;  // kTensor: what the stored bytes are
  Dims dims;
  std::vector<std::string> elements;  // kSequence: their names
};

class SafetensorsFile {
 public:
  // Maps the file; tensors are views of the mapping where type and alignment allow. Throws bad_input for
  // every damage that the header shows; nothing is allocated that the size of the file does not account for.
  static SafetensorsFile open(const std::filesystem::path& path);
  // The same for bytes in memory that `owner` keeps alive.
  SafetensorsFile(std::span<const std::byte> file, std::shared_ptr<const void> owner);

  // The values, in ascending order; what belongs to a sequence is not listed.
  std::vector<std::string> names() const;
  bool contains(const std::string& name) const;
  // Throws bad_input when there is no such value or its content is damaged.
  Datum read(const std::string& name) const;
  std::map<std::string, Datum> read_all() const;
  // Gives what the file says of itself, without the description of the values.
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

 private:
  void parse_description(const std::string& text);
  void check_sequences() const;
  std::set<std::string> all_names() const;
  Datum read_value(const std::string& name) const;
  Tensor read_tensor(const StoredTensor& stored) const;
  Tensor read_bytes_as(const StoredTensor& stored, const DescribedValue& described) const;

  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;
  SafetensorsHeader header_;
  std::map<std::string, DescribedValue> described_;
  std::map<std::string, int> element_uses_;  // names that sequences hold
  std::string path_;                         // for messages; empty in memory
};

// Throws usage_error when the file cannot be written. Tensors are not copied.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Datum>& values,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace vernier
