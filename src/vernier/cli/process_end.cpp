#include "vernier/cli/process_end.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>
#include <thread>

#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/base/interruption.h"
#include "vernier/base/leftovers.h"
#include "vernier/cli/verb.h"

namespace vernier {

namespace {

int print_error = 0;  // of the first write to standard output that failed

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// A file that is opened must not become the standard output that somebody closed. Opened the wrong way round,
// so that using it still fails.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

[[noreturn]] void end_by(int signal) {
  end_leftovers();
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

// Vectors of the size of tensors come and go all the time, and pages that go back to the system each time
// cost more than what is computed in them. (Tensors themselves are kept by base/memory.h.)
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargest = 32 << 20;  // that malloc may take from its heap
  constexpr int kKept = 256 << 20;    // at the end of the heap
  ::mallopt(M_MMAP_THRESHOLD, kLargest);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

}  // namespace

void prepare_process() {
  keep_freed_memory();
  fill_standard_descriptors();
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) ::sigaddset(&watched, signal);
  }
  // A thread may do what a signal handler may not. All others inherit that these signals are not for them.
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  try {
    std::thread([watched] {
      for (;;) {
        int signal = 0;
        while (::sigwait(&watched, &signal) != 0) {
        }
        if (signal != SIGINT || !takes_interruptions() || is_interrupted()) end_by(signal);
        interrupt();
      }
    }).detach();
  } catch (const std::system_error&) {
    ::pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);  // no thread: signals end the program as ever
  }
}

void print(const std::string& text) {
  errno = 0;
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written && print_error == 0) print_error = errno;
}

void say(const CommonOptions& common, const std::string& text) {
  MappedFile::require_all_unchanged();  // what is said was made of them
  if (!common.quiet) print(text);
}

int flushed(int status) {
  if (print_error == 0 || print_error == EPIPE) return status;
  std::cerr << "vernier: standard output: cannot write: " << std::strerror(print_error) << "\n";
  return static_cast<int>(ErrorCode::kBadInput);
}

}  // namespace vernier
