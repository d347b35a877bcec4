// A request with data: what its kernels are judged on, and timed with.
#pragma once

#include "vernier/error_analysis/deviation.h"
#include "vernier/exec/backend.h"
#include "vernier/exec/device/lone_run.h"
#include "vernier/exec/scratch.h"
#include "vernier/tune/timing_cache.h"
#include "vernier/tune/trial_operands.h"

namespace vernier {

class Trial {
 public:
  // Draws what is not constant (trial_operands.h, repeated_entries.h). All outlive this.
  Trial(const KernelRequest& request, const Backend& kernels);
  ~Trial();

  // Computes what kernels are compared with, among NaN and infinities, too, if `special_values` says so;
  // otherwise it is computed when the first kernel is judged. Throws what the reference throws.
  void prepare_reference(bool special_values);
  // Runs the kernel and compares each element with the unrounded result, within the errors that the kernel's
  // contract allows it (error_analysis). Throws what the reference throws.
  TacticVerdict judge(const Kernel& kernel);
  // The same with a NaN and both infinities among what is drawn: each must come out where, and as what, the
  // operators say. Elements that they are mixed into (mixes_special_values) may be NaN, no others. Which
  // finite numbers come out is not judged, nor is attention, which may skip what is masked. "" or what is
  // wrong.
  std::string judge_special_values(const Kernel& kernel);
  // Gives what the kernel writes, as it lies in memory; undefined for outputs that are left out.
  std::vector<Tensor> outputs(const Kernel& kernel);
  // Seconds of one run; on a device, see LoneRun::time. On the host, between runs `others` is read if weights
  // are large, as the rest of a model is: they come from as far away as there. What is not constant is in the
  // caches, as the node before would leave it.
  double time(const Kernel& kernel, std::span<const std::byte> others = {});

 private:
  void run(const Kernel& kernel, const TrialOperands& operands);
  void run_afresh(const Kernel& kernel, const TrialOperands& operands);
  LoneRun& lone(const TrialOperands& operands);
  TrialOperands whole(TrialOperands drawn) const;
  std::vector<int64_t> chunks() const;
  Tensor plain_output(size_t output, int64_t chunk) const;
  std::string special_faults(const Kernel& kernel, const std::vector<Tensor>& mixed, int64_t chunk);
  const ErrorModel& model();
  const ErrorModel& special_model();

  const KernelRequest& request_;
  const std::optional<int64_t> entries_;  // that are drawn, and repeat
  const KernelRequest drawn_;             // the request for these
  const Backend& kernels_;
  TrialOperands operands_;
  std::optional<TrialOperands> special_operands_;
  std::optional<LoneRun> lone_, special_lone_;  // where the device has memory of its own
  std::vector<Tensor> outputs_;
  std::vector<void*> to_;
  Scratch scratch_;
  size_t constant_bytes_ = 0;
  std::unique_ptr<ErrorModel> model_, special_model_;  // made when they are first asked for
};

// Bytes that drive all else from the caches of the cores.
size_t second_caches();
// Bytes of weights that may stay in the last cache from one run of a model to the next.
size_t third_cache();

}  // namespace vernier
