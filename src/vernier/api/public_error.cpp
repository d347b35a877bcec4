#include "vernier/api/public_error.h"

#include <system_error>

#include "vernier/base/error.h"
#include "vernier/base/error_advice.h"
#include "vernier/exec/run_options.h"

namespace vernier::v1 {

Error::Error(ErrorCode code, const std::string& message)
    : code_(code), state_(std::make_shared<api::ErrorState>(api::ErrorState{message, {}, {}, {}})) {}
Error::Error(ErrorCode code) noexcept : code_(code) {}
Error::Error(const Error&) noexcept = default;
Error& Error::operator=(const Error&) noexcept = default;
Error::~Error() = default;

const char* Error::what() const noexcept {
  if (state_) return state_->text.c_str();
  switch (code_) {
    case ErrorCode::kOutOfMemory: return "out of memory";
    case ErrorCode::kCancelled: return "the run was cancelled";
    case ErrorCode::kBusy:
      return "the session has a run under way (wait for its event, or use a session for each thread)";
    case ErrorCode::kNotReady: return "the outputs are not there yet (wait for the run first)";
    default: return "internal error";
  }
}

const char* Error::file() const noexcept {
  return state_ ? state_->file.c_str() : "";
}
const char* Error::node() const noexcept {
  return state_ ? state_->node.c_str() : "";
}
const char* Error::advice() const noexcept {
  return state_ ? state_->advice.c_str() : "";
}

}  // namespace vernier::v1

namespace vernier::api {

v1::Error ErrorState::make(v1::ErrorCode code, ErrorState state) {
  v1::Error error(code);
  error.state_ = std::make_shared<ErrorState>(std::move(state));
  return error;
}

namespace {

// The codes of both have the same numbers.
v1::Error translate(const Error& error) {
  return ErrorState::make(static_cast<v1::ErrorCode>(error.code()),
                          {error.what(), error.file(), error.node(), advice_of(error)});
}

[[noreturn]] void translate_current() {
  try {
    throw;
  } catch (const v1::Error&) {
    throw;
  } catch (const Error& error) {
    throw translate(error);
  } catch (const Stopped&) {
    throw v1::Error(v1::ErrorCode::kCancelled);
  } catch (const std::bad_alloc& error) {
    throw v1::Error(v1::ErrorCode::kOutOfMemory, error.what());
  } catch (const std::system_error& error) {
    throw v1::Error(v1::ErrorCode::kUnsupported, std::string("the system refuses: ") + error.what());
  } catch (const std::exception& error) {
    throw v1::Error(v1::ErrorCode::kInternal, std::string("internal error: ") + error.what());
  }
}

}  // namespace

void rethrow_public() {
  try {
    translate_current();
  } catch (const std::bad_alloc&) {
    throw v1::Error(v1::ErrorCode::kOutOfMemory);
  }
}

}  // namespace vernier::api
