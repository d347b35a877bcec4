#include "vernier/exec/packed_constants.h"

#include "vernier/base/error.h"
#include "vernier/exec/scratch.h"
#include "vernier/ir/hash.h"

namespace vernier {

std::span<const std::byte> PackedForm::content() const {
  if (!is_made()) {
    const std::lock_guard lock(mutex_);
    if (!is_made()) {
      auto memory = std::make_shared<Scratch>();
      std::byte* to = memory->at_least(std::max<size_t>(1, bytes_));
      fill_(to);
      owner_ = std::move(memory);
      fill_ = nullptr;  // with what it holds of the constant
      data_.store(to, std::memory_order_release);
    }
  }
  return {data_.load(std::memory_order_acquire), bytes_};
}

uint64_t PackedConstants::hash_of(const Tensor& source) {
  const auto found = known_.find(source.identity());
  if (found == known_.end()) return hash_tensor(source);
  auto& hash = found->second.second;
  if (!hash) hash = hash_tensor(source);
  return *hash;
}

std::shared_ptr<const PackedForm> PackedConstants::get(const Tensor& source, const std::string& form,
                                                       size_t bytes, PackedForm::Fill fill) {
  const std::lock_guard lock(mutex_);
  Key key{hash_of(source), form};
  auto found = forms_.find(key);
  if (found == forms_.end())
    found = forms_.emplace(std::move(key), std::make_shared<PackedForm>(bytes, std::move(fill))).first;
  if (found->second->size() != bytes)
    throw bad_input("a constant packed as '{}' has {} bytes instead of {}", form, found->second->size(),
                    bytes);
  return found->second;
}

void PackedConstants::add(Key key, std::shared_ptr<const PackedForm> packed) {
  const std::lock_guard lock(mutex_);
  forms_.insert_or_assign(std::move(key), std::move(packed));
}

void PackedConstants::know(const Tensor& source, uint64_t hash) {
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(source.identity(), std::pair(source, hash));
}

void PackedConstants::know(const Tensor& source) {
  const std::lock_guard lock(mutex_);
  known_.try_emplace(source.identity(), source, std::nullopt);
}

PackedConstants::Forms PackedConstants::forms() const {
  const std::lock_guard lock(mutex_);
  return forms_;
}

}  // namespace vernier
