// A note says what import found wrong in a model and worked around, as onnx tells it and reports show it.
#pragma once

#include <string>

namespace vernier {

struct ImportNote {
  std::string rule;     // a rule of docs/hazards.md, e.g. "S1-declared-type"
  std::string node;     // empty: about the model as a whole
  std::string message;  // what is there, and what it is taken for
  std::string remedy;
};

}  // namespace vernier
