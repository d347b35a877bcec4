#include "vernier/base/leftovers.h"

#include <signal.h>
#include <unistd.h>

#include <map>

namespace vernier {

namespace fs = std::filesystem;

namespace {

struct Leftovers {
  std::mutex mutex;
  std::map<fs::path, pid_t> paths;  // with the process that made them: a forked child leaves them alone
  std::map<pid_t, pid_t> groups;
};

// Never destroyed: a signal may come while the process ends.
Leftovers& leftovers() {
  static auto* all = new Leftovers;
  return *all;
}

// A process that was killed may still finish what it had asked of the system, such as making a file.
void remove_path(const fs::path& path) {
  constexpr int kAttempts = 20;
  constexpr useconds_t kPause = 10'000;  // microseconds
  for (int i = 0; i < kAttempts; ++i) {
    std::error_code error;
    fs::remove_all(path, error);
    if (!fs::exists(fs::symlink_status(path, error))) return;
    ::usleep(kPause);
  }
}

}  // namespace

std::unique_lock<std::mutex> lock_leftovers() {
  return std::unique_lock(leftovers().mutex);
}
void note_leftover(const fs::path& path) {
  leftovers().paths[fs::absolute(path)] = ::getpid();
}
void forget_leftover(const fs::path& path) {
  leftovers().paths.erase(fs::absolute(path));
}
void note_process_group(pid_t group) {
  leftovers().groups[group] = ::getpid();
}
void forget_process_group(pid_t group) {
  leftovers().groups.erase(group);
}

void end_leftovers() noexcept {
  lock_leftovers().release();  // and never given back
  try {
    for (const auto& [group, owner] : leftovers().groups) {
      if (owner == ::getpid()) ::kill(-group, SIGKILL);
    }
    for (const auto& [path, owner] : leftovers().paths) {
      if (owner == ::getpid()) remove_path(path);
    }
  } catch (...) {
    // There is no memory for paths: what is left stays.
  }
}

}  // namespace vernier
