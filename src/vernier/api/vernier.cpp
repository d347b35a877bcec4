#include "vernier/vernier.h"

#include "vernier/api/public_error.h"
#include "vernier/api/session_state.h"
#include "vernier/base/affinity.h"
#include "vernier/base/thread_pool.h"
#include "vernier/base/threads.h"
#include "vernier/onnx/import.h"

namespace vernier::v1 {

using api::guarded;

namespace {

template <class State>
auto& require_state(const State& state, const char* what) {
  if (!state) throw usage_error("this {} was moved from", what);
  return *state;
}

api::Memory memory_of(const api::SessionState& session, ElementType type, const std::vector<int64_t>& dims,
                      const void* data, std::span<const int64_t> byte_strides, std::string_view device) {
  return {static_cast<vernier::ElementType>(type), dims, data, byte_strides,
          find_device(session.engine(), device)};
}

TensorView view_of(const api::OutputsState& outputs, size_t index) {
  const Datum& datum = outputs.data[index];
  if (!datum.is_tensor())
    throw unsupported("output '{}' is no tensor, and this interface carries tensors only",
                      outputs.engine->outputs[index].name);
  if (!datum.tensor.is_defined())
    throw usage_error("output '{}' lies in the cache that it is bound to",
                      outputs.engine->outputs[index].name)
        .advise("read it there: cache_rows() says how many rows it has");
  return {static_cast<ElementType>(datum.tensor.type()), datum.tensor.dims(), datum.tensor.raw(),
          outputs.devices.empty() ? "cpu" : outputs.devices[index].c_str()};
}

}  // namespace

size_t TensorView::size() const noexcept {
  size_t count = 1;
  for (const int64_t dim : dims_) count *= static_cast<size_t>(dim);
  return count;
}

void TensorView::require(ElementType type) const {
  if (type == type_ && device_ == std::string_view("cpu")) return;
  guarded([&] {
    if (type == type_)
      throw usage_error("a tensor in memory of {} is read as if it were memory of the CPU", device_)
          .advise("copy it to the CPU first");
    throw usage_error("a tensor of {} is read as {}",
                      element_type_name(static_cast<vernier::ElementType>(type_)),
                      element_type_name(static_cast<vernier::ElementType>(type)))
        .advise("ask its type() first");
  });
}

Engine Engine::build(const std::filesystem::path& model, const BuildOptions& options) {
  return guarded([&] {
    try {
      const ImportedModel imported = import_model(model);
      return Engine(api::build(imported.model, options, messages_of(imported.notes)));
    } catch (vernier::Error& error) {
      throw error.in_file(model.string());
    }
  });
}

Engine Engine::build(std::span<const std::byte> model, const std::filesystem::path& folder,
                     const BuildOptions& options) {
  return guarded([&] {
    const ImportedModel imported = import_model(model, folder);
    return Engine(api::build(imported.model, options, messages_of(imported.notes)));
  });
}

Engine Engine::load(const std::filesystem::path& engine) {
  return guarded([&] {
    try {
      return Engine(api::load(engine));
    } catch (vernier::Error& error) {
      throw error.in_file(engine.string());
    }
  });
}

std::span<const TensorInfo> Engine::inputs() const noexcept {
  return state_->inputs;
}
std::span<const TensorInfo> Engine::outputs() const noexcept {
  return state_->outputs;
}
const BuildReport& Engine::report() const noexcept {
  return state_->report;
}

size_t Outputs::size() const noexcept {
  return state_->data.size();
}

TensorView Outputs::operator[](std::string_view name) const& {
  return guarded([&] {
    const auto& infos = state_->engine->outputs;
    const auto found =
        std::find_if(infos.begin(), infos.end(), [&](const TensorInfo& info) { return info.name == name; });
    if (found == infos.end())
      throw usage_error("the model has no output '{}'", name).advise("names must match exactly");
    return view_of(*state_, static_cast<size_t>(found - infos.begin()));
  });
}

TensorView Outputs::at(size_t index) const& {
  return guarded([&] {
    if (index >= size()) throw usage_error("the model has {} outputs, none at {}", size(), index);
    return view_of(*state_, index);
  });
}

Event::Event(std::shared_ptr<api::PendingRun> run) noexcept : run_(std::move(run)) {}
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&& other) noexcept {
  if (run_ && run_ != other.run_) run_->drop();
  run_ = std::move(other.run_);
  return *this;
}
Event::~Event() {
  if (run_) run_->drop();
}

bool Event::ready() const noexcept {
  return !run_ || run_->finished();
}

Outputs Event::wait() {
  return guarded([&] {
    if (!run_) throw usage_error("this event was waited for, or moved from, already");
    const auto run = std::move(run_);
    return Outputs(run->wait());
  });
}

Session::Session(const Engine& engine, const SessionOptions& options)
    : state_(guarded([&] {
        if (options.threads < 0) throw usage_error("{} threads: at least 1, or 0 for all", options.threads);
        return std::make_unique<api::SessionState>(engine.state_, options.threads);
      })) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

void Session::bind_input(std::string_view name, ElementType type, const std::vector<int64_t>& dims,
                         const void* data, std::span<const int64_t> byte_strides, std::string_view device) {
  guarded([&] {
    auto& session = require_state(state_, "session");
    session.bind_input(name, memory_of(session, type, dims, data, byte_strides, device));
  });
}

void Session::bind_output(std::string_view name, ElementType type, const std::vector<int64_t>& dims,
                          void* data, std::span<const int64_t> byte_strides, std::string_view device) {
  guarded([&] {
    auto& session = require_state(state_, "session");
    session.bind_output(name, memory_of(session, type, dims, data, byte_strides, device));
  });
}

void Session::require_size(std::string_view name, size_t given, const std::vector<int64_t>& dims) {
  guarded([&] {
    if (static_cast<size_t>(element_count(dims)) != given)
      throw bad_input("'{}' is bound to {} elements, but {} takes {}", name, given, dims_text(dims),
                      element_count(dims));
  });
}

void Session::bind_cache(std::string_view past, std::string_view present, ElementType type,
                         const std::vector<int64_t>& dims, void* data, int64_t rows,
                         std::string_view device) {
  guarded([&] {
    auto& session = require_state(state_, "session");
    session.bind_cache(past, present, memory_of(session, type, dims, data, {}, device), rows);
  });
}

void Session::keep_cache(std::string_view past, std::string_view present, ElementType type,
                         const std::vector<int64_t>& dims) {
  guarded([&] {
    require_state(state_, "session")
        .keep_cache(past, present, {static_cast<vernier::ElementType>(type), dims, nullptr, {}});
  });
}

void Session::read_cache(std::string_view past, void* data, size_t bytes) const {
  guarded([&] { require_state(state_, "session").read_cache(past, data, bytes); });
}

int64_t Session::cache_rows(std::string_view past) const {
  return guarded([&] { return require_state(state_, "session").cache_rows(past); });
}

void Session::set_cache_rows(std::string_view past, int64_t rows) {
  guarded([&] { require_state(state_, "session").set_cache_rows(past, rows); });
}

void Session::unbind(std::string_view name) {
  guarded([&] { require_state(state_, "session").unbind(name); });
}

void Session::use_stream(std::string_view device, void* stream) {
  guarded([&] { require_state(state_, "session").use_stream(device, stream); });
}

void Session::leave_stream() {
  guarded([&] { require_state(state_, "session").leave_stream(); });
}

void Session::synchronize() {
  guarded([&] { require_state(state_, "session").synchronize(); });
}

Outputs Session::run() {
  return guarded([&] { return Outputs(require_state(state_, "session").run()); });
}

Event Session::run_async() {
  return guarded([&] { return Event(require_state(state_, "session").run_async()); });
}

void Session::cancel() noexcept {
  if (state_) state_->cancel();
}

std::vector<LayerTime> Session::profile(int runs) {
  return guarded([&] { return require_state(state_, "session").profile(runs); });
}

size_t Session::memory_bytes() const {
  return guarded([&] { return require_state(state_, "session").memory_bytes(); });
}

void use_executor(std::function<void(std::function<void()> task)> submit) {
  guarded([&] { ThreadPool::instance().use(std::move(submit)); });
}

void use_cores(std::span<const int> cores) {
  guarded([&] {
    run_on_cores({cores.begin(), cores.end()});
    set_thread_count(static_cast<int>(cores.size()));
  });
}

const char* version() noexcept {
  return VERNIER_VERSION;
}

}  // namespace vernier::v1
