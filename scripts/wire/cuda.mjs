// The message of dlpack/cuda: allocation, the one request that is about as fast as its arguments. Read messages.mjs first.
const messages = [
  {
    name: 'DeviceAllocation',
    comment: 'New device memory, or host memory that devices can access, for work on a stream.',
    fields: [
      ['status', 'i32', 'the CUresult, written by native code'],
      ['device', 'i32', 'the number of the device'],
      ['handle', 'u32', 'the storage in the table of the instance, written by native code'],
      ['deviceType', 'i32', 'a DLDeviceType'],
      ['nbytes', 'f64', 'the number of bytes'],
      ['stream', 'u64', "the driver's handle of a stream"],
    ],
  },
];

export const cuda = {
  typescript: 'src/cuda/wire-layout.ts',
  header: 'native/cuda/wire_layout.h',
  namespace: 'dlpack::cuda',
  messages,
};
