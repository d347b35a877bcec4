// One product as cuBLASLt knows it: its descriptors, the ways that there are to compute it, and the one that
// it takes.
#pragma once

#include <functional>

#include "vernier/backends/cuda/cublaslt/cublaslt.h"
#include "vernier/backends/cuda/cublaslt/lt_product.h"

namespace vernier::cuda {

// Numbers of the library for types (libraries/cublaslt_api.h).
struct LtTypes {
  int compute, scale;   // in which products are summed, and of alpha and beta
  int factors, result;  // in memory
};

// The number of a type of floats in memory.
int lt_type(ElementType element);

class LtMultiplication {
 public:
  // `library` outlives this; `handle` is its own. Throws an internal error where a descriptor is refused.
  LtMultiplication(const LtProduct& asked, const LtTypes& types, CublasLt& library, LtHandle handle);

  // The ways that `keeps` allows, the library's first choice first. Empty, with `reason`, where there is
  // none.
  std::vector<LtFound> ways(const std::function<bool(const LtFound&)>& keeps, std::string& reason) const;
  // The engine and its knobs, which say the same way whatever order the library names its ways in.
  std::string tactic_of(const LtFound& way) const;
  // The first of these ways, or that of the name. False, with `reason`, where there is none.
  bool take(const std::vector<LtFound>& ways, std::string_view tactic, std::string& reason);
  // How partial sums come together. Nothing where the library does not tell.
  std::optional<uint32_t> scheme_of(const LtFound& way) const;

  // Whether products are summed in float: partial sums in a fixed order, or none, and factors of floats as
  // floats, or as TF32 where that was asked for.
  bool sums_in_float(const LtFound& way, ElementType factors) const;

  // Working memory of any alignment, for the way that was taken.
  size_t scratch_bytes() const { return workspace_ > 0 ? workspace_ + kWorkspaceAlignment : 0; }
  void set_bias(const void* address) const;

  struct Operands {
    const void *left, *right, *addend;
    void* result;
    std::byte* scratch;
  };
  // `alpha` and `beta` point to numbers of the scale's type.
  void enqueue(const void* alpha, const void* beta, const Operands& operands, StreamHandle stream,
               std::string_view what) const;

  static constexpr size_t kMostWorkspace = size_t{32} << 20;

 private:
  template <class Handle>
  using Held = std::unique_ptr<std::remove_pointer_t<Handle>, Pointer<LtStatus(Handle)>>;

  Held<LtOperation> make_operation(const LtProduct& asked, const LtTypes& types) const;
  Held<LtLayout> make_layout(const LtMatrix& matrix, int type, int64_t batch) const;
  Held<LtPreference> make_preference() const;

  // The library needs addresses so aligned: operands as all kernels do, working memory by its manual.
  static constexpr uint32_t kOperandAlignment = 16;
  static constexpr size_t kWorkspaceAlignment = 256;

  CublasLt& library_;
  const CublasLtApi& api_;
  LtHandle handle_;
  bool adds_bias_, tf32_;
  Held<LtOperation> operation_;
  Held<LtLayout> left_, right_, result_;
  LtAlgorithm algorithm_{};
  size_t workspace_ = 0;
};

}  // namespace vernier::cuda
