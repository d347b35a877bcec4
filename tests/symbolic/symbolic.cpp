// Checks symbolic inference against real runs: symbolic [--open] [--exact] [SYMBOL=SIZE...] MODEL...
//
// Every value that a run makes must have the type that inference gave it, and the sizes that its expressions
// evaluate to. A MODEL is a file, or a folder with model.onnx in it. The inputs of test_data_set_* beside the
// model are run, and three sets of sizes for the model's symbols: those given, the others found by trying.
// --open makes the sizes of every input symbols before inference, so that a static model tests symbolic
// inference.
// --exact makes it an error, too, if a size or rank could not be inferred.
#include <filesystem>
#include <iostream>
#include <random>

#include "shape_check.h"
#include "vernier/onnx/data_file.h"
#include "vernier/onnx/import.h"
#include "vernier/ops/infer_graph.h"

namespace fs = std::filesystem;
using namespace vernier;

namespace {

using Inputs = std::map<std::string, Datum>;

struct Options {
  bool open = false, exact = false;
  SymbolValues sizes;
};

// The files number the inputs that are no weights.
Inputs read_inputs(const Graph& graph, const fs::path& folder) {
  Inputs inputs;
  size_t number = 0;
  for (const Value* input : graph.inputs) {
    if (input->is_constant()) continue;
    const fs::path file = folder / fmt::format("input_{}.pb", number++);
    if (fs::exists(file)) inputs[input->name] = read_pb_file(file, input->type.kind);
  }
  return inputs;
}

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
    const TensorType& type = input->type.tensor;
    if (!input->type.is_tensor() || !type.shape) throw bad_input("input '{}' cannot be made up", input->name);
    Dims dims;
    for (const Dim& dim : *type.shape) dims.push_back(dim.evaluate(sizes).value_or(1));
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) {
      const auto bits = static_cast<double>(engine());
      value = is_float(type.element)
                  ? bits * 0x1p-31 - 1
                  : std::floor(bits * 0x1p-32 * (type.element == ElementType::kBool ? 2 : 3));
    }
    inputs[input->name] = Tensor::from_doubles(type.element, dims, values);
  }
  return inputs;
}

ShapeFindings check_sizes(const Model& model, const SymbolValues& given) {
  ShapeFindings findings;
  std::string refusal;
  for (const auto& sizes : candidates(symbols_of(*model.graph), given)) {
    try {
      findings.add(check_shapes(model, random_inputs(*model.graph, sizes)));
    } catch (const Error& error) {
      refusal = error.what();
    }
    if (findings.runs == 3) break;
  }
  if (findings.runs == 0) fmt::print("  no sizes are accepted: {}\n", refusal);
  return findings;
}

std::string listed(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [op, count] : counts) text += fmt::format(" {} {}", op, count);
  return text.empty() ? " none" : text;
}

// Prints what was found; true if every value agrees.
bool check_model(const fs::path& path, const Options& options) {
  const fs::path file = fs::is_directory(path) ? path / "model.onnx" : path, folder = file.parent_path();
  const std::string name = folder.filename();
  try {
    const auto imported = import_model(file);
    Graph& graph = *imported.model.graph;
    std::vector<Inputs> data;
    for (int set = 0; fs::is_directory(folder / fmt::format("test_data_set_{}", set)); ++set) {
      data.push_back(read_inputs(graph, folder / fmt::format("test_data_set_{}", set)));
    }
    // Read before, as opening makes constants of some inputs.
    if (options.open) open_inputs(graph, data.empty() ? Inputs() : data[0]);
    ShapeFindings findings;
    for (const Inputs& inputs : data) findings.add(check_shapes(imported.model, inputs));
    if (!options.open && !symbols_of(graph).empty()) findings.add(check_sizes(imported.model, options.sizes));
    fmt::print("{}: {} values in {} runs, fresh:{}, of unknown rank:{}, mismatches: {}\n", name,
               findings.values, findings.runs, listed(findings.fresh), listed(findings.unknown_rank),
               findings.mismatches.size());
    for (const auto& mismatch : findings.mismatches) fmt::print("  {}\n", mismatch);
    return options.exact ? findings.is_exact() : findings.mismatches.empty();
  } catch (const Error& error) {
    fmt::print("{}: refused: {}\n", name, error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bool agrees = true;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    const auto equals = argument.find('=');
    if (argument == "--open")
      options.open = true;
    else if (argument == "--exact")
      options.exact = true;
    else if (equals != std::string::npos)
      options.sizes[argument.substr(0, equals)] = std::atoll(argument.c_str() + equals + 1);
    else
      agrees = check_model(argument, options) && agrees;
  }
  return agrees ? 0 : 1;
}
