// Post-ops of a primitive, and the arguments that they read.
#pragma once

#include "vernier/backends/cpu/onednn/primitive.h"

namespace vernier::cpu {

// oneDNN 2.6 keeps one set of parameters for all post-ops of an eltwise algorithm: what comes again with
// other parameters is done by binary post-ops with scalars, or not at all.
class PostOpChain {
 public:
  explicit PostOpChain(size_t rank) : rank_(rank) {}  // of the result

  // False, and nothing appended, if the primitive would compute something else.
  bool eltwise(dnnl::algorithm algorithm, double alpha, double beta);
  // Sets the argument's id.
  void binary(dnnl::algorithm algorithm, Argument argument);
  // Adds (what is in the output - zero point) * scale; of the type of the output if that is not said.
  void sum(double scale = 1, int32_t zero_point = 0,
           dnnl::memory::data_type type = dnnl::memory::data_type::undef);

  const dnnl::post_ops& post_ops() const { return post_ops_; }
  std::vector<Argument> take_arguments() { return std::move(arguments_); }

 private:
  void scalar(dnnl::algorithm algorithm, double value);

  size_t rank_;
  dnnl::post_ops post_ops_;
  std::vector<Argument> arguments_;
  std::map<dnnl::algorithm, std::pair<float, float>> parameters_;  // of the eltwise post-ops so far
};

// An f32 array that a kernel owns.
PackedMemory own_floats(const std::vector<float>& values, const dnnl::memory::desc& descriptor);

}  // namespace vernier::cpu
