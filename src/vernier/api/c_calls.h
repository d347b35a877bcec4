// This file has what the functions of the C interface share: errors as statuses, and the handle of an engine.
#pragma once

#include <new>
#include <optional>

#include "vernier/vernier.h"
#include "vernier/vernier_c.h"

namespace vernier::api {

struct LastError {
  std::exception_ptr keeps_text_alive;
  const char *text = "", *file = "", *node = "", *advice = "";
};
// Gives the error of this thread.
LastError& last_error() noexcept;

// The status of a call; whatever it throws is kept for vernier_last_error.
template <class Call>
vernier_status status_of(const Call& call) noexcept {
  LastError& last = last_error();
  last = {};
  try {
    call();
    return VERNIER_OK;
  } catch (const v1::Error& error) {
    last = {std::current_exception(), error.what(), error.file(), error.node(), error.advice()};
    return static_cast<vernier_status>(error.code());
  } catch (const std::bad_alloc&) {
    last.text = "out of memory";
    return VERNIER_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    last = {std::current_exception(), error.what(), "", "", ""};
    return VERNIER_ERROR_INTERNAL;
  }
}

template <class... Pointers>
void require_pointers(const Pointers*... pointers) {
  if ((!pointers || ...)) throw v1::Error(v1::ErrorCode::kUsage, "a null pointer is given");
}

// A tensor's description with what its pointers point to.
struct TensorInfoOfC {
  std::vector<int64_t> dims;
  std::vector<const char*> symbols;
  vernier_tensor_info info{};

  explicit TensorInfoOfC(const v1::TensorInfo& from);
  TensorInfoOfC(TensorInfoOfC&&) noexcept = default;  // moving a vector keeps its elements where they are
};

}  // namespace vernier::api

struct vernier_engine {
  vernier::v1::Engine engine;
  std::vector<vernier::api::TensorInfoOfC> inputs, outputs;
  std::vector<const char*> reasons, notes;

  explicit vernier_engine(vernier::v1::Engine made);
};
