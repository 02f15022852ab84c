// DLPACK_HIDDEN declares what another file of the addon defines: a variable, or a function whose address code takes (a
// static table needs none).
// `-fvisibility=hidden` reaches definitions only. Without the attribute each use takes the address from a table that
// the loader fills, and Zig's linker for macOS leaves random bytes in the file for each such name.
#pragma once

#define DLPACK_HIDDEN __attribute__((visibility("hidden")))
