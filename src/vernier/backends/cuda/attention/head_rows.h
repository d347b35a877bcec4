// Rows of heads that are brought to where attention reads them: behind old ones, turned, with a bias.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/shared/attention/attention_plan.h"

namespace vernier::cuda {

using Place = CudaKernel::Place;

// A rotary embedding: element i of a row is turned with its neighbour if `interleaved`, else with i + half.
struct Rotation {
  enum class Positions : uint8_t {
    kPlaces,   // of the rows in the batch
    kBehind,   // behind the old rows
    kOfFirst,  // of the first row of all entries: one INT64
    kOfEach,   // INT64
  };
  Place cosines, sines, positions = {};
  Positions form = Positions::kPlaces;
  int64_t half = 0, angles = 0;  // pairs of a row, and positions that have an angle
  bool interleaved = false;
};

struct HeadRows {
  ElementType element = ElementType::kFloat;  // of all that is read and written, but for integers
  HeadsPlace from, to;                        // `to` has as many rows as are written; the inputs do not count
  Place x, y;                                 // where the elements of these begin
  std::optional<Place> bias = {};             // [heads * size]
  std::optional<Rotation> rotation = {};
  bool appends = false;  // whether `to` has room for old rows, and zeros where it has more than all
  int64_t old_rows = 0;
  // Old rows; nothing where there are none, or where they lie in `to` already.
  std::optional<Place> past = {};
  int64_t past_room = 0;  // rows of a head that there is memory for
  // INT32, the index of the last row of each entry, new ones included: they tell how many rows are old. All
  // are new where there are `longest` of them. Others than there is room for are reported.
  std::optional<Place> last_keys = {};
  int64_t longest = 0;
};

// Adds a launch that does this.
void add_head_rows(CudaKernel& kernel, const HeadRows& rows);

}  // namespace vernier::cuda
