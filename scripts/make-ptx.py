"""Compiles native/cuda/copy_kernels.cu into native/cuda/copy_kernels_ptx.h with NVRTC, which needs no GPU.

Run it with a Python that has NVRTC (PyTorch with CUDA brings it): .venv/bin/python scripts/make-ptx.py
With --check it writes nothing, and fails when the committed file is not what the source gives.
"""

import ctypes
import pathlib
import re
import site
import sys

folder = pathlib.Path(__file__).parent.parent / "native" / "cuda"
ARCH = "compute_75"
# Nothing newer is used, and drivers from CUDA 11 on read it.
VERSION = "7.0"


def find_nvrtc():
    for root in site.getsitepackages():
        for path in sorted(pathlib.Path(root).glob("nvidia/*/lib/libnvrtc.so.*")):
            for part in path.parent.glob("libnvrtc-builtins.so.*"):
                ctypes.CDLL(str(part), mode=ctypes.RTLD_GLOBAL)  # found by name once it is loaded
            return ctypes.CDLL(str(path))
    try:
        return ctypes.CDLL("libnvrtc.so")
    except OSError:
        sys.exit("NVRTC not found: pip install nvidia-cuda-nvrtc, or use a Python with PyTorch for CUDA")


def compile_ptx(nvrtc):
    source = (folder / "copy_kernels.cu").read_bytes()
    header = (folder / "copy_plan.h").read_bytes()
    program = ctypes.c_void_p()
    headers = (ctypes.c_char_p * 1)(header)
    names = (ctypes.c_char_p * 1)(b"copy_plan.h")
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"copy_kernels.cu", 1, headers, names)
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
    text = (
        "// Made by scripts/make-ptx.py from copy_kernels.cu.\n"
        "#ifndef DLPACK_NODE_CUDA_COPY_KERNELS_PTX_H_\n#define DLPACK_NODE_CUDA_COPY_KERNELS_PTX_H_\n\n"
        f'static const char kCopyKernelsPtx[] = R"ptx({tidy(compile_ptx(find_nvrtc()))})ptx";\n\n'
        "#endif  // DLPACK_NODE_CUDA_COPY_KERNELS_PTX_H_\n"
    )
    out = folder / "copy_kernels_ptx.h"
    if "--check" in sys.argv:
        if out.read_text() != text:
            sys.exit("copy_kernels_ptx.h is not what copy_kernels.cu gives; run scripts/make-ptx.py")
        print("copy_kernels_ptx.h is what copy_kernels.cu gives")
        return
    out.write_text(text)
    print(f"{out.name}: {len(text)} characters")


main()
