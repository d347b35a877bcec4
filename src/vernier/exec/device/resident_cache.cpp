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
  Tensor dense(element_, dims_of(count));
  const size_t bytes = bytes_of(element_, {count, dims_.back()}),
               step = bytes_of(element_, {dims_[dims_.size() - 2], dims_.back()});
  if (dense.byte_size() == 0) return dense;
  const auto stream = device_.stream();
  auto* to = static_cast<std::byte*>(dense.mutable_raw());
  const std::byte* from = memory_->address();
  for (size_t at = 0; at < dense.byte_size(); at += bytes, from += step) stream->copy(from, to + at, bytes);
  stream->wait_on_host(stream->record());
  return dense;
}

}  // namespace vernier
