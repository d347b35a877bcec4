// com.microsoft MurmurHash3: the 32-bit hash of every element, of its bytes in memory or of its text
// (Appleby, MurmurHash3_x86_32), as UINT32 or, where `positive` is 0, INT32.
#include <bit>
#include <cstring>

#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

uint32_t mixed(uint32_t word) {
  return std::rotl(word * 0xcc9e2d51U, 15) * 0x1b873593U;
}

uint32_t murmur_hash(std::string_view bytes, uint32_t seed) {
  uint32_t hash = seed;
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, 4);
    hash = std::rotl(hash ^ mixed(word), 13) * 5 + 0xe6546b64U;
  }
  uint32_t tail = 0;
  for (size_t i = bytes.size(); i-- > at;) tail = tail << 8 | static_cast<uint8_t>(bytes[i]);
  hash ^= mixed(tail);
  hash ^= static_cast<uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85ebca6bU;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35U;
  return hash ^ hash >> 16;
}

void infer_murmur_hash3(InferContext& context) {
  const bool positive = context.attribute<int64_t>("positive", 1) != 0;
  context.set_output(0, positive ? ElementType::kUint32 : ElementType::kInt32, context.shape(0));
}

void reference_murmur_hash3(ReferenceContext& context) {
  const auto seed = static_cast<uint32_t>(context.attribute<int64_t>("seed", 0));
  const Tensor x = stored_as(context.in(0), context.declared(0));
  std::vector<int64_t> hashes(static_cast<size_t>(x.size()));
  const size_t width = element_size(x.type());
  for (size_t i = 0; i < hashes.size(); ++i) {
    const std::string_view bytes =
        x.type() == ElementType::kString
            ? std::string_view(x.values<std::string>()[i])
            : std::string_view(static_cast<const char*>(x.raw()) + i * width, width);
    hashes[i] = static_cast<int64_t>(murmur_hash(bytes, seed));
  }
  context.store_ints(0, x.dims(), hashes);
}

}  // namespace

void register_murmur_hash3(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "MurmurHash3",
                .operands = {Role::kData},
                .attributes = {{"positive", "INT"}, {"seed", "INT"}},
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_murmur_hash3,
                .reference = reference_murmur_hash3});
}

}  // namespace vernier::ops
