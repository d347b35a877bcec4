// What of a plan runs on which device, what its copies move, and what accelerators left to the CPU.
#pragma once

#include "vernier/report/build_report.h"

namespace vernier {

struct DeviceCopies {
  size_t count = 0, bytes = 0;
};
DeviceCopies copies_of(const BuildReport::Plan& plan);

// Indented by two; "" for a plan of the CPU alone.
std::string devices_text(const BuildReport::Plan& plan);

}  // namespace vernier
