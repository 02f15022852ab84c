import { DLPACK, fromDLPack, type ManagedTensor, scope, scopeAsync, Tensor } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

test('a scope disposes the tensors that its function made, except those that it returns', () => {
  const outside = Tensor.from([1, 2, 3, 4], { dtype: 'float32' });
  const inside: Tensor[] = [];
  const note = <T extends Tensor>(x: T): T => {
    inside.push(x);
    return x;
  };
  const result = scope(() => {
    const cast = note(outside.astype('float64'));
    const part = note(cast.slice([0, 2]));
    note(fromDLPack(part));
    return note(part.copy());
  });
  equal(result.toArray(), [1, 2]);
  equal(
    inside.map((x) => x.isDisposed),
    [true, true, true, false],
  );
  ok(!outside.isDisposed);
});

test('a view that is returned keeps its memory', () => {
  const view = scope(() => Tensor.from([1, 2, 3]).slice([1, null]));
  equal(view.toArray(), [2, 3]);
});

test('tensors in arrays, Maps, Sets and plain objects are kept, however deep', () => {
  const loop: { self?: unknown; x: Tensor } = { x: Tensor.from([0]) };
  loop.self = loop;
  const { a, rest, none } = scope(() => {
    const x = Tensor.from([1]);
    return {
      a: x,
      rest: [Tensor.from([2]), { b: Tensor.from([3]) }] as const,
      none: null,
      loop,
    };
  });
  equal([a.get(0), rest[0].get(0), rest[1].b.get(0), none], [1, 2, 3, null]);
  const [map, set] = scope(
    () => [new Map([[Tensor.from([4]), Tensor.from([5])]]), new Set([Tensor.from([6])])] as const,
  );
  const contents = [...map.keys(), ...map.values(), ...set];
  equal(
    contents.map((x) => x.get(0)),
    [4, 5, 6],
  );
  class Box {
    constructor(readonly x: Tensor) {}
  }
  ok(scope(() => new Box(Tensor.from([1]))).x.isDisposed, 'other objects are not looked into');
  equal(
    scope(() => 5),
    5,
  );
});

test('scopes nest: tensors that the inner scope returns belong to the outer scope', () => {
  let inner: Tensor | undefined;
  const result = scope(() => {
    inner = scope(() => Tensor.from([1, 2]));
    ok(!inner.isDisposed);
    return inner.copy();
  });
  ok(inner?.isDisposed === true && !result.isDisposed);
  const after = Tensor.from([1]);
  scope(() => {});
  ok(!after.isDisposed, 'nothing is recorded outside');
});

test('an error disposes everything and passes through', () => {
  let made: Tensor | undefined;
  throws('IndexError', 'item()', () =>
    scope(() => {
      made = Tensor.from([1, 2]);
      return made.item();
    }),
  );
  ok(made?.isDisposed === true);
  const later = Tensor.from([1]);
  equal(later.isDisposed, false);
});

test('a deleter that throws does not stop the disposal of the other tensors', () => {
  const source = Tensor.from([1]);
  const failing = {
    [DLPACK]: () => ({
      ...(source[DLPACK]() as ManagedTensor),
      deleter: () => {
        throw new Error('no');
      },
    }),
  };
  const made: Tensor[] = [];
  throws('ForeignError', 'threw Error: no', () =>
    scope(() => {
      made.push(Tensor.from([1]), fromDLPack(failing), Tensor.from([2]));
    }),
  );
  equal(
    made.map((x) => x.isDisposed),
    [true, true, true],
  );
});

test('a promise from a synchronous scope is refused', () => {
  let made: Tensor | undefined;
  throws('TypeError', 'use scopeAsync', () =>
    scope(async () => {
      made = Tensor.from([1]);
    }),
  );
  ok(made?.isDisposed === true);
  throws('TypeError', 'a function for action', () => scope(5 as never));
});

test('an asynchronous scope disposes the tensors that it was given, and nothing else', async () => {
  const other: Tensor[] = [];
  const told: Tensor[] = [];
  const result = await scopeAsync(async (track) => {
    const x = track(Tensor.from([1, 2, 3]));
    other.push(Tensor.from([4]));
    await Promise.resolve();
    const y = track(await x.astypeAsync('int8'));
    told.push(x, y);
    return { y, sum: 6 };
  });
  equal([told[0]?.isDisposed, result.y.toArray(), other[0]?.isDisposed], [true, [1, 2, 3], false]);
});

test('an asynchronous scope that fails, and a scope that ends before its work', async () => {
  const made: Tensor[] = [];
  let error: unknown;
  try {
    await scopeAsync(async (track) => {
      made.push(track(Tensor.from([1])));
      await Promise.resolve();
      throw new RangeError('mine');
    });
  } catch (thrown) {
    error = thrown;
  }
  ok(error instanceof RangeError && made[0]?.isDisposed === true);
  let late: ((x: Tensor) => Tensor) | undefined;
  await scopeAsync(async (track) => {
    late = track;
  });
  const x = Tensor.from([1]);
  ok(late?.(x) === x && x.isDisposed, 'a late one is disposed at once');
  let refused: unknown;
  try {
    await scopeAsync(async (track) => track({} as never));
  } catch (thrown) {
    refused = thrown;
  }
  ok(String(refused).includes('dispose() method'));
});

test('an asynchronous scope waits for values that have to wait for their end, the last one first', async () => {
  const log: string[] = [];
  const waits = (name: string) => ({
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: async () => {
      await null;
      log.push(name);
    },
    dispose: () => log.push('not this one'),
  });
  const kept = waits('kept');
  const result = await scopeAsync(async (track) => {
    track(waits('first'));
    track({ dispose: () => log.push('second') });
    track(kept);
    return [kept];
  });
  equal([log, result[0] === kept], [['second', 'first'], true]);
  const failing = { dispose: () => Promise.reject(new RangeError('late')) };
  let caught: unknown;
  try {
    await scopeAsync(async (track) => [track(waits('third')), track(failing)].length);
  } catch (error) {
    caught = error;
  }
  ok(caught instanceof RangeError && log[2] === 'third', String(caught));
});

test('a result whose getters throw: the tensors are disposed, and the error is thrown', async () => {
  const hostile = [
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: a scope reads it
      get then() {
        throw new RangeError('then');
      },
    }),
    () => ({
      get x() {
        throw new RangeError('x');
      },
    }),
  ];
  for (const make of hostile) {
    const made: Tensor[] = [];
    const action = (): object => {
      made.push(Tensor.from([1]));
      return make();
    };
    let caught: unknown;
    try {
      scope(action);
    } catch (error) {
      caught = error;
    }
    ok(caught instanceof RangeError && made[0]?.isDisposed === true, String(caught));
    caught = undefined;
    try {
      await scopeAsync(async (track) => {
        made.push(track(Tensor.from([2])));
        return make();
      });
    } catch (error) {
      caught = error;
    }
    ok(caught instanceof RangeError && made[1]?.isDisposed === true, String(caught));
    equal(scope(() => Tensor.from([3])).toArray(), [3], 'the next scope works');
  }
});
