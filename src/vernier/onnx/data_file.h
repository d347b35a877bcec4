// ONNX's own data files: one protobuf tensor, sequence or optional each (test_data_set_*/input_N.pb).
#pragma once

#include <filesystem>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The bytes do not say what they hold; `type` does. Throws bad_input when they are damaged or of another
// kind. The element type and sizes in the file are returned as they are: whether they fit is the caller's
// question.
Datum read_pb(std::span<const std::byte> bytes, ValueType::Kind kind);
Datum read_pb_file(const std::filesystem::path& path, ValueType::Kind kind);
void write_pb_file(const std::filesystem::path& path, const Datum& datum, const std::string& name);

}  // namespace vernier
