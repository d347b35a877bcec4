#include "vernier/backends/cuda/device/fault_reports.h"

#include "vernier/base/error.h"

namespace vernier::cuda {

int FaultReports::number_of(const std::string& node, const std::string& what) {
  const std::lock_guard lock(mutex_);
  return numbers_.try_emplace({node, what}, static_cast<int>(numbers_.size()) + 1).first->second;
}

void FaultReports::tell(int number) const {
  if (number == 0) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [source, known] : numbers_) {
    if (known == number) throw bad_input("{}", source.second).at_node(source.first);
  }
  throw internal_error("a kernel reports the fault {}, which none has", number);
}

FaultWord::FaultWord(const Context& context) : context_(context) {
  context_.use();
  void* memory = nullptr;
  context_.check(context_.api().allocate_host(&memory, sizeof(int), kPortableMemory | kMappedMemory),
                 "asking for memory that the GPU reports faults in", sizeof(int));
  word_ = static_cast<int*>(memory);
  *word_ = 0;
}

FaultWord::~FaultWord() {
  context_.api().free_host(word_);
}

int FaultWord::take() {
  return __atomic_exchange_n(word_, 0, __ATOMIC_RELAXED);
}

}  // namespace vernier::cuda
