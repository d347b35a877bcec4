#include "vernier/data/random/shape_choices.h"

#include <algorithm>
#include <array>

#include "vernier/data/input_shapes.h"
#include "vernier/data/random/lower_case.h"
#include "vernier/data/random/size_judge.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

namespace {

// In the units of SizeJudge: about a second of the reference on two cores.
constexpr double kBearableWork = 1e10;
// All attempts together have this limit, because a model may refuse each for a reason that has nothing to do
// with sizes, and say so late. Sizes that grow to what is bearable, linearly or faster, stay below it.
constexpr double kBearableSearch = 3 * kBearableWork;

enum class Axis : uint8_t { kBatch, kSequence, kSide, kOther };

// For each choice and meaning, sizes in the order in which they are tried.
struct Choice {
  std::vector<int64_t> batch, sequence, side, other;

  int64_t size(Axis axis, size_t attempt) const {
    const auto& sizes = axis == Axis::kBatch      ? batch
                        : axis == Axis::kSequence ? sequence
                        : axis == Axis::kSide     ? side
                                                  : other;
    return sizes[std::min(attempt, sizes.size() - 1)];
  }
  size_t attempts() const { return std::max({batch.size(), sequence.size(), side.size(), other.size()}); }
};

const std::array<Choice, 4> kChoices = {{
    {{1},
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384},
     {1, 8, 16, 32, 64, 96, 128, 192, 224, 256, 384, 512, 640},
     {1, 2, 4, 8, 16, 32, 64}},
    {{8}, {16, 32, 64, 128, 256, 512, 1024, 4096, 16384}, {224, 256, 320, 384, 512, 640}, {8, 16, 32, 64}},
    {{16}, {128, 512, 1024, 4096, 16384}, {256, 384, 512, 640}, {32, 64}},
    {{3}, {7, 17, 33, 65, 129, 257, 513, 1025, 4097}, {7, 17, 33, 65, 97, 129, 225, 257, 513}, {7, 17, 33}},
}};

Axis meaning_of(const std::string& symbol, const Shape& shape, size_t axis) {
  const std::string name = lower_case(symbol);
  const auto contains_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return name.find(word) != std::string::npos; });
  };
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), name) != words.end();
  };
  if (contains_one_of({"batch"}) || is_one_of({"n", "b", "bs"})) return Axis::kBatch;
  if (shape.size() <= 4 && (contains_one_of({"height", "width"}) || is_one_of({"h", "w"})))
    return Axis::kSide;
  if (contains_one_of({"seq", "len", "time", "token", "frame"}) || is_one_of({"t", "s", "l"}))
    return Axis::kSequence;
  if (axis == 0) return Axis::kBatch;
  const auto first = shape.front().constant();
  const bool recurrent_state =
      shape.size() == 3 && axis == 1 && first && *first >= 2 && shape.back().is_constant();
  if (recurrent_state) return Axis::kBatch;  // [layers, batch, features]
  if (shape.size() <= 3) return Axis::kSequence;
  if (shape.size() >= 5) return Axis::kOther;  // volumes as wide as images would be too large
  const auto last = shape.back().constant();
  const bool channels_last = last && *last >= 1 && *last <= 4;
  return channels_last || axis >= 2 ? Axis::kSide : Axis::kOther;
}

std::map<std::string, Axis> symbols_by_meaning(const Model& model) {
  std::map<std::string, Axis> meanings;
  for (const Value* input : required_inputs(model)) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    const Shape& shape = *input->type.tensor.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      for (const std::string& symbol : shape[axis].symbols())
        meanings.emplace(symbol, meaning_of(symbol, shape, axis));
    }
  }
  return meanings;
}

// The sizes of one choice, and what operators demand of them.
struct Sizes {
  std::map<std::string, Axis> meanings;
  std::vector<SizeSum> sums;

  explicit Sizes(const Model& model) : meanings(symbols_by_meaning(model)) {
    std::vector<std::string> rows;
    for (const auto& [symbol, axis] : meanings) {
      if (axis != Axis::kBatch) rows.push_back(symbol);
    }
    sums = size_sums(model, at(kChoices[1], 0, 1), rows);
  }

  SymbolValues at(const Choice& choice, size_t attempt, int64_t batch) const {
    SymbolValues values;
    for (const auto& [symbol, axis] : meanings)
      values[symbol] = axis == Axis::kBatch ? batch : choice.size(axis, attempt);
    for (const SizeSum& sum : sums) sum.apply(values);
    return values;
  }
};

// All candidates of one choice, in the order in which they are tried: of each set of sizes the largest batch
// whose work is bearable.
SizeAttempts attempts_of(const Choice& choice, const Sizes& sizes, const SizeJudge& judge) {
  SizeAttempts result;
  double search = 0;
  for (size_t attempt = 0; attempt < choice.attempts(); ++attempt) {
    for (int64_t batch = choice.batch.front(); batch > 0; batch /= 2) {
      SymbolValues values = sizes.at(choice, attempt, batch);
      const auto work = judge.work(values);
      if (!work || *work > kBearableWork) continue;
      if (std::find(result.begin(), result.end(), values) != result.end()) break;
      search += *work;
      if (search > kBearableSearch) return result;
      result.push_back(std::move(values));
      break;
    }
  }
  return result;
}

}  // namespace

std::vector<SizeAttempts> shape_choices(const Model& model) {
  const Sizes sizes(model);
  const SizeJudge judge(*model.graph);
  std::vector<SizeAttempts> choices;
  for (const Choice& choice : kChoices) {
    auto attempts = attempts_of(choice, sizes, judge);
    const auto starts_alike = [&](const SizeAttempts& other) { return other.front() == attempts.front(); };
    if (!attempts.empty() && std::none_of(choices.begin(), choices.end(), starts_alike))
      choices.push_back(std::move(attempts));
  }
  if (!choices.empty()) return choices;
  // Nothing fits, or all is too much work. The smallest that fits may take its time; if none does, the
  // model's own complaint about usual sizes says more than none.
  for (const Choice& choice : {kChoices[0], kChoices[1]}) {
    for (size_t attempt = 0; attempt < choice.attempts(); ++attempt) {
      const SymbolValues values = sizes.at(choice, attempt, 1);
      if (judge.work(values)) return {{values}};
    }
  }
  return {{sizes.at(kChoices[1], 0, kChoices[1].batch.front())}};
}

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
