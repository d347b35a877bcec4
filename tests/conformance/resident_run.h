// Runs whose inputs and outputs lie in memory of an accelerator.
#pragma once

#include "vernier/engine/session.h"

namespace vernier {

// Runs the session twice with all that can lie on the accelerator there, the second time in the order of a
// stream of the caller's. Throws internal_error where a bit differs from `expected`, in the order of the
// graph; with a profile, where more differs than ONNX allows: a plan that is made on demand may round
// otherwise than a prepared one, whose sizes are folded.
void expect_the_same_on_the_device(Session& session, std::span<const Datum> inputs,
                                   std::span<const Datum> expected);

}  // namespace vernier
