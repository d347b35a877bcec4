#include "vernier/ops/tf32.h"

namespace vernier::ops {

bool may_round_to_tf32(const Node& node) {
  return node.find_attribute(kTf32Attribute) != nullptr;
}

void let_round_to_tf32(Node& node) {
  node.attributes.insert_or_assign(kTf32Attribute, Attribute(int64_t{1}));
}

}  // namespace vernier::ops
