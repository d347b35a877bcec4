// A trace holds what one run of one runner on one sample yielded. Everything that judges reads traces and
// nothing else.
#pragma once

#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct TraceEntry {
  std::string value;  // the name of the value in the ONNX model
  Datum datum;
  bool is_output = false;  // an output of the model; else an inner value that was asked for
  ElementType declared = ElementType::kUndefined;  // the model's type; a reference may deliver double instead
  std::vector<std::string> nodes;                  // the ONNX nodes that made it
};

struct Trace {
  std::string runner;  // as the user named it, e.g. "reference", "onnxruntime"
  std::string run_id;  // unique among the runs of one command
  size_t sample = 0;
  std::vector<TraceEntry> entries;  // in execution order
  std::vector<std::string> notes;   // what changed the run, e.g. "taps added outputs to the graph"
  double unit_roundoff = 0;         // the largest of all roundings on the way, from the reference

  const TraceEntry* find(std::string_view value) const {
    for (const TraceEntry& entry : entries) {
      if (entry.value == value) return &entry;
    }
    return nullptr;
  }
};

}  // namespace vernier
