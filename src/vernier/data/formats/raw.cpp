#include "vernier/data/formats/raw.h"

#include "vernier/base/file.h"
#include "vernier/tensor/packing.h"

namespace vernier {

Tensor read_raw_file(const std::filesystem::path& path, const std::string& input, ElementType type,
                     const Dims& dims) {
  if (type == ElementType::kString) {
    throw unsupported("input '{}' holds strings, which a raw file cannot", input)
        .in_file(path)
        .advise("use .npy or .npz");
  }
  return read_mapped(path, [&](auto bytes) {
    const size_t expected = packed_size(type, element_count(dims));
    if (bytes.size() != expected) {
      throw bad_input("input '{}' is {}{}, which takes {} bytes, but the file has {} bytes", input,
                      element_type_short_name(type), dims_text(dims), expected, bytes.size())
          .in_file(path)
          .advise("raw data must have the element type and the sizes of the input exactly");
    }
    return unpack(type, dims, bytes);
  });
}

}  // namespace vernier
