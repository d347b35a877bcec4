// The texts of backends/cuda/kernels, which the build puts into the program.
#pragma once

#include <string_view>

namespace vernier::cuda {

// By the name of the file without its ending. Throws internal_error for others.
std::string_view kernel_text(std::string_view name);

}  // namespace vernier::cuda
