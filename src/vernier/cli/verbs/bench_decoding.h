// `bench --decode`: tokens one by one behind a prompt.
#pragma once

#include <CLI/CLI.hpp>

#include "vernier/bench/decoding.h"
#include "vernier/data/input_shapes.h"
#include "vernier/report/bench_report.h"

namespace vernier {

class DecodingArguments {
 public:
  void declare(CLI::App& app);
  bool given() const { return options_.tokens > 0; }
  // Gives the sizes of the token in the middle, for which an engine is built and measured as for any sample.
  // `shapes`, if there are any, say how large batches are.
  InputShapes sizes_of_a_token(const Model& model, const std::vector<InputShapes>& shapes) const;
  // Makes data of that token choose the decoder with a past, where there are two in the model.
  static void choose_branch(const Model& model, NamedData& inputs);
  BenchReport::Decoding measure(const std::shared_ptr<const Engine>& engine, const Model& model,
                                const std::vector<InputShapes>& shapes, uint64_t seed) const;

 private:
  DecodingOptions options_{.tokens = 0};
};

}  // namespace vernier
