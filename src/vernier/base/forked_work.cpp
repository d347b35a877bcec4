#include "vernier/base/forked_work.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "vernier/base/error.h"
#include "vernier/base/leftovers.h"

namespace vernier {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSlice = 50;         // milliseconds after which the parent looks again whether the child lives
constexpr char kComplete = '\n';   // the last byte of an answer that is all there
constexpr int kCannotStart = 125;  // exit status of a child that has no thread to work in

Error cannot_fork(const std::string& why) {
  Error error = unsupported("cannot make a child process for a trial: {}", why);
  error.advise("build without --isolate-trials");
  return error;
}

// Memory that the child shares with its parent.
class SharedProgress {
 public:
  SharedProgress() {
    memory_ =
        ::mmap(nullptr, sizeof(ForkedProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw cannot_fork(std::strerror(errno));
    progress_ = new (memory_) ForkedProgress;
  }
  ~SharedProgress() { ::munmap(memory_, sizeof(ForkedProgress)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;

  ForkedProgress& operator*() const { return *progress_; }
  ForkedProgress* operator->() const { return progress_; }

 private:
  void* memory_;
  ForkedProgress* progress_;
};

// Where memory runs out, the system shall end the child and not the build.
void prefer_for_killing() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
  ::close(file);
}

void become_child(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotStart);  // it ended before the call above
  ::setpgid(0, 0);
  prefer_for_killing();
  ::prctl(PR_SET_DUMPABLE, 0);  // a dump of all memory would take long, and nobody asked for it
  // Handlers of the application, or of a sanitizer, would tell of a crash that is expected here. If a mapped
  // file was cut short (SIGBUS), the parent finds that out by itself.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
    ::signal(signal, SIG_DFL);
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
}

[[noreturn]] void run_child(const std::function<std::string(ForkedProgress&)>& work, ForkedProgress& progress,
                            int answer) {
  try {
    std::thread([&] {
      std::string text = work(progress);
      text += kComplete;
      write_all(answer, text);
      ::_exit(0);
    }).join();
  } catch (const std::system_error&) {
    // The system gives no thread.
  }
  ::_exit(kCannotStart);
}

std::string signal_text(int signal) {
  const std::string text = fmt::format("signal {} ({})", signal, ::strsignal(signal));
  if (signal == SIGKILL) return fmt::format("was killed: {}, as the system does where memory runs out", text);
  return "crashed: " + text;
}

// The parent's side.
class Child {
 public:
  Child(pid_t process, int answer) : process_(process), answer_(answer) {}
  ~Child() {
    end();
    ::close(answer_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits until the child has ended, or begins nothing new for too long.
  ForkedResult wait(const ForkedProgress& progress, double step_seconds) {
    const auto limit =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(step_seconds));
    auto deadline = Clock::now() + limit;
    uint64_t steps = 0;
    bool late = false;
    while (!late) {
      const bool ended = has_ended();  // asked before the last look at its answer
      receive(ended ? 0 : kSlice);
      if (ended) break;
      if (progress.steps() != std::exchange(steps, progress.steps()))
        deadline = Clock::now() + limit;
      else
        late = Clock::now() > deadline;
    }
    const int status = end();
    ForkedResult result{text_, "", progress.task()};
    if (late)
      result.failure = fmt::format("did not end within {:g} s", step_seconds);
    else
      result.failure = failure_of(status);
    if (result.failure.empty()) result.answer.pop_back();
    return result;
  }

 private:
  bool has_ended() const {
    siginfo_t info{};
    const int code = ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT);
    return code == 0 ? info.si_pid == process_ : errno == ECHILD;
  }

  // Receives what there is of the answer, and waits for it so many milliseconds at most.
  void receive(int milliseconds) {
    constexpr useconds_t kSoon = 100;  // microseconds
    if (closed_) {
      if (milliseconds > 0) ::usleep(kSoon);  // it is about to end
      return;
    }
    pollfd watched{answer_, POLLIN, 0};
    if (::poll(&watched, 1, milliseconds) <= 0) return;
    char chunk[1 << 14];
    ssize_t count = 0;
    while ((count = ::read(answer_, chunk, sizeof chunk)) > 0)
      text_.append(chunk, static_cast<size_t>(count));
    closed_ = count == 0;
  }

  // Ends the child if it still runs. Gives its status; -1 where somebody else has taken that.
  int end() {
    if (process_ < 0) return -1;
    int status = -1;
    // Before it is waited for: until then nobody else can have its number.
    if (!has_ended()) ::kill(-process_, SIGKILL);
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    const auto lock = lock_leftovers();
    forget_process_group(std::exchange(process_, -1));
    return status;
  }

  std::string failure_of(int status) const {
    const bool complete = !text_.empty() && text_.back() == kComplete;
    if (status == -1) return complete ? "" : "ended before it was done";
    if (WIFSIGNALED(status)) return signal_text(WTERMSIG(status));
    if (WEXITSTATUS(status) == 0 && complete) return "";
    return fmt::format("ended the process with exit status {}", WEXITSTATUS(status));
  }

  pid_t process_;
  int answer_;  // what the child says is read from here
  bool closed_ = false;
  std::string text_;
};

}  // namespace

ForkedResult run_forked(const std::function<std::string(ForkedProgress&)>& work, double step_seconds) {
  const SharedProgress progress;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw cannot_fork(std::strerror(errno));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  std::optional<Child> child;
  pid_t process = -1;
  int code = 0;
  {
    const auto lock = lock_leftovers();
    process = ::fork();
    code = errno;
    if (process > 0) {
      child.emplace(process, ends[0]);
      ::setpgid(process, process);  // here, too, so that the group is there whoever comes first
      note_process_group(process);
    }
  }
  if (process == 0) {
    become_child(parent);
    ::close(ends[0]);
    run_child(work, *progress, ends[1]);
  }
  ::close(ends[1]);
  if (!child) {
    ::close(ends[0]);
    throw cannot_fork(std::strerror(code));
  }
  ForkedResult result = child->wait(*progress, step_seconds);
  if (progress->steps() == 0) throw cannot_fork("it " + result.failure);
  return result;
}

}  // namespace vernier
