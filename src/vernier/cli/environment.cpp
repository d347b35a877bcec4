#include <cblas.h>

#include <fstream>
#include <thread>

#include "vernier/backends/cpu/processor.h"
#include "vernier/base/threads.h"
#include "vernier/cli/verb.h"

namespace vernier {

namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

}  // namespace

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> result;
  result["vernier"] = VERNIER_VERSION;
  result["cpu"] = cpu_name();
  result["instruction sets"] = cpu::instruction_sets();
  result["cores"] = std::to_string(std::thread::hardware_concurrency());
  result["threads"] = std::to_string(thread_count());
  result["blas"] = openblas_get_config();
  return result;
}

}  // namespace vernier
