// DLPACK_EXTERN declares a variable that another file of the addon defines. `-fvisibility=hidden` reaches definitions
// only. Without the attribute each access takes the address from a table that the loader fills, and Zig's linker for
// macOS leaves random bytes in the file for each such variable.
#pragma once

#define DLPACK_EXTERN extern __attribute__((visibility("hidden")))
