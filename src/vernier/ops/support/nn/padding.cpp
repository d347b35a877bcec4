#include "vernier/ops/support/nn/padding.h"

namespace vernier::ops {

namespace {

int64_t mirrored(int64_t index, int64_t length) {
  if (length == 1) return 0;
  const int64_t period = 2 * (length - 1);
  const int64_t at = ((index % period) + period) % period;
  return at < length ? at : period - at;
}
int64_t wrapped(int64_t index, int64_t length) {
  return ((index % length) + length) % length;
}
int64_t nearest(int64_t index, int64_t length) {
  return std::clamp<int64_t>(index, 0, length - 1);
}

}  // namespace

Outside pad_rule(const std::string& mode) {
  if (mode == "reflect") return mirrored;
  if (mode == "wrap") return wrapped;
  if (mode == "edge") return nearest;
  throw bad_input("mode '{}' is none of constant, reflect, edge and wrap", mode);
}

}  // namespace vernier::ops
