// Ranges of the values of a model, from what it computes on data.
#pragma once

#include <functional>
#include <optional>

#include "vernier/calibrate/trial_samples.h"
#include "vernier/data/data_source.h"

namespace vernier {

struct CalibrateOptions {
  RangeChoice range;
  // Instead of the method of `range` the one by whose ranges the outputs of an int8 engine differ least from
  // those of floats, on some of the samples; kMse where that is no clearly worse, or no output is of floats.
  // Not for fp8, which engines do not compute in.
  bool try_methods = false;
  // If positive, weights of MatMul and Gemm become i4 where so many elements or more are summed up, with a
  // scale for each block of so many.
  int64_t weight_block = 0;
  bool all_floats = false;  // all tensors of floats, not only those that int8 needs ranges of
  uint64_t seed = 1;        // of which samples are held out
  // Called before each sample runs, with its number from 1 on and its origin.
  std::function<void(size_t sample, const std::string& origin)> progress = nullptr;
};

struct CalibratedTensor {
  std::string name;
  ScaleEntry entry;          // from all samples
  double low = 0, high = 0;  // what occurred, zero added
  uint64_t values = 0;
  double clipped = 0;  // the share of them that lies outside of the range
  // Half of the samples, drawn by their content, are held out: the share of their values that the range of
  // the others holds. Nothing where either half has no sample.
  std::optional<double> coverage = {};
  // By how much of the larger one the scales of the two parts of the samples differ.
  std::optional<double> spread = {};
  int64_t channels = 0, dead_channels = 0;  // of what convolutions read: dead ones were zero throughout
  bool constant = false;                    // one value occurred
};

struct CalibrationResult {
  RangeChoice range;
  std::vector<MethodTrial> trials;               // of all methods, the best first, where they were tried
  std::vector<CalibratedTensor> tensors;         // in the order of the graph
  std::vector<std::string> warnings;             // what makes the ranges doubtful, a sentence each
  std::map<std::string, int64_t> weight_blocks;  // by ONNX node
  size_t samples = 0, held_out = 0;
  bool interrupted = false;  // then there may be more samples
};

// Hashes the content of a sample, so that neither its place nor its name counts.
uint64_t hash_sample(const NamedData& inputs, uint64_t seed);

// Runs the model once on each sample, until somebody interrupts (base/interruption.h); of what it computes,
// histograms are kept, so memory does not grow with the samples. The result depends neither on the order of
// the samples nor on the number of threads. Throws usage_error where the model has nothing to calibrate,
// bad_input, naming sample and tensor, where a value is NaN or infinite, where there is no sample, and what
// running the model throws.
CalibrationResult calibrate(const Model& model, DataSource& data, const CalibrateOptions& options);

// scales.json (docs/precision.md): schema "vernier-scales", version 1.
std::string scales_json(const CalibrationResult& result, const std::string& model_hash);
// The same for any model, with scales alone.
std::string scales_json(const Scales& scales);
// Gives the scales that plans and caches take.
Scales scales_of(const CalibrationResult& result);

}  // namespace vernier
