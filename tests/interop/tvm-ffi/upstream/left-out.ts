/** Upstream's tests that have no counterpart here, with the reason. */

const pythonOnly = 'is about Python itself';
const torch = "is about PyTorch's tensors in Python; interop/tvm-ffi/python passes them to kernels";
const gpu = 'needs a GPU with PyTorch';
const truth = 'JavaScript objects are always true';
const operator = 'JavaScript has no operator that a class can define; structuralEqual compares';
const contains = "includes compares arrays by identity, as JavaScript's arrays do; Python compares their elements";
const noMethod = 'a JavaScript Map has no such method';
const symbol = 'a function at a bare address; libraries come through loadModule and compile';
const override = "replaces one of Python's classes";
const walkRegion = 'needs a class that Python defines';

export const leftOut: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  test_function: {
    rvalue_ref: 'an RValue hands over a reference of its own, so the JavaScript object keeps its reference',
    function_from_c_symbol: symbol,
    function_from_mlir_packed_safe_call: symbol,
    function_subclass: pythonOnly,
    convert_func_tensor_cls_missing_attribute: pythonOnly,
    convert_func_with_torch_tensor_cls: torch,
  },
  test_error: {
    parse_backtrace: "parses text for Python's tracebacks",
    error_no_cyclic_reference: "is about Python's reference counts; JavaScript's collector frees cycles",
  },
  test_object: {
    attribute_no_doc: 'the documentation of fields is not read',
    object_subclass_slots: pythonOnly,
  },
  test_container: {
    key_not_found: 'get returns undefined for a missing key, as a JavaScript Map does',
    array_contains_plain_tuple: contains,
    list_contains_plain_tuple: contains,
    array_bool: truth,
    map_bool: truth,
    dict_bool: truth,
    list_slice_edge_cases: 'slices with steps are a notation of Python; splice takes a start and a count',
    dict_pop: noMethod,
    dict_update: noMethod,
    array_eq_not_implemented_for_unrelated: operator,
    list_eq_not_implemented_for_unrelated: operator,
    map_eq_not_implemented_for_unrelated: operator,
    dict_eq_not_implemented_for_unrelated: operator,
  },
  test_tensor: {
    tensor_auto_dlpack: torch,
    tensor_auto_dlpack_with_error: torch,
    tensor_class_override: override,
    tensor_from_pytorch_rocm: gpu,
  },
  test_device: { device_class_override: override },
  test_dtype: {
    dtype_itemmize_error: 'this package has no dtypes with a variable number of lanes',
    torch_dtype_conversion: pythonOnly,
    numpy_dtype_conversion: pythonOnly,
    ml_dtypes_dtype_conversion: pythonOnly,
    dtype_kind_properties: 'a dtype is a name here, and its code tells the kind',
  },
  test_string: {},
  test_stream: {
    cuda_driver_stream: 'needs the Python package cuda-python',
    torch_stream: gpu,
    torch_current_stream: gpu,
    torch_graph: gpu,
  },
  test_structural: {
    structural_key_in_python_dict: 'JavaScript compares keys of a Map by identity; MapView compares them by structure',
    structural_walk_callback_def_region_kind: walkRegion,
    structural_walk_object_and_any_callbacks: 'tells objects from other values by a Python class',
    structural_walk_mixed_callback_forms: walkRegion,
  },
  test_serialization: {},
  test_metadata: {
    schema_global_func: "prints Python's annotations; dlpack types writes TypeScript's from the same schema",
    schema_field: "prints Python's annotations; dlpack types writes TypeScript's from the same schema",
    schema_object_ptr_field: "prints Python's annotations; dlpack types writes TypeScript's from the same schema",
    schema_member_method: "prints Python's annotations; dlpack types writes TypeScript's from the same schema",
    metadata_field: 'the metadata of fields is read for declarations only',
    metadata_member_method: 'the metadata of methods is read for declarations only',
    class_metadata_none: pythonOnly,
  },
  test_access_path: {},
};
