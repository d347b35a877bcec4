#include "vernier/report/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "vernier/base/error_advice.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

int listener = -1;

// Nobody listening any more is no reason to stop.
void tell(const Json& event) {
  const std::string line = event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(listener, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      listener = -1;
      return;
    }
    written += static_cast<size_t>(count);
  }
}

}  // namespace

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage: return "usage";
    case ErrorCode::kBadInput: return "bad_input";
    case ErrorCode::kUnsupported: return "unsupported";
    default: return "internal";
  }
}

void tell_events_to(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  if (flags < 0) throw usage_error("--progress-fd {} is no open file descriptor", descriptor);
  ::fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);  // child processes would hold it open
  listener = descriptor;
}

void tell_stage(const std::string& name, size_t done, std::optional<size_t> steps) {
  if (listener < 0) return;
  tell({{"event", "stage"}, {"name", name}, {"done", done}, {"steps", steps ? Json(*steps) : Json()}});
}

void tell_error(const Error& error) {
  if (listener < 0) return;
  tell({{"event", "error"},
        {"code", error_code_name(error.code())},
        {"message", error.message()},
        {"file", error.file()},
        {"node", error.node()},
        {"advice", advice_of(error)}});
}

}  // namespace vernier
