// Pointwise reference implementations: one lambda per operator.
//
// A generic lambda is called with double for float tensors, uint64_t for uint64 and int64_t for every other
// integer; the result wraps to the output's type on store, as C++ and numpy integers do.
#pragma once

#include "vernier/base/threads.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

inline constexpr int64_t kPointwiseGrain = 1 << 14;

// Calls f(T{}) with the arithmetic type for a stored type: double, int64_t or uint64_t.
template <class F>
void visit_arithmetic(ElementType stored, F&& f) {
  if (is_float(stored))
    f(double{});
  else if (stored == ElementType::kUint64)
    f(uint64_t{});
  else
    f(int64_t{});
}

template <class T>
Elements<T> arithmetic_elements(const ReferenceContext& context, size_t input) {
  if constexpr (std::is_same_v<T, double>)
    return context.reals(input);
  else if constexpr (std::is_same_v<T, int64_t>)
    return context.ints(input);
  else
    return {context.in(input).values<uint64_t>(), context.in(input)};
}

// Stores values of arithmetic type T (or bool) as output 0.
template <class T>
void store_arithmetic(ReferenceContext& context, size_t output, Dims dims, const std::vector<T>& values) {
  if constexpr (std::is_same_v<T, double>) {
    context.store(output, std::move(dims), values);
  } else {
    // uint64 keeps its bits through int64.
    context.store_ints(output, std::move(dims),
                       {reinterpret_cast<const int64_t*>(values.data()), values.size()});
  }
}

// out[i] = f(in0[i]) in double, whatever the stored type; converted block by block, within the first-level
// cache.
template <class F>
void map_real(ReferenceContext& context, F f) {
  const Tensor& x = context.in(0);
  Tensor& y = context.allocate(0, x.dims());
  parallel_for(x.size(), kPointwiseGrain, [&](int64_t begin, int64_t end) {
    std::array<double, 1024> buffer;
    for (int64_t first = begin; first < end; first += static_cast<int64_t>(buffer.size())) {
      const std::span block(buffer.data(), std::min(buffer.size(), static_cast<size_t>(end - first)));
      x.read_doubles(first, block);
      for (double& value : block) value = f(value);
      y.write_doubles(first, block);
    }
  });
}

// out[i] = f(in0[i]) in the arithmetic of the stored type.
template <class F>
void map_number(ReferenceContext& context, F f) {
  if (is_float(context.in(0).type())) return map_real(context, f);
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) {
    const auto x = arithmetic_elements<T>(context, 0);
    std::vector<T> y(static_cast<size_t>(x.size()));
    parallel_for(x.size(), kPointwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[static_cast<size_t>(i)] = f(x[i]);
    });
    store_arithmetic(context, 0, context.dims(0), y);
  });
}

// z[i] = f(a[i], b[i]) over two broadcast arrays; R is what f returns, or int64_t for bool.
template <class R, class A, class F>
std::vector<R> zip(const Elements<A>& a, const Dims& a_dims, const Elements<A>& b, const Dims& b_dims,
                   const Dims& out, F f) {
  std::vector<R> result(static_cast<size_t>(element_count(out)));
  for_each_broadcast<2>(
      out, {&a_dims, &b_dims},
      [&](int64_t begin, int64_t count, std::array<int64_t, 2> at, std::array<int64_t, 2> step) {
        for (int64_t i = 0; i < count; ++i) {
          result[static_cast<size_t>(begin + i)] =
              static_cast<R>(f(a[at[0] + i * step[0]], b[at[1] + i * step[1]]));
        }
      });
  return result;
}

// out = f(in0, in1) in double, whatever the stored types, converted block by block as in map_real.
template <class F>
void zip_real(ReferenceContext& context, F f, const Dims& right) {
  const Tensor &a = context.in(0), &b = context.in(1);
  const Dims out = broadcast(a.dims(), right);
  Tensor& y = context.allocate(0, out);
  using Block = std::array<double, 1024>;
  // One step along a row is one element on, or none.
  const auto read = [](const Tensor& from, int64_t at, int64_t step, std::span<double> to) {
    from.read_doubles(at, step == 0 ? to.first(1) : to);
    if (step == 0) std::fill(to.begin() + 1, to.end(), to[0]);
  };
  for_each_broadcast<2>(out, {&a.dims(), &right},
                        [&](int64_t begin, int64_t count, const std::array<int64_t, 2>& at,
                            const std::array<int64_t, 2>& step) {
                          Block x, z;
                          for (int64_t done = 0; done < count; done += static_cast<int64_t>(x.size())) {
                            const auto size = std::min(x.size(), static_cast<size_t>(count - done));
                            read(a, at[0] + done * step[0], step[0], std::span(x).first(size));
                            read(b, at[1] + done * step[1], step[1], std::span(z).first(size));
                            for (size_t i = 0; i < size; ++i) x[i] = f(x[i], z[i]);
                            y.write_doubles(begin + done, std::span(x).first(size));
                          }
                        });
}

// out = f(in0, in1) with broadcasting, in the arithmetic of the stored type. `right` are the sizes of input 1
// as they are to be aligned (legacy_broadcast.h); the second form takes its own.
template <class F>
void zip_number(ReferenceContext& context, F f, const Dims& right) {
  if (is_float(context.in(0).type()) || is_float(context.in(1).type())) return zip_real(context, f, right);
  const Dims out = broadcast(context.dims(0), right);
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) {
    store_arithmetic(context, 0, out,
                     zip<T>(arithmetic_elements<T>(context, 0), context.dims(0),
                            arithmetic_elements<T>(context, 1), right, out, f));
  });
}
template <class F>
void zip_number(ReferenceContext& context, F f) {
  zip_number(context, f, context.dims(1));
}

// out = bool(f(in0, in1)) with broadcasting. Both inputs are of one type, which is no string.
template <class F>
void zip_predicate(ReferenceContext& context, F f, const Dims& right) {
  const Dims out = broadcast(context.dims(0), right);
  const bool real = is_float(context.in(0).type()) || is_float(context.in(1).type());
  visit_arithmetic(real ? ElementType::kDouble : context.in(0).type(), [&]<class T>(T) {
    const auto truth = zip<int64_t>(arithmetic_elements<T>(context, 0), context.dims(0),
                                    arithmetic_elements<T>(context, 1), right, out, f);
    context.store_ints(0, out, truth);
  });
}
template <class F>
void zip_predicate(ReferenceContext& context, F f) {
  zip_predicate(context, f, context.dims(1));
}

}  // namespace vernier::ops
