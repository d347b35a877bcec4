#include "vernier/exec/kernel_cache.h"

#include <cstring>

#include "vernier/base/hash.h"
#include "vernier/base/threads.h"

namespace vernier {

namespace {

// Contents that follow from sizes are no larger, and lie in new memory for each plan.
constexpr size_t kSmallBytes = 512;

void add_text(std::vector<int64_t>& key, std::string_view text) {
  key.push_back(static_cast<int64_t>(text.size()));
  for (; !text.empty(); text.remove_prefix(std::min<size_t>(8, text.size()))) {
    int64_t part = 0;
    std::memcpy(&part, text.data(), std::min<size_t>(8, text.size()));
    key.push_back(part);
  }
}

void add_operand(std::vector<int64_t>& key, const std::optional<Operand>& operand) {
  if (!operand) return key.push_back(-1);
  key.push_back(static_cast<int64_t>(operand->element) << 8 | static_cast<int64_t>(operand->layout));
  key.push_back(operand->rank());
  key.push_back(operand->capacity);
  key.insert(key.end(), operand->dims.begin(), operand->dims.end());
  if (operand->constant == nullptr) return key.push_back(0);
  const Tensor& content = *operand->constant;
  if (content.type() != ElementType::kString && content.byte_size() <= kSmallBytes) {
    add_text(key, {static_cast<const char*>(content.raw()), content.byte_size()});
  } else {
    key.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(content.identity())));
  }
}

}  // namespace

size_t KernelCache::Hash::operator()(const Key& key) const {
  return hash_bytes(key.data(), key.size() * sizeof(int64_t));
}

KernelCache::Key KernelCache::key_of(const KernelRequest& request) {
  Key key;
  add_text(key, request.node.op);
  for (const Value* output : request.node.outputs) add_text(key, output == nullptr ? "" : output->name);
  add_text(key, request.tactic);
  key.push_back(static_cast<int64_t>(request.images));
  key.push_back(thread_count());  // which kernels are made for
  for (const auto& operand : request.inputs) add_operand(key, operand);
  for (const auto& operand : request.outputs) add_operand(key, operand);
  return key;
}

uint64_t KernelCache::node_of(const KernelRequest& request) {
  const Value* output = request.node.output(0);
  return hash_text(output == nullptr ? "" : output->name, static_cast<uint64_t>(request.tactic.size()));
}

bool KernelCache::is_quick(uint64_t node) {
  const std::lock_guard lock(mutex_);
  return quick_.contains(node);
}

void KernelCache::note(uint64_t node, bool quick) {
  const std::lock_guard lock(mutex_);
  if (quick)
    quick_.insert(node);
  else
    quick_.erase(node);
}

std::shared_ptr<const Kernel> KernelCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void KernelCache::keep(Key key, std::shared_ptr<const Kernel> kernel) {
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key)) return;
  entries_.emplace_front(key, std::move(kernel));
  by_key_.emplace(std::move(key), entries_.begin());
  if (entries_.size() <= kMaxKernels) return;
  by_key_.erase(entries_.back().first);
  entries_.pop_back();
}

}  // namespace vernier
