// The text of a program: CUDA C++ that includes nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/numeric/element_type.h"

namespace vernier::cuda {

struct ProgramSource {
  std::string name;  // "reduce"
  std::string body;  // what follows the prelude; it calls its kernel `run`

  // All of it.
  std::string text() const;
  // The name of the kernel in the machine code, which profilers show: "vernier_reduce".
  std::string entry() const { return "vernier_" + name; }
  // By which an engine file knows its machine code.
  std::string payload_name() const;
};

// Names and what they stand for in a text: types, operators, numbers.
using Definitions = std::vector<std::pair<std::string, std::string>>;

// A text of backends/cuda/kernels, by the name of its file without the ending, with definitions and the texts
// named in `before` before it.
ProgramSource kernel_source(const std::string& name, const Definitions& definitions,
                            const std::vector<std::string>& before = {});

// Gives the prelude's name of a type: "f32", "bf16", "i64". Empty for types that kernels do not know.
std::string_view device_type(ElementType type);
// A type that is as wide as an element, of which bits are only moved: "u8", …, "u128". Empty where there is
// none.
std::string_view storage_type(size_t bytes);

}  // namespace vernier::cuda
