#include "vernier/tensor/tensor.h"

#include <atomic>
#include <cstring>

#include "vernier/base/memory.h"
#include "vernier/base/threads.h"

namespace vernier {

namespace {

std::atomic<size_t> limit{size_t{4} << 30};

constexpr size_t kLine = 64;  // of the cache: vectors do not straddle two

std::shared_ptr<void> allocate(ElementType type, int64_t count) {
  if (type == ElementType::kString)
    return std::shared_ptr<std::string[]>(new std::string[static_cast<size_t>(count)]);
  const size_t bytes = static_cast<size_t>(count) * element_size(type);
  // Not aligned by the allocator, which would have to touch all of it to clear it.
  std::shared_ptr<void> memory(allocate_zeroed(bytes + kLine), release_memory);
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  auto* line = static_cast<std::byte*>(memory.get()) + (kLine - address % kLine) % kLine;
  return std::shared_ptr<void>(std::move(memory), line);
}

// To be written in full.
std::shared_ptr<void> allocate_unset(size_t bytes) {
  const size_t rounded = (std::max<size_t>(bytes, 1) + kLine - 1) / kLine * kLine;
  return std::shared_ptr<void>(allocate_aligned(kLine, rounded), release_memory);
}

void require_allowed(ElementType type, const Dims& dims) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(element_count(dims)), element_size(type), &bytes) ||
      bytes > limit) {
    throw bad_input("a tensor {}{} is larger than the limit of {} bytes", element_type_short_name(type),
                    dims_text(dims), limit.load());
  }
}

template <class T>
inline constexpr bool kIsSmallInt = false;
template <int Bits, bool Signed>
inline constexpr bool kIsSmallInt<SmallInt<Bits, Signed>> = true;
template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// A double beyond 64 bits cannot be converted in C++, so it is held at their ends first.
template <class T>
T truncate_to(double value) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (value >= 0x1p63)
      return value >= 0x1p64 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(value);
  }
  if (!(value >= -0x1p63)) return static_cast<T>(std::numeric_limits<int64_t>::min());
  return static_cast<T>(value >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(value));
}

constexpr int64_t kGrain = 1 << 16;

}  // namespace

size_t allocation_limit() {
  return limit;
}
void set_allocation_limit(size_t bytes) {
  limit = bytes;
}

Tensor::Tensor(ElementType type, Dims dims)
    : type_(type), dims_(std::move(dims)), size_(element_count(dims_)), writable_(true) {
  require_allowed(type_, dims_);
  owner_ = allocate(type_, size_);
  data_ = owner_.get();
}

Tensor Tensor::borrow(ElementType type, Dims dims, const void* data, std::shared_ptr<const void> owner) {
  Tensor result;
  result.type_ = type;
  result.dims_ = std::move(dims);
  result.size_ = element_count(result.dims_);
  result.data_ = data;
  result.owner_ = std::move(owner);
  return result;
}

Tensor Tensor::deferred(ElementType type, Dims dims, std::shared_ptr<const DeferredContent> content) {
  const DeferredContent* at = content.get();
  Tensor result = borrow(type, std::move(dims), at, std::move(content));
  result.is_deferred_ = true;
  return result;
}

Tensor Tensor::scalar(int64_t value) {
  return from<int64_t>(ElementType::kInt64, {}, {value});
}

void* Tensor::mutable_raw() {
  if (!writable_ || owner_.use_count() != 1) {
    auto copy = type_ == ElementType::kString ? allocate(type_, size_) : allocate_unset(byte_size());
    if (type_ == ElementType::kString) {
      const auto from = values<std::string>();
      std::copy(from.begin(), from.end(), static_cast<std::string*>(copy.get()));
    } else if (size_ > 0) {
      std::memcpy(copy.get(), raw(), byte_size());
    }
    owner_ = std::move(copy);
    data_ = owner_.get();
    writable_ = true;
    is_deferred_ = false;
  }
  return const_cast<void*>(data_);
}

void Tensor::check_storage(size_t element) const {
  if (element != element_size(type_)) {
    throw internal_error("a tensor of {} is read with elements of {} bytes", element_type_name(type_),
                         element);
  }
}

Tensor Tensor::reshaped(Dims dims) const {
  if (element_count(dims) != size_)
    throw bad_input("cannot reshape {} to {}", dims_text(dims_), dims_text(dims));
  Tensor result = *this;
  result.dims_ = std::move(dims);
  return result;
}

Tensor Tensor::reinterpreted(ElementType type) const {
  if (element_size(type) != element_size(type_) ||
      (type == ElementType::kString) != (type_ == ElementType::kString)) {
    throw internal_error("cannot reinterpret {} as {}", element_type_name(type_), element_type_name(type));
  }
  Tensor result = *this;
  result.type_ = type;
  return result;
}

void Tensor::read_doubles(int64_t first, std::span<double> to) const {
  visit_element_type(type_, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::string> || kIsComplex<T>) {
      throw bad_input("a tensor of {} has no real values", element_type_name(type_));
    } else {
      const auto from = values<T>().subspan(static_cast<size_t>(first), to.size());
      for (size_t i = 0; i < to.size(); ++i) {
        if constexpr (kIsSmallInt<T>)
          to[i] = from[i].value;
        else
          to[i] = static_cast<double>(from[i]);
      }
    }
  });
}

void Tensor::write_doubles(int64_t first, std::span<const double> from) {
  visit_element_type(type_, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::string> || kIsComplex<T>) {
      throw internal_error("real values stored as {}", element_type_name(type_));
    } else {
      const auto to = mutable_values<T>().subspan(static_cast<size_t>(first), from.size());
      for (size_t i = 0; i < from.size(); ++i) {
        if constexpr (std::is_same_v<T, bool>)
          to[i] = from[i] != 0;
        else if constexpr (std::is_integral_v<T> || kIsSmallInt<T>)
          to[i] = truncate_to<T>(from[i]);
        else
          to[i] = static_cast<T>(from[i]);
      }
    }
  });
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> result(static_cast<size_t>(size_));
  if (size_ == 0) read_doubles(0, result);  // refuses strings whatever their number
  parallel_for(size_, kGrain, [&](int64_t begin, int64_t end) {
    read_doubles(begin,
                 std::span(result).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
  return result;
}

std::vector<int64_t> Tensor::to_ints() const {
  std::vector<int64_t> result(static_cast<size_t>(size_));
  visit_element_type(type_, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> || kIsSmallInt<T>) {
      const auto from = values<T>();
      for (size_t i = 0; i < from.size(); ++i) result[i] = static_cast<int64_t>(from[i]);
    } else {
      throw bad_input("a tensor of {} has no integer values", element_type_name(type_));
    }
  });
  return result;
}

Tensor Tensor::from_doubles(ElementType type, Dims dims, std::span<const double> values) {
  require_allowed(type, dims);
  Tensor result;
  if (type == ElementType::kString || element_count(dims) == 0) {
    result = Tensor(type, std::move(dims));
  } else {
    auto memory = allocate_unset(static_cast<size_t>(element_count(dims)) * element_size(type));
    const void* data = memory.get();
    result = borrow(type, std::move(dims), data, std::move(memory));
    result.writable_ = true;
  }
  parallel_for(result.size(), kGrain, [&](int64_t begin, int64_t end) {
    result.write_doubles(begin, values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
  return result;
}

Tensor Tensor::from_ints(ElementType type, Dims dims, std::span<const int64_t> values) {
  Tensor result(type, std::move(dims));
  visit_element_type(type, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::string> || kIsComplex<T>) {
      throw internal_error("integers stored as {}", element_type_name(type));
    } else {
      auto to = result.mutable_values<T>();
      for (size_t i = 0; i < to.size(); ++i) {
        if constexpr (std::is_same_v<T, bool>)
          to[i] = values[i] != 0;
        else if constexpr (std::is_integral_v<T> || kIsSmallInt<T>)
          to[i] = static_cast<T>(values[i]);
        else
          to[i] = static_cast<T>(static_cast<double>(values[i]));
      }
    }
  });
  return result;
}

bool Tensor::identical(const Tensor& other) const {
  if (type_ != other.type_ || dims_ != other.dims_) return false;
  if (type_ == ElementType::kString) {
    const auto a = values<std::string>(), b = other.values<std::string>();
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  return byte_size() == 0 || std::memcmp(raw(), other.raw(), byte_size()) == 0;
}

Datum Datum::of_sequence(std::vector<Datum> elements) {
  Datum result;
  result.kind = Kind::kSequence;
  result.sequence = std::make_shared<const std::vector<Datum>>(std::move(elements));
  return result;
}

Datum Datum::none() {
  Datum result;
  result.kind = Kind::kNone;
  return result;
}

const Tensor& Datum::as_tensor() const {
  if (kind != Kind::kTensor)
    throw bad_input("a tensor is needed, not {}", kind == Kind::kNone ? "an empty optional" : "a sequence");
  return tensor;
}

const std::vector<Datum>& Datum::as_sequence() const {
  if (kind != Kind::kSequence)
    throw bad_input("a sequence is needed, not {}", kind == Kind::kNone ? "an empty optional" : "a tensor");
  return *sequence;
}

std::pair<const Tensor&, const Tensor&> Datum::as_map() const {
  const auto& parts = as_sequence();
  const auto is_vector = [](const Datum& part) { return part.is_tensor() && part.tensor.rank() == 1; };
  if (parts.size() != 2 || !std::all_of(parts.begin(), parts.end(), is_vector) ||
      parts[0].tensor.size() != parts[1].tensor.size()) {
    throw bad_input("a map is needed: two vectors of equal length, its keys and its values");
  }
  return {parts[0].tensor, parts[1].tensor};
}

}  // namespace vernier
