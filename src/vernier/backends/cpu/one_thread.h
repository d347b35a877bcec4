// Work that one thread does, however many there are: primitives of oneDNN are made for a number of threads.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

// What `make` gives where there is one thread, as a kernel that uses one.
std::unique_ptr<Kernel> make_one_thread(
    const KernelRequest& request, std::string& reason,
    const std::function<std::unique_ptr<Kernel>(const KernelRequest&, std::string&)>& make);

}  // namespace vernier::cpu
