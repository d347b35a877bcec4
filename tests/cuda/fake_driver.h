// A driver in software: memory of the "GPU" is memory of the process, work is done at once, and programs do
// nothing but leave a trace. What can go wrong is set beforehand.
#pragma once

#include <map>
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

  // What has been done.
  size_t allocated = 0, live_buffers = 0, launches = 0, loaded = 0;
  std::vector<std::string> calls;  // copies and launches, in their order
  std::map<DevicePointer, size_t> buffers;
  int* fault_word = nullptr;  // the first memory that was made visible to both sides
};

// The one that the table's functions work on.
FakeDriver& fake_driver();
// A new one, and the table of its functions.
DriverApi reset_fake_driver();

}  // namespace vernier::cuda
