// The kernels of the CPU backend by operator. Each file of a family's folder registers its own; the build
// generates the list of calls from the file names (CMakeLists.txt).
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Says what an operator makes of the layouts of its operands.
enum class LayoutRule : uint8_t {
  kPlain,   // takes and gives plain tensors only
  kImage,   // wants input 0, and gives output 0, in the engine's layout for images
  kFollow,  // takes any layout that all its tensors of output 0's rank share
  // Takes input 0 as it lies, and gives output 0 in the engine's layout for images where no element moves.
  kTranspose,
};

// Which makers of an operator are asked first: whoever comes first and serves a request makes the kernel that
// an engine has without tuning. Two makers of one operator never have the same priority.
enum class Priority : uint8_t {
  kNarrow,         // serves few requests, and those better than every maker below
  kGemv,           // serves products of a few rows by a matrix
  kSmallGemm,      // serves products that are computed sooner than a library begins
  kSmallBatches,   // serves the same of matrices that are all known only when they are multiplied
  kOwn,            // serves whatever its operator asks
  kLibraryNarrow,  // serves requests of oneDNN that the maker of kLibrary would refuse or compute slowly
  kLibrary,        // serves whatever oneDNN computes
  // These offer tactics to the tuner beside the makers above. Without tuning they serve what those refuse.
  kInt16Pairs,  // multiplies pairs of int16
  kBlocks,      // multiplies blocks in AMX tiles or in vector registers
  kBatches,     // multiplies matrices that are all known only when they are multiplied
  kWinograd,    // transforms tiles of images
};

struct KernelMaker {
  std::string domain, op;  // of the node, or of a group's kind: domain "vernier", op "Group/conv"
  LayoutRule layouts = LayoutRule::kPlain;
  Priority priority = Priority::kOwn;
  // Nothing, with `reason` set, when the kernel does not serve this request; the next maker of the operator
  // is asked.
  std::unique_ptr<Kernel> (*make)(const KernelRequest& request, std::string& reason) = nullptr;
  // Ways beside its own choice (Backend::tactics); null: none.
  std::vector<std::string> (*tactics)(const KernelRequest& request) = nullptr;
  // Whether its kernels measure their outputs; others are never asked where sizes are open.
  bool measures = false;
  // Sets the layouts of inputs, which lay as caches, to that again where its kernels read them so, and of
  // outputs that these let lie behind the past (Operand::capacity); null: it reads no caches.
  void (*lay_out_caches)(KernelRequest& request, std::span<const size_t> caches) = nullptr;
};

class KernelRegistry {
 public:
  static const KernelRegistry& instance();
  // Throws internal_error if another maker of the operator has the same priority: the order in which files
  // are compiled must not decide between them.
  void add(KernelMaker maker);
  // By priority, the first to be asked in front; none for operators without a kernel.
  std::span<const KernelMaker> find(const Node& node) const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<KernelMaker>, std::less<>> makers_;
};

// Defined in a file that the build generates.
void register_all(KernelRegistry& registry);

}  // namespace vernier::cpu
