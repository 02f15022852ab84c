import { DeviceType, formatDevice, parseDevice } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

/** Host, pinned and managed memory: dlpack.h sets their number to 0. */
const unnumbered = ['cpu', 'cuda_host', 'rocm_host', 'cuda_managed', 'tpu_host'];

test('every device type round-trips by name and number', () => {
  for (const [kind, type] of Object.entries(DeviceType)) {
    for (const id of [0, 1, 2147483647]) {
      const device = parseDevice(`${kind}:${id}` as 'cuda:0');
      equal([device.type, device.id], [type, unnumbered.includes(kind) ? 0 : id]);
      ok(parseDevice({ type, id }) === device, 'one shared object for each device');
      ok(parseDevice(formatDevice({ type, id })) === device, formatDevice({ type, id }));
    }
  }
  equal(Object.values(DeviceType), [1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
});

test('short forms', () => {
  equal(parseDevice('cuda').name, 'cuda:0');
  equal(parseDevice('cpu:0').name, 'cpu');
  for (const kind of unnumbered) equal(parseDevice(`${kind}:1` as 'cpu').name, kind);
  equal(formatDevice({ type: 3, id: 0 }), 'cuda_host');
  equal(formatDevice({ type: 2, id: 1 }), 'cuda:1');
});

test('memory that the processor can access', () => {
  const reachable = Object.keys(DeviceType).filter((kind) => parseDevice(kind as 'cpu').isHostAccessible);
  equal(reachable, unnumbered);
});

test('unknown devices are refused by name and number', () => {
  throws('UnsupportedDeviceError', "'gpu'", () => parseDevice('gpu' as never));
  throws('UnsupportedDeviceError', "did you mean 'cuda' or 'webgpu'?", () => parseDevice('gpu:1' as never));
  throws('UnsupportedDeviceError', "did you mean 'metal'?", () => parseDevice('mps' as never));
  throws('UnsupportedDeviceError', "did you mean 'cuda'?", () => parseDevice('CUDA:0' as never));
  throws('UnsupportedDeviceError', "did you mean 'vulkan'?", () => parseDevice('vulcan' as never));
  throws('UnsupportedDeviceError', 'kinds are cpu, cuda', () => parseDevice('toaster' as never));
  throws('UnsupportedDeviceError', "'cuda:-1'", () => parseDevice('cuda:-1' as never));
  throws('UnsupportedDeviceError', '4294967296', () => parseDevice('cuda:4294967296'));
  throws('UnsupportedDeviceError', 'received 5', () => formatDevice({ type: 5, id: 0 }));
  throws('UnsupportedDeviceError', 'received 22 (device id 0); a newer version of this package may know it', () =>
    formatDevice({ type: 22, id: 0 }),
  );
  throws('UnsupportedDeviceError', "did you mean 'ascend'?", () => parseDevice('npu:0' as never));
  throws('UnsupportedDeviceError', '-1', () => formatDevice({ type: 1, id: -1 }));
  // -2^32 of type 2 must not be mistaken for 0 of type 1.
  throws('UnsupportedDeviceError', '-4294967296', () => formatDevice({ type: 2, id: -4294967296 }));
  throws('UnsupportedDeviceError', "'constructor'", () => parseDevice('constructor' as never));
  throws('TypeError', '3 (number)', () => parseDevice(3 as never));
});
