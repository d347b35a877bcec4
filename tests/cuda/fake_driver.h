// A driver in software: memory of the "GPU" is memory of the process, work is done at once, or, while a
// stream captures, when the graph is launched, and programs do nothing but leave a trace. What can go wrong
// is set beforehand.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/backends/cuda/libraries/driver_api.h"

namespace vernier::cuda {

struct FakeDriver {
  int gpus = 1, major = 9, minor = 0;
  Status init = kSuccess;
  size_t memory = size_t{1} << 30;      // bytes that there are
  Status launch_fails = kSuccess;       // of every launch from now on
  Status synchronize_fails = kSuccess;  // of every wait from now on
  int fault = 0;                        // what the next launch reports
  Status make_ready_fails = kSuccess;   // of every captured graph from now on

  // The driver counts what has been done.
  size_t allocated = 0, live_buffers = 0, launches = 0, loaded = 0, graph_launches = 0, live_graphs = 0,
         destroyed_streams = 0;
  std::vector<std::string> calls;                   // copies and launches, in their order
  std::map<DevicePointer, size_t> buffers, pinned;  // bytes by address
  int ordinal_of_buffers = 0;                       // the GPU that they are on
  int* fault_word = nullptr;                        // the first memory that was made visible to both sides

  using Work = std::vector<std::function<void()>>;
  std::optional<Work> captured;  // while a stream captures
  bool invalidated = false;      // the capture, by a call that none allows

  // Work that a stream is given.
  void enqueue(std::function<void()> work);
  // Gives the status of a call that may not come while a stream captures: kSuccess where none does.
  Status outside_of_capture();
};

// The one that the table's functions work on.
FakeDriver& fake_driver();
// A new one, and the table of its functions.
DriverApi reset_fake_driver();

}  // namespace vernier::cuda
