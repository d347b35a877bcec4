// Makes allocations fail, and counts those that live: operator new of the whole program, and the memory of
// tensors and arenas. oneDNN, protobuf and the threads' runtime are left alone, since they may end the
// process.
#pragma once

#include <cstdint>

namespace vernier::test {

// Once, before anything that counts.
void watch_allocations();
// The k-th allocation from now on fails, alone or with all after it.
void fail_allocation(int64_t k, bool and_all_after);
// None fails any more; gives how many did.
int64_t stop_failing();
int64_t live_allocations();

}  // namespace vernier::test
