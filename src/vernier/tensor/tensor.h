// A dense, row-major tensor of known sizes. Copies share the buffer; writing needs the only reference or a
// clone.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor_type.h"

namespace vernier {

// Makes the content of a tensor when it is first read.
class DeferredContent {
 public:
  virtual ~DeferredContent() = default;
  // Thread-safe; the memory lives as long as this.
  virtual const void* get() const = 0;
};

class Tensor {
 public:
  Tensor() = default;  // no type, no elements
  // Zero-filled. Throws bad_input when the size leaves the address space or `allocation_limit()`.
  Tensor(ElementType type, Dims dims);
  // A view of foreign memory that `owner` keeps alive; the memory is never written.
  static Tensor borrow(ElementType type, Dims dims, const void* data, std::shared_ptr<const void> owner);
  // The type has a fixed element size.
  static Tensor deferred(ElementType type, Dims dims, std::shared_ptr<const DeferredContent> content);
  template <class T>
  static Tensor from(ElementType type, Dims dims, const std::vector<T>& values);
  static Tensor scalar(int64_t value);

  ElementType type() const { return type_; }
  const Dims& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t size() const { return size_; }  // elements
  size_t byte_size() const { return static_cast<size_t>(size_) * element_size(type_); }
  bool is_defined() const { return type_ != ElementType::kUndefined; }

  const void* raw() const { return is_deferred_ ? deferred_content().get() : data_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(raw()), byte_size()}; }
  bool is_deferred() const { return is_deferred_; }
  // The same for all copies that share the content, and for no others as long as one of them lives; not to
  // be read through.
  const void* identity() const { return data_; }
  // For writing; clones first if the buffer is shared or borrowed.
  void* mutable_raw();

  // T must be the storage type of type() (numeric/element_type.h); checked.
  template <class T>
  std::span<const T> values() const {
    check_storage(sizeof(T));
    return {static_cast<const T*>(raw()), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<T> mutable_values() {
    check_storage(sizeof(T));
    return {static_cast<T*>(mutable_raw()), static_cast<size_t>(size_)};
  }

  // The same elements under other sizes (equal count) or another type of equal storage; shares the buffer.
  Tensor reshaped(Dims dims) const;
  Tensor reinterpreted(ElementType type) const;

  // Conversions of every element: to double (float16, integers, bool, …; not strings), to int64 (exact types
  // only).
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_ints() const;
  // The same for the elements from `first` on, as many as `to` holds or `from` has. Ranges of a tensor that
  // nobody else shares may be written concurrently.
  void read_doubles(int64_t first, std::span<double> to) const;
  void write_doubles(int64_t first, std::span<const double> from);
  // From double with one rounding to nearest even; integers are truncated modulo 2^bits, out-of-range floats
  // go to Inf.
  static Tensor from_doubles(ElementType type, Dims dims, std::span<const double> values);
  static Tensor from_ints(ElementType type, Dims dims, std::span<const int64_t> values);

  // Same type, sizes and bits (strings: same text). NaNs are equal when their bits are.
  bool identical(const Tensor& other) const;

 private:
  void check_storage(size_t element) const;
  const DeferredContent& deferred_content() const { return *static_cast<const DeferredContent*>(data_); }

  ElementType type_ = ElementType::kUndefined;
  Dims dims_;
  int64_t size_ = 0;
  const void* data_ = nullptr;  // elements, or a DeferredContent
  std::shared_ptr<const void> owner_;
  bool writable_ = false, is_deferred_ = false;
};

// No single tensor may be larger, in bytes: what a damaged file asks for is refused before it is allocated.
size_t allocation_limit();
void set_allocation_limit(size_t bytes);

template <class T>
Tensor Tensor::from(ElementType type, Dims dims, const std::vector<T>& values) {
  Tensor result(type, std::move(dims));
  auto target = result.mutable_values<T>();
  if (target.size() != values.size())
    throw internal_error("{} values for a tensor of {}", values.size(), target.size());
  std::copy(values.begin(), values.end(), target.begin());
  return result;
}

// Holds the content of a value at run time: a tensor, a sequence, or an optional (empty or not). A map is a
// sequence of two vectors, its keys, which ascend, and its values.
struct Datum {
  enum class Kind : uint8_t { kTensor, kSequence, kNone };
  Kind kind = Kind::kTensor;
  Tensor tensor;
  std::shared_ptr<const std::vector<Datum>> sequence;

  Datum() = default;
  Datum(Tensor value) : tensor(std::move(value)) {}  // NOLINT: a tensor is a datum
  static Datum of_sequence(std::vector<Datum> elements);
  static Datum none();
  bool is_tensor() const { return kind == Kind::kTensor; }
  // Throws bad_input when this is no tensor.
  const Tensor& as_tensor() const;
  const std::vector<Datum>& as_sequence() const;
  // Keys and values; throws bad_input when this is no map.
  std::pair<const Tensor&, const Tensor&> as_map() const;
};

// Holds what goes into a model, or comes out of it, by name.
using NamedData = std::map<std::string, Datum>;

}  // namespace vernier
