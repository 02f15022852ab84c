/** Copies between devices and the host. One function runs a plan and waits, the other runs it without blocking. */

import { handleOf, javascriptBytes } from '../../native/convert.js';
import type { Pass } from '../../storage/backend.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { Scaling } from '../../storage/scaling.js';
import { releaseAfter } from '../../storage/storage.js';
import { convertElements, convertElementsAsync } from '../../values/convert.js';
import { CAPTURE_UNSUPPORTED, check, cuda, driverError } from '../driver.js';
import { handOver } from '../memory/memory.js';
import { LEGACY_STREAM } from '../streams/current.js';
import { isCapturing, onStream } from '../streams/requests.js';
import { whenDone } from '../streams/wait.js';
import { queueCast } from './cast.js';
import {
  type CastStep,
  type CopyPlan,
  type DeviceStep,
  isOnDevice,
  planCopy,
  type Run,
  type Step,
} from './plan-copy.js';
import { sendPinned, sendPinnedAsync } from './upload.js';

/** Copies every element on the current stream. Host memory has been read or written when this returns. */
export function copyElements(source: Descriptor, target: Descriptor, isNew: boolean, scaling: Scaling | null): void {
  if (target.size === 0) return;
  const plan = planCopy(source, target, isNew, false, scaling);
  releaseAfter(plan, () => {
    const usesHost =
      !isOnDevice(source) || !isOnDevice(target) || plan.steps.some(({ by }) => by === 'bus' || by === 'pinned');
    if (usesHost) refuseCapture(plan, source, target);
    for (const step of plan.steps) runStep(step);
  });
}

function runStep(step: Step): void {
  if (step.by === 'host') convertElements(step.from, step.to);
  else if (step.by === 'cast') queueCast(step);
  else {
    if (step.by === 'pinned') sendPinned(step);
    else queue(step);
    if (step.by !== 'element' && !(isOnDevice(step.from) && isOnDevice(step.to)))
      onStream('synchronizeStream', step.run.device, step.run.stream);
  }
}

/** As `copyElements`, without blocking. Host memory has been read or written when the promise resolves. */
export async function copyElementsAsync(
  source: Descriptor,
  target: Descriptor,
  isNew: boolean,
  scaling: Scaling | null,
): Promise<void> {
  if (target.size === 0) return;
  const plan = planCopy(source, target, isNew, true, scaling);
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
        else if (step.by === 'pinned') await sendPinnedAsync(step);
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

/** Offsets, the bytes of an item, and the axes of a step, as native/cuda/memory/requests.cc reads them. */
function numbersOf({ axes, from, fromBit, toBit }: Pass): Float64Array {
  const numbers = [fromBit / 8, toBit / 8, from.bits / 8];
  for (const { length, from, to } of axes) numbers.push(length, from / 8, to / 8);
  return new Float64Array(numbers);
}

function queue({ from, to, pass, run: { device, stream } }: DeviceStep): void {
  const source = javascriptBytes(from.storage) ?? handleOf(from.storage);
  const target = javascriptBytes(to.storage) ?? handleOf(to.storage);
  const numbers = numbersOf(pass);
  const status = cuda().copy(device.id, stream, source, from.device.type, target, to.device.type, numbers);
  check(status, what(from, to));
}

/** Copies on another thread, because the driver blocks while it moves memory that the device cannot access. */
async function copyOverBus({ from, to, pass, run: { device, stream } }: DeviceStep): Promise<void> {
  const source = handleOf(from.storage);
  const target = handleOf(to.storage);
  const numbers = numbersOf(pass);
  const status = cuda().copyAsync(device.id, stream, source, from.device.type, target, to.device.type, numbers);
  check(await status, what(from, to));
}
