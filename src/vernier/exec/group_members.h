// Groups whose nodes are computed one by one.
#pragma once

#include <functional>

#include "vernier/exec/backend.h"

namespace vernier {

// Gives the requests that a group would make for each of its nodes, in their order. Operands lie as the
// group's do, values between nodes as its output does. None if the sizes of results are not known.
std::vector<KernelRequest> member_requests(const KernelRequest& group);

// Composes the contracts of kernels that run in turn, each storing its result, into one, which bounds what
// any of them does. Factors are rounded as by the coarsest of them, sums accumulated as in the narrowest
// accumulator, functions approximated as by any; what the last one stores is stored. At least one kernel.
NumericsContract sequence_contract(std::span<const NumericsContract> kernels);

using MakeMember = std::function<std::unique_ptr<Kernel>(const KernelRequest& member)>;
// A kernel that runs those of the nodes in turn, with what is between them in its working memory. Nothing if
// a node gets none.
std::unique_ptr<Kernel> make_sequential(const KernelRequest& group, const MakeMember& make);

}  // namespace vernier
