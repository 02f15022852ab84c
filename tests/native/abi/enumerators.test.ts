import * as abi from 'dlpack/abi';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { enumeratorsOf, include, includeMissing, ownHeader, structsOf } from './headers.js';

/** The numbers that DLPack's main branch has and no release, so that the headers of libraries do not have them yet. */
const unreleased = { kDLTPU: 19, kDLTPUHost: 20, kDLAscend: 21, kDLBcomplex: 18 };

testWith(includeMissing, 'every number of the real dlpack.h is known, in TypeScript and in C++', () => {
  const real = enumeratorsOf(`${include}/dlpack/dlpack.h`);
  ok(real.size >= 34, `${real.size} enumerators found`);
  const known = { ...abi.DLDeviceType, ...abi.DLDataTypeCode };
  equal(known, { ...unreleased, ...Object.fromEntries(real) });
  equal(Object.fromEntries(enumeratorsOf(ownHeader('dlpack_abi.h'))), known);
});

testWith(includeMissing, 'every enumerator of the real TVM-FFI header is known', () => {
  const real = enumeratorsOf(`${include}/tvm/ffi/c_api.h`);
  ok(real.size >= 50, `${real.size} enumerators found`);
  equal(Object.fromEntries(enumeratorsOf(ownHeader('tvm_ffi_abi.h'))), Object.fromEntries(real));
});

/** Structs of the real header that this package neither makes nor reads, so that it does not declare them. */
const unused = ['TVMFFICustomAllocator', 'TVMFFIOpaqueObjectCell'];

testWith(includeMissing, 'every struct of the real TVM-FFI header is declared, or known to be unused', () => {
  const real = structsOf(`${include}/tvm/ffi/c_api.h`);
  ok(real.size >= 18, `${real.size} structs found`);
  equal(new Set([...structsOf(ownHeader('tvm_ffi_abi.h')), ...unused]), real);
});
