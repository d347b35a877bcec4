#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

bool write_clip(Replacement& node) {
  const Node& clip = node.node();
  if (clip.op != "Clip") return false;
  const auto bound = [&](size_t index, const char* attribute) -> Value* {
    if (Value* given = clip.input(index); given != nullptr) return given;
    const Attribute* held = clip.find_attribute(attribute);
    return held == nullptr ? nullptr : node.scalar(held->get<float>());
  };
  Value* low = bound(1, "min");
  Value* high = bound(2, "max");
  if (low == nullptr && high == nullptr) return false;
  Value* result = clip.input(0);
  if (low != nullptr) result = node("Max", {result, low});
  if (high != nullptr) node("Min", {result, high});
  return true;
}

}  // namespace vernier
