// A stream keeps its commands here.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vernier::simulated {

// Says what went wrong in a command. Streams that wait for one that failed share its failure.
struct Failure {
  std::exception_ptr error;
};

// Commands that are run one after the other. When one fails, those behind it are skipped until the host is
// told of the failure, and so are all that were enqueued before it was. Thread-safe; one thread at a time
// runs commands.
class CommandQueue {
 public:
  // An event of another queue.
  struct Awaited {
    std::shared_ptr<CommandQueue> queue;
    uint64_t value = 0;
  };

  explicit CommandQueue(size_t number) : number_(number) {}
  size_t number() const { return number_; }

  void push(std::function<void()> work);
  // Frees memory or the like: is done behind a failure, too, and throws nothing.
  void push_release(std::function<void()> work);
  void push_wait(Awaited event);
  // The number of the event.
  uint64_t push_record();

  bool has_recorded(uint64_t value) const;
  bool has_reached(uint64_t value) const;
  void await(uint64_t value) const;
  // Gives the failure before the event, if the host was not told of it.
  std::shared_ptr<const Failure> failure_before(uint64_t value) const;
  // The host is told of the failure, wherever it was.
  void settle(const std::shared_ptr<const Failure>& failure);

  // Whether there is a command that has not to wait.
  bool is_ready() const;
  // Gives all that commands up to the event wait for.
  std::vector<Awaited> awaited_before(uint64_t value) const;
  // Runs the first command, if there is one; returns when it has ended.
  void step();
  // Returns when there is a command, or false when there will be none.
  bool await_command() const;
  void close();

 private:
  struct Command {
    std::function<void()> work = {};
    bool is_release = false;
    Awaited awaited = {};  // no queue: it is no wait
    uint64_t records = 0;  // 0: it is no record
    uint64_t position = 0;
  };

  void append(Command command);
  std::shared_ptr<const Failure> run(const Command& command, bool skip) const;

  const size_t number_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Command> commands_;
  bool closed_ = false;
  uint64_t enqueued_ = 0, recorded_ = 0, reached_ = 0;
  uint64_t skipped_before_ = 0;  // a position
  std::shared_ptr<const Failure> failure_;
  uint64_t failed_since_ = 0;  // the first event behind the failure
};

}  // namespace vernier::simulated
