// Primitives by what they compute: the layers of a model that differ in their weights alone share one.
#pragma once

#include <dnnl.hpp>
#include <memory>

namespace vernier::cpu {

// The primitive of a description, to be run by so many threads: one that is in use for an equal description,
// else a new one. Making it generates code, which takes as long as many a product. Thread-safe. Throws
// dnnl::error.
std::shared_ptr<const dnnl::primitive> shared_primitive(const dnnl::primitive_desc_base& description,
                                                        int threads);

}  // namespace vernier::cpu
