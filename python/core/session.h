// A session whose memory belongs to arrays of Python.
#pragma once

#include <atomic>
#include <map>
#include <optional>

#include "arrays.h"
#include "vernier/device_memory.h"

namespace vernier::python {

// The outputs of a run, each an array on demand.
class RunOutputs {
 public:
  explicit RunOutputs(const Outputs& outputs);

  size_t size() const { return outputs_.size(); }
  nanobind::object numpy(size_t index) const { return numpy_array(outputs_.at(index), owner_); }
  nanobind::object dlpack(size_t index) const { return dlpack_array(outputs_.at(index), owner_); }

 private:
  Outputs outputs_;
  nanobind::capsule owner_;  // of a copy of them: arrays outlive this
};

class PySession;

// An array in memory of a device of an engine, which DLPack shows.
class DeviceArray {
 public:
  // `device` with its number, as "cuda:0"; `type` is ONNX's number of the element type.
  DeviceArray(const Engine& engine, std::string device, int type, std::vector<int64_t> dims);

  // From and to arrays of the CPU of the same type and sizes; they throw kBadInput for others.
  void write(nanobind::handle array);
  void read(nanobind::handle array) const;
  nanobind::object dlpack(const nanobind::kwargs& options) const;
  std::pair<int, int> dlpack_device() const { return python::dlpack_device(device_); }

 private:
  std::string device_;
  ElementType type_;
  std::vector<int64_t> dims_;
  std::shared_ptr<DeviceMemory> memory_;
};

// A run in the background. The session stays with it, for its arrays are in use.
class PyEvent {
 public:
  PyEvent(Event event, nanobind::object session) : event_(std::move(event)), session_(std::move(session)) {}

  bool ready() const { return outputs_ || event_.ready(); }
  // As often as one likes; throws what the run threw, once.
  RunOutputs wait();

 private:
  Event event_;
  nanobind::object session_;
  std::optional<RunOutputs> outputs_;
};

class PySession {
 public:
  PySession(const Engine& engine, int threads);

  // An input or output, by its name; the array stays with the session.
  void bind(const std::string& name, nanobind::handle array);
  void unbind(const std::string& name);
  void bind_cache(const std::string& past, const std::string& present, nanobind::handle array, int64_t rows);
  int64_t cache_rows(const std::string& past);
  void set_cache_rows(const std::string& past, int64_t rows);
  // A CUstream, as a number.
  void use_stream(const std::string& device, uintptr_t stream);
  void leave_stream();
  void synchronize();

  // Inputs of this run alone, beside what is bound.
  RunOutputs run(const nanobind::dict& feeds);
  PyEvent run_async(nanobind::handle self);
  void cancel() { session_.cancel(); }
  std::vector<LayerTime> profile(int runs);
  size_t memory_bytes();

 private:
  // The session is in use while one lives; a second one throws kBusy. Session does this for each of its
  // calls: here it is for some that belong together.
  class Use;
  void bind_input(const std::string& name, const ArrayMemory& memory);

  Engine engine_;
  std::map<std::string, ArrayMemory> bound_;
  Session session_;  // destroyed before what it reads and writes
  std::atomic<bool> in_use_{false};
};

}  // namespace vernier::python
