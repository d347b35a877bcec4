#include "vernier/exec/device/resident_cache.h"

#include "vernier/base/error.h"

namespace vernier {

namespace {

size_t bytes_of(ElementType element, const Dims& dims) {
  return static_cast<size_t>(element_count(dims)) * element_size(element);
}

}  // namespace

ResidentCache::ResidentCache(Device& device, ElementType element, Dims dims)
    : device_(device), element_(element), dims_(std::move(dims)) {
  if (dims_.size() < 2) throw bad_input("a cache of rank {} has no rows", dims_.size());
  memory_ = device.allocate(std::max<size_t>(1, bytes_of(element, dims_)));
}

Dims ResidentCache::dims_of(int64_t rows) const {
  Dims dims = dims_;
  dims[dims.size() - 2] = rows;
  return dims;
}

Tensor ResidentCache::rows(int64_t count) const {
  return Tensor::borrow(element_, dims_of(count), memory_->address(), nullptr);
}

Tensor ResidentCache::read(int64_t count) const {
  return dense_rows(device_, element_, dims_of(count), dims_[dims_.size() - 2], memory_->address());
}

Tensor dense_rows(Device& device, ElementType element, const Dims& dims, int64_t capacity,
                  const void* memory) {
  Tensor dense(element, dims);
  if (dense.byte_size() == 0) return dense;
  const size_t bytes = bytes_of(element, {dims[dims.size() - 2], dims.back()}),
               step = bytes_of(element, {capacity, dims.back()});
  const auto stream = device.stream();
  auto* to = static_cast<std::byte*>(dense.mutable_raw());
  const auto* from = static_cast<const std::byte*>(memory);
  for (size_t at = 0; at < dense.byte_size(); at += bytes, from += step) stream->copy(from, to + at, bytes);
  stream->wait_on_host(stream->record());
  return dense;
}

}  // namespace vernier
