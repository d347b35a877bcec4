// What the delicate instructions of vector_cases.h are defined to do, as loops over lanes. It is what their
// emulation is compared with on processors that lack them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "vector_cases.h"

namespace vernier::cpu {

// By the name of the case; of outputs that are no whole vector, others keep what they were.
const std::map<std::string, std::function<void(const VectorInput&, uint8_t*)>>& vector_references();

}  // namespace vernier::cpu
