#pragma once

namespace vernier {

// The tactic that computes as the backend's own choice does, with one thread, however many there are.
inline constexpr const char* kOneThreadTactic = "threads=1";

}  // namespace vernier
