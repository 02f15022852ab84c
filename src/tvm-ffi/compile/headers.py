# Run by headers.ts in another process: prints the folders with the headers of the Python package apache-tvm-ffi. A package
# in the working folder must not run.
import sys

sys.path[:] = [path for path in sys.path if path != ""]

import tvm_ffi.libinfo as info  # noqa: E402, after the change of the path

print(info.find_include_path())
print(info.find_dlpack_include_path())
