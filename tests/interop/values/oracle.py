"""Expected values from NumPy and ml_dtypes. Writes blocks of bytes, each behind its length in eight bytes."""
import sys
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")

SMALL_FLOATS = [
    "float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def write(data):
    raw = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
    sys.stdout.buffer.write(len(raw).to_bytes(8, "little") + raw)


def bits_of(name):
    if is_integer(name):
        return int(name.lstrip("uint"))
    return {"float16": 16, "bfloat16": 16}.get(name) or int(name[5])


def code_type(name):
    return np.uint16 if bits_of(name) == 16 else np.uint8


def all_values(name):
    codes = np.arange(2 ** bits_of(name), dtype=code_type(name))
    return codes.view(dtype_of(name)).astype(np.float64)


def decode(name):
    write(all_values(name))


def interesting(name):
    """Every value, every midpoint, their float32 neighbours, the special ones: all exact in float32."""
    finite = np.unique(all_values(name)[np.isfinite(all_values(name))])
    middle = (finite[1:] + finite[:-1]) / 2
    step = finite[-1] - finite[-2]
    beyond = finite[-1] + step * np.array([0.25, 0.5, 0.75, 1, 2])
    chosen = np.concatenate([finite, middle, beyond, -beyond, [0.0, -0.0, np.inf, -np.inf, np.nan]])
    chosen = chosen.astype(np.float32)
    up, down = np.nextafter(chosen, np.float32(np.inf)), np.nextafter(chosen, np.float32(-np.inf))
    tiny = np.array([1e-45, 2.0**-127, 2.0**-128, 2.0**-126, 3.4028235e38], dtype=np.float32)
    return np.concatenate([chosen, up, down, tiny, -tiny])


def random_float32(name, count):
    """Half of them any bit pattern, half near the range of the type. The one NaN of JavaScript is positive."""
    rng = np.random.default_rng(20260101)
    anything = rng.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    finite = all_values(name)[np.isfinite(all_values(name))]
    scale = np.exp2(rng.uniform(-3, 0.1, count)) * np.abs(rng.choice(finite, count))
    near = (scale * rng.choice([-1, 1], count)).astype(np.float32)
    both = np.concatenate([anything, near])
    both[np.isnan(both)] = np.float32(np.nan)
    return both


def wrong_in_e8m0(values):
    """ml_dtypes 0.6.0 takes float32 above 2^-127 to 2^-126 even where 2^-127 is nearer; encode64 covers them."""
    return (values > 2.0**-127) & (values < 1.5 * 2.0**-127)


def encode32(name):
    values = np.concatenate([interesting(name), random_float32(name, 600_000)])
    if name == "float8_e8m0fnu":
        values = values[~wrong_in_e8m0(values)]
    write(values)
    write(values.astype(dtype_of(name)).view(code_type(name)))


def encode64(name):
    """One rounding from float64, by search among exact midpoints: ml_dtypes goes through float32 and rounds twice."""
    rng = np.random.default_rng(7)
    table = all_values(name)
    codes = np.flatnonzero(np.isfinite(table) & ~np.signbit(table))
    finite = table[codes]
    middle = (finite[1:] + finite[:-1]) / 2
    values = np.concatenate([
        np.nextafter(middle, np.inf), np.nextafter(middle, 0), middle,
        np.exp2(rng.uniform(np.log2(finite[finite > 0][0]) - 2, np.log2(finite[-1]), 1_000_000)),
    ])
    values = values[values <= finite[-1]]
    below = np.searchsorted(middle, values, side="left")
    tie = np.append(middle, np.inf)[below] == values
    # The even code wins; e8m0 has no mantissa, its two candidates are 1 and 2 in units of the lower: 2 is even.
    up = tie & (np.ones_like(below, dtype=bool) if name == "float8_e8m0fnu" else codes[below] % 2 == 1)
    write(values)
    write(codes[below + up].astype(code_type(name)))


NUMBERS = [
    "bool", "int1", "int2", "int4", "int8", "int16", "int32", "int64", "uint1", "uint2", "uint4", "uint8", "uint16",
    "uint32", "uint64", *SMALL_FLOATS, "float32", "float64", "complex32", "complex64", "complex128",
    "bcomplex32",
]


def is_integer(name):
    return "int" in name


def range_of(name):
    bits = int(name.lstrip("uint"))
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def sample(name, rng, count):
    """Values of a type, all of its range, without NaN: its sign is not kept here and is in ml_dtypes."""
    if name == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if is_integer(name):
        low, high = range_of(name)
        wide = rng.integers(low, high, count, endpoint=True, dtype=np.uint64 if name == "uint64" else np.int64)
        return wide.astype(dtype_of(name))
    if name in SMALL_FLOATS:
        drawn = rng.integers(0, 2 ** bits_of(name), count).astype(code_type(name)).view(dtype_of(name))
    elif "complex" in name:
        drawn = (rng.normal(0, 50, count) + 1j * rng.normal(0, 50, count)).astype(dtype_of(name))
    else:
        drawn = (rng.normal(0, 1, count) * np.exp2(rng.uniform(-20, 40, count))).astype(dtype_of(name))
    return np.where(np.isnan(drawn.astype(np.complex128)), np.ones_like(drawn), drawn)


def between(from_name, to_name, rng):
    values = sample(from_name, rng, 256)
    real = values.astype(np.complex128).real if "complex" in from_name else values.astype(np.float64)
    if not is_integer(from_name) and is_integer(to_name):
        # C, and so NumPy, does not define the result for values out of range.
        low, high = range_of(to_name)
        return np.where((np.trunc(real) >= low) & (np.trunc(real) < high), values, np.zeros_like(values))
    if to_name == "float8_e8m0fnu":
        values, real = (np.where(wrong_in_e8m0(real), np.ones_like(v), v) for v in (values, real))
    if from_name in ("int32", "int64", "uint32", "uint64", "float64", "complex128") and to_name in SMALL_FLOATS:
        # ml_dtypes goes through float32 and rounds twice.
        exact = real.astype(np.float32).astype(np.float64) == real
        return np.where(exact, values, np.ones_like(values))
    return values


def astype(_):
    """For every pair of types: their names, the values, and what the cast makes of them (nothing: there is no cast)."""
    rng = np.random.default_rng(3)
    for from_name in NUMBERS:
        for to_name in NUMBERS:
            values = between(from_name, to_name, rng)
            write(f"{from_name} {to_name}".encode())
            write(values)
            if from_name in ("complex32", "bcomplex32") and to_name in ("bool", "complex32", "bcomplex32"):
                # ml_dtypes 0.6.0 cuts the parts off to integers first, and 0.5 would be False; between these two it makes
                # everything 1.
                values = values.astype(np.complex64)
            try:
                write(values.astype(dtype_of(to_name)))
            except TypeError:
                write(b"")
    write(b"")


PRINTED = ["int8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (1,), (5,), (40,), (3, 4), (2, 3, 2), (2, 2, 2, 3), (1001,), (30, 100), (7, 1, 200), (3, 0)]


def printed_sample(name, kind, shape, rng):
    count = int(np.prod(shape))
    if is_integer(name):
        low, high = range_of(name)
        return rng.integers(low // (1 << kind * 6), high // (1 << kind * 6) + 1, count, dtype=np.dtype(name))
    spread = [0, 1, 3, 40][kind] if name != "float16" else [0, 1, 2, 4][kind]
    values = rng.normal(0, 1, count) * 10 ** rng.uniform(-spread, spread, count)
    if kind == 1:
        values = np.round(values * 4) / 4
    if kind == 2 and count > 2:
        values[:3] = [np.nan, -np.inf, -0.0]
    if "complex" in name:
        values = values + 1j * rng.permutation(values)
    return values.astype(name)


def printed(_):
    """Arrays and their text: name, shape, bytes, text; an empty name ends."""
    rng = np.random.default_rng(11)
    special = [np.array([0.001953125, 1.0]), np.array([1e8, 1]), np.array([99999999.0, 1e6]), np.array([1e-4, 0.09]),
               np.array([9.9e-5, 1]), np.array([0.1, 100.1]), np.array([1e100, 1]), np.array([1e-300, 1.5]),
               np.array([0.0, -0.0]), np.array([np.nan]), np.array([np.inf, 1]), np.array([-np.inf, 1.25]),
               np.array([5e-324]), np.array([1.7976931348623157e308]), np.array([123456.789, 0.5]),
               np.array([0.1, 0.2, 0.1 + 0.2]), np.array([2.5, 1e-9]), np.array([999999.9], dtype=np.float32),
               np.array([1e6], dtype=np.float32), np.array([65504, 1000], dtype=np.float16),
               np.array([1e-45, 1], dtype=np.float32), np.array([16777216, 0.1], dtype=np.float32),
               np.array([0.000244140625, 0.0001220703125]), np.array([0.30000000000000004, 3.00000000005]),
               np.array([5e-324, 1e-323, 1.23456789e-300]), np.array([3e-45, 1.2345678e-30], dtype=np.float32),
               np.array([3e-7, 1.25e-6], dtype=np.float16), np.array([146.25], dtype=np.float16),
               np.array([0.1, 100], dtype=np.float16), np.array([1e-4], dtype=np.float32)]
    arrays = special + [printed_sample(n, k, s, rng).reshape(s) for n in PRINTED for k in range(4) for s in SHAPES]
    for array in arrays:
        write(array.dtype.name.encode())
        write(",".join(map(str, array.shape)).encode())
        write(array)
        write(np.array2string(array, separator=", ").encode())
    write(b"")


def scaled(_):
    """A scale and an offset for each channel: two types, the axis, the shape, values, factors, and what NumPy computes."""
    rng = np.random.default_rng(5)
    for source, target in [("uint8", "float32"), ("uint8", "float16"), ("float32", "float32"), ("float16", "bfloat16"),
                           ("int16", "float32"), ("int32", "float32"), ("uint8", "float64"), ("float64", "float32"),
                           ("bool", "float32"), ("uint64", "float64"), ("float32", "int8"), ("bfloat16", "float8_e4m3fn")]:
        single = source in ("uint8", "float32", "float16", "bfloat16", "int16", "bool") and target != "float64"
        real = np.float32 if single else np.float64
        for shape, axis in [((3, 5, 7), 0), ((5, 7, 3), 2), ((2, 3, 40, 50), 1), ((70, 90), 0), ((70, 90), 1), ((1, 4), 0)]:
            values = rng.integers(0, 100, shape) if source in ("uint8", "bool") else rng.normal(0, 50, shape)
            values = (np.abs(values) if source[0] == "u" else values).astype(dtype_of(source))
            factors = rng.normal(0, 1, (2, shape[axis]))
            ones = [1] * len(shape)
            ones[axis] = shape[axis]
            scale, offset = (row.astype(real).reshape(ones) for row in factors)
            result = values.astype(real) * scale + offset
            if target == "int8":
                result = np.clip(result, -128, 127)
            write(f"{source} {target} {axis} {','.join(map(str, shape))}".encode())
            write(values)
            write(factors)
            write(result.astype(dtype_of(target)))
    write(b"")


COMMANDS = {"scaled": scaled, "printed": printed, "astype": astype, "decode": decode, "encode32": encode32, "encode64": encode64}

if __name__ == "__main__":
    for argument in sys.argv[2:] or [""]:
        COMMANDS[sys.argv[1]](argument)
