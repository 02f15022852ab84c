/** The CUDA backend of the core: memory, copies, the order of streams, and memory for other processes. */

import { setPointerDriver } from '../mdspan/driver.js';
import { type DeviceBackend, setDeviceBackend } from '../storage/device-backend.js';
import { memorySources } from '../storage/memory-sources.js';
import { arrayInterfaceOf } from './arrays/array-export.js';
import { canConvert } from './copies/cast.js';
import { copyElements, copyElementsAsync } from './copies/copy.js';
import { upload } from './copies/upload.js';
import { emptyCache } from './devices.js';
import { countDevices } from './driver.js';
import { allocateShareable, openRange, shareRange } from './memory/ipc.js';
import { allocate, clear, follow, handOver, settle } from './memory/memory.js';
import { pointerAttributes } from './memory/pointer.js';
import { currentHandle } from './streams/current.js';
import { useStream } from './streams/stream.js';
import { handleOn } from './streams/stream-handle.js';

const cudaBackend: DeviceBackend = {
  allocate,
  casts: canConvert,
  copy: copyElements,
  copyAsync: copyElementsAsync,
  upload,
  clear,
  handOver,
  follow,
  settle,
  streams: { current: (device) => currentHandle(device.id), handle: handleOn, use: useStream },
  arrayInterface: arrayInterfaceOf,
  sharing: { allocate: allocateShareable, share: shareRange, open: openRange },
};

/** Registers with the core. Nothing is loaded before the first use. */
export function register(): void {
  setDeviceBackend(['cuda', 'cuda_host', 'cuda_managed'], cudaBackend);
  memorySources.push({ empty: emptyCache });
  setPointerDriver({
    deviceOrdinal: (address) => (countDevices() === 0 ? null : (pointerAttributes(address)?.deviceId ?? null)),
  });
}
