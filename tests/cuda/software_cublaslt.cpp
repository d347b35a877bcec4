#include "cuda/software_cublaslt.h"

#include <cstring>

#include "cuda/fake_driver.h"
#include "vernier/tensor/tensor.h"

namespace vernier::cuda {

namespace {

constexpr LtStatus kInvalidValue = 7, kNotSupported = 15;

SoftwareCublasLt library;
int handle = 0;

template <class Made, class Handle, class... Values>
LtStatus create(Handle* to, Values... values) {
  *to = reinterpret_cast<Handle>(new Made{static_cast<decltype(values)>(values)...});
  ++library.live;
  return kLtSuccess;
}

template <class Made, class Handle>
LtStatus destroy(Handle given) {
  delete reinterpret_cast<Made*>(given);
  --library.live;
  return kLtSuccess;
}

// An attribute of another size than the library's is refused, as there.
template <class T>
LtStatus set(T& to, const void* from, size_t bytes) {
  if (bytes != sizeof(T)) return kInvalidValue;
  std::memcpy(&to, from, bytes);
  return kLtSuccess;
}

LtStatus set_operation(LtOperation given, int attribute, const void* value, size_t bytes) {
  auto& operation = *reinterpret_cast<SoftwareOperation*>(given);
  switch (attribute) {
    case kLtTransposeA: return set(operation.transpose_left, value, bytes);
    case kLtTransposeB: return set(operation.transpose_right, value, bytes);
    case kLtEpilogue: return set(operation.epilogue, value, bytes);
    case kLtBiasPointer: return set(operation.bias, value, bytes);
    default: return kInvalidValue;
  }
}

LtStatus set_layout(LtLayout given, int attribute, const void* value, size_t bytes) {
  auto& layout = *reinterpret_cast<SoftwareLayout*>(given);
  if (attribute == kLtBatchStep) return set(layout.step, value, bytes);
  int32_t count = 0;
  const LtStatus status = attribute == kLtBatchCount ? set(count, value, bytes) : kInvalidValue;
  layout.batch = count;
  return status;
}

LtStatus set_preference(LtPreference, int attribute, const void* value, size_t bytes) {
  uint64_t number = 0;
  if (bytes != (attribute == kLtMostWorkspace ? sizeof(size_t) : sizeof(uint32_t))) return kInvalidValue;
  std::memcpy(&number, value, bytes);
  library.preference[attribute] = number;
  return kLtSuccess;
}

const SoftwareLayout& layout_of(LtLayout layout) {
  return *reinterpret_cast<const SoftwareLayout*>(layout);
}

// Products of integers have the first matrix transposed and the second plain, and whole words along both.
bool takes_integers(const SoftwareOperation& operation, const SoftwareLayout& left,
                    const SoftwareLayout& right, const SoftwareLayout& result) {
  const auto whole = [](int64_t size) { return size % 4 == 0; };
  return left.type == kLtInt8 && right.type == kLtInt8 && result.type == kLtInt32 &&
         operation.transpose_left == kLtTransposed && operation.transpose_right == kLtPlain &&
         whole(left.rows) && whole(left.leading) && whole(right.leading) && whole(result.rows) &&
         whole(result.leading);
}

LtStatus find(LtHandle, LtOperation operation, LtLayout left, LtLayout right, LtLayout, LtLayout result,
              LtPreference, int most, LtFound* found, int* count) {
  library.operation = *reinterpret_cast<SoftwareOperation*>(operation);
  library.left = layout_of(left);
  library.right = layout_of(right);
  library.result = layout_of(result);
  if (library.operation.compute == kLtCompute32I &&
      !takes_integers(library.operation, library.left, library.right, library.result))
    return kNotSupported;
  *count = std::min(most, static_cast<int>(library.ways.size()));
  for (int i = 0; i < *count; ++i) {
    const auto& way = library.ways[static_cast<size_t>(i)];
    found[i] = {{{static_cast<uint64_t>(i)}}, way.workspace, way.state, 1, {}};
  }
  return kLtSuccess;
}

ElementType element_of(int type) {
  switch (type) {
    case kLtFloat: return ElementType::kFloat;
    case kLtFloat16: return ElementType::kFloat16;
    case kLtInt8: return ElementType::kInt8;
    case kLtInt32: return ElementType::kInt32;
    default: return ElementType::kBFloat16;
  }
}

// Reads a number of the operation's scale type.
double number(const SoftwareOperation& operation, const void* at) {
  return operation.scale == kLtInt32 ? *static_cast<const int32_t*>(at) : *static_cast<const float*>(at);
}

double at(const void* memory, int type, int64_t index) {
  const ElementType element = element_of(type);
  const auto* place =
      static_cast<const std::byte*>(memory) + index * static_cast<int64_t>(element_size(element));
  return Tensor::borrow(element, {1}, place, nullptr).to_doubles()[0];
}

// Row and column of op(matrix).
double at(const void* memory, const SoftwareLayout& layout, bool turned, int64_t image, int64_t row,
          int64_t column) {
  if (turned) std::swap(row, column);
  return at(memory, layout.type, image * layout.step + column * layout.leading + row);
}

struct Factors {
  const void *a, *b, *c;
  const SoftwareLayout &left, &right, &result;
  bool turn_left, turn_right;
  int64_t depth;
};

void sum_all(const SoftwareOperation& operation, const Factors& f, double scale, double addend_scale,
             void* d) {
  const ElementType element = element_of(f.result.type);
  for (int64_t image = 0; image < f.result.batch; ++image) {
    for (int64_t i = 0; i < f.result.rows; ++i) {
      for (int64_t j = 0; j < f.result.columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < f.depth; ++k)
          sum += at(f.a, f.left, f.turn_left, image, i, k) * at(f.b, f.right, f.turn_right, image, k, j);
        sum *= scale;
        if (addend_scale != 0) sum += addend_scale * at(f.c, f.result, false, image, i, j);
        if (operation.epilogue == kLtAddBias) sum += at(operation.bias, f.result.type, i);
        const Tensor rounded = Tensor::from_doubles(element, {1}, std::vector<double>{sum});
        std::memcpy(static_cast<std::byte*>(d) + (image * f.result.step + j * f.result.leading + i) *
                                                     static_cast<int64_t>(element_size(element)),
                    rounded.raw(), element_size(element));
      }
    }
  }
}

LtStatus multiply(LtHandle, LtOperation given, const void* alpha, const void* a, LtLayout a_layout,
                  const void* b, LtLayout b_layout, const void* beta, const void* c, LtLayout, void* d,
                  LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace, size_t bytes,
                  StreamHandle) {
  if (library.multiply != kLtSuccess) return library.multiply;
  const auto& operation = *reinterpret_cast<const SoftwareOperation*>(given);
  const SoftwareLayout &left = layout_of(a_layout), &right = layout_of(b_layout),
                       &result = layout_of(d_layout);
  const bool turn_left = operation.transpose_left != 0, turn_right = operation.transpose_right != 0;
  const int64_t depth = turn_left ? left.rows : left.columns;
  const bool fits = (turn_left ? left.columns : left.rows) == result.rows &&
                    (turn_right ? right.rows : right.columns) == result.columns &&
                    (turn_right ? right.columns : right.rows) == depth && left.leading >= left.rows &&
                    right.leading >= right.rows && result.leading >= result.rows &&
                    left.batch == result.batch && right.batch == result.batch;
  if (!fits) return kInvalidValue;
  const auto& way = library.ways.at(algorithm->data[0]);
  library.chosen.push_back(algorithm->data[0]);
  library.aligned =
      library.aligned && bytes >= way.workspace && reinterpret_cast<uintptr_t>(workspace) % 256 == 0;
  fake_driver().enqueue([=, operation = operation, &left, &right, &result, scale = number(operation, alpha),
                         addend_scale = number(operation, beta)] {
    const Factors factors{a, b, c, left, right, result, turn_left, turn_right, depth};
    sum_all(operation, factors, scale, addend_scale, d);
  });
  return kLtSuccess;
}

}  // namespace

SoftwareCublasLt& software_cublaslt() {
  return library;
}

CublasLtApi reset_software_cublaslt(uint64_t flags) {
  library = SoftwareCublasLt();
  library.ways = {{flags}};
  CublasLtApi api;
  api.version = [] { return size_t{130100}; };
  api.status_name = [](LtStatus) { return "CUBLAS_STATUS_NOT_SUPPORTED"; };
  api.create = [](LtHandle* made) { return *made = reinterpret_cast<LtHandle>(&handle), library.create; };
  api.create_operation = [](LtOperation* made, int compute, int scale) {
    return create<SoftwareOperation>(made, compute, scale);
  };
  api.destroy_operation = destroy<SoftwareOperation, LtOperation>;
  api.set_operation = set_operation;
  api.create_layout = [](LtLayout* made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    return create<SoftwareLayout>(made, type, static_cast<int64_t>(rows), static_cast<int64_t>(columns),
                                  leading);
  };
  api.destroy_layout = destroy<SoftwareLayout, LtLayout>;
  api.set_layout = set_layout;
  api.create_preference = [](LtPreference* made) { return create<int>(made); };
  api.destroy_preference = destroy<int, LtPreference>;
  api.set_preference = set_preference;
  api.find = find;
  // It knows the scheme among an algorithm's knobs, and numbers the algorithms from 1.
  api.configuration = [](const LtAlgorithm* way, int attribute, void* value, size_t, size_t*) {
    constexpr LtStatus kUnknown = 7;
    if (attribute != kLtReductionScheme && attribute != kLtAlgorithmId) return kUnknown;
    const auto number = static_cast<uint32_t>(way->data[0] + 1);
    const uint32_t scheme = library.ways.at(way->data[0]).scheme;
    return std::memcpy(value, attribute == kLtAlgorithmId ? &number : &scheme, sizeof(uint32_t)), kLtSuccess;
  };
  api.capability = [](const LtAlgorithm* way, int, void* value, size_t, size_t*) {
    return std::memcpy(value, &library.ways.at(way->data[0]).flags, sizeof(uint64_t)), kLtSuccess;
  };
  api.multiply = multiply;
  return api;
}

}  // namespace vernier::cuda
