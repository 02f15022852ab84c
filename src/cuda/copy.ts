/** Copies between devices and the host. One function runs a plan and waits, the other runs it without blocking. */

import { bytesOf, handleOf } from '../native/convert.js';
import { request, wire } from '../native/wire.js';
import type { PassAxis } from '../storage/backend.js';
import type { Descriptor } from '../storage/descriptor.js';
import { releaseAfter } from '../storage/storage.js';
import { convertElements, convertElementsAsync } from '../values/convert.js';
import { queueCast } from './cast.js';
import { LEGACY_STREAM } from './current.js';
import { CAPTURE_UNSUPPORTED, check, cuda, driverError } from './driver.js';
import { handOver } from './memory.js';
import {
  type CastStep,
  type CopyPlan,
  type DeviceStep,
  isOnDevice,
  planCopy,
  type Run,
  type Step,
} from './plan-copy.js';
import { begin, isCapturing, onStream } from './requests.js';
import { whenDone } from './wait.js';
import { CopyStep } from './wire-layout.js';

const { f64, i32, u32, u64 } = wire;

/** Copies every element on the current stream. Host memory has been read or written when this returns. */
export function copyElements(source: Descriptor, target: Descriptor, isNew: boolean): void {
  if (target.size === 0) return;
  const plan = planCopy(source, target, isNew, false);
  releaseAfter(plan, () => {
    const usesHost = !isOnDevice(source) || !isOnDevice(target) || plan.steps.some(({ by }) => by === 'bus');
    if (usesHost) refuseCapture(plan, source, target);
    for (const step of plan.steps) runStep(step);
  });
}

function runStep(step: Step): void {
  if (step.by === 'host') convertElements(step.from, step.to);
  else if (step.by === 'cast') queueCast(step);
  else {
    queue(step);
    if (step.by !== 'upload' && !(isOnDevice(step.from) && isOnDevice(step.to)))
      onStream('synchronizeStream', step.run.device, step.run.stream);
  }
}

/** As `copyElements`, without blocking. Host memory has been read or written when the promise resolves. */
export async function copyElementsAsync(source: Descriptor, target: Descriptor, isNew: boolean): Promise<void> {
  if (target.size === 0) return;
  const plan = planCopy(source, target, isNew, true);
  try {
    refuseCapture(plan, source, target);
    let queued: Run | null = null;
    // The program may dispose the stream before the copy is queued. Memory in use on a stream keeps the stream alive.
    if (plan.steps[0]?.by === 'host') handOver(target, runOf(plan).stream);
    for (const step of plan.steps) {
      if (step.by === 'host') {
        if (queued !== null) await doneOn(queued);
        await convertElementsAsync(step.from, step.to);
        queued = null;
      } else if (step.by === 'bus') {
        await copyOverBus(step);
        queued = null;
      } else {
        if (step.by === 'cast') queueCast(step);
        else queue(step);
        queued = step.run;
      }
    }
    await doneOn(queued ?? runOf(plan));
  } finally {
    plan.release();
  }
}

/** The device and stream of the last step on a device. */
function runOf({ steps }: CopyPlan): Run {
  return (steps.findLast((step) => step.by !== 'host') as DeviceStep | CastStep).run;
}

const doneOn = ({ stream, device }: Run): Promise<void> =>
  whenDone({ stream }, device.id, `work on '${device.name}' to succeed`);

function what({ device: source }: Descriptor, { device: target }: Descriptor): string {
  return `a copy from '${source.name}' to '${target.name}'`;
}

/**
 * A graph would use the host memory each time it runs, long after the program released it, and a captured copy cannot
 * be waited for here.
 */
function refuseCapture(plan: CopyPlan, source: Descriptor, target: Descriptor): void {
  for (const step of plan.steps) {
    if (step.by === 'host' || step.run.stream === LEGACY_STREAM) continue; // never captured
    if (!isCapturing(step.run.device.id, step.run.stream)) continue;
    throw driverError(CAPTURE_UNSUPPORTED, what(source, target));
  }
}

/** Describes a step in a slot. */
function writeStep({ from, to, pass, run }: DeviceStep): number {
  const { axes } = pass;
  const slot = begin(CopyStep.WORDS, run.device.id);
  u32[slot * 2 + CopyStep.FROM_HANDLE] = handleOf(from.storage);
  u32[slot * 2 + CopyStep.TO_HANDLE] = handleOf(to.storage);
  i32[slot * 2 + CopyStep.FROM_TYPE] = from.device.type;
  i32[slot * 2 + CopyStep.TO_TYPE] = to.device.type;
  f64[slot + CopyStep.FROM_OFFSET] = pass.fromBit / 8;
  f64[slot + CopyStep.TO_OFFSET] = pass.toBit / 8;
  f64[slot + CopyStep.ITEM_BYTES] = pass.from.bits / 8;
  i32[slot * 2 + CopyStep.NDIM] = axes.length;
  for (let i = 0; i < axes.length; i++) {
    const axis = axes[i] as PassAxis;
    f64[slot + CopyStep.SHAPE + i] = axis.length;
    f64[slot + CopyStep.FROM_STEPS + i] = axis.from / 8;
    f64[slot + CopyStep.TO_STEPS + i] = axis.to / 8;
  }
  u64[slot + CopyStep.STREAM] = run.stream;
  return slot;
}

function queue(step: DeviceStep): void {
  const from = bytesOf(step.from.storage);
  const to = bytesOf(step.to.storage);
  const slot = writeStep(step);
  request(slot, () => cuda().copy(from, to));
  check(i32[slot * 2 + CopyStep.STATUS], what(step.from, step.to));
}

/** Copies on another thread, because the driver blocks while it moves memory that the device cannot access. */
async function copyOverBus(step: DeviceStep): Promise<void> {
  const slot = writeStep(step);
  const started = request(slot, () => cuda().copyAsync());
  check(started === undefined ? i32[slot * 2 + CopyStep.STATUS] : await started, what(step.from, step.to));
}
