// The memory that a session reads its inputs from and writes its outputs to.
#pragma once

#include "vernier/api/engine_state.h"
#include "vernier/api/memory.h"
#include "vernier/exec/device/resident_cache.h"

namespace vernier::api {

class Bindings {
 public:
  explicit Bindings(const Engine& engine);  // outlives this

  // All throw as v1::Session says, and then change nothing.
  void bind_input(std::string_view name, const Memory& memory);
  void bind_output(std::string_view name, const Memory& memory);
  void unbind(std::string_view name);
  void bind_cache(std::string_view past, std::string_view present, const Memory& memory, int64_t rows);
  // In memory that is made on its device; of `memory` type and sizes count.
  void keep_cache(std::string_view past, std::string_view present, const Memory& memory);
  void read_cache(std::string_view past, void* data, size_t bytes) const;
  int64_t cache_rows(std::string_view past) const;
  void set_cache_rows(std::string_view past, int64_t rows);
  size_t kept_bytes() const;
  void require_inputs() const;

  const std::vector<Datum>& inputs() const { return inputs_; }
  const std::vector<OutputMemory>& outputs() const { return outputs_; }
  // Caches come first.
  std::vector<MemoryBinding> bindings() const;
  // Makes the rows that a run has put there the past of the next: those of each of bindings().
  void take_cache_rows(std::span<const int64_t> rows);
  // For what reads dense inputs on the host only; others are copied.
  NamedData named_inputs() const;
  // The name of the device that an output lies on.
  const std::string& device_of(size_t output) const { return output_devices_[output].name; }

 private:
  struct Cache {
    MemoryBinding binding;
    Dims dims;  // of its memory
    Device* device;
    std::unique_ptr<ResidentCache> kept;  // null where the memory is the caller's
  };

  // Throws where the memory is an output's; with `writes`, also where it is an input's. What is bound to
  // `input` and `output`, which it is to replace, does not count.
  void require_apart(const std::string& what, const Memory& memory, bool writes, std::optional<size_t> input,
                     std::optional<size_t> output) const;
  // The memory that an input lies in, all of a cache's.
  Memory memory_of(size_t input) const;
  // For memory of this type and sizes, of which `rows` are filled.
  MemoryBinding checked_cache(std::string_view past, std::string_view present, const Memory& memory,
                              int64_t rows) const;
  void add_cache(const MemoryBinding& cache, const Memory& memory, int64_t rows,
                 std::unique_ptr<ResidentCache> kept);
  // The rows that a cache has, dense.
  Tensor rows_of(const Cache& cache) const;
  // An input that is in no cache.
  Datum on_host(size_t input) const;
  const Cache& cache_of(std::string_view past) const;
  void release_input(size_t input);
  void release_output(size_t output);
  void forget_cache(std::optional<size_t> input, std::optional<size_t> output);
  void set_rows(const Cache& cache, int64_t rows);

  const Engine& engine_;
  const Graph& graph_;
  std::vector<Datum> inputs_;  // a default until it is bound
  std::vector<bool> bound_;    // of inputs
  std::vector<OutputMemory> outputs_;
  std::vector<EngineDevice> input_devices_, output_devices_;
  std::vector<Cache> caches_;
};

}  // namespace vernier::api
