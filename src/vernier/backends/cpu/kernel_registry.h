// The kernels of the CPU backend by operator. Each file of a family's folder registers its own; the build
// generates the list of calls from the file names (CMakeLists.txt).
#pragma once

#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

// What an operator makes of the layouts of its operands.
enum class LayoutRule : uint8_t {
  kPlain,   // takes and gives plain tensors only
  kImage,   // wants input 0, and gives output 0, in the engine's layout for images
  kFollow,  // takes any layout that all its tensors of output 0's rank share
  // Takes input 0 as it lies, and gives output 0 in the engine's layout for images where no element moves.
  kTranspose,
};

struct KernelMaker {
  std::string domain, op;  // of the node, or of a group's kind: domain "vernier", op "Group/conv"
  LayoutRule layouts = LayoutRule::kPlain;
  // Nothing, with `reason` set, when the kernel does not serve this request; the next maker of the operator
  // is asked.
  std::unique_ptr<Kernel> (*make)(const KernelRequest& request, std::string& reason) = nullptr;
  // Ways beside its own choice (KernelSource::tactics); null: none.
  std::vector<std::string> (*tactics)(const KernelRequest& request) = nullptr;
  // Whether its kernels measure their outputs; others are never asked where sizes are open.
  bool measures = false;
};

class KernelRegistry {
 public:
  static const KernelRegistry& instance();
  void add(KernelMaker maker);
  // In the order of registration, which is the order of preference.
  std::span<const KernelMaker> find(const Node& node) const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<KernelMaker>, std::less<>> makers_;
};

// Defined in a file that the build generates.
void register_all(KernelRegistry& registry);

}  // namespace vernier::cpu
