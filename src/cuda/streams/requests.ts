/** Requests on a device, a stream or an event that several modules make. */

import type { DeviceInfo } from '../../device.js';
import { check, cuda, NOT_READY, take } from '../driver.js';

/** False for the CUresult of work that has not finished. */
function isOver(status: number, what: string): boolean {
  if (status === NOT_READY) return false;
  check(status, `${what} to succeed`);
  return true;
}

/** Waits for the work that a stream has now, or returns whether it has finished. */
export function onStream(
  name: 'synchronizeStream' | 'queryStream',
  { id, name: where }: DeviceInfo,
  stream: bigint,
  of = '',
): boolean {
  return isOver(cuda()[name](id, stream), `work on ${of}'${where}'`);
}

/** Waits for the work that an event marks, or returns whether it has finished. */
export function onEvent(name: 'synchronizeEvent' | 'queryEvent', device: DeviceInfo, event: bigint): boolean {
  return isOver(cuda()[name](device.id, event), `work on '${device.name}'`);
}

/** `record`: the event marks the work that the stream has now. `wait`: the stream waits for the event. */
export function mark(name: 'record' | 'wait', device: number, stream: bigint, event: bigint, what: string): void {
  check(cuda()[name](device, stream, event), what);
}

/** True when work on a stream is captured into a graph instead of running. */
export function isCapturing(device: number, stream: bigint): boolean {
  return take(cuda().isCapturing(device, stream), 'the state of a stream');
}
