// These must not outlive the process: temporary files and folders, and groups of child processes. Their
// owners remove them; where a signal ends the process, end_leftovers() does.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <mutex>

namespace vernier {

// A leftover is made, noted, forgotten and moved away under this lock, so that none is missed.
std::unique_lock<std::mutex> lock_leftovers();
void note_leftover(const std::filesystem::path& path);
void forget_leftover(const std::filesystem::path& path);
void note_process_group(pid_t group);
void forget_process_group(pid_t group);

// Kills the groups and removes the paths. To be called before the process ends: the lock is kept, so whoever
// wants to make another leftover waits for the end.
void end_leftovers() noexcept;

}  // namespace vernier
