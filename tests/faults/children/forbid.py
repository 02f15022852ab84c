"""Runs a program for which the system call memfd_create fails: forbid.py errno program arguments..."""

import ctypes
import os
import platform
import struct
import sys

NUMBERS = {'x86_64': 319, 'aarch64': 279}
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2


def main() -> None:
    error, program = int(sys.argv[1]), sys.argv[2:]
    code = b''.join(
        struct.pack('HBBI', *step)
        for step in [
            (LOAD_NUMBER, 0, 0, 0),
            (IF_EQUAL, 0, 1, NUMBERS[platform.machine()]),
            (RETURN, 0, 0, FAIL | error),
            (RETURN, 0, 0, ALLOW),
        ]
    )
    memory = ctypes.create_string_buffer(code)
    filter_program = ctypes.create_string_buffer(struct.pack('HP', len(code) // 8, ctypes.addressof(memory)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in [(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, MODE_FILTER, filter_program, 0, 0)]:
        if libc.prctl(*arguments) != 0:
            sys.exit(f'prctl: {os.strerror(ctypes.get_errno())}')
    os.execvp(program[0], program)


main()
