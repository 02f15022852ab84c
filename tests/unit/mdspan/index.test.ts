import * as mdspan from 'dlpack/mdspan';
import { equal } from '../../assert.js';
import { test } from '../../harness.js';

test('exported names', () => {
  equal(Object.keys(mdspan).sort(), [
    'DLPackTensor',
    'DeviceMdspan',
    'Extents',
    'HostMdspan',
    'ManagedMdspan',
    'Mdspan',
    'defaultAccessor',
    'deviceMdspan',
    'dims',
    'dynamic',
    'elementTypes',
    'extents',
    'fullExtent',
    'hostMdspan',
    'layoutLeft',
    'layoutRight',
    'layoutStride',
    'layoutStrideRelaxed',
    'managedMdspan',
    'pointerTo',
    'setPointerDriver',
    'stridedSlice',
    'submdspan',
    'toDLPackTensor',
    'toDeviceMdspan',
    'toHostMdspan',
    'toManagedMdspan',
  ]);
});
