// A descriptor of cuDNN: attributes by number, then finalised.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "vernier/backends/cuda/libraries/cudnn_api.h"

namespace vernier::cuda {

// Thrown, and caught, where the library takes no such descriptor.
struct DnnRefusal {
  std::string reason;
};

class DnnDescriptor {
 public:
  // `api` outlives this. This and all that follows throw DnnRefusal.
  DnnDescriptor(const CudnnApi& api, int kind);
  ~DnnDescriptor();
  DnnDescriptor(DnnDescriptor&& other) noexcept
      : api_(other.api_), pointer_(std::exchange(other.pointer_, nullptr)) {}
  DnnDescriptor& operator=(DnnDescriptor&&) = delete;
  DnnDescriptor(const DnnDescriptor&) = delete;

  DnnPointer get() const { return pointer_; }
  // Values of the type that the library knows by the number `type`.
  void set(int attribute, int type, const void* values, size_t count);
  template <class T>
  void set(int attribute, int type, const T& value) {
    set(attribute, type, &value, 1);
  }
  void set(int attribute, std::span<const int64_t> values) {
    set(attribute, kDnnOfInt64, values.data(), values.size());
  }
  void set(int attribute, const DnnDescriptor& value) { set(attribute, kDnnOfDescriptor, value.pointer_); }
  void finalize();
  // How many values there are, of which at most `most` are written.
  size_t get(int attribute, int type, void* values, size_t most) const;

 private:
  void check(DnnStatus status) const;

  const CudnnApi& api_;
  DnnPointer pointer_ = nullptr;
};

struct DnnPlan {
  // Throws DnnRefusal, as what follows.
  DnnPlan(const CudnnApi& api, DnnHandle handle, const DnnDescriptor& configuration);
  // From json() of the same version of the library for the same device.
  DnnPlan(const CudnnApi& api, DnnHandle handle, const std::string& json);

  std::string json() const;
  // Counts the bytes of memory in which the workspace has a place that is aligned.
  size_t working_bytes() const { return workspace > 0 ? workspace + kAlignment : 0; }

  static constexpr size_t kAlignment = 256;  // of the workspace, in bytes
  DnnDescriptor plan;
  size_t workspace = 0;  // bytes
  std::string name;      // by which an engine file knows it

 private:
  void finalize(DnnHandle handle);
};

}  // namespace vernier::cuda
