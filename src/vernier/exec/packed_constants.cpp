#include "vernier/exec/packed_constants.h"

#include "vernier/exec/scratch.h"
#include "vernier/ir/hash.h"

namespace vernier {

uint64_t PackedConstants::hash_of(const Tensor& source) const {
  const auto found = known_.find(source.identity());
  return found != known_.end() ? found->second.second : hash_tensor(source);
}

PackedConstants::Packed PackedConstants::get(const Tensor& source, const std::string& form, size_t bytes,
                                             const std::function<void(std::byte* to)>& fill) {
  const std::lock_guard lock(mutex_);
  const Key key{hash_of(source), form};
  if (const auto found = forms_.find(key); found != forms_.end()) return found->second;
  auto memory = std::make_shared<Scratch>();
  std::byte* to = memory->at_least(bytes);
  fill(to);
  const Packed packed{{to, bytes}, std::move(memory)};
  forms_.emplace(key, packed);
  return packed;
}

void PackedConstants::add(Key key, Packed packed) {
  const std::lock_guard lock(mutex_);
  forms_.insert_or_assign(std::move(key), std::move(packed));
}

void PackedConstants::know(const Tensor& source, uint64_t hash) {
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(source.identity(), std::pair(source, hash));
}

std::map<PackedConstants::Key, PackedConstants::Packed> PackedConstants::forms() const {
  const std::lock_guard lock(mutex_);
  return forms_;
}

}  // namespace vernier
