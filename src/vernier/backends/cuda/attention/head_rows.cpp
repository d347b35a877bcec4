#include "vernier/backends/cuda/attention/head_rows.h"

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"

namespace vernier::cuda {

namespace {

using P = HeadRowsParameters;

P parameters_of(const HeadRows& rows) {
  const HeadsPlace &from = rows.from, &to = rows.to;
  P p{};
  p.heads = static_cast<int>(from.heads);
  p.rows = static_cast<int>(from.rows);
  p.size = static_cast<int>(from.size);
  p.old_rows = static_cast<int>(rows.old_rows);
  p.keys = static_cast<int>(to.rows);
  p.longest = static_cast<int>(rows.longest);
  p.x_batch = from.batch_stride, p.x_head = from.head_stride, p.x_row = from.row_stride;
  p.y_batch = to.batch_stride, p.y_head = to.head_stride, p.y_row = to.row_stride;
  p.past_head = rows.past_room * from.size;
  p.past_batch = p.past_head * from.heads;
  if (rows.rotation) {
    p.half = static_cast<int>(rows.rotation->half);
    p.angles = static_cast<int>(rows.rotation->angles);
  }
  return p;
}

Definitions definitions_of(const HeadRows& rows) {
  const auto& rotation = rows.rotation;
  const auto form = rotation ? static_cast<int>(rotation->form) : 0;
  return {{"T", std::string(device_type(rows.element))},
          {"TURNED", !rotation               ? "0"
                     : rotation->interleaved ? "2"
                                             : "1"},
          {"POSITIONS", std::to_string(form)},
          {"BIASED", rows.bias ? "1" : "0"},
          {"APPENDS", rows.appends ? "1" : "0"},
          {"COUNTED", rows.last_keys ? "1" : "0"}};
}

}  // namespace

void add_head_rows(CudaKernel& kernel, const HeadRows& rows) {
  P parameters = parameters_of(rows);
  // A thread for a few elements of those that are certain to be written.
  constexpr int64_t kElements = 4;
  const int64_t elements = (rows.past ? rows.to.rows : rows.from.rows) * rows.from.size;
  parameters.parts = static_cast<int>(std::max<int64_t>(1, tiles_of(elements, kThreads * kElements)));
  const Grid grid = grid_of_blocks(rows.from.batch * rows.from.heads * parameters.parts,
                                   std::min<int64_t>(elements, kThreads));
  kernel.launch(kernel_source("head_rows", definitions_of(rows)), grid, parameters, {{&P::x, rows.x}},
                {{&P::y, rows.y}});
  if (rows.past) kernel.add_pointer(offsetof(P, past), *rows.past);
  if (rows.bias) kernel.add_pointer(offsetof(P, bias), *rows.bias);
  if (rows.last_keys) kernel.add_pointer(offsetof(P, last_keys), *rows.last_keys);
  if (rows.rotation) {
    kernel.add_pointer(offsetof(P, cosines), rows.rotation->cosines);
    kernel.add_pointer(offsetof(P, sines), rows.rotation->sines);
    if (rows.rotation->form >= Rotation::Positions::kOfFirst)
      kernel.add_pointer(offsetof(P, positions), rows.rotation->positions);
  }
  if (rows.rotation || rows.last_keys)
    kernel.report_faults(offsetof(P, faults), offsetof(P, fault),
                         "a position, or a number of keys, is outside of the cache");
}

}  // namespace vernier::cuda
