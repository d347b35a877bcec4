#include "vernier/compile/automatic_sizes.h"

#include "vernier/data/random/random_inputs.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/session.h"

namespace vernier {

namespace {

bool has_fixed_size(const Value& input) {
  return input.type.is_tensor() && input.type.tensor.shape && to_dims(*input.type.tensor.shape);
}

// "x: 1x3x224x224, mask: 1x128": the inputs whose sizes are not given by the model.
std::string free_inputs(const Graph& graph, const std::vector<ValueType>& inputs) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (has_fixed_size(*graph.inputs[i])) continue;
    const auto dims =
        inputs[i].is_tensor() && inputs[i].tensor.shape ? to_dims(*inputs[i].tensor.shape) : std::nullopt;
    texts.push_back(fmt::format("{}: {}", graph.inputs[i]->name,
                                dims ? fmt::format("{}", fmt::join(*dims, "x")) : inputs[i].text()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// 1 for each symbol of the inputs. Nothing where a rank or a size is unknown.
std::optional<InputShapes> shapes_of_ones(const Model& model) {
  InputShapes shapes;
  for (const Value* input : required_inputs(model)) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) return std::nullopt;
    Dims& dims = shapes[input->name];
    for (const Dim& dim : *input->type.tensor.shape) {
      SymbolValues ones;
      for (const std::string& symbol : dim.symbols()) ones[symbol] = 1;
      const auto size = dim.evaluate(ones);
      if (!size) return std::nullopt;
      dims.push_back(*size);
    }
  }
  return shapes;
}

class Search {
 public:
  Search(Compiler& compiler, const Model& model, uint64_t seed)
      : compiler_(compiler), model_(model), seed_(seed) {}

  AutomaticSizes run(const std::vector<Sample>& samples) {
    if (!samples.empty()) {
      if (!serves(samples[0])) throw Error(*refusal_);
      return found("the sizes of the first sample");
    }
    const auto ones = shapes_of_ones(model_);
    if (ones && draw(RandomOptions{seed_, 1, {}, {*ones}})) return found("no shapes were given");
    if (draw(RandomOptions{seed_, 1, {}, {}}))
      return found("no shapes were given, and the model does not take 1");
    AutomaticSizes none;
    none.note = fmt::format(
        "free dimensions are not tuned: {}; give their sizes (--opt-shapes), or samples (--data)", why_not_);
    return none;
  }

 private:
  AutomaticSizes found(const char* why) {
    AutomaticSizes result;
    result.inputs = compiler_.prepared().back().inputs;
    result.note =
        fmt::format("free dimensions are tuned at {} ({}); other sizes run with the choices made for these",
                    free_inputs(compiler_.graph(), result.inputs), why);
    result.sample = std::move(sample_);
    return result;
  }

  // Tries what is drawn until the model takes it.
  bool draw(const RandomOptions& options) {
    std::optional<RandomInputs> source;
    while (const auto sample = next(source, options)) {
      if (serves(*sample)) {
        sample_ = sample;
        return true;
      }
      source->withdraw(*refusal_);
    }
    return false;
  }

  // Nothing at the end, and for models that nothing can be drawn for. Sizes that inference refuses are passed
  // over: drawing and running large inputs takes long.
  std::optional<Sample> next(std::optional<RandomInputs>& source, const RandomOptions& options) {
    try {
      if (!source) source.emplace(model_, options);
      while (!may_serve(source->next_shapes())) source->skip(*refusal_);
      return source->next();
    } catch (const Error& error) {
      why_not_ = error.what();
      return std::nullopt;
    }
  }

  // False if inference refuses these sizes.
  bool may_serve(const InputShapes& shapes) {
    std::vector<ValueType> types;
    for (const Value* input : compiler_.graph().inputs) {
      const auto found = shapes.find(input->name);
      if (found == shapes.end() && !has_fixed_size(*input)) return true;  // not known before it is drawn
      types.push_back(input->type);
      if (found != shapes.end()) types.back().tensor.shape = to_shape(found->second);
    }
    try {
      return !refuses([&] { compiler_.require_sizes(types); });
    } catch (const Error&) {
      return true;  // no matter of sizes: serves() meets it again
    }
  }

  // Prepares a plan for the sizes of the sample; false where the model refuses them.
  bool serves(const Sample& sample) {
    const bool refused = refuses([&] {
      compiler_.prepare(input_types(compiler_.graph(), sample.inputs));
      Session(compiler_.engine()).run(sample.inputs);
    });
    if (refused) compiler_.forget_prepared();
    return !refused;
  }

  template <class Attempt>
  bool refuses(const Attempt& attempt) {
    try {
      attempt();
      return false;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;  // other sizes would not change that
      refusal_ = error;
      why_not_ = error.what();
      return true;
    }
  }

  Compiler& compiler_;
  const Model& model_;
  uint64_t seed_;
  std::optional<Sample> sample_;
  std::optional<Error> refusal_;
  std::string why_not_;
};

}  // namespace

bool has_fixed_sizes(const Graph& graph) {
  return std::all_of(graph.inputs.begin(), graph.inputs.end(),
                     [](const Value* input) { return has_fixed_size(*input); });
}

AutomaticSizes automatic_sizes(Compiler& compiler, const Model& model, const std::vector<Sample>& samples,
                               uint64_t seed) {
  return Search(compiler, model, seed).run(samples);
}

}  // namespace vernier
