// Checks symbolic inference against real runs: symbolic [--open] [SYMBOL=SIZE...] MODEL...
//
// Every value that a run makes must have the type that inference gave it, and the sizes that its expressions
// evaluate to. A MODEL is a file, or a folder of the conformance suite with model.onnx in it. Where
// test_data_set_* lie beside the model their inputs are run; else the model's symbols take up to three sets
// of sizes, found by trying, or those given.
// --open makes every size of every input a symbol before inference, so that a static model tests symbolic
// inference.
#include <filesystem>
#include <iostream>
#include <random>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/onnx/data_file.h"
#include "vernier/onnx/import.h"
#include "vernier/ops/infer_graph.h"

namespace fs = std::filesystem;
using namespace vernier;

namespace {

using Inputs = std::map<std::string, Datum>;

// What one run found.
struct Findings {
  size_t values = 0;
  std::map<std::string, int>
      fresh;  // values with a size that only running could tell, by the operator that made it so
  std::map<std::string, int> unknown_rank;  // by operator
  std::vector<std::string> mismatches;
};

class Check {
 public:
  Check(const Model& model, const Inputs& inputs) {
    for (const Value* input : model.graph->inputs) {
      if (const auto found = inputs.find(input->name); found != inputs.end()) compare(*input, found->second);
    }
    InterpreterOptions options;
    options.observe = [&](const Value& value, const Datum& datum) { compare(value, datum); };
    run_reference(model, inputs, options);
  }
  Findings findings;

 private:
  static std::string op_of(const Value& value) {
    return value.producer() == nullptr ? "input" : value.producer()->op;
  }

  void compare(const Value& value, const Datum& datum) {
    ++findings.values;
    const bool same_kind =
        value.type.is_tensor() == datum.is_tensor() || value.type.kind == ValueType::Kind::kOptional;
    if (!same_kind) return mismatch(value, "another kind of value");
    if (!datum.is_tensor() || !value.type.is_tensor()) return;
    const TensorType& inferred = value.type.tensor;
    const Tensor& actual = datum.tensor;
    if (inferred.element != actual.type()) mismatch(value, std::string(element_type_name(actual.type())));
    if (!inferred.shape) {
      ++findings.unknown_rank[op_of(value)];
      return;
    }
    if (static_cast<int64_t>(inferred.shape->size()) != actual.rank())
      return mismatch(value, dims_text(actual.dims()));
    std::set<std::string> makers;
    for (size_t i = 0; i < inferred.shape->size(); ++i) {
      const Dim& dim = (*inferred.shape)[i];
      // A symbol is bound where it is met first: at an input, or where a data-dependent size is made.
      if (dim.is_symbol()) symbols_.try_emplace(*dim.symbols().begin(), actual.dims()[i]);
      for (const auto& symbol : dim.symbols()) {
        if (symbol.find('?') != std::string::npos)
          makers.insert(maker_.try_emplace(symbol, op_of(value)).first->second);
      }
      const auto size = dim.evaluate(symbols_);
      if (size && *size != actual.dims()[i]) return mismatch(value, dims_text(actual.dims()));
    }
    for (const auto& maker : makers) ++findings.fresh[maker];
  }

  void mismatch(const Value& value, const std::string& actual) {
    findings.mismatches.push_back(fmt::format("{} '{}' is inferred as {}, but is {}", op_of(value),
                                              value.name, value.type.text(), actual));
  }

  SymbolValues symbols_;
  std::map<std::string, std::string> maker_;
};

// Integer lists (axes, target shapes) become constants of their values in the data, all other sizes become
// symbols.
void open_inputs(Graph& graph, const Inputs& data) {
  for (Value* input : graph.inputs) {
    if (input->is_constant() || !input->type.is_tensor() || !input->type.tensor.shape) continue;
    const auto found = data.find(input->name);
    if (found != data.end() && found->second.tensor.rank() <= 1 && is_integer(input->type.tensor.element)) {
      input->constant = found->second.tensor;
    } else {
      for (Dim& dim : *input->type.tensor.shape) dim = -1;
    }
  }
  ops::infer_types(graph);
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> symbols;
  for (const Value* input : graph.inputs) {
    for (const Dim& dim : input->type.tensor.shape.value_or(Shape{})) symbols.merge(dim.symbols());
  }
  return symbols;
}

// Assignments of sizes to symbols, different ones first: models accept some only.
std::vector<SymbolValues> candidates(const std::set<std::string>& symbols, const SymbolValues& given) {
  static const std::vector<std::vector<int64_t>> pools = {{2, 3, 5, 7, 11, 13}, {4, 6, 10, 12, 14},
                                                          {8, 16, 24, 40},      {32, 64, 96},
                                                          {64, 128, 192},       {224, 256, 320}};
  std::vector<SymbolValues> result;
  for (const bool equal : {false, true}) {
    for (const auto& pool : pools) {
      for (size_t first = 0; first < 3; ++first) {
        SymbolValues sizes = given;
        size_t next = first;
        for (const auto& symbol : symbols)
          sizes.try_emplace(symbol, pool[(equal ? first : next++) % pool.size()]);
        result.push_back(std::move(sizes));
      }
    }
  }
  return result;
}

Inputs random_inputs(const Graph& graph, const SymbolValues& sizes) {
  std::mt19937 engine(7);
  Inputs inputs;
  for (const Value* input : graph.inputs) {
    if (input->is_constant()) continue;
    if (!input->type.is_tensor() || !input->type.tensor.shape)
      throw bad_input("input '{}' cannot be made up", input->name);
    Dims dims;
    for (const Dim& dim : *input->type.tensor.shape) dims.push_back(dim.evaluate(sizes).value_or(1));
    const ElementType type = input->type.tensor.element;
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values)
      value = is_float(type) ? engine() * 0x1p-31 - 1 : engine() % (type == ElementType::kBool ? 2 : 3);
    inputs[input->name] = Tensor::from_doubles(type, dims, values);
  }
  return inputs;
}

Inputs read_inputs(const Graph& graph, const fs::path& folder) {
  Inputs inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const fs::path file = folder / fmt::format("input_{}.pb", i);
    if (fs::exists(file)) inputs[graph.inputs[i]->name] = read_pb_file(file, graph.inputs[i]->type.kind);
  }
  return inputs;
}

std::vector<Findings> run_data_sets(const Model& model, const fs::path& folder) {
  std::vector<Findings> runs;
  for (int set = 0; fs::is_directory(folder / fmt::format("test_data_set_{}", set)); ++set) {
    const Inputs inputs = read_inputs(*model.graph, folder / fmt::format("test_data_set_{}", set));
    runs.push_back(Check(model, inputs).findings);
  }
  return runs;
}

std::vector<Findings> run_sizes(const Model& model, const SymbolValues& given) {
  std::vector<Findings> runs;
  std::string refusal;
  for (const auto& sizes : candidates(symbols_of(*model.graph), given)) {
    if (runs.size() == 3) break;
    try {
      runs.push_back(Check(model, random_inputs(*model.graph, sizes)).findings);
    } catch (const Error& error) {
      refusal = error.what();
    }
  }
  if (runs.empty()) throw bad_input("no sizes are accepted: {}", refusal);
  return runs;
}

std::string listed(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [op, count] : counts) text += fmt::format(" {} {}", op, count);
  return text.empty() ? " none" : text;
}

// Prints what was found; true if every value agrees.
bool check_model(const fs::path& path, bool open, const SymbolValues& given) {
  const fs::path file = fs::is_directory(path) ? path / "model.onnx" : path;
  const std::string name = file.parent_path().filename();
  try {
    const auto imported = import_model(file);
    Graph& graph = *imported.model.graph;
    if (open) open_inputs(graph, read_inputs(graph, file.parent_path() / "test_data_set_0"));
    auto runs = run_data_sets(imported.model, file.parent_path());
    if (!open && !symbols_of(graph).empty()) {
      for (auto& run : run_sizes(imported.model, given)) runs.push_back(std::move(run));
    }
    bool agrees = true;
    for (const Findings& run : runs) {
      fmt::print("{}: {} values, fresh:{}, of unknown rank:{}, mismatches: {}\n", name, run.values,
                 listed(run.fresh), listed(run.unknown_rank), run.mismatches.size());
      for (const auto& mismatch : run.mismatches) fmt::print("  {}\n", mismatch);
      agrees = agrees && run.mismatches.empty();
    }
    return agrees;
  } catch (const Error& error) {
    fmt::print("{}: refused: {}\n", name, error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool open = false, agrees = true;
  SymbolValues given;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--open")
      open = true;
    else if (const auto equals = argument.find('='); equals != std::string::npos)
      given[argument.substr(0, equals)] = std::atoll(argument.c_str() + equals + 1);
    else
      agrees = check_model(argument, open, given) && agrees;
  }
  return agrees ? 0 : 1;
}
