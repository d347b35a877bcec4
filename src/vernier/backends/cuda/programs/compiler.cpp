#include "vernier/backends/cuda/programs/compiler.h"

#include <array>

#include "vernier/base/error.h"

namespace vernier::cuda {

namespace {

// Owns a program of NVRTC, which is destroyed with this.
class Compilation {
 public:
  Compilation(const NvrtcApi& api, const std::string& source, const std::string& name) : api_(api) {
    check(api_.create(&handle_, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr), "a program");
  }
  ~Compilation() { api_.destroy(&handle_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  CompilerStatus compile(const std::string& architecture) {
    const std::string target = "--gpu-architecture=" + architecture;
    const std::array<const char*, 5> options = {target.c_str(), "--std=c++17", "--fmad=false",
                                                "--device-as-default-execution-space", "--diag-suppress=177"};
    return api_.compile(handle_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const {
    size_t size = 0;
    if (api_.log_size(handle_, &size) != 0 || size == 0) return "";
    std::string text(size, '\0');
    api_.log(handle_, text.data());
    text.resize(size - 1);
    return text;
  }
  std::string cubin() const {
    size_t size = 0;
    check(api_.cubin_size(handle_, &size), "the machine code");
    std::string code(size, '\0');
    check(api_.cubin(handle_, code.data()), "the machine code");
    return code;
  }

 private:
  void check(CompilerStatus status, const char* what) const {
    if (status != 0) throw internal_error("NVRTC: {}: {}", what, api_.error_text(status));
  }

  const NvrtcApi& api_;
  ProgramHandle handle_ = nullptr;
};

}  // namespace

std::string Compiler::compile(const std::string& source, const std::string& name) const {
  Compilation compilation(api_, source, name);
  const CompilerStatus status = compilation.compile(architecture_);
  if (status != 0)
    throw internal_error("NVRTC does not compile '{}' for {}: {}\n{}", name, architecture_,
                         api_.error_text(status), compilation.log());
  return compilation.cubin();
}

}  // namespace vernier::cuda
