"""Whether two processes of this machine can share memory and events of a device at all, asked of the driver alone.

Ends with 0 when they can; otherwise prints the call that failed and its code. The other process is this script with the handles.
"""
import ctypes
import subprocess
import sys

cuda = ctypes.CDLL('libcuda.so.1')


class Handle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_byte * 64)]

    @classmethod
    def of(cls, digits):
        return cls.from_buffer_copy(bytes.fromhex(digits))


def must(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        sys.exit(f'{"the other process" if len(sys.argv) > 1 else "the first process"}: {name} returned {code}')


address, event, context = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
must('cuInit', 0)
must('cuDevicePrimaryCtxRetain', ctypes.byref(context), 0)
must('cuCtxPushCurrent_v2', context)

if len(sys.argv) > 1:
    must('cuIpcOpenMemHandle_v2', ctypes.byref(address), Handle.of(sys.argv[1]), 1)
    must('cuIpcOpenEventHandle', ctypes.byref(event), Handle.of(sys.argv[2]))
    must('cuStreamWaitEvent', None, event, 0)
    must('cuMemsetD8_v2', address, 7, ctypes.c_size_t(16))
    must('cuCtxSynchronize')
    must('cuIpcCloseMemHandle', address)
else:
    handles = [Handle(), Handle()]
    must('cuMemAlloc_v2', ctypes.byref(address), ctypes.c_size_t(1 << 21))
    must('cuEventCreate', ctypes.byref(event), 6)
    must('cuEventRecord', event, None)
    must('cuIpcGetMemHandle', ctypes.byref(handles[0]), address)
    must('cuIpcGetEventHandle', ctypes.byref(handles[1]), event)
    other = subprocess.run([sys.executable, __file__, *(bytes(handle).hex() for handle in handles)])
    if other.returncode != 0:
        sys.exit(1)
    written = (ctypes.c_ubyte * 16)()
    must('cuMemcpyDtoH_v2', written, address, ctypes.c_size_t(16))
    if list(written) != [7] * 16:
        sys.exit(f'what the other process wrote is not there: {list(written)}')
