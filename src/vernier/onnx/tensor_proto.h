// Tensors, sequences and optionals in ONNX's protobuf encoding. Internal to the room: this header needs
// protobuf.
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <filesystem>
#include <map>
#include <memory>

#include "vernier/base/file.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Opens each external data file once.
class ExternalData {
 public:
  // `linked`: see resolve_inside.
  explicit ExternalData(std::filesystem::path folder, std::filesystem::path linked = {})
      : folder_(std::move(folder)), linked_(std::move(linked)) {}
  // `size` bytes at `offset` of a file inside the folder. Throws bad_input when they are not there.
  std::span<const std::byte> bytes(const std::string& location, uint64_t offset, uint64_t size,
                                   std::shared_ptr<const void>& owner);
  uint64_t file_size(const std::string& location);

 private:
  std::shared_ptr<const MappedFile> open(const std::string& location);
  std::filesystem::path folder_, linked_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

ElementType element_type_of(int32_t data_type);  // throws bad_input for numbers ONNX does not define
Tensor tensor_of(const onnx::TensorProto& proto, ExternalData& external);
Tensor dense_tensor_of(const onnx::SparseTensorProto& proto, ExternalData& external);
void write_tensor(const Tensor& tensor, onnx::TensorProto& proto);  // raw_data; strings in string_data

ValueType value_type_of(const onnx::TypeProto& proto);
void write_type(const ValueType& type, onnx::TypeProto& proto);

}  // namespace vernier
