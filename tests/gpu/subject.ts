/** A driver, the real or the fake one, for the same calls on both. */

import { type Driver, type DriverArgument, fake, fakeDriver, made } from '../cuda/fake.js';
import { realDriver } from './environment.js';

export interface Subject {
  readonly driver: Driver;
  readonly context: bigint;
  /** Queues a kernel that ends at `letGo`. */
  hold(stream: bigint): void;
  letGo(stream: bigint): void;
  beginCapture(stream: bigint, mode: number): void;
  endCapture(stream: bigint): number;
  /** Device memory, after the work that is queued before on the stream. */
  read(address: bigint, bytes: number, stream: bigint): Uint8Array;
  make(symbol: string, ...rest: DriverArgument[]): bigint;
}

// Spins until the flag is set, for at most five seconds, so that an unexpected wait ends, too.
const holdingKernel = `
.version 7.0
.target sm_80
.address_size 64
.visible .entry hold(.param .u64 flag)
{
  .reg .pred %p<3>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [flag];
  mov.u64 %rd2, %globaltimer;
  add.s64 %rd2, %rd2, 5000000000;
AGAIN:
  mov.u64 %rd3, %globaltimer;
  setp.gt.u64 %p1, %rd3, %rd2;
  @%p1 bra DONE;
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.s32 %p2, %r1, 0;
  @%p2 bra AGAIN;
DONE:
  ret;
}
`;

function common(driver: Driver): Pick<Subject, 'driver' | 'context' | 'read' | 'make'> {
  driver.must('cuInit', 0);
  const make = (symbol: string, ...rest: DriverArgument[]): bigint => made(driver, symbol, ...rest);
  const context = make('cuDevicePrimaryCtxRetain', 0);
  driver.must('cuCtxPushCurrent_v2', context);
  return {
    driver,
    context,
    make,
    read(address, bytes, stream) {
      const result = new Uint8Array(bytes);
      driver.must('cuMemcpyAsync', result, address, bytes, stream);
      driver.must('cuStreamSynchronize', stream);
      return result;
    },
  };
}

export function fakeSubject(): Subject {
  fake.forget();
  fake.configure({ patience: 100 });
  return {
    ...common(fakeDriver),
    hold: (stream) => fake.delay(stream),
    letGo: (stream) => fake.release(stream),
    beginCapture: (stream, mode) => fake.beginCapture(stream, mode),
    endCapture: (stream) => fake.endCapture(stream).code,
  };
}

export function realSubject(): Subject {
  const base = common(realDriver());
  const { driver, make } = base;
  const kernel = make('cuModuleGetFunction', make('cuModuleLoadData', holdingKernel), 'hold');
  // One flag for each hold, and one array of parameters, in memory whose address is known.
  const flags = new Map<bigint, bigint>();
  return {
    ...base,
    hold(stream) {
      const place = flags.get(stream) ?? make('cuMemHostAlloc', 16, 1);
      flags.set(stream, place);
      fake.poke(place, new Uint8Array(16));
      fake.poke(place + 8n, new Uint8Array(new BigUint64Array([place]).buffer));
      const parameters = new BigUint64Array([place + 8n]);
      driver.must('cuLaunchKernel', kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, null);
    },
    letGo: (stream) => fake.poke(flags.get(stream) as bigint, new Uint8Array([1])),
    beginCapture: (stream, mode) => driver.must('cuStreamBeginCapture_v2', stream, mode),
    endCapture(stream) {
      const graph = new BigUint64Array(1);
      const code = driver.call('cuStreamEndCapture', stream, graph);
      if (graph[0] !== 0n) driver.must('cuGraphDestroy', graph[0] as bigint);
      return code;
    },
  };
}
