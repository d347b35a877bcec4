// Converting models to newer opsets of ai.onnx.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Writes every node of ai.onnx, those of regions included, as one opset has it: `version`, or the newest that
// the model or a node of it has. Attributes that became inputs become constants, defaults that changed are
// written out. The model computes the same, bit for bit. Types must be inferred before, and are to be
// inferred again. Throws unsupported, naming the node, for a meaning that the newer opset has no words for.
void raise_opset(Model& model, int64_t version);

// The IR version that came with an opset of ai.onnx: files that import the opset have this one or a newer.
int64_t ir_version_of_opset(int64_t opset);

}  // namespace vernier
