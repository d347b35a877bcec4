#include "vernier/cli/verbs/bench_decoding.h"

#include <numeric>

#include "vernier/cli/verbs/report_parts.h"
#include "vernier/data/random/random_inputs.h"

namespace vernier {

namespace {

SymbolValues given_symbols(const Model& model, const std::vector<InputShapes>& shapes) {
  return shapes.empty() ? SymbolValues() : symbols_of(model, shapes.front());
}

BenchReport::DecodingPass pass_of(const DecodingTimes& times) {
  const auto seconds = [](const std::vector<double>& each) {
    return std::accumulate(each.begin(), each.end(), 0.0);
  };
  return {1e3 * seconds(times.prompt), static_cast<double>(times.tokens.size()) / seconds(times.tokens),
          in_milliseconds(times.tokens)};
}

}  // namespace

void DecodingArguments::declare(CLI::App& app) {
  auto* tokens =
      app.add_option("--decode", options_.tokens,
                     "decode so many tokens one by one, the keys and values of those before in place")
          ->type_name("TOKENS")
          ->check(CLI::PositiveNumber);
  app.add_option("--prompt", options_.prompt, "tokens that --decode begins with")
      ->check(CLI::PositiveNumber)
      ->needs(tokens);
}

InputShapes DecodingArguments::sizes_of_a_token(const Model& model,
                                                const std::vector<InputShapes>& shapes) const {
  return DecoderSizes(*model.graph, given_symbols(model, shapes))
      .at(options_.prompt + options_.tokens / 2, 1);
}

void DecodingArguments::choose_branch(const Model& model, NamedData& inputs) {
  const auto merged = find_merged_decoder(*model.graph);
  if (!merged) return;
  Datum& flag = inputs.at(model.graph->inputs[merged->chooses]->name);
  flag = Tensor::from_doubles(flag.tensor.type(), flag.tensor.dims(),
                              std::vector<double>{merged->with_past ? 1.0 : 0.0});
}

BenchReport::Decoding DecodingArguments::measure(const std::shared_ptr<const Engine>& engine,
                                                 const Model& model, const std::vector<InputShapes>& shapes,
                                                 uint64_t seed) const {
  const DecoderSizes sizes(engine->graph(), given_symbols(model, shapes));
  const auto draw = [&](const DecoderSizes::Sizes& wanted) {
    return RandomInputs(model, {seed, 1, {}, {wanted}}).next()->inputs;
  };
  const DecodingResult result = time_decoding(engine, sizes, options_, draw);
  return {options_.prompt, options_.tokens,       result.caches,
          result.appended, pass_of(result.first), pass_of(result.again)};
}

}  // namespace vernier
