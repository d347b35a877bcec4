// Defines the delicate instructions of vector_cases.h as loops over lanes. Their emulation is compared with
// this on processors that lack them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "vector_cases.h"

namespace vernier::cpu {

// By the name of the case; of outputs that are no whole vector, others keep what they were.
const std::map<std::string, std::function<void(const VectorInput&, uint8_t*)>>& vector_references();

}  // namespace vernier::cpu
