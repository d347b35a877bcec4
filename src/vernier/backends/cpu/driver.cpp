#include "vernier/backends/cpu/driver.h"

#include <fmt/format.h>
#include <hwy/highway.h>

#include <dnnl.hpp>

#include "vernier/backends/cpu/attention/block_attention.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/onednn/openmp_calls.h"
#include "vernier/backends/cpu/onednn/packed_form.h"
#include "vernier/backends/cpu/pointwise/kernel.h"
#include "vernier/backends/cpu/winograd/winograd_walk.h"
#include "vernier/backends/shared/epilogue.h"

namespace vernier::cpu {

namespace {

class CpuDriver : public Driver {
 public:
  const std::string& name() const override { return name_; }
  std::string instruction_sets() const override { return cpu::instruction_sets(); }
  std::string library_versions() const override { return cpu::library_versions(); }
  bool computes_bf16() const override { return cpu::computes_bf16(); }
  GroupTraits group_traits() const override {
    return {.computes_groups = true,
            .attends_int8 = attends_int8(),
            .is_pointwise = is_pointwise,
            .can_follow = can_follow,
            .joins_depthwise = true};
  }
  const std::set<std::string>& tactic_names() const override { return cpu::tactic_names(); }
  std::set<std::string> approximate_tactics() const override { return cpu::approximate_tactics(); }
  bool holds(const std::string& form) const override { return holds_constant(form); }
  std::optional<Tensor> unpack(const std::string& form, std::span<const std::byte> packed,
                               ElementType element, const Dims& dims) const override {
    return unpack_form(form, packed, element, dims);
  }
  std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault) const override {
    return std::make_unique<CpuBackend>(fault);
  }

 private:
  std::string name_ = "cpu";
};

}  // namespace

const Driver& driver() {
  static const CpuDriver driver;
  return driver;
}

const std::set<std::string>& tactic_names() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all = {kTwoTerms,       kThreeTerms,           kOneTerm,     kInt8Tiles,
                                 kVectorProducts, kInt8Vectors,          "int8-pairs", "int8-quads",
                                 "depthwise",     "pointwise-depthwise", "sub-pixel",  "gemv"};
    all.merge(approximate_tactics());
    return all;
  }();
  return names;
}

std::set<std::string> approximate_tactics() {
  // bf16x6 is as exact as products accumulated in float.
  return {kTwoTerms, kBFloat16Probabilities, "winograd", kWinogradOfTwo, kWinogradOfFour};
}

std::string library_versions() {
  const dnnl_version_t* version = dnnl_version();
  const std::string& untaken = take_openmp_calls();
  const std::string alone = untaken.empty() ? "" : fmt::format(" on one thread ({})", untaken);
  return fmt::format("oneDNN {}.{}.{}{}, Highway {}.{}.{}", version->major, version->minor, version->patch,
                     alone, HWY_MAJOR, HWY_MINOR, HWY_PATCH);
}

}  // namespace vernier::cpu
