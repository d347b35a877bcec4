#include "session.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace vernier::python {

RunOutputs::RunOutputs(const Outputs& outputs)
    : outputs_(outputs),
      owner_(new Outputs(outputs), [](void* copy) noexcept { delete static_cast<Outputs*>(copy); }) {}

RunOutputs PyEvent::wait() {
  if (!outputs_) {
    std::optional<Outputs> made;
    {
      const nb::gil_scoped_release release;
      made = event_.wait();
    }
    outputs_.emplace(*made);
    session_.reset();
  }
  return *outputs_;
}

DeviceArray::DeviceArray(const Engine& engine, std::string device, int type, std::vector<int64_t> dims)
    : device_(std::move(device)),
      type_(static_cast<ElementType>(type)),
      dims_(std::move(dims)),
      memory_(std::make_shared<DeviceMemory>(engine, device_,
                                             TensorView(type_, dims_, nullptr).size() * bytes_of(type_))) {}

void DeviceArray::write(nb::handle array) {
  const ArrayMemory from = memory_of(array, "array", Access::kRead);
  if (from.type != type_ || from.dims != dims_ || from.device != "cpu")
    throw Error(ErrorCode::kBadInput,
                "an array on " + device_ + " is written from one of the CPU of the same type and sizes");
  memory_->write(from.data, memory_->bytes());
}

void DeviceArray::read(nb::handle array) const {
  const ArrayMemory to = memory_of(array, "array", Access::kWrite);
  if (to.type != type_ || to.dims != dims_ || to.device != "cpu")
    throw Error(ErrorCode::kBadInput,
                "an array on " + device_ + " is read into one of the CPU of the same type and sizes");
  memory_->read(to.data, memory_->bytes());
}

nb::object DeviceArray::dlpack(const nb::kwargs& options) const {
  const nb::capsule owner(new std::shared_ptr<DeviceMemory>(memory_), [](void* held) noexcept {
    delete static_cast<std::shared_ptr<DeviceMemory>*>(held);
  });
  const TensorView view(type_, dims_, memory_->data(), device_.c_str());
  return dlpack_array(view, owner).attr("__dlpack__")(**options);
}

class PySession::Use {
 public:
  explicit Use(PySession& session) : session_(session) {
    if (session_.in_use_.exchange(true)) throw Error(ErrorCode::kBusy);
  }
  ~Use() { session_.in_use_ = false; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  PySession& session_;
};

namespace {

Session make_session(const Engine& engine, int threads) {
  const nb::gil_scoped_release release;
  return Session(engine, {.threads = threads});
}

bool is_output(const Engine& engine, const std::string& name) {
  for (const TensorInfo& info : engine.outputs()) {
    if (info.name == name) return true;
  }
  return false;
}

}  // namespace

PySession::PySession(const Engine& engine, int threads)
    : engine_(engine), session_(make_session(engine, threads)) {}

void PySession::bind(const std::string& name, nb::handle array) {
  const Use use(*this);
  const bool output = is_output(engine_, name);
  ArrayMemory memory = memory_of(array, name.c_str(), output ? Access::kWrite : Access::kRead);
  if (output)
    session_.bind_output(name, memory.type, memory.dims, memory.data, {}, memory.device);
  else
    bind_input(name, memory);
  bound_.insert_or_assign(name, std::move(memory));
}

void PySession::bind_input(const std::string& name, const ArrayMemory& memory) {
  session_.bind_input(name, memory.type, memory.dims, memory.data, {}, memory.device);
}

void PySession::unbind(const std::string& name) {
  const Use use(*this);
  session_.unbind(name);
  bound_.erase(name);
}

void PySession::bind_cache(const std::string& past, const std::string& present, nb::handle array,
                           int64_t rows) {
  const Use use(*this);
  ArrayMemory memory = memory_of(array, past.c_str(), Access::kWrite);
  session_.bind_cache(past, present, memory.type, memory.dims, memory.data, rows, memory.device);
  bound_.insert_or_assign(past, std::move(memory));
}

int64_t PySession::cache_rows(const std::string& past) {
  const Use use(*this);
  return session_.cache_rows(past);
}

void PySession::set_cache_rows(const std::string& past, int64_t rows) {
  const Use use(*this);
  session_.set_cache_rows(past, rows);
}

void PySession::use_stream(const std::string& device, uintptr_t stream) {
  const Use use(*this);
  session_.use_stream(device, reinterpret_cast<void*>(stream));
}

void PySession::leave_stream() {
  const Use use(*this);
  const nb::gil_scoped_release release;
  session_.leave_stream();
}

void PySession::synchronize() {
  const Use use(*this);
  const nb::gil_scoped_release release;
  session_.synchronize();
}

RunOutputs PySession::run(const nb::dict& feeds) {
  const Use use(*this);
  std::map<std::string, ArrayMemory> fed;
  // Binds again what was bound before, and forgets the rest, so that no memory is held that nobody needs.
  struct Restore {
    PySession& session;
    std::map<std::string, ArrayMemory>& fed;
    ~Restore() {
      for (const auto& [name, memory] : fed) {
        try {
          const auto before = session.bound_.find(name);
          if (before == session.bound_.end())
            session.session_.unbind(name);
          else
            session.bind_input(name, before->second);
        } catch (
            const Error&) {  // what was bound is gone from the library; it tells when the next run lacks it
          session.bound_.erase(name);
        }
      }
    }
  } restore{*this, fed};
  for (const auto& [key, value] : feeds) {
    auto name = nb::cast<std::string>(key);
    ArrayMemory memory = memory_of(value, name.c_str(), Access::kRead);
    bind_input(name, memory);
    fed.insert_or_assign(std::move(name), std::move(memory));
  }
  std::optional<Outputs> outputs;
  {
    const nb::gil_scoped_release release;
    outputs = session_.run();
  }
  return RunOutputs(*outputs);
}

PyEvent PySession::run_async(nb::handle self) {
  const Use use(*this);
  return {session_.run_async(), nb::borrow(self)};
}

std::vector<LayerTime> PySession::profile(int runs) {
  const Use use(*this);
  const nb::gil_scoped_release release;
  return session_.profile(runs);
}

size_t PySession::memory_bytes() {
  const Use use(*this);
  return session_.memory_bytes();
}

}  // namespace vernier::python
