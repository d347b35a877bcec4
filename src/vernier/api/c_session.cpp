// Sessions, their outputs and events of the C interface.
#include <mutex>

#include "vernier/api/c_calls.h"

using namespace vernier::v1;
using vernier::api::require_pointers;
using vernier::api::status_of;

namespace {

// No model has tensors of more dimensions, and reading more from a caller who has fewer would end the
// process.
constexpr size_t kLargestRank = 255;

std::vector<int64_t> dims_of(const int64_t* dims, size_t rank) {
  if (rank > kLargestRank)
    throw Error(ErrorCode::kBadInput, "a tensor of rank " + std::to_string(rank) + " is given, but " +
                                          std::to_string(kLargestRank) + " is the largest");
  if (rank > 0) require_pointers(dims);
  return {dims, dims + rank};
}

// A session and its events share this, because an event may outlive its session.
struct LastOutputs {
  std::mutex mutex;
  std::optional<Outputs> outputs;
};

}  // namespace

struct vernier_session {
  std::shared_ptr<LastOutputs> last = std::make_shared<LastOutputs>();
  Session session;

  void keep(std::optional<Outputs> outputs) const {
    const std::lock_guard lock(last->mutex);
    last->outputs.swap(outputs);
  }
};

struct vernier_event {
  std::shared_ptr<LastOutputs> last;
  Event event;
};

extern "C" {

vernier_status vernier_session_create(const vernier_engine* engine, int threads, vernier_session** session) {
  return status_of([&] {
    require_pointers(engine, session);
    *session = new vernier_session{.session = Session(engine->engine, {threads})};
  });
}

void vernier_session_release(vernier_session* session) {
  delete session;
}

vernier_status vernier_session_bind_input_on(vernier_session* session, const char* device, const char* name,
                                             vernier_element_type type, const int64_t* dims, size_t rank,
                                             const void* data) {
  return status_of([&] {
    require_pointers(session, device, name);
    if (type == VERNIER_STRING) throw Error(ErrorCode::kUnsupported, "strings are for the C++ interface");
    session->session.bind_input(name, static_cast<ElementType>(type), dims_of(dims, rank), data, {}, device);
  });
}

vernier_status vernier_session_bind_output_on(vernier_session* session, const char* device, const char* name,
                                              vernier_element_type type, const int64_t* dims, size_t rank,
                                              void* data) {
  return status_of([&] {
    require_pointers(session, device, name);
    session->session.bind_output(name, static_cast<ElementType>(type), dims_of(dims, rank), data, {}, device);
  });
}

vernier_status vernier_session_bind_cache_on(vernier_session* session, const char* device, const char* past,
                                             const char* present, vernier_element_type type,
                                             const int64_t* dims, size_t rank, void* data, int64_t rows) {
  return status_of([&] {
    require_pointers(session, device, past, present);
    session->session.bind_cache(past, present, static_cast<ElementType>(type), dims_of(dims, rank), data,
                                rows, device);
  });
}

vernier_status vernier_session_bind_input(vernier_session* session, const char* name,
                                          vernier_element_type type, const int64_t* dims, size_t rank,
                                          const void* data) {
  return vernier_session_bind_input_on(session, "cpu", name, type, dims, rank, data);
}

vernier_status vernier_session_bind_output(vernier_session* session, const char* name,
                                           vernier_element_type type, const int64_t* dims, size_t rank,
                                           void* data) {
  return vernier_session_bind_output_on(session, "cpu", name, type, dims, rank, data);
}

vernier_status vernier_session_bind_cache(vernier_session* session, const char* past, const char* present,
                                          vernier_element_type type, const int64_t* dims, size_t rank,
                                          void* data, int64_t rows) {
  return vernier_session_bind_cache_on(session, "cpu", past, present, type, dims, rank, data, rows);
}

vernier_status vernier_session_keep_cache(vernier_session* session, const char* past, const char* present,
                                          vernier_element_type type, const int64_t* dims, size_t rank) {
  return status_of([&] {
    require_pointers(session, past, present);
    session->session.keep_cache(past, present, static_cast<ElementType>(type), dims_of(dims, rank));
  });
}

vernier_status vernier_session_read_cache(const vernier_session* session, const char* past, void* data,
                                          size_t bytes) {
  return status_of([&] {
    require_pointers(session, past);
    session->session.read_cache(past, data, bytes);
  });
}

vernier_status vernier_session_cache_rows(const vernier_session* session, const char* past, int64_t* rows) {
  return status_of([&] {
    require_pointers(session, past, rows);
    *rows = session->session.cache_rows(past);
  });
}

vernier_status vernier_session_set_cache_rows(vernier_session* session, const char* past, int64_t rows) {
  return status_of([&] {
    require_pointers(session, past);
    session->session.set_cache_rows(past, rows);
  });
}

vernier_status vernier_session_unbind(vernier_session* session, const char* name) {
  return status_of([&] {
    require_pointers(session, name);
    session->session.unbind(name);
  });
}

vernier_status vernier_session_use_stream(vernier_session* session, const char* device, void* stream) {
  return status_of([&] {
    require_pointers(session, device);
    session->session.use_stream(device, stream);
  });
}

vernier_status vernier_session_leave_stream(vernier_session* session) {
  return status_of([&] {
    require_pointers(session);
    session->session.leave_stream();
  });
}

vernier_status vernier_session_synchronize(vernier_session* session) {
  return status_of([&] {
    require_pointers(session);
    session->session.synchronize();
  });
}

vernier_status vernier_session_run(vernier_session* session) {
  return status_of([&] {
    require_pointers(session);
    session->keep(std::nullopt);  // the run may write there again
    session->keep(session->session.run());
  });
}

vernier_status vernier_session_run_async(vernier_session* session, vernier_event** event) {
  return status_of([&] {
    require_pointers(session, event);
    session->keep(std::nullopt);
    *event = new vernier_event{session->last, session->session.run_async()};
  });
}

void vernier_session_cancel(vernier_session* session) {
  if (session != nullptr) session->session.cancel();
}

int vernier_event_ready(const vernier_event* event) {
  return event == nullptr || event->event.ready() ? 1 : 0;
}

vernier_status vernier_event_wait(vernier_event* event) {
  return status_of([&] {
    require_pointers(event);
    std::optional<Outputs> outputs = event->event.wait();
    const std::lock_guard lock(event->last->mutex);
    event->last->outputs.swap(outputs);
  });
}

void vernier_event_release(vernier_event* event) {
  delete event;
}

vernier_status vernier_session_output(const vernier_session* session, const char* name,
                                      vernier_tensor* tensor) {
  return status_of([&] {
    require_pointers(session, name, tensor);
    const std::lock_guard lock(session->last->mutex);
    if (!session->last->outputs) throw Error(ErrorCode::kNotReady);
    const TensorView view = (*session->last->outputs)[name];
    if (view.type() == ElementType::kString)
      throw Error(ErrorCode::kUnsupported, "strings are for the C++ interface");
    *tensor = {static_cast<vernier_element_type>(view.type()), view.dims().size(), view.dims().data(),
               view.data(), view.device()};
  });
}

vernier_status vernier_session_profile(vernier_session* session, int runs,
                                       void (*layer)(const vernier_layer_time*, void* user), void* user) {
  return status_of([&] {
    require_pointers(session);
    if (layer == nullptr) throw Error(ErrorCode::kUsage, "a null pointer is given");
    for (const LayerTime& time : session->session.profile(runs)) {
      std::vector<const char*> nodes;
      for (const std::string& node : time.nodes) nodes.push_back(node.c_str());
      const vernier_layer_time told{time.kernel.c_str(), nodes.data(), nodes.size(), time.milliseconds,
                                    time.is_fallback};
      layer(&told, user);
    }
  });
}

size_t vernier_session_memory_bytes(const vernier_session* session) {
  size_t bytes = 0;
  status_of([&] {
    require_pointers(session);
    bytes = session->session.memory_bytes();
  });
  return bytes;
}

}  // extern "C"
