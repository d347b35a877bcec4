#include "vernier/backends/cuda/programs/program_store.h"

#include "vernier/base/error.h"
#include "vernier/base/hash.h"

namespace vernier::cuda {

FunctionHandle Program::function() {
  if (ready_) return function_;
  const std::lock_guard lock(mutex_);
  if (ready_) return function_;
  const bool is_given = !code_.empty();
  if (!is_given) code_ = compiler_.compile(source_.text(), source_.name);
  context_.use();
  ModuleHandle module = nullptr;
  const Status status = context_.api().load_module(&module, code_.data());
  if (is_given && status != kSuccess) {
    code_.clear();  // another engine of the process has it compiled
    throw bad_input("the GPU does not take the machine code of '{}' that the engine file has", source_.name)
        .advise("build the engine here again");
  }
  context_.check(status, "loading the program " + source_.name);
  context_.check(context_.api().find_function(&function_, module, source_.entry().c_str()),
                 "finding the kernel of " + source_.name);
  ready_ = true;
  return function_;
}

const std::string& Program::code() {
  function();
  return code_;
}

void ProgramStore::know(const Payloads& codes) {
  const std::lock_guard lock(mutex_);
  known_.insert(codes.begin(), codes.end());
}

std::shared_ptr<Program> ProgramStore::get(const ProgramSource& source) {
  const uint64_t key = hash_text(source.body, hash_text(source.name));
  const std::lock_guard lock(mutex_);
  auto& program = programs_[key];
  if (!program) {
    const auto known = known_.empty() ? known_.end() : known_.find(source.payload_name());
    program = std::make_shared<Program>(context_, compiler_, source,
                                        known == known_.end() ? std::string() : known->second);
  }
  return program;
}

std::vector<ProgramSource> ProgramStore::sources() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProgramSource> all;
  for (const auto& [key, program] : programs_) all.push_back(program->source());
  return all;
}

}  // namespace vernier::cuda
