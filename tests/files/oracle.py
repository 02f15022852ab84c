"""NumPy, ml_dtypes, PyTorch and the Python safetensors on the same files: `write FOLDER` makes some, `read FOLDER` reads
those that the tests wrote. Both print what the files hold: file -> name -> [dtype, shape, bytes in rows as hex]."""

import json
import os
import struct
import sys
import warnings
import zipfile

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

warnings.simplefilter("ignore")
command, folder = sys.argv[1:3]
found = {}
random = np.random.default_rng(17)


def shown(array):
    return [array.dtype.name, list(array.shape), np.ascontiguousarray(array).tobytes().hex()]


def path(name):
    return os.path.join(folder, name)


NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
         "complex64", "complex128"]
ML = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float8_e3m4"]
SAFETENSORS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
               "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}


def values(dtype, shape):
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    return random.integers(1, 100, shape).astype(getattr(ml_dtypes, dtype, None) or dtype)


def write_arrays():
    for dtype in NUMPY + ML:
        for order in "CF":
            array = np.array(values(dtype, (3, 4)), order=order)
            np.save(path(f"{dtype}-{order}.npy"), array)
            found[f"{dtype}-{order}.npy"] = {"array": shown(array)}
    extra = {"scalar": np.array(2.5), "empty": np.zeros((2, 0, 3), np.int16), "ones": np.ones((1, 1, 1), np.float32),
             "big": values("float64", (2, 3)).astype(">f8"), "bigc": (values("float32", (5,)) * 1j).astype(">c8")}
    for name, array in extra.items():
        np.save(path(f"{name}.npy"), array)
        found[f"{name}.npy"] = {"array": shown(array.astype(array.dtype.newbyteorder("=")))}
    for version in [(1, 0), (2, 0), (3, 0)]:
        name = f"version{version[0]}.npy"
        with open(path(name), "wb") as file:
            np.lib.format.write_array(file, np.arange(7, dtype=np.int32), version=version)
        found[name] = {"array": shown(np.arange(7, dtype=np.int32))}


def write_archives():
    arrays = {"a": values("float32", (100, 7)), "b/c": values("int8", (13,)), "é": np.asfortranarray(values("int64", (3, 5))),
              "scalar": np.float16(3)}
    np.savez(path("stored.npz"), **arrays)
    np.savez_compressed(path("deflated.npz"), **arrays)
    # Zip64 fields in every header, and names in a directory of that form, as for members beyond 4 GiB.
    with zipfile.ZipFile(path("zip64.npz"), "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array))
    # More members than a directory without Zip64 can count.
    with zipfile.ZipFile(path("many.npz"), "w") as archive:
        content = path("scalar.npy")
        data = open(content, "rb").read()
        for i in range(65540):
            archive.writestr(f"{i}.npy", data)
    for name in ["stored.npz", "deflated.npz", "zip64.npz"]:
        found[name] = {key: shown(np.asanyarray(array)) for key, array in arrays.items()}
    found["many.npz"] = {"0": shown(np.array(2.5)), "65539": shown(np.array(2.5))}


def write_safetensors():
    tensors = {name: torch.tensor([[1.0, 2.0, 3.0]]).to(getattr(torch, name))
               for name in ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "complex64", "int64"]}
    tensors["scalar"] = torch.tensor(5, dtype=torch.int16)
    tensors["empty"] = torch.zeros(2, 0)
    safetensors.torch.save_file(tensors, path("torch.safetensors"), {"format": "pt", "note": "é"})
    found["torch.safetensors"] = {name: torch_shown(tensor) for name, tensor in tensors.items()}
    write_raw()


def write_raw():
    """Every dtype of the format, most of which no framework has: by hand, and read by the reference implementation."""
    header, data, expected = {}, b"", {}
    for name, bits in SAFETENSORS.items():
        content = random.integers(0, 2 if name == "BOOL" else 256, bits * 2).astype(np.uint8).tobytes()
        header[name] = {"dtype": name, "shape": [2, 8], "data_offsets": [len(data), len(data) + len(content)]}
        data += content
        expected[name] = [name, [2, 8], content.hex()]
    text = json.dumps(header).encode()
    whole = struct.pack("<Q", len(text)) + text + data
    with open(path("raw.safetensors"), "wb") as file:
        file.write(whole)
    found["raw.safetensors"] = deserialized(whole)
    assert found["raw.safetensors"] == expected


def deserialized(data):
    return {name: [entry["dtype"], list(entry["shape"]), bytes(entry["data"]).hex()]
            for name, entry in safetensors.deserialize(data)}


def torch_shown(tensor):
    return [str(tensor.dtype)[6:], list(tensor.shape), tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes().hex()
            if tensor.numel() else ""]


def read_large(name):
    """An array of more than 4 GiB by its two ends, and an array that begins beyond 4 GiB."""
    with zipfile.ZipFile(name) as archive:
        large, far = archive.infolist()
        assert large.file_size == large.compress_size > 2**32 and far.header_offset > 2**32
        assert large.extract_version == far.extract_version == 45
        with archive.open(large) as file:
            assert np.lib.format.read_magic(file) == (1, 0)
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
            ends = file.read(2)
    with open(name, "rb") as file:  # zipfile would read all bytes on the way
        file.seek(far.header_offset - 2)
        ends += file.read(2)
    with np.load(name) as archive:
        return {"large": [dtype.name, list(shape), ends.hex()], "far": shown(archive["far"])}


def read():
    for name in sorted(os.listdir(folder)):
        if name.endswith(".npy"):
            found[name] = {"array": shown(np.load(path(name)))}
            mapped = np.load(path(name), mmap_mode="r")
            assert mapped.flags.aligned and mapped.ctypes.data % 64 == 0 or mapped.size == 0
        elif name == "large.npz":
            found[name] = read_large(path(name))
        elif name == "many.npz":
            with np.load(path(name)) as archive:
                keys = archive.files
                assert len(keys) == len(set(keys)) == 65540
                found[name] = {key: shown(archive[key]) for key in keys[:2] + keys[-2:]}
        elif name.endswith(".npz"):
            assert zipfile.ZipFile(path(name)).testzip() is None
            with np.load(path(name)) as archive:
                found[name] = {key: shown(archive[key]) for key in archive}
        elif name.endswith(".safetensors"):
            with open(path(name), "rb") as file:
                data = file.read()
            assert (8 + struct.unpack("<Q", data[:8])[0]) % 64 == 0
            found[name] = deserialized(data)
            with safetensors.safe_open(path(name), "pt") as file:
                found[name]["__metadata__"] = file.metadata()


if command == "write":
    write_arrays()
    write_archives()
    write_safetensors()
else:
    read()
json.dump(found, sys.stdout)
