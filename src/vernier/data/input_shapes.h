// Sizes of inputs: those that a user gives, what they mean for the symbols of a model, and whether data agree
// with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

using InputShapes = std::map<std::string, Dims>;

// `--shapes` arguments: "x:1x3x640x480", "x:1x3,y:7" for several inputs, "x:" for a scalar. Arguments about
// different inputs add up to one set of shapes; naming an input again begins the next set. Throws
// usage_error.
std::vector<InputShapes> parse_shapes(const std::vector<std::string>& arguments);

// Collects the sizes of symbols input by input and remembers where each came from.
class SymbolBindings {
 public:
  // Throws bad_input when `dims` do not fit the declared shape. A symbol that had another size before keeps
  // it: what one name stands for are two sizes then, which is noted.
  void bind(const std::string& input, const Shape& declared, const Dims& dims);
  const SymbolValues& values() const { return values_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  SymbolValues values_;
  std::map<std::string, std::string> sources_;
  std::vector<std::string> notes_;
};

// Inputs of the model that need data: those without a default.
std::vector<const Value*> required_inputs(const Model& model);
// The input of that name; throws bad_input, listing the names, if there is none.
const Value& find_input(const Model& model, const std::string& name);

// Gives what `shapes` say of the symbols. Throws bad_input for unknown inputs and sizes that do not fit.
SymbolValues symbols_of(const Model& model, const InputShapes& shapes);
// The sizes of one input; throws bad_input, naming the unknown, when `symbols` and `shapes` do not give all
// of them.
Dims input_dims(const Value& input, const SymbolValues& symbols, const InputShapes& shapes);

// Throws bad_input, naming the input, unless `inputs` are what the model takes: none missing, none unknown,
// kinds, element types, ranks and sizes as declared. A scalar becomes a vector of one element where that is
// declared, and the other way round. Gives notes on that, and on symbols that have several sizes.
std::vector<std::string> fit_inputs(const Model& model, NamedData& inputs);

}  // namespace vernier
