// How the program ends: by signals without leaving anything behind, and not before its output is where it
// belongs.
#pragma once

#include <string>

namespace vernier {

// To be called first, before there are other threads. SIGINT, SIGTERM and SIGHUP, unless they are ignored,
// kill child processes and remove temporary files before they end the program as they would have. Writing too
// much (SIGXFSZ) or to a pipe that nobody reads (SIGPIPE) ends no longer the program but the write. Where
// work takes interruptions (base/interruption.h), the first SIGINT ends that work only.
void prepare_process();

// Writes to standard output, at once.
void print(const std::string& text);

// The exit status: `status`, unless what was written to standard output is lost, which is said on standard
// error. That nobody reads it any more is no loss.
int flushed(int status);

}  // namespace vernier
