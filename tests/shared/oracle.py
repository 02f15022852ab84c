"""A Python process beside a test: each command shares or opens memory, prints one line of JSON, and waits for a line."""

import json
import mmap
import os
import sys
from multiprocessing import resource_tracker, shared_memory

command, *arguments = sys.argv[1:]


def tell(value):
    print(json.dumps(value), flush=True)


def wait():
    return sys.stdin.readline().strip()


def make():
    """SharedMemory of this process."""
    memory = shared_memory.SharedMemory(create=True, size=24)
    memory.buf[:6] = bytes(range(6))
    tell({"name": memory.name})
    wait()
    tell(list(memory.buf[:6]))
    memory.close()
    memory.unlink()


def open_named(name, mode):
    """SharedMemory of another process. The resource tracker removes its name at exit unless it is told not to."""
    if mode == "careful" and sys.version_info >= (3, 13):
        memory = shared_memory.SharedMemory(name=name, track=False)
    else:
        memory = shared_memory.SharedMemory(name=name)
        if mode == "careful":
            resource_tracker.unregister("/" + name, "shared_memory")
    tell(list(memory.buf[:4]))
    memory.buf[0] = 9
    memory.close()


def open_path(path, access):
    """Plain Python, without a package."""
    try:
        with open(path, "r+b" if access == "write" else "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE if access == "write" else mmap.ACCESS_READ) as memory:
                tell(list(memory[:4]))
                if access == "write":
                    memory[0] = 9
    except OSError as error:
        tell(type(error).__name__)


def hold_file(name):
    """Memory of this process, which the test refuses when this process runs as another user."""
    file = os.memfd_create("theirs")
    os.ftruncate(file, 16)
    with open("/dev/shm/" + name, "wb") as named:
        named.write(bytes(16))
    tell({"process": os.getpid(), "file": file, "user": os.geteuid()})
    wait()
    os.unlink("/dev/shm/" + name)


def torch_gives(torch, strategy):
    """A tensor as torch.multiprocessing shares it with its own processes."""
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3).share_memory_()
    storage = tensor.untyped_storage()
    if strategy == "file_descriptor":
        file, _ = storage._share_fd_cpu_()
        tell({"process": os.getpid(), "file": file})
    else:
        _, name, _ = storage._share_filename_cpu_()
        tell({"name": name.decode(), "offset": 64})  # a count of its users comes first
    wait()
    tell(tensor.flatten().tolist())


def child(queue, back):
    tensor = queue.get()
    tensor[0] = 8
    back.put("written")


def torch_takes(torch, strategy, place):
    """Memory of the test in torch, which sends it on to a process of its own without a copy."""
    if strategy == "file_descriptor":
        storage = torch.UntypedStorage._new_shared_fd_cpu(os.open(place, os.O_RDWR), 16)
    else:
        manager, _, _ = torch.UntypedStorage(4)._share_filename_cpu_()
        storage = torch.UntypedStorage._new_shared_filename_cpu(manager, place.encode(), 16)
    tensor = torch.empty(0, dtype=torch.float32).set_(storage)
    values = tensor.tolist()
    context = torch.multiprocessing.get_context("fork")
    queue, back = context.Queue(), context.Queue()
    process = context.Process(target=child, args=(queue, back))
    process.start()
    queue.put(tensor)
    back.get()
    process.join()
    tensor[1] = 9
    del tensor, storage
    tell(values)


def torch_both(*places):
    """torch.multiprocessing with both strategies; one process, because torch takes seconds to start."""
    import torch
    import torch.multiprocessing

    for strategy, place in zip(["file_descriptor", "file_system"], places):
        torch.multiprocessing.set_sharing_strategy(strategy)
        torch_gives(torch, strategy)
        torch_takes(torch, strategy, place)
        wait()


{
    "make": make,
    "open_named": open_named,
    "open_path": open_path,
    "hold_file": hold_file,
    "torch_both": torch_both,
}[command](*arguments)
