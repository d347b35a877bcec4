// The constants of an engine in the forms in which kernels read them (packed weights): each is made once,
// when it is first read, and shared by all plans and sessions. An engine file stores those that hold all of a
// constant.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

class PackedForm {
 public:
  using Fill = std::function<void(std::byte* to)>;

  PackedForm(size_t bytes, Fill fill) : bytes_(bytes), fill_(std::move(fill)) {}
  // One that is there already, 64-byte aligned.
  PackedForm(std::span<const std::byte> content, std::shared_ptr<const void> owner)
      : bytes_(content.size()), data_(content.data()), owner_(std::move(owner)) {}

  size_t size() const { return bytes_; }
  bool is_made() const { return data_.load(std::memory_order_acquire) != nullptr; }
  // 64-byte aligned. Made now if nobody has asked before. Thread-safe. Throws OutOfMemory, and what filling
  // throws; the next call tries again.
  std::span<const std::byte> content() const;

 private:
  size_t bytes_;
  mutable std::mutex mutex_;
  mutable std::atomic<const std::byte*> data_{nullptr};
  mutable std::shared_ptr<const void> owner_;
  mutable Fill fill_;
};

class PackedConstants {
 public:
  // The hash of the content of a constant (hash_tensor), and the backend's name of a form, which says all
  // that is needed to read it.
  using Key = std::pair<uint64_t, std::string>;
  using Forms = std::map<Key, std::shared_ptr<const PackedForm>>;

  // The content of `source` in this form; `fill`, which may be called long after this, writes it.
  // Thread-safe. Throws bad_input where the form is there with another size.
  std::shared_ptr<const PackedForm> get(const Tensor& source, const std::string& form, size_t bytes,
                                        PackedForm::Fill fill);

  // From an engine file: a form that is there already, and the hash of a constant that is not to be read for
  // it.
  void add(Key key, std::shared_ptr<const PackedForm> packed);
  void know(const Tensor& source, uint64_t hash);
  // A constant that will be asked for again: it is read once for its hash, when that is first needed.
  void know(const Tensor& source);

  // All forms so far, whether made or not.
  Forms forms() const;

 private:
  uint64_t hash_of(const Tensor& source);

  mutable std::mutex mutex_;
  Forms forms_;
  // By identity; the tensors are kept, so that no identity is used again.
  std::map<const void*, std::pair<Tensor, std::optional<uint64_t>>> known_;
};

}  // namespace vernier
