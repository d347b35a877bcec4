// The C interface on top of the C++ one: errors, threads and engines; c_session.cpp has sessions.
#include "vernier/api/c_calls.h"

using namespace vernier::v1;
using vernier::api::last_error;
using vernier::api::require_pointers;
using vernier::api::status_of;

extern "C" {

const char* vernier_last_error(void) {
  return last_error().text;
}
const char* vernier_last_error_file(void) {
  return last_error().file;
}
const char* vernier_last_error_node(void) {
  return last_error().node;
}
const char* vernier_last_error_advice(void) {
  return last_error().advice;
}
const char* vernier_version(void) {
  return vernier::v1::version();
}

vernier_status vernier_use_executor(void (*submit)(void*, void (*)(void*), void*), void* context) {
  return status_of([&] {
    if (submit == nullptr) return use_executor(nullptr);
    use_executor([submit, context](std::function<void()> task) {
      // A task that is never called is never freed: who drops tasks has stopped for good.
      auto* kept = new std::function<void()>(std::move(task));
      submit(
          context,
          [](void* data) {
            const std::unique_ptr<std::function<void()>> once(static_cast<std::function<void()>*>(data));
            (*once)();
          },
          kept);
    });
  });
}

vernier_status vernier_use_cores(const int* cores, size_t count) {
  return status_of([&] { use_cores({cores, count}); });
}

vernier_status vernier_engine_build(const char* path, vernier_engine** engine) {
  return status_of([&] {
    require_pointers(path, engine);
    *engine = new vernier_engine(Engine::build(path));
  });
}

vernier_status vernier_engine_build_from_memory(const void* model, size_t bytes, vernier_engine** engine) {
  return status_of([&] {
    require_pointers(model, engine);
    *engine = new vernier_engine(Engine::build({static_cast<const std::byte*>(model), bytes}));
  });
}

vernier_status vernier_engine_load(const char* path, vernier_engine** engine) {
  return status_of([&] {
    require_pointers(path, engine);
    *engine = new vernier_engine(Engine::load(path));
  });
}

void vernier_engine_release(vernier_engine* engine) {
  delete engine;
}

size_t vernier_engine_input_count(const vernier_engine* engine) {
  return engine == nullptr ? 0 : engine->inputs.size();
}
size_t vernier_engine_output_count(const vernier_engine* engine) {
  return engine == nullptr ? 0 : engine->outputs.size();
}

vernier_status vernier_engine_input(const vernier_engine* engine, size_t index, vernier_tensor_info* info) {
  return status_of([&] {
    require_pointers(engine, info);
    if (index >= engine->inputs.size()) throw Error(ErrorCode::kUsage, "there is no input of this index");
    *info = engine->inputs[index].info;
  });
}

vernier_status vernier_engine_output(const vernier_engine* engine, size_t index, vernier_tensor_info* info) {
  return status_of([&] {
    require_pointers(engine, info);
    if (index >= engine->outputs.size()) throw Error(ErrorCode::kUsage, "there is no output of this index");
    *info = engine->outputs[index].info;
  });
}

}  // extern "C"
