// Written by "npm run embed" from prelude.py; change it there.
#ifndef DLPACK_NODE_PYTHON_INTERPRETER_PRELUDE_PY_H_
#define DLPACK_NODE_PYTHON_INTERPRETER_PRELUDE_PY_H_

static const char kPreludePy[] = R"python(
# What is easier in Python than in C. prelude.cc runs it when Python starts, with Tensor, Function, keep_signals,
# restore_signals, watch_loads and is_ours defined.
import builtins, sys

CUDA = 2, 13
READ_ONLY, COPIED, PADDED = 1, 2, 4  # flags

registered = set()

def register_ml_dtype(code, bits):
    """NumPy since 2.5 takes and gives a dtype of ml_dtypes that somebody registers, and ml_dtypes does not. Its loaded
    modules only, because an export is no reason to import one."""
    numpy, ml_dtypes = map(sys.modules.get, ('numpy', 'ml_dtypes'))
    register = getattr(getattr(numpy, 'dtypes', None), 'register_dlpack_dtype', None)
    dtype = getattr(ml_dtypes, ML_DTYPES.get((code, bits), ''), None)
    if (code, bits) not in registered and register is not None and dtype is not None:
        registered.add((code, bits))
        try:
            register((code, bits), numpy.dtype(dtype))
        except ValueError:  # others have registered a dtype of theirs
            pass

def view_ml_dtype(array):
    """NumPy refuses to export a dtype of ml_dtypes that is not registered, but it exports unsigned integers. Elements
    narrower than a byte take a whole byte each. A view as unsigned integers, and the code and bits of the dtype; None for
    other arrays."""
    dtype = array.dtype
    if dtype.isnative and dtype.type.__module__ == 'ml_dtypes':
        for pair, name in ML_DTYPES.items():
            if name == dtype.type.__name__:
                register_ml_dtype(*pair)
                return array.view('uint%d' % max(pair[1], 8)), pair

def is_row_major(shape, strides):
    step = 1
    for length, stride in zip(shape[::-1], strides[::-1]):
        if length != 1 and stride != step:
            return 0 in shape
        step *= length
    return True

def describe(self, is_cuda):
    """The entries that the array interfaces of NumPy and CUDA share; None for packed elements that they do not have."""
    address, shape, strides, (code, bits, lanes), flags = self._fields()
    size = (bits * lanes + 7) // 8
    kind = 'iufVVcb'[code] if code < 7 and lanes == 1 and bits % 8 == 0 else 'V'
    if bits * lanes % 8 != 0 and not flags & PADDED:
        if not is_cuda or code != 1 or lanes != 1 or not is_row_major(shape, strides):
            return None
        typestr = '|t%d' % bits
    elif is_cuda:  # src/cuda/arrays/typestr.ts has the same rules
        typestr = ('|' if size == 1 else '<') + kind + str(size)
    else:  # NumPy shows foreign dtypes as raw bytes, which ml_dtypes, for example, can view with their own dtype
        typestr = f'{kind}{size}' if f'{kind}{size}' in NUMPY_TYPES else f'V{size}'
        typestr = ('|' if size == 1 or typestr[0] == 'V' else '<') + typestr
    # No strides for row-major tensors, because some libraries, such as PIL, copy when strides are given.
    steps = None if is_row_major(shape, strides) else tuple(size * stride for stride in strides)
    return dict(
        shape=shape, typestr=typestr, version=3, strides=steps, data=(address, flags & (READ_ONLY | COPIED) != 0))

COPY = (
    'this tensor is a copy of memory that JavaScript can move, such as Tensor.wrap(array), and JavaScript would not see '
    'a write; pass Tensor.from(array) or Tensor.adopt(array)')

def names_interface(frame):
    code = frame and frame.f_code
    return code is not None and '__array_interface__' in (*code.co_names, *code.co_consts)

def array_interface(self):
    # The interface cannot say that the memory is a copy. NumPy then asks __array__, which can. Python code that names the
    # attribute, such as Pillow's, has no other way in.
    if self._fields()[4] & COPIED and not names_interface(sys._getframe().f_back):
        raise AttributeError(f'Expected memory that JavaScript and Python share for __array_interface__ but {COPY}')
    entries = describe(self, False) if self.__dlpack_device__()[0] == 1 else None
    if entries is None:
        raise AttributeError('__array_interface__ needs host memory and elements of whole bytes')
    return entries

def cuda_array_interface(self):
    if self.__dlpack_device__()[0] not in CUDA:
        raise AttributeError('__cuda_array_interface__ needs memory of a CUDA device')
    entries = describe(self, True)
    if entries is None:
        raise AttributeError('__cuda_array_interface__ needs elements of whole bytes, or contiguous bits')
    return dict(entries, stream=self._offer())

def read_cuda_array(object):
    """Shape, strides, code and bits, address and stream, and the read-only flag of an ordinary CUDA Array Interface."""
    entries = object.__cuda_array_interface__
    if type(entries) is not dict:
        return None
    typestr, version, (address, readonly) = entries['typestr'], entries['version'], entries['data']
    stream = entries.get('stream') if version >= 3 else None
    numbers = version, address, 1 if stream is None else stream
    if [type(value) for value in (typestr, readonly, *numbers)] != [str, bool, int, int, int]:
        return None
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    if kind + size not in NUMPY_TYPES or order not in ('<', '=', '|') or (order == '|' and size != '1'):
        return None
    if entries.get('mask') is not None or entries.get('descr') not in (None, [('', typestr)]):
        return None
    if min(numbers) < 0 or version > 1000 or stream == 0:
        return None
    dtype = 'iufVVcb'.index(kind), 8 * int(size)
    return entries['shape'], entries.get('strides'), dtype, (address, stream or 0), readonly

Tensor.__array_interface__ = property(array_interface, doc="NumPy's array interface.")
Tensor.__cuda_array_interface__ = property(cuda_array_interface, doc='The CUDA Array Interface.')

class JavaScriptError(Exception):
    """A JavaScript function threw. `error` stands for what it threw."""
    __module__ = 'dlpack'

    def __reduce__(self):
        """In another process there is no JavaScript: the text is what is left."""
        return RuntimeError, ('JavaScriptError: ' + str(self),)

Function.JavaScriptError = JavaScriptError
Function.__repr__ = lambda self: f'<dlpack.Function {self.__name__[:120]}>'
Function.__copy__ = Function.__deepcopy__ = lambda self, *memo: self  # as Python's functions

def signature(self):
    import inspect
    return inspect.signature(lambda *args, **kwargs: None)

Function.__signature__ = property(signature)

def release_variables(error):
    """Releases what the functions of a traceback had in their variables, and those of the exceptions before it."""
    known, errors = set(), [error]
    while errors:
        error = errors.pop()
        if error is None or id(error) in known:
            continue
        known.add(id(error))
        errors += error.__cause__, error.__context__
        if isinstance(error, GROUPS):
            errors += error.exceptions
        entry = error.__traceback__
        while entry is not None:
            if not entry.tb_frame.f_code.co_flags & GENERATORS:
                try:
                    entry.tb_frame.clear()
                except RuntimeError:
                    pass  # it still runs, or waits
            entry = entry.tb_next

GROUPS = getattr(builtins, 'BaseExceptionGroup', ())

# Of inspect: generators, coroutines, and both. Before Python 3.13 one that waits would end when its frame is cleared.
GENERATORS = 0 if sys.version_info >= (3, 13) else 0x20 | 0x80 | 0x100 | 0x200

def take_traceback(kind, value, trace):
    """The text of an exception. JavaScript keeps the exception with its error, and the collector knows nothing of what is
    in the variables of its functions, such as the tensors that a call was given."""
    import traceback
    text = ''.join(traceback.format_exception(kind, value, trace))
    release_variables(value)
    return text

def read_modes():
    """The modes that PyTorch keeps for each thread, outside of context variables: gradients, inference, autocast. None
    for those of a new thread."""
    torch = sys.modules.get('torch')
    if torch is None:
        return None
    try:
        casts = [(device, torch.get_autocast_dtype(device)) for device in ('cpu', 'cuda') if torch.is_autocast_enabled(device)]
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), casts
    except (AttributeError, TypeError):  # being loaded, or before 2.4
        return None
    return None if modes == (True, False, []) else modes

def take_snapshot():
    """The state of this thread that an asynchronous call takes over. The context is never entered."""
    from contextvars import copy_context
    return copy_context(), read_modes()

def enter_modes(grad, inference, casts):
    """Enters the modes on this thread. Returns the function that leaves them."""
    import contextlib
    import torch
    stack = contextlib.ExitStack()
    stack.enter_context(torch.inference_mode(inference))
    stack.enter_context(torch.set_grad_enabled(grad))
    for device, dtype in casts:
        stack.enter_context(torch.autocast(device, dtype=dtype))
    return stack.close

def library_of(frame):
    return str(frame.f_globals.get('__name__')).partition('.')[0]

def is_called_by_torch():
    frame = sys._getframe()
    while frame is not None and library_of(frame) != 'torch':
        frame = frame.f_back
    return frame is not None

def view_as_array(object):
    """Views an object as a NumPy array, through its buffer or __array_interface__; None when its __dlpack__ failed."""
    try:
        object = memoryview(object)
    except Exception:
        if getattr(object, '__array_interface__', None) is None:
            if hasattr(object, '__dlpack__'):
                return None
            raise AttributeError(
                'Expected an object with __dlpack__, a buffer or __array_interface__ but received an object of '
                f'{type(object).__name__}; make an array of it first, for example with numpy.asarray') from None
    try:
        from numpy import asarray
    except Exception:
        raise TypeError(
            'Expected an object with __dlpack__, or NumPy, which shows a buffer as an array; install numpy') from None
    return asarray(object)

def overrides_dlpack(type):
    """Whether __dlpack__ comes from a class before the class with the exchange table."""
    def place(*names):
        return next((i for i, base in enumerate(type.__mro__) if any(name in vars(base) for name in names)), None)
    method, table = place('__dlpack__'), place('__dlpack_c_exchange_api__', '__c_dlpack_exchange_api__')
    return None not in (method, table) and method < table

def find_from_dlpack(type):
    """from_dlpack of the module of a class or of a parent package: numpy.from_dlpack, jax.dlpack.from_dlpack."""
    import importlib
    module = str(type.__module__)
    while module:
        for name in module, module + '.dlpack':
            try:
                return importlib.import_module(name).from_dlpack
            except Exception:
                pass
        module = module.rpartition('.')[0]
    raise TypeError(
        'Expected a class with an exchange table, or from a module that has from_dlpack; call a function of its library '
        'with the tensor instead')

def load_cupy(ndarray):
    """What native code uses of CuPy, with None for the parts that another version does not have."""
    import importlib, numpy
    from cupy.cuda import MemoryPointer, UnownedMemory, get_current_stream
    def find(module, name):
        try:
            return getattr(importlib.import_module(module), name)
        except Exception:
            return None
    # The interface without a stream, which CuPy has for compatibility on request, is not read by native code.
    has_stream = find('cupy._util', 'CUDA_ARRAY_INTERFACE_EXPORT_VERSION') == 3
    interface = getattr(ndarray, '__cuda_array_interface__', None) if has_stream else None
    base = ndarray.__base__
    init = getattr(base, '_init', None) if base.__name__ == '_ndarray_base' else None
    # Cython's table of the C functions that a module has for other modules. The name of a capsule is the signature.
    functions = find('cupy_backends.cuda.stream', '__pyx_capi__') or {}
    return (
        UnownedMemory, MemoryPointer, get_current_stream, tuple(map(numpy.dtype, NUMPY_TYPES)),
        interface if type(interface).__name__ == 'getset_descriptor' else None,
        init if type(init).__name__ == 'method_descriptor' else None, (), base,
        functions.get('get_stream_ptr'), functions.get('get_current_stream_ptr'))

# For each converter: the module and name of its class, and the module and type of the function.
CONVERTERS = (
    ('numpy', 'ndarray', 'numpy', 'builtin_function_or_method'),
    ('torch', 'Tensor', 'torch.utils.dlpack', 'function'),
    ('cupy', 'ndarray', 'cupy._core.dlpack', 'builtin_function_or_method'),
    ('cupy', 'ndarray', 'cupy._core.dlpack', 'cython_function_or_method'),
)

def find_converter(function):
    """The number of a converter and its class; None for another function."""
    found = function.__module__, type(function).__name__
    for number, (library, name, *origin) in enumerate(CONVERTERS):
        if function.__name__ == 'from_dlpack' and found == tuple(origin):
            # functools.wraps copies the name of a function to another function, but not its globals.
            if found[1] != 'function' or function.__globals__ is sys.modules[found[0]].__dict__:
                return number, getattr(sys.modules[library], name)

def guard(module, name):
    original = getattr(module, name)
    def guarded(*arguments, **keywords):
        keep_signals()  # a library may have installed its own handler shortly before, which must not be remembered
        try:
            return original(*arguments, **keywords)
        finally:
            restore_signals()
    guarded.__name__ = guarded.__qualname__ = name
    guarded.__doc__ = original.__doc__
    guarded.__wrapped__ = original
    setattr(module, name, guarded)

def leave():
    """What Python does at its end before it destroys objects. Executors register with threading."""
    import atexit
    for call in reversed(getattr(sys.modules.get('threading'), '_threading_atexits', ())):
        try:
            call()
        except BaseException:
            sys.excepthook(*sys.exc_info())
    atexit._run_exitfuncs()

if is_ours:
    import faulthandler, signal
    # The import installs a handler for Ctrl-C if the process has none, as in Bun and Deno.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    guard(signal, 'signal')
    guard(faulthandler, 'enable')
    if sys.platform == 'linux':  # macOS and Windows start processes without a fork
        import _imp
        _imp.create_dynamic = watch_loads(_imp.create_dynamic)
)python";

#endif  // DLPACK_NODE_PYTHON_INTERPRETER_PRELUDE_PY_H_
