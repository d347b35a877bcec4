#include "vernier/backends/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vernier/base/error.h"
#include "vernier/base/leftovers.h"

extern char** environ;

namespace vernier {

using std::chrono::steady_clock;

namespace {

constexpr size_t kWordsKept = 8192;
constexpr size_t kLinesShown = 10;
constexpr auto kSlice = std::chrono::milliseconds(50);  // how often we look whether the process still lives
constexpr auto kTimeToEnd = std::chrono::seconds(1);    // from the end of its output to its own end

struct Pipe {
  int ours = -1, theirs = -1;
};

// A socket for what we write: only there can a write to a dead process be told not to raise SIGPIPE.
Pipe make_pipe(bool we_write) {
  int ends[2];
  const int code =
      we_write ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : ::pipe2(ends, O_CLOEXEC);
  if (code != 0) throw bad_input("cannot make a pipe to a child process: {}", std::strerror(errno));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {ends[0], ends[1]};
}

// Appends what there is to read, at most a megabyte at once. False at the end.
bool receive(int fd, std::string& to) {
  char chunk[1 << 16];
  for (int i = 0; i < 16; ++i) {
    const ssize_t count = ::read(fd, chunk, sizeof chunk);
    if (count > 0)
      to.append(chunk, static_cast<size_t>(count));
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
      return false;
    else
      return true;
  }
  return true;
}

// Runs a command of the shell with these descriptors as its standard ones, in the process group, or in one of
// its own (0). Gives -1 and sets errno when the system refuses.
pid_t spawn(const char* command, const std::array<int, 3>& standard, pid_t group) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (int i = 0; i < 3; ++i)
    ::posix_spawn_file_actions_adddup2(&actions, standard[static_cast<size_t>(i)], i);
  sigset_t none, ignored_by_us;
  ::sigemptyset(&none);
  ::sigemptyset(&ignored_by_us);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&ignored_by_us, signal);
  ::posix_spawnattr_setpgroup(&attributes, group);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored_by_us);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const char* arguments[] = {"sh", "-c", command, nullptr};
  pid_t process = -1;
  const int code =
      ::posix_spawn(&process, "/bin/sh", &actions, &attributes, const_cast<char**>(arguments), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  errno = code;
  return code == 0 ? process : -1;
}

// A shell that leads a group, and kills it when the other end of its input closes: that happens in whatever
// way we end, also by SIGKILL.
constexpr const char* kGuard = "read -r line; kill -KILL 0";

std::string ending_of(int status) {
  const auto by_signal = [](int number) {
    return fmt::format("signal {} ({})", number, ::strsignal(number));
  };
  if (WIFSIGNALED(status)) return "was killed by " + by_signal(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  // A shell reports the signal that killed its command like this.
  if (code > 128 && code < 128 + 65)
    return fmt::format("ended with exit status {}, {}", code, by_signal(code - 128));
  if (code == 127) return "ended with exit status 127, command not found";
  return fmt::format("ended with exit status {}", code);
}

int milliseconds_until(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::chrono::milliseconds(kSlice).count()));
}

steady_clock::time_point deadline_in(std::chrono::duration<double> timeout) {
  constexpr std::chrono::duration<double> kLongest = std::chrono::hours(24 * 365);
  return steady_clock::now() + std::chrono::ceil<std::chrono::milliseconds>(std::min(timeout, kLongest));
}

}  // namespace

ChildProcess::ChildProcess(const std::string& command) {
  const Pipe life = make_pipe(true), input = make_pipe(true), output = make_pipe(false),
             errors = make_pipe(false);
  input_ = input.ours, output_ = output.ours, errors_ = errors.ours, life_ = life.ours;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  {
    const auto lock = lock_leftovers();
    guard_ = spawn(kGuard, {life.theirs, nowhere, nowhere}, 0);
    if (guard_ > 0) note_process_group(guard_);
    if (guard_ > 0) process_ = spawn(command.c_str(), {input.theirs, output.theirs, errors.theirs}, guard_);
  }
  const int code = errno;
  for (const int fd : {life.theirs, input.theirs, output.theirs, errors.theirs, nowhere}) ::close(fd);
  if (process_ > 0) return;
  end_group();
  close_all();
  throw bad_input("cannot start a child process: {}", std::strerror(code));
}

ChildProcess::~ChildProcess() {
  stop();
  close_all();
}

void ChildProcess::close_all() {
  for (const int fd : {input_, output_, errors_, life_}) {
    if (fd >= 0) ::close(fd);
  }
}

// Gives the status of the child.
int ChildProcess::end_group() {
  if (guard_ < 0) return 0;
  ::kill(-guard_, SIGKILL);  // before reaping: until then nobody else can have the group's number
  receive_errors();
  int status = 0, unused = 0;
  while (process_ > 0 && ::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  while (::waitpid(guard_, &unused, 0) < 0 && errno == EINTR) {
  }
  const auto lock = lock_leftovers();
  forget_process_group(std::exchange(guard_, -1));
  return status;
}

ChildProcess::Reply ChildProcess::exchange(std::string_view line, std::chrono::duration<double> timeout,
                                           size_t longest_line) {
  using Outcome = Reply::Outcome;
  const Deadline deadline = deadline_in(timeout);
  const std::string request = std::string(line) + '\n';
  std::string_view pending = request;
  for (bool open = true;;) {
    const size_t end = received_.find('\n');
    if (std::min(end, received_.size()) > longest_line)
      return {Outcome::kTooLong, received_.substr(0, longest_line)};
    if (end != std::string::npos) {
      Reply reply{end + 1 == received_.size() ? Outcome::kLine : Outcome::kExtra, received_.substr(0, end)};
      received_.clear();
      return reply;
    }
    if (!open) {
      wait_until_ended(steady_clock::now() + kTimeToEnd);
      return {Outcome::kEnded, received_};
    }
    if (steady_clock::now() >= deadline) return {Outcome::kTimeout, received_};
    const bool ended = has_ended();  // asked before the last look at its output, so that no answer is missed
    pollfd watched[3] = {
        {output_, POLLIN, 0}, {errors_, POLLIN, 0}, {pending.empty() ? -1 : input_, POLLOUT, 0}};
    if (::poll(watched, 3, ended ? 0 : milliseconds_until(deadline)) < 0 && errno != EINTR)
      return {Outcome::kEnded, received_};
    if (watched[2].revents != 0) send_some(pending);
    if (watched[1].revents != 0) receive_errors();
    if (watched[0].revents != 0)
      open = receive(output_, received_);
    else if (ended)
      open = false;  // a grandchild may hold the pipe open
  }
}

void ChildProcess::finish(std::string_view line, std::chrono::duration<double> grace) {
  const std::string request = std::string(line) + '\n';
  std::string_view pending = request;
  send_some(pending);
  ::shutdown(input_, SHUT_WR);
  wait_until_ended(deadline_in(grace));
}

std::string ChildProcess::stop() {
  if (!ending_.empty()) return ending_;
  const bool by_itself = has_ended();
  const int status = end_group();
  ending_ = by_itself ? ending_of(status) : "was stopped by Vernier";
  return ending_;
}

void ChildProcess::send_some(std::string_view& pending) {
  const ssize_t count = ::send(input_, pending.data(), pending.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count > 0) pending.remove_prefix(static_cast<size_t>(count));
  // A process that reads no more is found out by its missing answer.
  if (count < 0 && errno != EAGAIN && errno != EINTR) pending = {};
}

void ChildProcess::receive_errors() {
  if (errors_ < 0) return;
  if (!receive(errors_, words_)) ::close(std::exchange(errors_, -1));
  if (words_.size() > kWordsKept) words_.erase(0, words_.size() - kWordsKept);
}

std::string ChildProcess::last_words() const {
  std::string text = words_;
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x7F || (code < 0x20 && c != '\n')) c = c == '\t' ? ' ' : '?';
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  size_t begin = text.size();
  for (size_t lines = 0; lines < kLinesShown && begin != std::string::npos && begin > 0; ++lines)
    begin = text.rfind('\n', begin - 1);
  return begin == std::string::npos ? text : text.substr(begin == 0 ? 0 : begin + 1);
}

bool ChildProcess::has_ended() const {
  if (!ending_.empty()) return true;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process_;
}

bool ChildProcess::wait_until_ended(Deadline deadline) const {
  while (!has_ended()) {
    const int left = milliseconds_until(deadline);
    if (left == 0) return false;
    ::poll(nullptr, 0, std::min(left, 5));
  }
  return true;
}

}  // namespace vernier
