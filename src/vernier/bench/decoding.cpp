#include "vernier/bench/decoding.h"

#include <chrono>

#include "vernier/base/threads.h"
#include "vernier/engine/session.h"
#include "vernier/exec/bind_inputs.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

namespace {

// Nothing where it is no tensor of known rank with rows.
const Shape* shape_with_rows(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape || value.type.tensor.shape->size() < 2)
    return nullptr;
  return &*value.type.tensor.shape;
}

size_t rows_axis(const Shape& shape) {
  return shape.size() - 2;
}

// Whether `present` is `past` with other rows.
bool continues(const Value& present, const Value& past) {
  const Shape *longer = shape_with_rows(present), *shorter = shape_with_rows(past);
  if (longer == nullptr || shorter == nullptr || longer->size() != shorter->size() ||
      present.type.tensor.element != past.type.tensor.element)
    return false;
  for (size_t axis = 0; axis < longer->size(); ++axis) {
    if ((axis == rows_axis(*longer)) == ((*longer)[axis] == (*shorter)[axis])) return false;
  }
  return true;
}

// The memory of the caches of one text.
class Decoder {
 public:
  Decoder(const std::shared_ptr<Engine>& engine, const DecoderSizes& sizes, int64_t capacity)
      : engine_(engine), graph_(engine->graph()), sizes_(sizes), session_(engine) {
    for (const auto& [input, output] : sizes.caches()) {
      caches_.push_back({input, output, capacity});
      const TensorType& type = graph_.inputs[input]->type.tensor;
      Dims dims = sizes.at(0, 1).at(graph_.inputs[input]->name);
      dims[dims.size() - 2] = capacity;
      memory_.emplace_back(type.element, std::move(dims));
    }
    rows_.assign(caches_.size(), 0);
  }

  void begin() { std::fill(rows_.begin(), rows_.end(), 0); }

  // Seconds of a run with data for `added` rows.
  double run(int64_t added, const std::function<NamedData(const DecoderSizes::Sizes&)>& draw) {
    using Clock = std::chrono::steady_clock;
    auto wanted = sizes_.at(rows_.front(), added);
    for (const CacheBinding& cache : caches_) {
      Dims& dims = wanted[graph_.inputs[cache.input]->name];
      dims[dims.size() - 2] = 0;
    }
    auto inputs = bind_inputs(graph_, draw(wanted));
    for (size_t i = 0; i < caches_.size(); ++i) {
      Dims dims = memory_[i].dims();
      dims[dims.size() - 2] = rows_[i];
      inputs[caches_[i].input] = Tensor::borrow(memory_[i].type(), dims, memory_[i].raw(), nullptr);
    }
    for (const size_t mask : sizes_.masks()) {
      const Tensor& drawn = inputs[mask].as_tensor();
      inputs[mask] = Tensor::from_doubles(drawn.type(), drawn.dims(),
                                          std::vector<double>(static_cast<size_t>(drawn.size()), 1));
    }
    RunOptions options;
    options.caches = caches_;
    options.cached_rows = rows_;
    const auto start = Clock::now();
    session_.run(inputs, outputs_, options);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    last_ = std::move(inputs);
    return seconds;
  }

  // Of the last run: outputs that a step makes in the cache, and those that are copied there.
  size_t appended() const {
    const auto plan = engine_->program(thread_count()).plan(last_, caches_);
    return static_cast<size_t>(std::count_if(caches_.begin(), caches_.end(), [&](const CacheBinding& cache) {
      return std::any_of(plan->steps.begin(), plan->steps.end(), [&](const Step& step) {
        return step.node != nullptr &&
               std::count(step.outputs.begin(), step.outputs.end(), plan->outputs[cache.output]) > 0;
      });
    }));
  }

 private:
  std::shared_ptr<Engine> engine_;
  const Graph& graph_;
  const DecoderSizes& sizes_;
  Session session_;
  std::vector<CacheBinding> caches_;
  std::vector<Tensor> memory_;
  std::vector<int64_t> rows_;
  std::vector<Datum> outputs_, last_;
};

}  // namespace

DecoderSizes::DecoderSizes(const Graph& graph, SymbolValues given) : graph_(graph), given_(std::move(given)) {
  find_caches();
  if (caches_.empty())
    throw unsupported(
        "no output of this model puts rows behind those of an input: it is no decoder with a cache");
  const auto refuse = [](const std::string& why) {
    return unsupported("the caches of this model cannot be followed: {}", why);
  };
  for (const Cache& cache : caches_) {
    const Shape &past = *graph_.inputs[cache.input]->type.tensor.shape,
                &present = *graph_.outputs[cache.output]->type.tensor.shape;
    const Dim rows = past[rows_axis(past)], added = present[rows_axis(present)] - rows;
    if (&cache != caches_.data() && (rows != past_ || added != added_))
      throw refuse(fmt::format("they grow from {} by {} and from {} by {} rows", past_.text(), added_.text(),
                               rows.text(), added.text()));
    past_ = rows;
    added_ = added;
    for (size_t axis = 0; axis < past.size(); ++axis) {
      for (const std::string& symbol : past[axis].symbols()) {
        if (axis != rows_axis(past)) given_.emplace(symbol, 1);
      }
    }
  }
  if (!past_.is_symbol() || !(added_.is_symbol() || added_ == Dim(1)))
    throw refuse(fmt::format("they grow from {} by {} rows", past_.text(), added_.text()));
  settle_other_sizes();
  find_masks();
}

// Of the inputs that a node reads the past comes first: new rows are put behind it.
void DecoderSizes::find_caches() {
  for (size_t output = 0; output < graph_.outputs.size(); ++output) {
    const Value& present = *graph_.outputs[output];
    if (present.producer() == nullptr) continue;
    for (const Value* read : present.producer()->inputs) {
      const auto found = std::find(graph_.inputs.begin(), graph_.inputs.end(), read);
      if (read == nullptr || found == graph_.inputs.end() || !continues(present, *read)) continue;
      const auto input = static_cast<size_t>(found - graph_.inputs.begin());
      if (std::none_of(caches_.begin(), caches_.end(),
                       [&](const Cache& cache) { return cache.input == input; }))
        caches_.push_back({input, output});
      break;
    }
  }
}

// Sizes of another name are those of all rows together, as of a mask, or others, as of what an encoder made:
// then the model takes any.
void DecoderSizes::settle_other_sizes() {
  constexpr int64_t kPast = 3, kOther = 16;
  std::set<std::string> others;
  for (const Value* input : graph_.inputs) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (const Dim& dim : *input->type.tensor.shape) others.merge(dim.symbols());
  }
  for (const std::string& symbol : others) {
    if (given_.contains(symbol) || symbol == past_.text() || symbol == added_.text()) continue;
    given_[symbol] = kOther;
    if (!takes(at(kPast, 1))) given_.erase(symbol);
  }
}

void DecoderSizes::find_masks() {
  const auto is_of_all_rows = [&](const Dim& dim) {
    const std::string name = dim.text();
    const bool follows = dim.is_symbol() && !given_.contains(name) && dim != past_ && dim != added_;
    return follows || dim == past_ + added_;
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
  values[past_.text()] = past;
  if (added_.is_symbol()) values[added_.text()] = added;
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

DecodingResult time_decoding(const std::shared_ptr<Engine>& engine, const DecoderSizes& sizes,
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
