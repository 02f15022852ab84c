/** Types of dlpack/ray, checked by the compiler. */

import type { Tensor } from 'dlpack';
import type { PyObject } from 'dlpack/python';
import {
  type ActorHandle,
  actor,
  get,
  getActor,
  getSync,
  type ObjectRef,
  put,
  putSync,
  remote,
  task,
} from 'dlpack/ray';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const assert = <_T extends true>(): void => {};

declare const x: Tensor<'float32'>;
declare const f: PyObject;

const ref = putSync(x);
assert<Equal<typeof ref, ObjectRef<Tensor<'float32'>>>>();
const later = put(x);
assert<Equal<typeof later, Promise<ObjectRef<Tensor<'float32'>>>>>();
const value = getSync(ref);
assert<Equal<typeof value, Tensor<'float32'>>>();
const one = get(ref);
assert<Equal<typeof one, Promise<Tensor<'float32'>>>>();
const pair = get([ref, putSync('text')] as const);
assert<Equal<typeof pair, Promise<[Tensor<'float32'>, string]>>>();
const many = get([putSync(1), putSync(2)]);
assert<Equal<typeof many, Promise<number[]>>>();
// @ts-expect-error: a value is no reference
get(5);

const scale = remote<(x: Tensor<'float32'>, by: number) => Tensor<'float32'>>(f, { numCpus: 2 });
const scaled = scale.remoteSync(ref, 2);
assert<Equal<typeof scaled, ObjectRef<Tensor<'float32'>>>>();
const scaledLater = scale.remote(x, 2);
assert<Equal<typeof scaledLater, Promise<ObjectRef<Tensor<'float32'>>>>>();
scale.options({ maxRetries: 2 }).remoteSync(x, putSync(2));
// @ts-expect-error: an option of actors
scale.options({ maxRestarts: 2 });
// @ts-expect-error: a text is no number
scale.remote(x, 'two');

class Counter {
  count = 0;
  async add(step: number): Promise<number> {
    this.count += step;
    return this.count;
  }
}
const Remote = actor<typeof Counter>(import.meta.url, 'Counter', { maxRestarts: 1 });
const counter = Remote.remote();
assert<Equal<typeof counter, Promise<ActorHandle<Counter>>>>();
declare const handle: ActorHandle<Counter>;
const added = handle.add.remote(1);
assert<Equal<typeof added, Promise<ObjectRef<number>>>>();
const addedNow = handle.add.remoteSync(1);
assert<Equal<typeof addedNow, ObjectRef<number>>>();
handle.add.options({ numReturns: 2 });
// @ts-expect-error: an option of actors
handle.add.options({ maxRestarts: 2 });
const found = getActor<Counter>('counter');
assert<Equal<typeof found, Promise<ActorHandle<Counter>>>>();
// @ts-expect-error: a promise of a reference is no reference
get(added);
// @ts-expect-error: a field is no method
handle.count;
// @ts-expect-error: the constructor takes nothing
Remote.remote(1);
const inPython = remote<new (start: number) => Counter>(f).remoteSync(1);
assert<Equal<typeof inPython, ActorHandle<Counter>>>();

const twice = task<(x: Tensor) => Promise<Tensor>>(new URL(import.meta.url), 'twice').remoteSync(x);
assert<Equal<typeof twice, ObjectRef<Tensor>>>();
void [later, scaledLater, value, one, many, scaled, twice];
