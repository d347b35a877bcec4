#include "vernier/data/random/size_sums.h"

#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

namespace {

// Whether every operator takes what it gets at these sizes, as far as inference tells.
bool fit(const Model& model, const SymbolValues& sizes) {
  const auto graph = clone(*model.graph);
  for (Value* input : graph->inputs) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (Dim& dim : *input->type.tensor.shape) {
      if (const auto size = dim.evaluate(sizes)) dim = Dim(*size);
    }
  }
  try {
    ops::infer_types(*graph);
    return true;
  } catch (const Error& error) {
    return error.code() != ErrorCode::kBadInput;
  }
}

std::vector<SizeSum> candidates(const std::vector<std::string>& symbols) {
  std::vector<SizeSum> sums;
  for (const std::string& total : symbols) {
    for (size_t i = 0; i < symbols.size(); ++i) {
      for (size_t j = i + 1; j < symbols.size(); ++j) {
        if (symbols[i] != total && symbols[j] != total) sums.push_back({total, symbols[i], symbols[j]});
      }
    }
  }
  return sums;
}

}  // namespace

std::vector<SizeSum> size_sums(const Model& model, const SymbolValues& usual,
                               const std::vector<std::string>& symbols) {
  constexpr size_t kMostSymbols = 6;  // of which there are 60 sums
  if (symbols.size() < 3 || symbols.size() > kMostSymbols || fit(model, usual)) return {};
  const auto sums = candidates(symbols);
  const auto fits_with = [&](const std::vector<SizeSum>& chosen) {
    SymbolValues sizes = usual;
    for (const SizeSum& sum : chosen) sum.apply(sizes);
    return fit(model, sizes);
  };
  for (const SizeSum& sum : sums) {
    if (fits_with({sum})) return {sum};
  }
  // The same two may add up under two names: those of a mask, and of a bias.
  for (const SizeSum& one : sums) {
    for (const SizeSum& other : sums) {
      if (one.total < other.total && one.first == other.first && one.second == other.second &&
          fits_with({one, other}))
        return {one, other};
    }
  }
  return {};
}

}  // namespace vernier
