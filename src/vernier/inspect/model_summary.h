// Summarises what a model is made of, for people (`inspect`) and for reports.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/onnx/import.h"

namespace vernier {

struct ValueSummary {
  std::string name, type;  // "f32[N, 3, 224, 224]"
};

struct WeightSummary {
  std::string name, type;
  int64_t elements = 0;
  size_t bytes = 0;
  double min = 0, max = 0;  // of the finite elements; numbers only
  int64_t zeros = 0;
  int64_t subnormal = 0;  // below the normal range of the tensor's own type
  int64_t not_finite = 0;
};

struct LayerSummary {
  std::string name, op;
  int64_t version = 0;
  std::vector<std::string> inputs, outputs;  // "%name: f32[…]"
  std::vector<std::string> attributes;       // "axis = 1"
  std::optional<double> flops;               // nothing while sizes are symbolic
  std::optional<double> bytes;               // read and written once each
  int depth = 0;                             // of regions around it
};

struct ModelSummary {
  int64_t ir_version = 0;
  std::string producer, hash;
  size_t file_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::vector<ValueSummary> inputs, outputs;
  std::vector<std::string> symbols;          // that the inputs' sizes are made of
  std::map<std::string, int64_t> operators;  // "Conv" -> how many nodes, regions included
  std::map<std::string, int64_t> types;      // "f32" -> how many node outputs
  std::vector<std::string> int64_nodes,
      double_nodes;  // that compute in these types: arithmetic, not shapes alone
  int64_t parameters = 0;
  size_t parameter_bytes = 0;
  std::optional<double> flops;  // of one run; nothing if a layer's are not known
  std::vector<WeightSummary> weights;
  std::vector<LayerSummary> layers;
  std::vector<std::string> notes;
};

ModelSummary summarize(const ImportedModel& model);

// Statistics of one tensor; min, max and the counts stay zero for strings and complex numbers.
WeightSummary summarize_weight(const std::string& name, const Tensor& tensor);

}  // namespace vernier
