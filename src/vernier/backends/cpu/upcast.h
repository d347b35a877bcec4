// Kernels made for a changed request: of wider operands, or of one thread.
#pragma once

#include <functional>

#include "vernier/backends/shared/make_kernel.h"
#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Upcast kernels: operands are stored as float16 or bfloat16, and a kernel of floats computes on copies of
// them.

// Whether the request has operands of float16 or bfloat16, and means the same when they are floats.
bool can_be_upcast(const KernelRequest& request);

// The tactics that `find` offers for the request that make_upcast() makes. There are none for other types
// than float16, because bfloat16 has kernels of its own.
using FindTactics = std::function<std::vector<std::string>(const KernelRequest& request)>;
std::vector<std::string> upcast_tactics(const KernelRequest& request, const FindTactics& find);

// The kernel that `make` returns for the same request with floats in place of float16 and bfloat16. Each run
// upcasts its operands, which is exact, and rounds its results once. Constants are upcast when the kernel is
// made.
std::unique_ptr<Kernel> make_upcast(const KernelRequest& request, std::string& reason,
                                    const MakeKernel& make);

// Work that one thread does, however many there are: primitives of oneDNN are made for a number of threads.

// Calls `make` under one thread, and gives a kernel that uses one.
std::unique_ptr<Kernel> make_one_thread(
    const KernelRequest& request, std::string& reason,
    const std::function<std::unique_ptr<Kernel>(const KernelRequest&, std::string&)>& make);

}  // namespace vernier::cpu
