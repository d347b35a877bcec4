#include "vernier/base/truncation_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace vernier {

// Ranges are never freed, only used again, so that a signal handler may walk along them at any time.
struct TruncationGuard::Range {
  std::atomic<uintptr_t> begin{0}, end{0};  // zero: free
  std::atomic<bool> cut{false};
  Range* next = nullptr;
};

struct GuardedRanges {
  using Range = TruncationGuard::Range;
  static inline std::atomic<Range*> first{nullptr};

  static Range* find(uintptr_t address) {
    for (Range* range = first.load(std::memory_order_acquire); range != nullptr; range = range->next) {
      if (address >= range->begin.load(std::memory_order_acquire) &&
          address < range->end.load(std::memory_order_acquire))
        return range;
    }
    return nullptr;
  }
};

namespace {

struct sigaction previous;
uintptr_t page_size = 0;

// Does what would have happened without this handler.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  const bool sent = info->si_code <= 0;  // by a process; a fault cannot be ignored
  if (previous.sa_handler == SIG_IGN && sent) return;
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  ::signal(signal, SIG_DFL);
  if (sent) ::raise(signal);  // a fault happens again by itself
}

// Puts zeros where the fault was and behind, as far as the mapping goes: what is read there is of no use
// anyway.
bool put_zeros(uintptr_t address) {
  const auto range = GuardedRanges::find(address);
  if (range == nullptr) return false;
  const uintptr_t begin = address / page_size * page_size;
  const uintptr_t end = (range->end.load() + page_size - 1) / page_size * page_size;
  void* made = ::mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return false;
  range->cut.store(true, std::memory_order_release);
  return true;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool done = info->si_code == BUS_ADRERR && put_zeros(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = error;
  if (!done) pass_on(signal, info, context);
}

void install_handler() {
  page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  ::sigaction(SIGBUS, nullptr, &previous);  // known before the new handler can be called
  action.sa_sigaction = on_bus_error;
  action.sa_mask = previous.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (previous.sa_flags & (SA_NODEFER | SA_RESTART));
  ::sigaction(SIGBUS, &action, nullptr);
}

std::mutex& mutex_of_ranges() {
  static std::mutex* mutex = new std::mutex;  // files may be unmapped while the process ends
  return *mutex;
}

}  // namespace

TruncationGuard::TruncationGuard(const void* begin, size_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const std::lock_guard lock(mutex_of_ranges());
  range_ = GuardedRanges::first.load();
  while (range_ != nullptr && range_->begin.load() != 0) range_ = range_->next;
  if (range_ == nullptr) {
    range_ = new Range;
    range_->next = GuardedRanges::first.load();
    GuardedRanges::first.store(range_, std::memory_order_release);
  }
  range_->cut = false;
  range_->end = reinterpret_cast<uintptr_t>(begin) + bytes;
  range_->begin = reinterpret_cast<uintptr_t>(begin);
}

TruncationGuard::~TruncationGuard() {
  const std::lock_guard lock(mutex_of_ranges());
  range_->end = 0;
  range_->begin = 0;
}

bool TruncationGuard::was_cut() const {
  return range_->cut.load(std::memory_order_acquire);
}

}  // namespace vernier
