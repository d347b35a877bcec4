// Which cores the threads of this process run on, and where their memory lies.
#pragma once

#include <string>
#include <vector>

namespace vernier {

// Numbers of the system: "0-3,8" is 0, 1, 2, 3 and 8. Ascending, each once. Throws usage_error.
std::vector<int> parse_cores(const std::string& list);
// Gives the cores of a NUMA node that this process may use. Throws unsupported where the system has no such
// node.
std::vector<int> cores_of_node(int node);

// From now on the calling thread, and all that it makes, run on these cores alone, and each thread that the
// pool makes on one of its own, as far as they go. To be called before anything else has used threads: the
// pool's threads that are there stay where they are. Throws unsupported where one is not to be had.
void run_on_cores(const std::vector<int>& cores);

// Memory that this process touches first from now on lies on this node as long as there is some. Throws
// unsupported where the system does not allow it.
void prefer_memory_of_node(int node);

}  // namespace vernier
