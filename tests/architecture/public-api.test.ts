import * as core from 'dlpack';
import * as abi from 'dlpack/abi';
import * as adapters from 'dlpack/adapters';
import * as conformance from 'dlpack/conformance';
import * as cuda from 'dlpack/cuda';
import * as debug from 'dlpack/debug';
import * as files from 'dlpack/files';
import * as matchers from 'dlpack/matchers';
import * as native from 'dlpack/native';
import * as onnxruntime from 'dlpack/onnxruntime';
import * as pyodide from 'dlpack/pyodide';
import * as python from 'dlpack/python';
import * as ray from 'dlpack/ray';
import * as shared from 'dlpack/shared';
import * as tvmFfi from 'dlpack/tvm-ffi';
import * as wasm from 'dlpack/wasm';
import * as webgpu from 'dlpack/webgpu';
import { equal } from '../assert.js';
import { test } from '../harness.js';

/** Names that other people's code relies on. Adding one is a decision; removing one breaks them. */
const names = {
  dlpack: [
    'ArgumentError',
    'ArgumentTypeError',
    'ArgumentValueError',
    'BufferError',
    'ConsumedError',
    'DLPACK',
    'DLPACK_DEVICE',
    'DLPACK_VERSION',
    'DLPackError',
    'DeviceType',
    'DisposedError',
    'ForeignError',
    'IndexError',
    'LayoutError',
    'LoadError',
    'ManagedFlag',
    'MisalignedError',
    'OutOfMemoryError',
    'ReadOnlyError',
    'SpecError',
    'Tensor',
    'TensorView',
    'TypeCode',
    'UnsupportedDTypeError',
    'UnsupportedDeviceError',
    'VersionError',
    'dtypes',
    'expectTensor',
    'formatDType',
    'formatDevice',
    'fromDLPack',
    'isDLPackError',
    'nativeStatus',
    'parseDType',
    'parseDevice',
    'scope',
    'scopeAsync',
    'sizeBytes',
  ],
  'dlpack/abi': [
    'DLDataType',
    'DLDataTypeCode',
    'DLDevice',
    'DLDeviceType',
    'DLManagedTensor',
    'DLManagedTensorVersioned',
    'DLPACK_FLAG_BITMASK_IS_COPIED',
    'DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED',
    'DLPACK_FLAG_BITMASK_READ_ONLY',
    'DLPACK_MAJOR_VERSION',
    'DLPACK_MINOR_VERSION',
    'DLPackExchangeAPI',
    'DLPackExchangeAPIHeader',
    'DLPackVersion',
    'DLTensor',
    'decodeDataType',
    'decodeDevice',
    'decodeExchangeAPI',
    'decodeExchangeAPIHeader',
    'decodeManagedTensor',
    'decodeManagedTensorVersioned',
    'decodeStruct',
    'decodeTensor',
    'decodeVersion',
    'encodeDataType',
    'encodeDevice',
    'encodeExchangeAPI',
    'encodeExchangeAPIHeader',
    'encodeManagedTensor',
    'encodeManagedTensorVersioned',
    'encodeStruct',
    'encodeTensor',
    'encodeVersion',
    'layoutOf',
    'lp64',
    'viewTensor',
    'wasm32',
    'wasm64',
  ],
  'dlpack/adapters': [
    'adapt',
    'arrowValidity',
    'duckDBValidity',
    'fromArrow',
    'fromAudioBuffer',
    'fromDuckDB',
    'fromImageData',
    'fromJaxJs',
    'fromLiteRT',
    'fromMLTensor',
    'fromMediaPipe',
    'fromNdarray',
    'fromNumpyTs',
    'fromOnnxRuntime',
    'fromOpenCV',
    'fromSharp',
    'fromStdlib',
    'fromTensorFlow',
    'fromTransformers',
    'fromTvmjs',
    'fromTypeGPU',
    'fromVideoFrame',
    'fromZarrita',
    'toArrow',
    'toAudioBuffer',
    'toDuckDB',
    'toImageData',
    'toJaxJs',
    'toLiteRT',
    'toMLTensor',
    'toMediaPipe',
    'toNdarray',
    'toNumpyTs',
    'toOnnxRuntime',
    'toOpenCV',
    'toSharp',
    'toStdlib',
    'toTensorFlow',
    'toTransformers',
    'toTvmjs',
    'toTypeGPU',
    'toVideoFrame',
    'toZarrita',
  ],
  'dlpack/tvm-ffi': [
    'ArrayView',
    'CompileError',
    'DataType',
    'DeviceValue',
    'Dict',
    'FFIObject',
    'List',
    'MapView',
    'Opaque',
    'OpaquePointer',
    'RValue',
    'Shape',
    'TVMFFIError',
    'TVM_FFI_OBJECT',
    'TVM_FFI_VALUE',
    'UNCHANGED',
    'asModule',
    'callAsync',
    'compile',
    'compileLibrary',
    'currentStream',
    'deepCopy',
    'describeFunction',
    'describeModule',
    'followTorchStream',
    'fromEnvAlloc',
    'fromJSONGraph',
    'fromNDAlloc',
    'fromNDAllocStrided',
    'getGlobalFunc',
    'globalFuncNames',
    'implementsFunction',
    'importModule',
    'isInstance',
    'live',
    'loadLibrary',
    'loadModule',
    'objectClass',
    'registerError',
    'registerGlobalFunc',
    'registerObject',
    'removeGlobalFunc',
    'sameAs',
    'setAllocator',
    'setStreamProvider',
    'structuralEqual',
    'structuralHash',
    'systemLibrary',
    'toFunction',
    'toJSONGraph',
    'withStream',
  ],
  'dlpack/cuda': [
    'CudaError',
    'CudaEvent',
    'Stream',
    'asCudaArray',
    'asMaskedCudaArray',
    'devices',
    'fromCudaArrayInterface',
    'loadDriver',
    'memoryInfo',
    'pointerAttributes',
    'synchronize',
    'toCudaArrayInterface',
  ],
  'dlpack/debug': ['emptyCache', 'leaks', 'liveCounts', 'setDebug'],
  'dlpack/files': [
    'FileError',
    'FileFormatError',
    'GgufFile',
    'NpzFile',
    'SafetensorsFile',
    'TensorFile',
    'openGguf',
    'openGgufSync',
    'openNpy',
    'openNpySync',
    'openNpz',
    'openNpzSync',
    'openSafetensors',
    'openSafetensorsSync',
    'writeNpy',
    'writeNpz',
    'writeSafetensors',
  ],
  'dlpack/native': [
    'addressOf',
    'conformancePeer',
    'exchangeApi',
    'exportManaged',
    'importManaged',
    'loadAddon',
    'releaseManaged',
    'toExternal',
  ],
  'dlpack/onnxruntime': ['OnnxRuntimeError', 'loadRuntime', 'loadSession'],
  'dlpack/ray': [
    'RemoteError',
    'actor',
    'get',
    'getActor',
    'getSync',
    'init',
    'kill',
    'put',
    'putSync',
    'remote',
    'shutdown',
    'task',
  ],
  'dlpack/conformance': ['ConformanceError', 'SPECIFICATION', 'casesOf', 'formatReport', 'pairCases', 'runCases'],
  'dlpack/matchers': ['equalityTesters', 'matchers'],
  'dlpack/shared': ['describeTensor', 'openForeign', 'openTensor', 'shareTensor', 'sharedPath'],
  'dlpack/wasm': ['WasmHeap'],
  'dlpack/webgpu': ['DeviceLostError', 'fromGPUBuffer', 'fromImage', 'gpuMemoryOf', 'toCanvas', 'toTexture'],
  'dlpack/pyodide': ['attach'],
  'dlpack/python': ['PythonError', 'callAsync', 'callTensorAsync', 'isPyObject', 'kwargs', 'python'],
};

const TensorMembers = [
  '__cuda_array_interface__ allClose astype astypeAsync broadcastTo byteOffset constructor contiguous copy copyAsync copyFrom copyFromAsync data device dispose dtype equals expandDims fill flip get',
  'isContiguous isCopied isDataCopied isDisposed is isOn isPadded isReadOnly item nbytes ndim print reshape set shape share sharesMemory size',
  'slice squeeze strides to toArray toAsync toJSON toString transpose unsafeData view',
].flatMap((line) => line.split(' '));

test('exported names', () => {
  equal(Object.keys(core).sort(), names.dlpack);
  equal(Object.keys(abi).sort(), names['dlpack/abi']);
  equal(Object.keys(adapters).sort(), names['dlpack/adapters']);
  equal(Object.keys(cuda).sort(), names['dlpack/cuda']);
  equal(Object.keys(debug).sort(), names['dlpack/debug']);
  equal(Object.keys(files).sort(), names['dlpack/files']);
  equal(Object.keys(conformance).sort(), names['dlpack/conformance']);
  equal(Object.keys(matchers).sort(), names['dlpack/matchers']);
  equal(Object.keys(native).sort(), names['dlpack/native']);
  equal(Object.keys(shared).sort(), names['dlpack/shared']);
  equal(Object.keys(pyodide).sort(), names['dlpack/pyodide']);
  equal(Object.keys(python).sort(), names['dlpack/python']);
  equal(Object.keys(onnxruntime).sort(), names['dlpack/onnxruntime']);
  equal(Object.keys(ray).sort(), names['dlpack/ray']);
  equal(Object.keys(tvmFfi).sort(), names['dlpack/tvm-ffi']);
  equal(Object.keys(wasm).sort(), names['dlpack/wasm']);
  equal(Object.keys(webgpu).sort(), names['dlpack/webgpu']);
});

test('members of Tensor', () => {
  const own = Object.getOwnPropertyNames(core.Tensor.prototype);
  const inherited = Object.getOwnPropertyNames(core.TensorView.prototype);
  equal([...new Set([...own, ...inherited])].sort(), [...TensorMembers].sort());
  const statics = Object.getOwnPropertyNames(core.Tensor).filter(
    (name) => typeof core.Tensor[name as 'from'] === 'function',
  );
  equal(statics.sort(), ['adopt', 'arange', 'concat', 'empty', 'from', 'full', 'stack', 'wrap', 'zeros']);
});

test('the protocol symbols are registered, so that two copies of the package use the same symbols', () => {
  equal(core.DLPACK, Symbol.for('dlpack'));
  equal(core.DLPACK_DEVICE, Symbol.for('dlpack.device'));
});
