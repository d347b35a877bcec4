#include "target.h"
#include "vernier/onnx/data_file.h"

// The first byte chooses what the rest is read as.
VERNIER_FUZZ_TARGET([](auto bytes, auto) {
  using Kind = vernier::ValueType::Kind;
  if (bytes.empty()) return;
  static constexpr Kind kKinds[] = {Kind::kTensor, Kind::kSequence, Kind::kOptional};
  vernier::read_pb(bytes.subspan(1), kKinds[static_cast<unsigned>(bytes[0]) % 3]);
})
