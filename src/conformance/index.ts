/**
 * `dlpack/conformance`: cases that show whether a library follows the exchange protocol of docs/spec.md.
 *
 * ```ts fragment: needs a test runner
 * for (const { id, title, run } of casesOf(subject)) test(`${id}: ${title}`, run);
 * ```
 *
 * @module
 */

import type { Case } from './case.js';
import { consumerCases } from './consumer.js';
import type { Environment } from './environment.js';
import { nativeConsumerCases } from './native/consumer.js';
import { deviceCases } from './native/devices.js';
import { nativeProducerCases } from './native/producer.js';
import { producerCases } from './producer.js';
import { checkSubject, type Subject } from './subject.js';
import { webgpuCases } from './webgpu.js';

export { type Case, ConformanceError, type Level, SPECIFICATION } from './case.js';
export type { Environment } from './environment.js';
export type { Peer } from './native/peer.js';
export { pairCases } from './pairs.js';
export type { Recipe } from './recipes.js';
export { formatReport, type ReportFormat } from './report.js';
export { type Outcome, type Report, type Result, type RunCasesOptions, runCases } from './run.js';
export type {
  ConsumerOptions,
  ConsumerSubject,
  Form,
  ProducerSubject,
  StreamSubject,
  Subject,
  Taken,
  View,
} from './subject.js';

/**
 * Lists every case that applies to a library.
 *
 * @param subject - The library: how it makes tensors, and how it takes them.
 * @param environment - What the runtime lends to the cases, such as native code beside the library; cases whose part is
 *   missing are skipped.
 * @returns The cases, for {@link runCases} or a test runner.
 * @throws ArgumentTypeError or ArgumentValueError for a library that is described wrongly.
 * @example
 * ```ts fragment: needs a test runner
 * import { casesOf } from 'dlpack/conformance';
 * for (const { id, title, run } of casesOf(subject)) test(`${id}: ${title}`, run);
 * ```
 */
export function casesOf(subject: Subject, environment: Environment = {}): Case[] {
  checkSubject(subject);
  return [
    ...producerCases(subject, environment),
    ...consumerCases(subject, environment),
    ...nativeProducerCases(subject, environment),
    ...nativeConsumerCases(subject, environment),
    ...deviceCases(subject, environment),
    ...webgpuCases(subject, environment),
  ];
}
