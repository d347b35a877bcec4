// Compiled programs of one GPU, each once, whatever number of kernels runs it.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "vernier/backends/cuda/device/context.h"
#include "vernier/backends/cuda/programs/compiler.h"
#include "vernier/backends/cuda/programs/program_source.h"
#include "vernier/exec/kernel.h"

namespace vernier::cuda {

// Compiled and loaded when it is first asked for. Thread-safe.
class Program {
 public:
  // `code`: its machine code if that is known, else "".
  Program(const Context& context, const Compiler& compiler, ProgramSource source, std::string code)
      : context_(context), compiler_(compiler), source_(std::move(source)), code_(std::move(code)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool is_ready() const { return ready_; }
  // Throws what Compiler::compile and Context::check throw, and bad_input where the GPU does not take the
  // code that was given.
  FunctionHandle function();
  // Throws what function() throws.
  const std::string& code();
  const ProgramSource& source() const { return source_; }

 private:
  const Context& context_;
  const Compiler& compiler_;
  const ProgramSource source_;
  std::atomic<bool> ready_ = false;
  std::mutex mutex_;
  std::string code_;
  FunctionHandle function_ = nullptr;
};

// Programs stay as long as the store. Thread-safe.
class ProgramStore {
 public:
  // Both outlive this.
  ProgramStore(const Context& context, const Compiler& compiler) : context_(context), compiler_(compiler) {}

  std::shared_ptr<Program> get(const ProgramSource& source);
  // Machine code that programs had in another process, by ProgramSource::payload_name.
  void know(const Payloads& codes);
  // Gives all programs that were asked for, compiled or not.
  std::vector<ProgramSource> sources() const;

 private:
  const Context& context_;
  const Compiler& compiler_;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Program>> programs_;  // by the hash of the text
  Payloads known_;
};

}  // namespace vernier::cuda
