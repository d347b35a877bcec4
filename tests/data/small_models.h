// Models of a few nodes, written as IR text.
#pragma once

#include <string>
#include <vector>

#include "vernier/ir/text.h"

namespace vernier {

// `inputs` as in "%x: f32[N, 3], %y: i64[]"; `nodes` as in "%z: f32[N, 3] = Relu(%x)"; `outputs` as in "%z".
inline Model small_model(const std::string& inputs, const std::vector<std::string>& nodes = {},
                         const std::string& outputs = "", const std::vector<std::string>& constants = {}) {
  std::string text = "model ir=8 opset \"\" 17 { graph \"main\" (" + inputs + ") -> (" + outputs + ") {\n";
  for (const std::string& constant : constants) text += "const " + constant + "\n";
  for (size_t i = 0; i < nodes.size(); ++i) {
    const size_t regions = std::min(nodes[i].find(" regions"), nodes[i].size());
    text += nodes[i].substr(0, regions) + " version 17 @\"n" + std::to_string(i) + "\" from [\"n" +
            std::to_string(i) + "\"]" + nodes[i].substr(regions) + "\n";
  }
  return parse_model(text + "} }");
}

}  // namespace vernier
