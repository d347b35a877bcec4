// The constants of an engine in the forms in which kernels read them (packed weights): each is made once, and
// shared by all plans and sessions. An engine file stores them, so that loading packs nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

class PackedConstants {
 public:
  struct Packed {
    std::span<const std::byte> bytes;  // 64-byte aligned
    std::shared_ptr<const void> owner;
  };
  // The hash of the content of a constant (hash_tensor), and the backend's name of a form, which says all
  // that is needed to read it.
  using Key = std::pair<uint64_t, std::string>;

  // The content of `source` in this form; `fill` writes it where nobody has asked for it before. Thread-safe.
  Packed get(const Tensor& source, const std::string& form, size_t bytes,
             const std::function<void(std::byte* to)>& fill);

  // From an engine file: a form that is there already, and the hash of a constant that is not to be read for
  // it.
  void add(Key key, Packed packed);
  void know(const Tensor& source, uint64_t hash);

  // All forms so far.
  std::map<Key, Packed> forms() const;

 private:
  uint64_t hash_of(const Tensor& source) const;

  mutable std::mutex mutex_;
  std::map<Key, Packed> forms_;
  // By identity; the tensors are kept, so that no identity is used again.
  std::map<const void*, std::pair<Tensor, uint64_t>> known_;
};

}  // namespace vernier
