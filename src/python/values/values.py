# Run when Python starts, by to-js.ts, as the module _dlpack_values.
import sys
from array import array
from collections.abc import Mapping
from datetime import datetime, timezone

VALUE, TENSOR, DATE, DTYPE, DEVICE, SEQUENCE, SET, MAP, OBJECT = range(9)  # to-js.ts has the same numbers
NO_NUMBERS = tuple('OSTUMm')  # the kinds of NumPy's dtypes that no tensor has

def take_apart(value):
    """What a value becomes, and the value itself, or the parts of a container."""
    numpy = sys.modules.get('numpy')
    if numpy is not None and isinstance(value, numpy.generic):
        return take_scalar_apart(value, numpy)
    if isinstance(value, datetime):
        return DATE, milliseconds(value)
    if hasattr(type(value), '__dlpack__'):
        dtype = getattr(value, 'dtype', None)
        if getattr(dtype, 'kind', None) not in NO_NUMBERS and not getattr(dtype, 'names', None):
            return TENSOR, value
        return (SEQUENCE, list(value)) if value.ndim > 0 else take_apart(value[()])
    described = describe_dtype(value, numpy) or describe_device(value)
    if described is not None:
        return described
    if isinstance(value, (list, tuple)):
        return SEQUENCE, value
    if isinstance(value, (set, frozenset)):
        return SET, list(value)
    if isinstance(value, Mapping):
        pairs = list(value.items())
        return OBJECT if all(type(key) is str for key, _ in pairs) else MAP, flat(pairs)
    if hasattr(type(value), '__dataclass_fields__'):
        from dataclasses import fields  # here, because a program without dataclasses has not loaded it yet
        return OBJECT, flat((field.name, getattr(value, field.name)) for field in fields(value))
    if type(value) is complex:
        return OBJECT, ('re', value.real, 'im', value.imag)
    return VALUE, value

def describe_dtype(value, numpy):
    """The numbers of a dtype object as text, or the name of one of the libraries whose dtypes do not tell them."""
    if hasattr(type(value), '__dlpack_data_type__'):
        return DTYPE, ' '.join(str(int(number)) for number in value.__dlpack_data_type__())
    if numpy is not None and isinstance(value, numpy.dtype):
        is_known = value.isnative and (value.kind in 'biufc' or value.type.__module__ == 'ml_dtypes')
        return (DTYPE, value.name) if is_known and value.itemsize <= 16 and value.char not in 'gG' else None
    torch = sys.modules.get('torch')
    if torch is not None and isinstance(value, getattr(torch, 'dtype', ())):
        name = str(value).partition('.')[2]
        is_known = name.startswith(('bool', 'int', 'uint', 'float', 'bfloat', 'complex'))
        return (DTYPE, name.replace('_x2', 'x2')) if is_known else None

def describe_device(value):
    """The numbers of a device object as text."""
    if hasattr(type(value), '__dlpack_device__'):
        return DEVICE, ' '.join(str(int(number)) for number in value.__dlpack_device__())
    torch = sys.modules.get('torch')
    if torch is not None and isinstance(value, getattr(torch, 'device', ())) and value.type in ('cpu', 'cuda'):
        return DEVICE, '1 0' if value.type == 'cpu' else f'2 {value.index or 0}'

def take_scalar_apart(value, numpy):
    if value.dtype.kind == 'M':  # in UTC, and of any precision
        return DATE, None if numpy.isnat(value) else float(value.astype('datetime64[ms]').astype('int64'))
    item = value.item()
    # Some scalars have no counterpart in Python, and the number of a timedelta64 says nothing without its unit.
    return (VALUE, value) if isinstance(item, numpy.generic) or value.dtype.kind == 'm' else take_apart(item)

def milliseconds(moment):
    """Since 1970; None for a moment that is none, such as NaT of pandas."""
    try:
        seconds = moment.timestamp()
    except (OverflowError, ValueError):  # datetime.min and max without a zone: Python knows no local time there
        seconds = moment.replace(tzinfo=timezone.utc).timestamp()
    return None if seconds != seconds else float(round(seconds * 1e6) // 1000)

def flat(pairs):
    return [part for pair in pairs for part in pair]

def call(function, *arguments, **keywords):
    """Calls a function, and takes its result apart: a tuple of the kinds and the leaves, or text."""
    parts = flatten(function(*arguments, **keywords), 200)
    return parts if type(parts) is str else (parts[0], *parts[1])

def flatten(value, depth):
    """The leaves of a value, and the kinds of all its parts in order, with the length after the kind of a container. Text
    says why the value has no such form."""
    kinds, leaves = array('I'), []
    around, levels = [], [iter((value,))]  # the containers that are open, and what is left of them
    while levels:
        for part in levels[-1]:
            kind, content = take_apart(part)
            kinds.append(kind)
            if kind < SEQUENCE:
                leaves.append(content)
                continue
            if any(part is outer for outer in around):
                return 'a value that does not contain itself'
            if len(around) == depth:
                return f'a value of at most {depth} levels'
            kinds.append(len(content))
            around.append(part)
            levels.append(iter(content))
            break
        else:
            levels.pop()
            if around:
                around.pop()
    return kinds.tobytes(), leaves
