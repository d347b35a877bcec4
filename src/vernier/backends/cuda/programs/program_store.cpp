#include "vernier/backends/cuda/programs/program_store.h"

#include "vernier/base/hash.h"

namespace vernier::cuda {

FunctionHandle Program::function() {
  if (ready_) return function_;
  const std::lock_guard lock(mutex_);
  if (ready_) return function_;
  const std::string code = compiler_.compile(source_.text(), source_.name);
  context_.use();
  ModuleHandle module = nullptr;
  context_.check(context_.api().load_module(&module, code.data()), "loading the program " + source_.name);
  context_.check(context_.api().find_function(&function_, module, kEntry),
                 "finding the kernel of " + source_.name);
  ready_ = true;
  return function_;
}

std::shared_ptr<Program> ProgramStore::get(const ProgramSource& source) {
  const uint64_t key = hash_text(source.body, hash_text(source.name));
  const std::lock_guard lock(mutex_);
  auto& program = programs_[key];
  if (!program) program = std::make_shared<Program>(context_, compiler_, source);
  return program;
}

std::vector<ProgramSource> ProgramStore::sources() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProgramSource> all;
  for (const auto& [key, program] : programs_) all.push_back(program->source());
  return all;
}

}  // namespace vernier::cuda
