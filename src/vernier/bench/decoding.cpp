#include "vernier/bench/decoding.h"

#include <array>
#include <chrono>

#include "vernier/base/threads.h"
#include "vernier/bench/merged_decoder.h"
#include "vernier/engine/engine_device.h"
#include "vernier/engine/session.h"
#include "vernier/exec/bind_inputs.h"
#include "vernier/exec/device/resident_cache.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

namespace {

// One text, whose caches lie where the engine computes.
class Decoder {
 public:
  Decoder(const std::shared_ptr<const Engine>& engine, const DecoderSizes& sizes, int64_t capacity)
      : engine_(engine), graph_(engine->graph()), sizes_(sizes), session_(engine) {
    const EngineDevice device = preferred_device(*engine);
    for (const auto& [input, output] : sizes.caches()) {
      if (sizes.merged()) break;  // what an If makes lies where its branch has put it
      caches_.push_back({input, output, capacity, device.number});
      const TensorType& type = graph_.inputs[input]->type.tensor;
      Dims dims = sizes.at(0, 1).at(graph_.inputs[input]->name);
      dims[dims.size() - 2] = capacity;
      memory_.emplace_back(*device.device, type.element, std::move(dims));
    }
    rows_.assign(sizes.caches().size(), 0);
  }

  void begin() {
    std::fill(rows_.begin(), rows_.end(), 0);
    kept_.clear();
  }

  // Seconds of a run with data for `added` rows.
  double run(int64_t added, const std::function<NamedData(const DecoderSizes::Sizes&)>& draw) {
    using Clock = std::chrono::steady_clock;
    auto wanted = sizes_.at(rows_.front(), added);
    const auto without_rows = [&](size_t input) {
      Dims& dims = wanted[graph_.inputs[input]->name];
      dims[dims.size() - 2] = 0;
    };
    for (const auto& cache : sizes_.caches()) without_rows(cache.input);
    for (const auto& each : handed()) without_rows(each.input);
    auto inputs = bind_inputs(graph_, draw(wanted));
    for (const auto& [input, tensor] : kept_) inputs[input] = tensor;
    if (sizes_.merged()) choose_branch(inputs);
    for (size_t i = 0; i < caches_.size(); ++i) inputs[caches_[i].input] = memory_[i].rows(rows_[i]);
    for (const size_t mask : sizes_.masks()) {
      const Tensor& drawn = inputs[mask].as_tensor();
      inputs[mask] = Tensor::from_doubles(drawn.type(), drawn.dims(),
                                          std::vector<double>(static_cast<size_t>(drawn.size()), 1));
    }
    RunOptions options;
    options.bindings = caches_;
    if (!sizes_.merged()) options.cached_rows = rows_;
    // A run reads what the one before has made, so they write to different places.
    auto& outputs = outputs_[turn_ = 1 - turn_];
    const auto start = Clock::now();
    session_.run(inputs, outputs, options);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (sizes_.merged()) keep(outputs, added);
    last_ = std::move(inputs);
    return seconds;
  }

  // Counts, of the last run, the outputs that a step makes in the cache, beside those that are copied there.
  size_t appended() const {
    if (sizes_.merged()) return 0;
    const auto plan = engine_->plans().program(thread_count()).plan(last_, caches_);
    return static_cast<size_t>(std::count_if(caches_.begin(), caches_.end(), [&](const MemoryBinding& cache) {
      return std::any_of(plan->steps.begin(), plan->steps.end(), [&](const Step& step) {
        return step.node != nullptr &&
               std::count(step.outputs.begin(), step.outputs.end(), plan->outputs[cache.output]) > 0;
      });
    }));
  }

 private:
  std::vector<MergedDecoder::Handed> handed() const {
    return sizes_.merged() ? sizes_.merged()->handed : std::vector<MergedDecoder::Handed>();
  }

  void choose_branch(std::vector<Datum>& inputs) const {
    const MergedDecoder& merged = *sizes_.merged();
    const Tensor& drawn = inputs[merged.chooses].as_tensor();
    const bool has_past = rows_.front() > 0;
    inputs[merged.chooses] = Tensor::from_doubles(
        drawn.type(), drawn.dims(), std::vector<double>{has_past == merged.with_past ? 1.0 : 0.0});
  }

  // Keeps what the next run reads: caches that have grown, and what the first run made of an encoder.
  void keep(const std::vector<Datum>& outputs, int64_t added) {
    for (const auto& each : handed()) {
      const Tensor& made = outputs[each.output].as_tensor();
      if (rows_.front() == 0)
        kept_[each.input] = Tensor::from_doubles(made.type(), made.dims(), made.to_doubles());
    }
    for (const auto& cache : sizes_.caches()) kept_[cache.input] = outputs[cache.output].as_tensor();
    for (int64_t& rows : rows_) rows += added;
  }

  std::shared_ptr<const Engine> engine_;
  const Graph& graph_;
  const DecoderSizes& sizes_;
  Session session_;
  std::vector<MemoryBinding> caches_;
  std::vector<ResidentCache> memory_;
  std::vector<int64_t> rows_;
  std::map<size_t, Tensor> kept_;  // of a merged decoder, by input
  std::array<std::vector<Datum>, 2> outputs_;
  size_t turn_ = 0;
  std::vector<Datum> last_;
};

}  // namespace

DecoderSizes::DecoderSizes(const Graph& graph, SymbolValues given)
    : graph_(graph), given_(std::move(given)), merged_(find_merged_decoder(graph)) {
  presents_.assign(graph.outputs.begin(), graph.outputs.end());
  if (merged_) presents_ = merged_->presents;
  find_caches();
  if (caches_.empty())
    throw unsupported(
        "no output of this model puts rows behind those of an input: it is no decoder with a cache");
  find_rows();
  settle_other_sizes();
  find_masks();
}

// A node that makes several caches, as attention does, names the presents in the order of the pasts. Of the
// inputs of a Concat the past comes first: new rows are put behind it.
void DecoderSizes::find_caches() {
  for (size_t output = 0; output < graph_.outputs.size(); ++output) {
    const Value& present = *presents_[output];
    if (present.producer() == nullptr) continue;
    std::vector<size_t> pasts;
    for (const Value* read : present.producer()->inputs) {
      const auto found = std::find(graph_.inputs.begin(), graph_.inputs.end(), read);
      if (read != nullptr && found != graph_.inputs.end() && continues(present, *read))
        pasts.push_back(static_cast<size_t>(found - graph_.inputs.begin()));
    }
    size_t before = 0;
    for (const Value* made : present.producer()->outputs) {
      if (made == &present) break;
      if (made != nullptr && !pasts.empty() && continues(*made, *graph_.inputs[pasts.front()])) ++before;
    }
    if (before < pasts.size() && std::none_of(caches_.begin(), caches_.end(), [&](const Cache& cache) {
          return cache.input == pasts[before];
        }))
      caches_.push_back({pasts[before], output});
  }
}

// Finds the names of the rows that are there and that come. A model may say how many come by one of its
// sizes, or how many there are then: so GroupQueryAttention does, whose present has the larger of past and
// total.
void DecoderSizes::find_rows() {
  const auto refuse = [](const std::string& why) {
    return unsupported("the caches of this model cannot be followed: {}", why);
  };
  for (const Cache& cache : caches_) {
    const Shape& past = *graph_.inputs[cache.input]->type.tensor.shape;
    const Dim rows = past[rows_axis(past)];
    if (!rows.is_symbol()) throw refuse(fmt::format("one has {} rows before a run", rows.text()));
    if (!past_.empty() && past_ != rows.text())
      throw refuse(fmt::format("they have {} and {} rows", past_, rows.text()));
    past_ = rows.text();
    for (size_t axis = 0; axis < past.size(); ++axis) {
      for (const std::string& symbol : past[axis].symbols()) {
        if (axis != rows_axis(past)) given_.emplace(symbol, 1);
      }
    }
  }
  std::set<std::string> candidates = free_symbols();
  std::erase_if(candidates, [&](const std::string& symbol) { return !adds_by(symbol); });
  if (candidates.size() > 1)
    throw refuse(fmt::format("either of {} may be what rows come by", fmt::join(candidates, ", ")));
  if (!candidates.empty()) {
    added_ = *candidates.begin();
  } else if (!adds_by("")) {
    const Shape& present = *presents_[caches_.front().output]->type.tensor.shape;
    throw refuse(fmt::format("of {} rows they make {}", past_, present[rows_axis(present)].text()));
  }
}

// Whether every cache grows by the size of this name, where all others that are free are those of all rows
// together; "": by one.
bool DecoderSizes::adds_by(const std::string& symbol) const {
  constexpr int64_t kPast = 7;
  const int64_t added = symbol.empty() ? 1 : 3;
  SymbolValues values = given_;
  for (const std::string& other : free_symbols()) values[other] = kPast + added;
  values[past_] = kPast;
  if (!symbol.empty()) values[symbol] = added;
  return std::all_of(caches_.begin(), caches_.end(), [&](const Cache& cache) {
    const Shape& present = *presents_[cache.output]->type.tensor.shape;
    return present[rows_axis(present)].evaluate(values) == kPast + added;
  });
}

// Gives the symbols of inputs whose sizes are neither given nor that of the past.
std::set<std::string> DecoderSizes::free_symbols() const {
  std::set<std::string> free;
  for (const Value* input : graph_.inputs) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (const Dim& dim : *input->type.tensor.shape) free.merge(dim.symbols());
  }
  std::erase_if(free, [&](const std::string& symbol) { return symbol == past_ || given_.contains(symbol); });
  return free;
}

// Sizes of another name are those of all rows together, as of a mask, or others, as of what an encoder made:
// then no cache is as long as they say, and the model takes any.
void DecoderSizes::settle_other_sizes() {
  constexpr int64_t kPast = 3, kOther = 16;
  std::set<std::string> of_rows = {added_};
  for (const Cache& cache : caches_) {
    const Shape& present = *presents_[cache.output]->type.tensor.shape;
    of_rows.merge(present[rows_axis(present)].symbols());
  }
  for (const std::string& symbol : free_symbols()) {
    if (of_rows.contains(symbol)) continue;
    given_[symbol] = kOther;
    if (!takes(at(kPast, 1))) given_.erase(symbol);
  }
}

void DecoderSizes::find_masks() {
  const std::set<std::string> free = free_symbols();
  const Dim all = Dim::symbol(past_) + (added_.empty() ? Dim(1) : Dim::symbol(added_));
  const auto is_of_all_rows = [&](const Dim& dim) {
    return dim == all || (dim.is_symbol() && dim.text() != added_ && free.contains(dim.text()));
  };
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const ValueType& type = graph_.inputs[i]->type;
    if (!type.is_tensor() || !type.tensor.shape) continue;
    const ElementType element = type.tensor.element;
    if ((is_integer(element) || element == ElementType::kBool) &&
        std::any_of(type.tensor.shape->begin(), type.tensor.shape->end(), is_of_all_rows))
      masks_.push_back(i);
  }
}

bool DecoderSizes::takes(const Sizes& sizes) const {
  auto graph = clone(graph_);
  for (Value* input : graph->inputs) input->type.tensor.shape = to_shape(sizes.at(input->name));
  try {
    ops::infer_types(*graph);
  } catch (const Error&) {
    return false;
  }
  return true;
}

DecoderSizes::Sizes DecoderSizes::at(int64_t past, int64_t added) const {
  SymbolValues values = given_;
  values[past_] = past;
  if (!added_.empty()) values[added_] = added;
  Sizes sizes;
  for (const Value* input : graph_.inputs) {
    if (!input->type.is_tensor() || !input->type.tensor.shape)
      throw unsupported("input '{}' is {}: its sizes cannot be followed", input->name, input->type.text());
    Dims& dims = sizes[input->name];
    for (const Dim& dim : *input->type.tensor.shape) {
      for (const std::string& symbol : dim.symbols()) values.emplace(symbol, past + added);
      dims.push_back(*dim.evaluate(values));
    }
  }
  return sizes;
}

DecodingResult time_decoding(const std::shared_ptr<const Engine>& engine, const DecoderSizes& sizes,
                             const DecodingOptions& options,
                             const std::function<NamedData(const DecoderSizes::Sizes&)>& draw) {
  Decoder decoder(engine, sizes, options.prompt + options.tokens);
  const int64_t step = sizes.takes_one_row() ? 1 : options.prompt;
  DecodingResult result;
  for (DecodingTimes* times : {&result.first, &result.again}) {
    decoder.begin();
    for (int64_t row = 0; row < options.prompt; row += step) times->prompt.push_back(decoder.run(step, draw));
    for (int64_t token = 0; token < options.tokens; ++token) times->tokens.push_back(decoder.run(1, draw));
  }
  result.caches = sizes.caches().size();
  result.appended = decoder.appended();
  return result;
}

}  // namespace vernier
