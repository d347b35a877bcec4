#include "vernier/backends/cpu/onednn/post_ops.h"

#include <cstring>

namespace vernier::cpu {

using dnnl::algorithm;

bool PostOpChain::eltwise(algorithm algorithm, double alpha, double beta) {
  const auto wanted = std::pair(static_cast<float>(alpha), static_cast<float>(beta));
  if (parameters_.try_emplace(algorithm, wanted).first->second == wanted) {
#if DNNL_VERSION_MAJOR >= 3
    post_ops_.append_eltwise(algorithm, wanted.first, wanted.second);
#else
    post_ops_.append_eltwise(1.0F, algorithm, wanted.first, wanted.second);
#endif
    return true;
  }
  if (algorithm == algorithm::eltwise_linear) {
    if (alpha != 1) scalar(algorithm::binary_mul, alpha);
    if (beta != 0) scalar(algorithm::binary_add, beta);
    return true;
  }
  if (algorithm == algorithm::eltwise_clip) {
    scalar(algorithm::binary_max, alpha);
    scalar(algorithm::binary_min, beta);
    return true;
  }
  return false;
}

void PostOpChain::binary(algorithm algorithm, Argument argument) {
  post_ops_.append_binary(algorithm, argument.descriptor);
  argument.id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops_.len() - 1) | DNNL_ARG_SRC_1;
  arguments_.push_back(std::move(argument));
}

void PostOpChain::sum(double scale, int32_t zero_point, dnnl::memory::data_type type) {
  post_ops_.append_sum(static_cast<float>(scale), zero_point, type);
}

void PostOpChain::scalar(algorithm algorithm, double value) {
  const auto one = plain(dnnl::memory::data_type::f32, Dims(rank_, 1));
  binary(algorithm, {0, one, -1, -1, own_floats({static_cast<float>(value)}, one)});
}

PackedMemory own_floats(const std::vector<float>& values, const dnnl::memory::desc& descriptor) {
  dnnl::memory memory(descriptor, dnnl_engine());
  std::memcpy(memory.get_data_handle(), values.data(), values.size() * sizeof(float));
  return {memory, nullptr};
}

}  // namespace vernier::cpu
