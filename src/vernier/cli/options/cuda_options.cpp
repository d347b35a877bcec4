#include "vernier/cli/options/cuda_options.h"

#include "vernier/backends/cuda/driver.h"
#include "vernier/cli/options/simulated_options.h"

namespace vernier {

std::string cuda_help() {
  return "Of a GPU (--cuda), beside those of engines:\n"
         "  --cuda-path FOLDER                          where the libraries of CUDA are looked for first: a "
         "toolkit, or "
         "a\n"
         "                                              folder of Python packages (then: those of the first "
         "python3 or "
         "of\n"
         "                                              VERNIER_PYTHON, CUDA_PATH, /usr/local/cuda, the "
         "system's)\n"
         "  --lacks OPERATOR,…                          what is left to the CPU though the GPU could compute "
         "it;\n"
         "                                              cuBLASLt: its products are left to kernels of "
         "Vernier\n";
}

std::shared_ptr<const Driver> cuda_driver(const RunnerSpec& spec) {
  std::map<std::string, std::string> texts;
  if (!spec.argument.empty()) texts["device"] = spec.argument;
  const std::pair<const char*, const char*> names[] = {{kLacksOption, "lacks"}, {kCudaPathOption, "path"}};
  for (const auto& [option, name] : names) {
    if (const auto found = spec.options.find(option); found != spec.options.end())
      texts[name] = found->second;
  }
  if (spec.options.contains(kFaultOption))
    throw usage_error("the kernels of --cuda have no faults to inject").advise("--cpu has them");
  return cuda::make_driver(cuda::parse_options(texts));
}

}  // namespace vernier
