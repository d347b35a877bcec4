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
  if (code != 0) throw internal_error("cannot make a pipe to a child process: {}", std::strerror(errno));
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

pid_t spawn(const std::string& command, const Pipe (&pipes)[3]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (int i = 0; i < 3; ++i) ::posix_spawn_file_actions_adddup2(&actions, pipes[i].theirs, i);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const char* arguments[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t process = -1;
  const int code =
      ::posix_spawn(&process, "/bin/sh", &actions, &attributes, const_cast<char**>(arguments), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  for (const Pipe& pipe : pipes) ::close(pipe.theirs);
  if (code == 0) return process;
  for (const Pipe& pipe : pipes) ::close(pipe.ours);
  throw internal_error("cannot start a child process: {}", std::strerror(code));
}

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
  const Pipe pipes[3] = {make_pipe(true), make_pipe(false), make_pipe(false)};
  process_ = spawn(command, pipes);
  input_ = pipes[0].ours;
  output_ = pipes[1].ours;
  errors_ = pipes[2].ours;
}

ChildProcess::~ChildProcess() {
  stop();
  for (const int fd : {input_, output_, errors_}) {
    if (fd >= 0) ::close(fd);
  }
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
  ::kill(-process_, SIGKILL);  // before reaping: until then nobody else can have the group's number
  receive_errors();
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
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
