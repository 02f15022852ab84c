/**
 * Copies between devices and the host: two runners of a plan, one that waits and one that does not.
 *
 * @module
 */

import { NativeStorage } from '../native/native-storage.js';
import type { Descriptor } from '../storage/descriptor.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { convertElements, convertElementsAsync } from '../values/convert.js';
import { LEGACY_STREAM } from './current.js';
import { CAPTURE_UNSUPPORTED, check, cuda, driverError } from './driver.js';
import {
  DEVICE,
  FLAGS,
  f64,
  HANDLE,
  ITEM,
  i32,
  NDIM,
  NUMBER,
  SHAPE,
  SOURCE_HANDLE,
  SOURCE_KIND,
  SOURCE_OFFSET,
  SOURCE_STEPS,
  STREAM,
  TARGET_HANDLE,
  TARGET_KIND,
  TARGET_OFFSET,
  TARGET_STEPS,
  u32,
  u64,
} from './frame.js';
import { type CopyPlan, type DeviceStep, isOnDevice, planCopy, type Run, type Step } from './plan-copy.js';
import { whenDone } from './wait.js';

/** Every element, on the current stream. Host memory is read or written when this returns. */
export function copyElements(source: Descriptor, target: Descriptor): void {
  if (target.size === 0) return;
  const plan = planCopy(source, target, false);
  try {
    if (!isOnDevice(source) || !isOnDevice(target)) refuseCapture(plan, source, target);
    for (const step of plan.steps) runStep(step);
  } finally {
    plan.release();
  }
}

function runStep(step: Step): void {
  if (step.by === 'host') convertElements(step.from, step.to);
  else {
    queue(step);
    if (step.by !== 'upload' && !(isOnDevice(step.from) && isOnDevice(step.to))) finish(step.run);
  }
}

/** The same without blocking. Host memory is read or written when the promise resolves. */
export async function copyElementsAsync(source: Descriptor, target: Descriptor): Promise<void> {
  if (target.size === 0) return;
  const plan = planCopy(source, target, true);
  try {
    refuseCapture(plan, source, target);
    let queued: Run | null = null;
    if (plan.steps[0]?.by === 'host') keepStream(target, runOf(plan));
    for (const step of plan.steps) {
      if (step.by === 'host') {
        if (queued !== null) await doneOn(queued);
        await convertElementsAsync(step.from, step.to);
        queued = null;
      } else if (step.by === 'bus') {
        await copyOverBus(step);
        queued = null;
      } else {
        queue(step);
        queued = step.run;
      }
    }
    await doneOn(queued ?? runOf(plan));
  } finally {
    plan.release();
  }
}

/** Where the last step on a device runs. */
function runOf({ steps }: CopyPlan): Run {
  return (steps.findLast((step) => step.by !== 'host') as DeviceStep).run;
}

const doneOn = ({ stream, device }: Run): Promise<void> =>
  whenDone({ stream }, device.id, `work on '${device.name}' to succeed`);

function what({ device: source }: Descriptor, { device: target }: Descriptor): string {
  return `a copy from '${source.name}' to '${target.name}'`;
}

/** A graph would use the host memory each time it runs, long after the program released it, and nothing can wait for it here. */
function refuseCapture(plan: CopyPlan, source: Descriptor, target: Descriptor): void {
  for (const step of plan.steps) {
    if (step.by === 'host' || step.run.stream === LEGACY_STREAM) continue; // which is never captured
    i32[DEVICE] = step.run.device.id;
    u64[STREAM] = step.run.stream;
    cuda().isCapturing();
    check(what(source, target));
    if (f64[NUMBER] === 1) throw driverError(what(source, target), CAPTURE_UNSUPPORTED);
  }
}

function handleOf(storage: Storage): number {
  return storage instanceof NativeStorage ? storage.handle : 0;
}

function bytesOf(storage: Storage): Uint8Array | undefined {
  return storage instanceof BufferStorage ? new Uint8Array(storage.buffer(), storage.start, storage.nbytes) : undefined;
}

/** Describes a step in the frame. */
function writeStep({ from, to, pass, run }: DeviceStep): void {
  const { shape, fromSteps, toSteps } = pass;
  u32[SOURCE_HANDLE] = handleOf(from.storage);
  u32[TARGET_HANDLE] = handleOf(to.storage);
  i32[SOURCE_KIND] = from.device.type;
  i32[TARGET_KIND] = to.device.type;
  f64[SOURCE_OFFSET] = pass.fromBit / 8;
  f64[TARGET_OFFSET] = pass.toBit / 8;
  f64[ITEM] = pass.from.bits / 8;
  i32[NDIM] = shape.length;
  for (let axis = 0; axis < shape.length; axis++) {
    f64[SHAPE + axis] = shape[axis] as number;
    f64[SOURCE_STEPS + axis] = (fromSteps[axis] as number) / 8;
    f64[TARGET_STEPS + axis] = (toSteps[axis] as number) / 8;
  }
  i32[DEVICE] = run.device.id;
  u64[STREAM] = run.stream;
}

function queue(step: DeviceStep): void {
  const from = bytesOf(step.from.storage);
  const to = bytesOf(step.to.storage);
  writeStep(step);
  cuda().copy(from, to);
  check(what(step.from, step.to));
}

/** Waits for what was queued. */
function finish({ device, stream }: Run): void {
  i32[DEVICE] = device.id;
  u64[STREAM] = stream;
  u32[FLAGS] = 0;
  cuda().synchronize();
  check(`work on '${device.name}' to succeed`);
}

/** On another thread, which the driver blocks while it moves memory that the device cannot reach by itself. */
async function copyOverBus(step: DeviceStep): Promise<void> {
  writeStep(step);
  const started = cuda().copyAsync();
  if (started === undefined) throw driverError(what(step.from, step.to));
  const status = await started;
  if (status !== 0) throw driverError(what(step.from, step.to), status);
}

/** The program may dispose the stream before the copy is queued there: memory that it is used for keeps it. */
function keepStream({ storage, device }: Descriptor, run: Run): void {
  u32[HANDLE] = handleOf(storage);
  i32[DEVICE] = run.device.id;
  u64[STREAM] = run.stream;
  cuda().handOver();
  check(`a stream for '${device.name}'`);
}
