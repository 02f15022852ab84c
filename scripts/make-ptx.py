"""Compiles the kernels of native/cuda into PTX with NVRTC, which needs no GPU.

python3 scripts/make-ptx.py, after `npm test -- cuda/ptx` installed the NVRTC of requirements/nvrtc.txt in build/nvrtc.
With --check it writes nothing, and fails when a committed file is not what its source gives.
"""

import ctypes
import pathlib
import re
import sys

root = pathlib.Path(__file__).parent.parent
folder = root / "native" / "cuda" / "copies"
ARCH = "compute_75"
# Nothing newer is used, and drivers from CUDA 11 on read it.
VERSION = "7.0"


def find_nvrtc():
    for path in sorted(root.glob("build/nvrtc/nvidia/*/lib/libnvrtc.so.*")):
        for part in path.parent.glob("libnvrtc-builtins.so.*"):
            ctypes.CDLL(str(part), mode=ctypes.RTLD_GLOBAL)  # found by name once it is loaded
        return ctypes.CDLL(str(path))
    sys.exit("NVRTC not found in build/nvrtc: npm test -- cuda/ptx")


# A source, the headers that it needs, and the name of its PTX in C++.
KERNELS = [
    ("copy_kernels.cu", ["copy_plan.h"], "kCopyKernelsPtx"),
    ("cast_kernels.cu", ["cast_block.h", "cast_plan.h"], "kCastKernelsPtx"),
    ("scale_kernels.cu", ["cast_block.h", "cast_plan.h"], "kScaleKernelsPtx"),
]


def compile_ptx(nvrtc, name, headers):
    source = (folder / name).read_bytes()
    program = ctypes.c_void_p()
    count = len(headers)
    texts = (ctypes.c_char_p * count)(*[(folder / header).read_bytes() for header in headers])
    names = (ctypes.c_char_p * count)(*[header.encode() for header in headers])
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, name.encode(), count, texts, names)
    options = (ctypes.c_char_p * 3)(f"--gpu-architecture={ARCH}".encode(), b"--std=c++17", b"--restrict")
    status = nvrtc.nvrtcCompileProgram(program, 3, options)
    size = ctypes.c_size_t()
    if status != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def tidy(ptx):
    """Without comments, which name the compiler's build, and for older drivers."""
    ptx = re.sub(r"//.*", "", ptx)
    ptx = re.sub(r"^\.version .*$", f".version {VERSION}", ptx, flags=re.M)
    return re.sub(r"\n\s*\n+", "\n", ptx).strip() + "\n"


def main():
    nvrtc = find_nvrtc()
    for name, headers, variable in KERNELS:
        stem = name.removesuffix(".cu") + "_ptx"
        guard = f"DLPACK_NODE_CUDA_COPIES_{stem.upper()}_H_"
        text = (
            f"// Made by scripts/make-ptx.py from {name}.\n"
            f"#ifndef {guard}\n#define {guard}\n\n"
            f'static const char {variable}[] = R"ptx({tidy(compile_ptx(nvrtc, name, headers))})ptx";\n\n'
            f"#endif  // {guard}\n"
        )
        out = folder / f"{stem}.h"
        if "--check" not in sys.argv:
            out.write_text(text)
            print(f"{out.name}: {len(text)} characters")
        elif out.read_text() != text:
            sys.exit(f"{out.name} is not what {name} gives; run scripts/make-ptx.py")
        else:
            print(f"{out.name} is what {name} gives")


main()
