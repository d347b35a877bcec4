#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vernier/backends/cpu/onednn/primitive.h"

namespace vernier::cpu {

namespace {

using Key = std::string;

void add_bytes(Key& key, const void* data, size_t size) {
  key.append(static_cast<const char*>(data), size);
}

template <class T>
void add(Key& key, const T& value) {
  add_bytes(key, &value, sizeof value);
}

#if DNNL_VERSION_MAJOR < 3

template <class T>
void add_all(Key& key, const std::vector<T>& values) {
  add(key, values.size());
  add_bytes(key, values.data(), values.size() * sizeof(T));
}

// Writes down what the user asked for; gives nothing for operations other than contractions, whose primitives
// are made quickly.
std::optional<Key> operation(const dnnl::primitive_desc_base& description) {
  const_dnnl_op_desc_t operation = nullptr;
  if (dnnl_primitive_desc_query(description.get(), dnnl_query_op_d, 0, &operation) != dnnl_success)
    return std::nullopt;
  Key key;
  switch (*static_cast<const dnnl_primitive_kind_t*>(operation)) {
    case dnnl_matmul: add_bytes(key, operation, sizeof(dnnl_matmul_desc_t)); return key;
    case dnnl_convolution: add_bytes(key, operation, sizeof(dnnl_convolution_desc_t)); return key;
    default: return std::nullopt;
  }
}

void add_post_op(Key& key, const dnnl::post_ops& post_ops, int index) {
  float scale = 0, alpha = 0, beta = 0;
  dnnl::algorithm algorithm{};
  dnnl::memory::desc operand;
  const auto kind = post_ops.kind(index);
  add(key, kind);
  if (kind == dnnl::primitive::kind::sum) {
    int32_t zero_point = 0;
    auto type = dnnl::memory::data_type::undef;
    post_ops.get_params_sum(index, scale, zero_point, type);
    add(key, zero_point);
    add(key, type);
  } else if (kind == dnnl::primitive::kind::eltwise) {
    post_ops.get_params_eltwise(index, scale, algorithm, alpha, beta);
  } else {
    post_ops.get_params_binary(index, algorithm, operand);
    add(key, operand.data);
  }
  add(key, scale);
  add(key, algorithm);
  add(key, alpha);
  add(key, beta);
}

// Nothing where a post-op is of another kind than this knows.
std::optional<Key> attributes(const dnnl::primitive_desc_base& description) {
  Key key;
  const auto given = description.get_primitive_attr();
  int mask = 0;
  std::vector<float> scales;
  given.get_output_scales(mask, scales);
  add(key, mask);
  add_all(key, scales);
  for (const int argument : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}) {
    std::vector<int32_t> zero_points;
    given.get_zero_points(argument, mask, zero_points);
    add(key, mask);
    add_all(key, zero_points);
  }
  const auto post_ops = given.get_post_ops();
  for (int i = 0; i < post_ops.len(); ++i) {
    const auto kind = post_ops.kind(i);
    if (kind != dnnl::primitive::kind::sum && kind != dnnl::primitive::kind::eltwise &&
        kind != dnnl::primitive::kind::binary)
      return std::nullopt;
    add_post_op(key, post_ops, i);
  }
  return key;
}

std::optional<Key> key_of(const dnnl::primitive_desc_base& description, int threads) {
  auto key = operation(description);
  const auto given = key ? attributes(description) : std::nullopt;
  if (!given) return std::nullopt;
  // Descriptors that are equal may have been answered by different implementations, where what was asked for
  // leaves open how operands lie.
  const char* implementation = "";
  dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0, &implementation);
  *key += *given;
  *key += implementation;
  add(*key, threads);
  for (const auto query : {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md}) {
    const dnnl_memory_desc_t* operand = dnnl_primitive_desc_query_md(description.get(), query, 0);
    if (operand != nullptr) add(*key, *operand);
  }
  return key;
}

#else

// oneDNN 3.x does not tell what it was asked for.
std::optional<Key> key_of(const dnnl::primitive_desc_base& /*description*/, int /*threads*/) {
  return std::nullopt;
}

#endif

// Holds the primitives that are in use. It is never destroyed, because kernels of static objects may outlive
// it.
struct Primitives {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const dnnl::primitive>> by_key;
};

Primitives& primitives() {
  static auto* const all = new Primitives;
  return *all;
}

// Takes the entry of a primitive that nobody uses any more out of the table.
struct Release {
  Key key;
  void operator()(const dnnl::primitive* primitive) const {
    delete primitive;
    Primitives& all = primitives();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_key.find(key);
    if (found != all.by_key.end() && found->second.expired()) all.by_key.erase(found);
  }
};

}  // namespace

std::shared_ptr<const dnnl::primitive> shared_primitive(const dnnl::primitive_desc_base& description,
                                                        int threads) {
  const auto key = key_of(description, threads);
  if (!key) return std::make_shared<const dnnl::primitive>(description.get());
  Primitives& all = primitives();
  const auto find = [&]() -> std::shared_ptr<const dnnl::primitive> {
    const auto found = all.by_key.find(*key);
    return found == all.by_key.end() ? nullptr : found->second.lock();
  };
  {
    const std::lock_guard lock(all.mutex);
    if (auto shared = find()) return shared;
  }
  // Unlocked, so that others are made meanwhile; of two that are equal the first to be ready is shared.
  std::shared_ptr<const dnnl::primitive> made(new dnnl::primitive(description.get()), Release{*key});
  std::unique_lock lock(all.mutex);
  if (auto shared = find()) {
    lock.unlock();  // `made` ends here, and locks for it
    return shared;
  }
  all.by_key[*key] = made;
  return made;
}

}  // namespace vernier::cpu
