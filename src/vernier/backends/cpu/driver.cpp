#include "vernier/backends/cpu/driver.h"

#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/environment.h"
#include "vernier/backends/cpu/pointwise/kernel.h"

namespace vernier::cpu {

namespace {

class CpuDriver : public Driver {
 public:
  const std::string& name() const override { return name_; }
  std::string instruction_sets() const override { return cpu::instruction_sets(); }
  std::string library_versions() const override { return cpu::library_versions(); }
  bool computes_bf16() const override { return cpu::computes_bf16(); }
  GroupTraits group_traits() const override { return {true, attends_int8(), is_pointwise}; }
  const std::set<std::string>& tactic_names() const override { return cpu::tactic_names(); }
  std::set<std::string> approximate_tactics() const override { return cpu::approximate_tactics(); }
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

}  // namespace vernier::cpu
